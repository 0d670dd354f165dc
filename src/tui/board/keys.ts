/**
 * The one table of what can be done by key: it feeds the bindings, the action menu, the footer, the help page, the
 * command palette and docs/keys.md. What a command does and when it may stands in the file of its group under `commands/`,
 * by the same id; a command of the host's palette and prompt is a row of `ENTRIES` and a line in `commands.tsx`. The rows
 * of what stands over a screen, forms and dialogs, are in `dialog-keys.ts`.
 */
export type CommandRow = {
  /** The name under which it is rebound. */
  readonly id: string
  /** Default keys, as the host writes them; empty: only in the menu. */
  readonly keys: readonly string[]
  readonly title: string
  readonly group: Group
  /** Short words for the footer; absent: never there. */
  readonly hint?: string
  /** Listed in the card's action menu. */
  readonly menu?: boolean
}

export const GROUPS = ["Move around", "Task", "Agent", "Review", "Board"] as const
export type Group = (typeof GROUPS)[number]

const rows = [
  { id: "kagan.left", keys: ["h", "left"], title: "Column to the left", group: "Move around" },
  { id: "kagan.down", keys: ["j", "down"], title: "Next card", group: "Move around" },
  { id: "kagan.up", keys: ["k", "up"], title: "Previous card", group: "Move around" },
  { id: "kagan.right", keys: ["l", "right"], title: "Column to the right", group: "Move around" },
  { id: "kagan.first", keys: ["g", "home"], title: "First card", group: "Move around" },
  { id: "kagan.last", keys: ["shift+g", "end"], title: "Last card", group: "Move around" },
  {
    id: "kagan.page.down",
    keys: ["pagedown"],
    title: "A page down, in the pane when one is open",
    group: "Move around",
  },
  {
    id: "kagan.page.up",
    keys: ["pageup"],
    title: "A page up, in the pane when one is open",
    group: "Move around",
  },
  { id: "kagan.column.1", keys: ["1"], title: "Go to Backlog", group: "Move around" },
  { id: "kagan.column.2", keys: ["2"], title: "Go to In Progress", group: "Move around" },
  { id: "kagan.column.3", keys: ["3"], title: "Go to Review", group: "Move around" },
  { id: "kagan.column.4", keys: ["4"], title: "Go to Done", group: "Move around" },
  { id: "kagan.next", keys: ["."], title: "Next card that needs you", group: "Move around" },

  { id: "kagan.new", keys: ["n"], title: "New task", group: "Task", hint: "new" },
  {
    id: "kagan.intake",
    keys: ["i"],
    title: "Answer the intake's questions",
    group: "Task",
    hint: "answer",
    menu: true,
  },
  {
    id: "kagan.waive",
    keys: ["w"],
    title: "Waive intake or review, with a reason",
    group: "Task",
    hint: "waive",
    menu: true,
  },
  { id: "kagan.forward", keys: ["m"], title: "Move forward", group: "Task", hint: "move on", menu: true },
  { id: "kagan.back", keys: ["b"], title: "Move back", group: "Task", hint: "back", menu: true },
  { id: "kagan.edit", keys: ["e"], title: "Edit the task", group: "Task", hint: "edit", menu: true },
  { id: "kagan.lower", keys: ["shift+j"], title: "Lower in its column", group: "Task", menu: true },
  { id: "kagan.higher", keys: ["shift+k"], title: "Higher in its column", group: "Task", menu: true },
  {
    id: "kagan.archive",
    keys: ["shift+a"],
    title: "Archive, or bring back",
    group: "Task",
    hint: "archive",
    menu: true,
  },
  { id: "kagan.trash", keys: ["d"], title: "Move to the trash, or bring back", group: "Task", menu: true },
  {
    id: "kagan.purge",
    keys: ["shift+d"],
    title: "Delete for good what is in the trash",
    group: "Task",
    hint: "delete",
    menu: true,
  },
  {
    id: "kagan.follow",
    keys: ["shift+f"],
    title: "New task that follows from it",
    group: "Task",
    hint: "follow up",
    menu: true,
  },
  { id: "kagan.duplicate", keys: [], title: "Duplicate it as a new task", group: "Task", menu: true },
  { id: "kagan.undo", keys: ["u"], title: "Undo", group: "Task" },

  { id: "kagan.open", keys: ["o"], title: "Open its session", group: "Agent", hint: "open", menu: true },
  { id: "kagan.tell", keys: ["t"], title: "Tell the agent something", group: "Agent", hint: "tell", menu: true },
  { id: "kagan.stop", keys: ["shift+x"], title: "Stop the agent", group: "Agent", hint: "stop", menu: true },
  { id: "kagan.retry", keys: ["r"], title: "Retry, resume or review again", group: "Agent", hint: "retry", menu: true },
  {
    id: "kagan.allow",
    keys: ["y"],
    title: "Answer what it asks: allow once, or reply",
    group: "Agent",
    hint: "allow",
    menu: true,
  },
  { id: "kagan.always", keys: ["ctrl+y"], title: "Allow always", group: "Agent", menu: true },
  { id: "kagan.reject", keys: ["x"], title: "Reject what it asks", group: "Agent", hint: "reject", menu: true },
  {
    id: "kagan.connect",
    keys: ["c"],
    title: "Connect a provider, in OpenCode's own dialog",
    group: "Agent",
    hint: "connect",
    menu: true,
  },
  { id: "kagan.editor", keys: ["shift+e"], title: "Open the worktree in your editor", group: "Agent", menu: true },
  { id: "kagan.copy", keys: ["shift+y"], title: "Copy the branch's name", group: "Agent", menu: true },
  { id: "kagan.copy.path", keys: [], title: "Copy the worktree's path", group: "Agent", menu: true },

  { id: "kagan.review", keys: ["v"], title: "Review: diff and findings", group: "Review", hint: "review", menu: true },
  { id: "kagan.approve", keys: ["a"], title: "Approve and merge", group: "Review", hint: "approve", menu: true },
  {
    id: "kagan.sendBack",
    keys: ["s"],
    title: "Send back to the agent",
    group: "Review",
    hint: "send back",
    menu: true,
  },
  { id: "kagan.record", keys: [], title: "Write the review record to a file", group: "Review", menu: true },
  {
    id: "kagan.update",
    keys: ["shift+u"],
    title: "Update from base: bring it into the task's branch",
    group: "Review",
    hint: "update",
    menu: true,
  },
  { id: "kagan.leave", keys: [], title: "Done without merge, with a reason", group: "Review", menu: true },

  { id: "kagan.menu", keys: ["return"], title: "Actions of the card", group: "Board", hint: "more" },
  { id: "kagan.details", keys: ["space"], title: "Details of the card", group: "Board" },
  { id: "kagan.preview", keys: ["p"], title: "Live preview of the agent", group: "Board", hint: "preview" },
  { id: "kagan.filter", keys: ["/"], title: "Filter", group: "Board", hint: "filter" },
  { id: "kagan.notices", keys: ["shift+n"], title: "Past notices", group: "Board" },
  { id: "kagan.stats", keys: ["shift+s"], title: "Statistics", group: "Board" },
  { id: "kagan.settings", keys: ["comma"], title: "Settings", group: "Board", hint: "settings" },
  { id: "kagan.help", keys: ["?"], title: "Help", group: "Board", hint: "help" },
  {
    id: "kagan.dismiss",
    keys: ["escape"],
    title: "Dismiss notices, close the pane, clear the filter",
    group: "Board",
  },
  { id: "kagan.close", keys: ["q"], title: "Close the board", group: "Board" },
] as const satisfies readonly CommandRow[]

