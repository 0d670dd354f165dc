import { judgeSendBack, refusalText } from "../../core/rules.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { TextDialog } from "../ui/dialog.tsx"

/** Sends the findings ruled "fix" back to the agent, with a note of the person's own if they like. */
export function openSendBack(app: App, card: Card) {
  const { meta } = card.entry
  openDialog(app, () => (
    <TextDialog
      title={`Send #${meta.taskNumber} back`}
      about={aboutSendBack(card, app.options().sendBack.stopThreshold)}
      placeholder="A note of your own (may be empty when a finding is to be fixed)"
      submit={(text) => {
        const note = text.trim()
        const verdict = judgeSendBack(meta, note)
        if (!verdict.ok) return refusalText(verdict.error)
        app.host.ui.dialog.clear()
        void app
          .act(card, "sending back", "task.sendBack", { sessionID: card.id, ...(note === "" ? {} : { note }) })
          .then((answer) => answer.ok && app.backToBoard())
        return undefined
      }}
    />
  ))
}

function aboutSendBack(card: Card, threshold: number): string {
  const { meta } = card.entry
  const rulings = card.validator()?.rulings ?? []
  const fix = rulings.filter(({ disposition }) => disposition === "fix").map(({ finding }) => finding)
  const findings = (card.validator()?.findings ?? []).filter(({ id }) => fix.includes(id))
  const lines = findings.map(({ id, title }) => `${id} ${title}`)
  const many = meta.generation >= threshold ? [`This is try ${meta.generation}: is another one worth it?`] : []
  return [
    ...many,
    lines.length > 0 ? "The agent gets:" : 'No finding is ruled "fix": only your note goes back.',
    ...lines,
  ].join("\n")
}
