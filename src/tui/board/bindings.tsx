import type { Binding } from "@opentui/keymap"
import type { KeyEvent, Renderable } from "@opentui/core"
import { BOARD_ROUTE, type App } from "../app.tsx"
import type { Commands } from "./commands.tsx"
import { COMMANDS, ENTRIES } from "./keys.ts"
import { bindableKeys } from "./rebinding.ts"

/**
 * Puts the table into the host's keymap: the board's keys only on the board and never under a dialog, the entries
 * everywhere. Returns the disposer.
 */
export function registerKeys(app: App, commands: Commands): () => void {
  const { keymap, route } = app.host
  const bindings = COMMANDS.flatMap((row) =>
    bindableKeys(app.rebinding, row.id).map((key): Binding<Renderable, KeyEvent> => ({
      key,
      cmd: row.id,
      desc: row.title,
      group: "Kagan",
    })),
  )
  const offBoard = keymap.registerLayer({
    mode: "base",
    enabled: () => route.current.name === BOARD_ROUTE,
    commands: COMMANDS.map((row) => ({
      name: row.id,
      title: row.title,
      category: "Kagan",
      run: () => commands.run(row.id),
    })),
    bindings,
  })
  const offEntries = keymap.registerLayer({
    commands: ENTRIES.map(({ id, slash, title }) => ({
      name: id,
      title,
      category: "Kagan",
      namespace: "palette",
      slashName: slash,
      suggested: true,
      run: () => commands.enter(id),
    })),
    bindings: ENTRIES.flatMap(({ id, title }) =>
      bindableKeys(app.rebinding, id).map((key) => ({ key, cmd: id, desc: title, group: "Kagan" })),
    ),
  })
  return () => {
    offBoard()
    offEntries()
  }
}
