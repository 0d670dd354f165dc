import { openDialog, type App } from "../app.tsx"
import { spellKey, type CommandID, type CommandRow, type ReviewCommandID } from "../board/keys.ts"
import { keysOf } from "../board/rebinding.ts"
import { Choices, DialogFrame, useDialogSpace } from "../ui/dialog.tsx"

type Row = CommandRow & { readonly id: CommandID | ReviewCommandID }

/** Every key of a screen, from its table; Enter does it. */
export function openHelpOf(app: App, rows: readonly Row[], run: (id: Row["id"]) => void) {
  openDialog(app, () => <Help app={app} rows={rows} run={run} />, "large")
}

function Help(props: { readonly app: App; readonly rows: readonly Row[]; readonly run: (id: Row["id"]) => void }) {
  const space = useDialogSpace("large")
  const choices = props.rows.map((row) => ({
    title: row.title,
    group: row.group,
    key: keysOf(props.app.rebinding, row.id).map(spellKey).join(" ") || "menu",
    choose() {
      props.app.host.ui.dialog.clear()
      props.run(row.id)
    },
  }))
  return (
    <DialogFrame title={`Kagan ${props.app.version}: keys`} size="large" hint="Enter does it · Esc closes">
      <Choices choices={choices} width={space.width()} rows={space.rows()} placeholder="Type to find a key" />
    </DialogFrame>
  )
}
