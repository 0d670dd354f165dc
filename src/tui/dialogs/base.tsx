import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { Choices, DialogFrame, Paragraph, useDialogSpace } from "../ui/dialog.tsx"

/** Which branch takes the place of a base that is gone: it is brought into the task's branch, and is its base from then on. */
export function openBase(app: App, card: Card) {
  const { taskNumber, baseBranch } = card.entry.meta
  void app.ask("base.list", {}).then((answer) => {
    if (!answer.ok) return app.tell({ level: "error", text: answer.error.text, taskNumber })
    const { branches, proposed } = answer.value
    const choose = (base: string) => {
      app.host.ui.dialog.clear()
      void app.act(card, `updating from ${base}`, "task.update", { sessionID: card.id, base })
    }
    openDialog(app, () => {
      const space = useDialogSpace()
      return (
        <DialogFrame title={`Another base for #${taskNumber}?`} hint="Enter chooses · Esc cancels">
          <Paragraph
            text={`There is no branch ${baseBranch} any more. The one you choose is brought into the task's branch, and what is reviewed is what differs from it.`}
            width={space.width()}
            tone="muted"
            most={3}
          />
          <Choices
            choices={branches.map((branch) => ({
              title: branch,
              ...(branch === proposed ? { note: "proposed" } : {}),
              choose: () => choose(branch),
            }))}
            width={space.width()}
            rows={space.rows() - 3}
          />
        </DialogFrame>
      )
    })
  })
}