const reviewRows = [
  { id: "kagan.review.down", keys: ["j", "down"], title: "Next line, or in the list", group: "Move around" },
  { id: "kagan.review.up", keys: ["k", "up"], title: "Previous line, or in the list", group: "Move around" },
  { id: "kagan.review.scroll.down", keys: ["pagedown", "space"], title: "A page down", group: "Move around" },
  { id: "kagan.review.scroll.up", keys: ["pageup"], title: "A page up", group: "Move around" },
  { id: "kagan.review.right", keys: ["l", "right"], title: "To the diff, then its long lines", group: "Move around" },
  { id: "kagan.review.left", keys: ["h", "left"], title: "Back in long lines, then the list", group: "Move around" },
  { id: "kagan.review.hunk.next", keys: ["shift+j"], title: "Next hunk", group: "Move around" },
  { id: "kagan.review.hunk.previous", keys: ["shift+k"], title: "Previous hunk", group: "Move around" },
  { id: "kagan.review.file.next", keys: ["]"], title: "Next file", group: "Move around" },
  { id: "kagan.review.file.previous", keys: ["["], title: "Previous file", group: "Move around" },
  { id: "kagan.review.finding.next", keys: ["n"], title: "Next finding without a ruling", group: "Move around" },
  { id: "kagan.review.finding.previous", keys: ["shift+n"], title: "Previous finding", group: "Move around" },
  { id: "kagan.review.panes", keys: ["tab"], title: "List or diff", group: "Move around" },
  { id: "kagan.review.show", keys: ["return"], title: "Open what is closed, list or diff", group: "Move around" },
  { id: "kagan.review.filter", keys: ["/"], title: "Filter the files", group: "Move around" },
  { id: "kagan.review.fold", keys: ["z"], title: "Fold a hunk, or a folder in the list", group: "Move around" },
  { id: "kagan.review.layout", keys: ["u"], title: "Unified, or both sides beside each other", group: "Move around" },
  {
    id: "kagan.review.since",
    keys: ["d"],
    title: "Whole change, since the last iteration, since your last look",
    group: "Move around",
  },
  { id: "kagan.review.viewed", keys: ["m"], title: "Mark the file as viewed", group: "Review", hint: "viewed" },
  { id: "kagan.review.fix", keys: ["f"], title: "Rule: to be fixed", group: "Review", hint: "fix" },
  { id: "kagan.review.intended", keys: ["i"], title: "Rule: intended", group: "Review", hint: "intended" },
  { id: "kagan.review.ignore", keys: ["g"], title: "Rule: ignored", group: "Review", hint: "ignore" },
  {
    id: "kagan.review.several",
    keys: ["shift+g"],
    title: "Rule on all open findings that you have looked at",
    group: "Review",
  },
  {
    id: "kagan.review.comment",
    keys: ["c"],
    title: "Comment on the line, range or file",
    group: "Review",
    hint: "comment",
  },
  { id: "kagan.review.comment.task", keys: ["shift+c"], title: "Comment on the task", group: "Review" },
  { id: "kagan.review.comment.edit", keys: ["e"], title: "Edit your comment", group: "Review" },
  { id: "kagan.review.comment.delete", keys: ["x"], title: "Delete your comment", group: "Review" },
  { id: "kagan.review.range", keys: ["shift+v"], title: "Begin a range of lines, or give it up", group: "Review" },
  { id: "kagan.review.range.down", keys: ["shift+down"], title: "Range: a line more below", group: "Review" },
  { id: "kagan.review.range.up", keys: ["shift+up"], title: "Range: a line more above", group: "Review" },
  { id: "kagan.review.approve", keys: ["a"], title: "Approve and merge", group: "Review", hint: "approve" },
  { id: "kagan.review.sendBack", keys: ["s"], title: "Send back to the agent", group: "Review", hint: "send back" },
  { id: "kagan.review.waive", keys: ["w"], title: "Waive the review, with a reason", group: "Review" },
  { id: "kagan.review.again", keys: ["r"], title: "Review again", group: "Review" },
  { id: "kagan.review.follow", keys: ["shift+f"], title: "New task that follows from here", group: "Task" },
  { id: "kagan.review.open", keys: ["o"], title: "Open its session", group: "Agent" },
  { id: "kagan.review.tell", keys: ["t"], title: "Tell the agent something", group: "Agent" },
  { id: "kagan.review.help", keys: ["?"], title: "Help", group: "Board", hint: "help" },
  {
    id: "kagan.review.dismiss",
    keys: ["escape"],
    title: "Dismiss notices, give up a range or filter, then back to the board",
    group: "Board",
  },
  {
    id: "kagan.review.close",
    keys: ["q"],
    title: "Give up a range or filter, then back to the board",
    group: "Board",
    hint: "back",
  },
] as const satisfies readonly CommandRow[]

