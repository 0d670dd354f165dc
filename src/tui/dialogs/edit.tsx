import { displayable, displayableLines } from "../../core/text.ts"
import { readModel } from "../../core/options.ts"
import type { RequestOf } from "../../core/protocol.ts"
import { openDialog, type App } from "../app.tsx"
import type { Desk } from "../board/commands/behaviour.tsx"
import type { Card } from "../board/store.tsx"
import { wholeDescription } from "./description.ts"
import { TaskDialog } from "./task-dialog.tsx"
import { formOf, type TaskForm } from "./task-form.ts"

type Changes = Omit<RequestOf<"task.edit">, "sessionID">

/** The form of a task that is: everything but its base, which its worktree was made from. */
export async function openEdit(app: App, card: Card, remember: Desk["remember"]) {
  const { meta, title } = card.entry
  const description = await wholeDescription(app, card)
  if (description === undefined) return
  const initial = formOf({ ...meta, title, description })
  const send = (changes: Changes) => app.act(card, "saving", "task.edit", { sessionID: card.id, ...changes })
  openDialog(
    app,
    () => (
      <TaskDialog
        app={app}
        name={`Edit #${meta.taskNumber}`}
        initial={initial}
        without={["base"]}
        number={meta.taskNumber}
        send={(form) => {
          const changes = changesOf(shownOf(initial), shownOf(form))
          if (Object.keys(changes).length === 0) return
          const before = pick(fullChanges(initial), changes)
          remember(`edit of #${meta.taskNumber}`, send(pick(fullChanges(form), changes)), () => void send(before))
        }}
      />
    ),
    "large",
  )
}

/** What the fields show may differ from what is stored: only what was really edited is sent. */
function shownOf(form: TaskForm): TaskForm {
  return {
    ...form,
    title: displayable(form.title),
    description: displayableLines(form.description).join("\n"),
    scope: displayable(form.scope),
  }
}

function fullChanges(form: TaskForm): Required<Changes> {
  return {
    title: form.title.trim(),
    description: form.description.trim(),
    model: readModel(form.model) ?? null,
    agent: form.agent,
    scope: form.scope.trim(),
    dependsOn: [...form.after],
  }
}

function changesOf(before: TaskForm, after: TaskForm): Changes {
  const [old, now] = [fullChanges(before), fullChanges(after)]
  const keys = (Object.keys(now) as (keyof Changes)[]).filter(
    (key) => JSON.stringify(old[key]) !== JSON.stringify(now[key]),
  )
  return Object.fromEntries(keys.map((key) => [key, now[key]]))
}

function pick(all: Required<Changes>, like: Changes): Changes {
  return Object.fromEntries((Object.keys(like) as (keyof Changes)[]).map((key) => [key, all[key]]))
}
