import { ENTRIES } from "../../src/tui/board/keys.ts"
import { COMMANDS, REVIEW_COMMANDS, type CommandRow, type EntryID } from "../../src/tui/board/keys.ts"
import { DIALOG_COMMANDS, FORM_COMMANDS } from "../../src/tui/board/dialog-keys.ts"
import type { AnyCommandID } from "../../src/tui/board/rebinding.ts"
import type { Seen, Terminal } from "./terminal.ts"

type Row = Pick<CommandRow, "keys" | "title"> & { readonly id: AnyCommandID; readonly slash?: string }

/** Every command that there is, from all parts of the table. */
export const ALL_COMMANDS: readonly Row[] = [
  ...ENTRIES,
  ...COMMANDS,
  ...REVIEW_COMMANDS,
  ...FORM_COMMANDS,
  ...DIALOG_COMMANDS,
]

/**
 * Does a command of the table as a person does, by its first key, by its word in the host's prompt, or from the action
 * menu, and waits for what it brings about. That must not be there before, or it would prove nothing. Answers the screen.
 */
export async function command(tui: Terminal, id: AnyCommandID, brings: Seen): Promise<string> {
  if (sees(tui, brings)) throw new Error(`${id}: ${brings} is there before it\n${tui.screen()}`)
  const { keys, title, slash } = ALL_COMMANDS.find((row) => row.id === id)!
  const [key] = keys
  if (key !== undefined) await tui.press(...pressed(key))
  else if (slash !== undefined) await tui.slash(slash as EntryID)
  else await fromMenu(tui, title)
  return tui.waitFor(brings)
}

async function fromMenu(tui: Terminal, title: string) {
  await tui.press("enter")
  await tui.waitFor("Type to narrow the actions")
  await tui.type(title)
  await tui.waitFor(`▌${title}`)
  await tui.press("enter")
}

const NAMED: Readonly<Record<string, string>> = { return: "enter", escape: "esc", comma: "," }

/** A key of the table as the terminal's kit takes it. */
function pressed(key: string): readonly string[] {
  const led = /^<leader>(.+)$/.exec(key)
  if (led) return ["ctrl+x", ...pressed(led[1]!)]
  const capital = /^shift\+([a-z])$/.exec(key)
  if (capital) return [capital[1]!.toUpperCase()]
  return [NAMED[key] ?? key.replace(/\breturn$/, "enter")]
}

function sees(tui: Terminal, seen: Seen): boolean {
  const screen = tui.screen()
  return typeof seen === "string"
    ? screen.includes(seen)
    : typeof seen === "function"
      ? seen(screen)
      : seen.test(screen)
}
