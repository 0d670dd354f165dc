import { displayableLines } from "../../core/text.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** Title on the first line, description below it. */
export function openEdit(app: App, card: Card, remember: (text: string, undo: () => void) => void) {
  const { meta, title } = card.entry
  const description = meta.description ?? ""
  const initial = description === "" ? title : `${title}\n${description}`
  // What is shown may differ from what is stored: only what was really edited is sent.
  const shown = displayableLines(initial).join("\n")
  const send = (next: { title: string; description?: string }) =>
    app.act(card, "saving", "task.edit", { sessionID: card.id, ...next })
  openDialog(
    app,
    () => (
      <TextDialog
        title={`Edit #${meta.taskNumber}`}
        about={
          meta.descriptionFile
            ? "The title; its long description stays as it is."
            : "Title on the first line, description below."
        }
        initial={initial}
        submit={(text) => {
          const [first = "", ...rest] = text.split("\n")
          if (first.trim() === "") return "a title needs at least one visible character"
          app.host.ui.dialog.clear()
          const next = { title: first.trim(), ...(meta.descriptionFile ? {} : { description: rest.join("\n").trim() }) }
          if (text === shown) return undefined
          void send(next).then((answer) => {
            if (answer.ok) remember(`edit of #${meta.taskNumber}`, () => void send({ title, description }))
          })
          return undefined
        }}
      />
    ),
    "large",
  )
}