/** The keys of the review screen; there they take the place of the board's. */
export type ReviewCommandID = (typeof reviewRows)[number]["id"]
export const REVIEW_COMMANDS: readonly (CommandRow & { readonly id: ReviewCommandID })[] = reviewRows

export type CommandID = (typeof rows)[number]["id"]
export type CommandIDsOf<G extends Group> = Extract<(typeof rows)[number], { readonly group: G }>["id"]
export const COMMANDS: readonly (CommandRow & { readonly id: CommandID })[] = rows

/** Commands of the host's palette and prompt, which open the board from anywhere. */
export const ENTRIES = [
  { id: "kagan.board.open", keys: ["<leader>k"], slash: "kagan", title: "Kagan: open the board" },
  { id: "kagan.task.new", keys: [], slash: "kagan-new", title: "Kagan: new task" },
  { id: "kagan.stats.open", keys: [], slash: "kagan-stats", title: "Kagan: statistics" },
  { id: "kagan.tour.open", keys: [], slash: "kagan-tour", title: "Kagan: a tour of the board" },
  { id: "kagan.task.import", keys: [], slash: "kagan-import", title: "Kagan: import a checklist" },
  { id: "kagan.settings.open", keys: [], slash: "kagan-settings", title: "Kagan: settings" },
  { id: "kagan.doctor.open", keys: [], slash: "kagan-doctor", title: "Kagan: doctor" },
  { id: "kagan.update.open", keys: [], slash: "kagan-update", title: "Kagan: look for a newer version" },
] as const

export type EntryID = (typeof ENTRIES)[number]["id"]

const SPELLED: Readonly<Record<string, string>> = {
  return: "Enter",
  escape: "Esc",
  space: "Space",
  left: "←",
  right: "→",
  up: "↑",
  down: "↓",
  pageup: "PgUp",
  pagedown: "PgDn",
  "shift+down": "shift+↓",
  "shift+up": "shift+↑",
  home: "Home",
  end: "End",
  comma: ",",
  tab: "Tab",
  backspace: "Backspace",
}

/** A key as a person reads it. */
export function spellKey(key: string): string {
  const shifted = /^shift\+([a-z])$/.exec(key)
  return shifted ? shifted[1]!.toUpperCase() : (SPELLED[key] ?? key.replace(/\+return$/, "+enter"))
}
