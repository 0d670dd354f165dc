import { judgeChecklist, parseChecklist, type Import } from "../../core/checklist.ts"
import { plural } from "../../core/board.ts"
import { MAX_TASKS } from "../../core/planning.ts"
import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, TextDialog, useDialogSpace, type Choice } from "../ui/dialog.tsx"

/** Takes a pasted Markdown checklist, shows what would become of each line, and creates the tasks on the person's word. */
export function openImport(app: App) {
  const why = app.unable()
  if (why !== undefined) return app.tell({ level: "warning", text: why, key: "refused" })
  openPaste(app, "")
}

function openPaste(app: App, initial: string) {
  openDialog(
    app,
    () => (
      <TextDialog
        title="Import a checklist"
        size="large"
        about="Paste it in Markdown: each “- [ ] title” is a task, what is indented below it its description. Nothing is created before you have seen what would be."
        placeholder="- [ ] Greet the reader"
        initial={initial}
        hint="Enter shows what would be created · shift+enter or ctrl+j new line · Esc cancels"
        submit={(text) => {
          const items = parseChecklist(text)
          if (items.length === 0) return "no line of it is an item such as “- [ ] title”"
          preview(app, judgeChecklist(items, titlesOf(app)), text)
          return undefined
        }}
      />
    ),
    "large",
  )
}

/** Of everything that is on the board, archived and trashed too, and of what is being created. */
function titlesOf(app: App): readonly string[] {
  const { tasks, drafts } = app.board.state
  return [
    ...Object.values(tasks).map(({ title }) => title),
    ...drafts.flatMap((draft) => [draft.title, ...draft.tasks.map(({ title }) => title)]),
  ]
}

function preview(app: App, items: readonly Import[], text: string) {
  openDialog(app, () => <Preview app={app} items={items} text={text} />, "large")
}

const WHY = { known: "on the board already", done: "ticked off" } as const

function Preview(props: { readonly app: App; readonly items: readonly Import[]; readonly text: string }) {
  const { app, items, text } = props
  const space = useDialogSpace("large")
  const fresh = items.filter(({ verdict }) => verdict === "new")
  const taken = fresh.slice(0, MAX_TASKS)
  const rest = fresh.length - taken.length
  const later = rest > 0 ? `; ${rest} more with another import of the same list` : ""
  const create = () => void createAll(app, taken)
  const choices: Choice[] = [
    taken.length > 0
      ? { title: `Create ${plural(taken.length, "task")}${later}`, key: "y", choose: create }
      : { title: "There is nothing to create", not: "every item is done or on the board", choose: () => {} },
    { title: "Change the list", key: "e", choose: () => openPaste(app, text) },
    ...items.map(({ title, description, verdict }): Choice => ({
      title: verdict === "new" ? `+ ${title}` : `  ${title}`,
      ...(verdict === "new" ? {} : { not: WHY[verdict] }),
      ...(description === "" ? {} : { detail: description }),
      choose: () => {},
    })),
  ]
  return (
    <DialogFrame
      title={`Import: ${plural(items.length, "item")}`}
      size="large"
      hint="Enter or its key chooses · Esc cancels"
    >
      <Choices choices={choices} width={space.width()} rows={space.rows()} filter={false} />
    </DialogFrame>
  )
}

async function createAll(app: App, items: readonly Import[]) {
  app.host.ui.dialog.clear()
  const key = "import"
  app.tell({ level: "info", text: `creating ${plural(items.length, "task")} …`, key })
  const tasks = items.map(({ title, description }) => ({ title, description }))
  const draftID = crypto.randomUUID()
  const ended = app.board.startMaking({ id: draftID, titles: tasks.map(({ title }) => title) })
  const answer = await app.ask("tasks.create", { draftID, tasks })
  ended()
  app.tell(
    answer.ok
      ? { level: "success", text: answer.value.text, key }
      : { level: "error", text: `nothing was created: ${answer.error.text}`, key },
  )
}
