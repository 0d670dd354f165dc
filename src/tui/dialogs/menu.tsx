import { openDialog, type App } from "../app.tsx"
import type { Commands } from "../board/commands.tsx"
import { COMMANDS, spellKey } from "../board/keys.ts"
import type { Card } from "../board/store.tsx"
import { Choices, DialogFrame, useDialogSpace, type Choice } from "../ui/dialog.tsx"

/** Everything that can be done with a card, each with its key, and what cannot with the reason; without a card, what the board can do. */
export function openMenu(app: App, commands: Commands, card: Card | undefined) {
  const ofBoard = (row: (typeof COMMANDS)[number]) =>
    row.group !== "Move around" && row.id !== "kagan.menu" && commands.when(row.id, undefined) === undefined
  const ofCard = (row: (typeof COMMANDS)[number]) => ("menu" in row ? row.menu : false)
  const choices = COMMANDS.filter(card ? ofCard : ofBoard).map((row): Choice => {
    const not = commands.when(row.id, card)
    const key = commands.keys(row.id)[0]
    return {
      title: row.title,
      ...(key === undefined ? {} : { key: spellKey(key) }),
      ...(not === undefined ? {} : { not }),
      choose() {
        app.host.ui.dialog.clear()
        commands.run(row.id, card)
      },
    }
  })
  choices.sort((a, b) => Number(a.not !== undefined) - Number(b.not !== undefined))
  const title = card ? `#${card.entry.meta.taskNumber} ${card.entry.title}` : "The board"
  openDialog(app, () => <Menu title={title} choices={choices} />, "large")
}

function Menu(props: { readonly title: string; readonly choices: readonly Choice[] }) {
  const space = useDialogSpace("large")
  return (
    <DialogFrame title={props.title} size="large">
      <Choices
        choices={props.choices}
        width={space.width()}
        rows={space.rows()}
        placeholder="Type to narrow the actions"
      />
    </DialogFrame>
  )
}
