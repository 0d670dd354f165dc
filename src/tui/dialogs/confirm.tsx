import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, Paragraph, useDialogSpace } from "../ui/dialog.tsx"

export type Confirmation = {
  readonly title: string
  /** What is lost, or what happens. */
  readonly text: string
  /** The safe choice, which comes first. */
  readonly no: string
  readonly yes: string
  readonly confirm: () => void
}

/** Asks only where something would be lost; Enter alone keeps everything as it is. */
export function openConfirm(app: App, confirmation: Confirmation) {
  openDialog(app, () => <Confirm app={app} confirmation={confirmation} />)
}

function Confirm(props: { readonly app: App; readonly confirmation: Confirmation }) {
  const space = useDialogSpace()
  const { title, text, no, yes, confirm } = props.confirmation
  const close = () => props.app.host.ui.dialog.clear()
  const act = () => {
    close()
    confirm()
  }
  return (
    <DialogFrame title={title}>
      <Paragraph text={text} width={space.width()} tone="muted" most={Math.max(1, space.rows() - 2)} />
      <Choices
        filter={false}
        width={space.width()}
        rows={2}
        choices={[
          { title: no, key: "n", choose: close },
          { title: yes, key: "y", choose: act },
        ]}
      />
    </DialogFrame>
  )
}
