import type { CommandRow } from "./keys.ts"

/* The rest of the one table: the keys of what stands over a screen. What they do stands in the dialog itself. */

const formRows = [
  { id: "kagan.form.send", keys: ["return"], title: "Create the task, or save it", group: "Task" },
  {
    id: "kagan.form.start",
    keys: ["ctrl+return", "ctrl+s"],
    title: "Create it and start it, without intake and with a reason",
    group: "Task",
  },
  { id: "kagan.form.next", keys: ["tab"], title: "Next field", group: "Task" },
  { id: "kagan.form.previous", keys: ["shift+tab"], title: "Previous field", group: "Task" },
  { id: "kagan.form.choose", keys: ["space", "right"], title: "Choose what stands in the field", group: "Task" },
  { id: "kagan.form.template", keys: ["ctrl+t"], title: "Begin with a template", group: "Task" },
  { id: "kagan.form.editor", keys: ["ctrl+o"], title: "Write it in your editor", group: "Task" },
] as const satisfies readonly CommandRow[]

/** The keys of the form in which a task is typed. */
export type FormCommandID = (typeof formRows)[number]["id"]
export const FORM_COMMANDS: readonly (CommandRow & { readonly id: FormCommandID })[] = formRows

const dialogRows = [
  { id: "kagan.list.up", keys: ["up", "ctrl+p"], title: "List: the choice above", group: "Move around" },
  { id: "kagan.list.down", keys: ["down", "ctrl+n"], title: "List: the choice below", group: "Move around" },
  { id: "kagan.list.pick", keys: ["return"], title: "List: take the choice", group: "Move around" },
  { id: "kagan.text.down", keys: ["pagedown"], title: "Long text: a page down", group: "Move around" },
  { id: "kagan.text.up", keys: ["pageup"], title: "Long text: a page up", group: "Move around" },
  { id: "kagan.text.send", keys: ["return"], title: "What was typed: send it", group: "Move around" },
  { id: "kagan.answers.approve", keys: ["return"], title: "Intake: approve the assumption", group: "Task" },
  { id: "kagan.answers.override", keys: ["o"], title: "Intake: answer in your own words", group: "Task" },
  { id: "kagan.answers.again", keys: ["r"], title: "Intake: ask again, with a remark", group: "Task" },
  { id: "kagan.answers.edit", keys: ["e"], title: "Intake: edit what the agent is told", group: "Task" },
  { id: "kagan.answers.split", keys: ["s"], title: "Intake: the proposed split", group: "Task" },
  {
    id: "kagan.answers.previous",
    keys: ["left", "h", "k", "up"],
    title: "Intake: the decision before",
    group: "Task",
  },
  {
    id: "kagan.answers.next",
    keys: ["right", "l", "j", "down"],
    title: "Intake: the next decision",
    group: "Task",
  },
  { id: "kagan.split.create", keys: ["return"], title: "Split: create its tasks", group: "Task" },
  {
    id: "kagan.split.start",
    keys: ["ctrl+return", "ctrl+s"],
    title: "Split: create them and start, in order",
    group: "Task",
  },
  { id: "kagan.split.back", keys: ["backspace"], title: "Split: back to the intake", group: "Task" },
  { id: "kagan.merge.merge", keys: ["return"], title: "Approve: merge", group: "Review" },
  { id: "kagan.merge.strategy", keys: ["tab"], title: "Approve: squash or merge commit", group: "Review" },
  { id: "kagan.merge.target", keys: ["ctrl+t"], title: "Approve: into another branch", group: "Review" },
  { id: "kagan.merge.leave", keys: ["ctrl+l"], title: "Approve: done without merge instead", group: "Review" },
  { id: "kagan.return.send", keys: ["return"], title: "Send back: send it", group: "Review" },
  { id: "kagan.return.mode", keys: ["tab"], title: "Send back: same or fresh session", group: "Review" },
  { id: "kagan.tour.next", keys: ["return", "right"], title: "Tour: go on", group: "Board" },
  { id: "kagan.tour.back", keys: ["left"], title: "Tour: a step back", group: "Board" },
  { id: "kagan.tour.leave", keys: ["escape"], title: "Tour: leave it", group: "Board" },
] as const satisfies readonly CommandRow[]

/** The keys of dialogs and of the tour. */
export type DialogCommandID = (typeof dialogRows)[number]["id"]
export const DIALOG_COMMANDS: readonly (CommandRow & { readonly id: DialogCommandID })[] = dialogRows
