import type { DraftReply } from "../../core/protocol.ts"
import { openDialog, type App } from "../app.tsx"
import { TaskDialog } from "./task-dialog.tsx"
import {
  asideForm,
  endSending,
  formOf,
  keepAside,
  keepForm,
  startingForm,
  startSending,
  taskOf,
  type DraftForm,
} from "./task-form.ts"

/**
 * The dialog for a new task; a `draft` that did not become one is taken up again under its id. What is typed into it is
 * kept under `from`, beside what `n` keeps.
 */
export function openCreate(app: App, draft?: DraftReply, from = draft?.id) {
  if (draft && draft.tasks.length > 1)
    return app.tell({ level: "info", text: "several tasks: r creates all, d discards them", key: draft.id })
  const kept = draft?.tasks[0]
  const begun = from === undefined ? undefined : asideForm(app, from)
  const { draftID, ...initial } =
    begun ??
    (draft
      ? { ...formOf(kept ?? { title: draft.title, description: draft.description }), draftID: draft.id }
      : startingForm(app))
  openDialog(
    app,
    () => (
      <TaskDialog
        app={app}
        name="New task"
        initial={initial}
        keep={(form) =>
          from === undefined ? keepForm(app, { ...form, draftID }) : keepAside(app, from, { ...form, draftID })
        }
        send={(form, waiver) => void create(app, { ...form, draftID }, waiver, from)}
        starts
      />
    ),
    "large",
  )
}

async function create(app: App, form: DraftForm, waiver: string | undefined, from: string | undefined) {
  const { draftID } = form
  app.tell({ level: "info", text: `creating: ${form.title.trim()}`, key: draftID })
  startSending(app, form, from)
  const start = waiver === undefined ? {} : { start: { waiver } }
  const ended = app.board.startMaking({ id: draftID, titles: [form.title] })
  const answer = await app.ask("task.create", { draftID, ...taskOf(form), ...start })
  ended()
  const { ok: created } = answer
  const other = !answer.ok && answer.error.kind === "refused" && answer.error.refusal.kind === "made_already"
  endSending(app, form, created, from, other)
  if (!answer.ok) {
    const text = `not created: ${answer.error.text} (${from === undefined ? "n" : "where you began it"} has what you typed)`
    return app.tell({ level: "error", text, key: draftID })
  }
  app.selection.expect(answer.value.sessionID)
  app.tell({ level: "success", text: answer.value.text, taskNumber: answer.value.taskNumber, key: draftID })
}
