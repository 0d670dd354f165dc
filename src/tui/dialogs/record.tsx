import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** Asks where the review record goes; where it went is told by the notice. */
export function openRecord(app: App, card: Card) {
  openDialog(app, () => (
    <TextDialog
      title={`Review record of #${card.entry.meta.taskNumber}`}
      about={
        "Markdown and JSON: what was asked, agreed, found, ruled, checked and merged, credentials masked.\n" +
        "A path without ending, from the repository's folder; empty: in .git/kagan/records."
      }
      placeholder="docs/reviews/12"
      hint="Enter writes · Esc cancels"
      submit={(text) => {
        app.host.ui.dialog.clear()
        const path = text.trim()
        void app.act(card, "writing its record", "task.record", {
          sessionID: card.id,
          ...(path === "" ? {} : { path }),
        })
        return undefined
      }}
    />
  ))
}
