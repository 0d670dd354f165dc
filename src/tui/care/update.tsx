import { openDialog, type App } from "../app.tsx"
import { Choices, DialogFrame, Paragraph, useDialogSpace } from "../ui/dialog.tsx"

/** Asks the registry now, whatever the day's check said, and offers what is newer. */
export function openUpdate(app: App) {
  say(app, "Asking the registry …")
  void app.updates.check().then((answer) => {
    if (!answer.ok) return say(app, answer.error.text)
    const { value } = answer
    if (value.kind !== "newer") return say(app, value.text)
    openDialog(app, () => <Offer app={app} text={value.text} version={value.version} />, "large")
  })
}

function say(app: App, text: string) {
  openDialog(app, () => <Said text={text} />, "large")
}

function Said(props: { readonly text: string }) {
  const space = useDialogSpace("large")
  return (
    <DialogFrame title="Kagan: update" size="large" hint="Esc closes">
      <Paragraph text={props.text} width={space.width()} most={space.rows()} />
    </DialogFrame>
  )
}

function Offer(props: { readonly app: App; readonly text: string; readonly version: string }) {
  const space = useDialogSpace("large")
  const { app, version } = props
  function install() {
    say(app, `Trying ${version} …`)
    void app.updates.install(version).then((answer) => say(app, answer.ok ? answer.value.text : answer.error.text))
  }
  return (
    <DialogFrame title="Kagan: update" size="large" hint="Enter or its key chooses · Esc cancels">
      <Paragraph text={`${props.text}.`} width={space.width()} most={3} />
      <Paragraph
        text="The new version is named in both config files and tried out; it runs after a restart of OpenCode. Sessions, worktrees and settings stay."
        width={space.width()}
        most={3}
        tone="muted"
      />
      <Choices
        filter={false}
        width={space.width()}
        rows={2}
        choices={[
          { title: "Not now", key: "n", choose: () => app.host.ui.dialog.clear() },
          { title: `Update to ${version}`, key: "y", choose: install },
        ]}
      />
    </DialogFrame>
  )
}
