import { openDialog, type App } from "../app.tsx"
import { isRunning, type Card } from "../board/store.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** A word to the agent: it reads it while it works, and starts with it when it does not. */
export function openTell(app: App, card: Card) {
  const { meta, title } = card.entry
  openDialog(app, () => (
    <TextDialog
      title={`Tell the agent of #${meta.taskNumber}`}
      about={`${title}\n${isRunning(card) ? "It works: it reads this at its next step." : "It does not work now: this starts it."}`}
      placeholder="What it should know or do"
      submit={(text) => {
        if (text.trim() === "") return "there is nothing to tell yet"
        app.host.ui.dialog.clear()
        void app.act(card, "telling", "task.tell", { sessionID: card.id, text: text.trim() })
        return undefined
      }}
    />
  ))
}
