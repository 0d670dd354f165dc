import { backOf, forwardOf } from "../../core/rules.ts"
import type { Status } from "../../core/task.ts"
import { BOARD_ROUTE, type App } from "../app.tsx"
import { agentCommands } from "./commands/agent.tsx"
import { makeDesk, type Behaviour } from "./commands/behaviour.tsx"
import { boardCommands } from "./commands/board.tsx"
import { moveAround } from "./commands/move-around.tsx"
import { reviewCommands } from "./commands/review.tsx"
import { taskCommands } from "./commands/task.tsx"
import { openDoctor } from "../care/doctor.tsx"
import { openUpdate } from "../care/update.tsx"
import { openSettings } from "../care/settings.tsx"
import { openStats } from "../dialogs/stats.tsx"
import { openImport } from "../dialogs/import.tsx"
import type { CommandID, EntryID } from "./keys.ts"
import { keysOf } from "./rebinding.ts"
import type { Card } from "./store.tsx"

export type Commands = ReturnType<typeof createCommands>

/**
 * What each command of the table in `keys.ts` does, and when it may: the same rules as the server half asks, before it
 * is asked. A command is a row there and a behaviour of the same id in its group's file under `commands/`.
 */
export function createCommands(app: App) {
  const { board, selection } = app
  const desk = makeDesk(app, (id) => commands.run(id))

  const table: Readonly<Record<CommandID, Behaviour>> = {
    ...moveAround(desk),
    ...taskCommands(desk),
    ...agentCommands(desk),
    ...reviewCommands(desk),
    ...boardCommands(desk, () => commands),
  }

  /** Commands from anywhere: the host's palette and its prompt. */
  const entries: Readonly<Record<EntryID, () => void>> = {
    "kagan.board.open": openBoard,
    "kagan.task.new"() {
      openBoard()
      commands.run("kagan.new")
    },
    "kagan.stats.open": () => openStats(app),
    "kagan.tour.open"() {
      openBoard()
      app.tour.start()
    },
    "kagan.task.import"() {
      openBoard()
      openImport(app)
    },
    "kagan.settings.open": () => openSettings(app),
    "kagan.doctor.open": () => openDoctor(app),
    "kagan.update.open": () => openUpdate(app),
  }

  function openBoard() {
    app.host.route.navigate(BOARD_ROUTE)
  }

  const selected = () => {
    const id = selection.card()
    return id === undefined ? undefined : board.card(id)
  }

  const commands = {
    selected,
    when: (id: CommandID, card: Card | undefined = selected()) => table[id].when?.(card),
    /** Other words for the footer than those of the table. */
    hint: (id: CommandID, card: Card) => table[id].hint?.(card),
    /** Runs it, or says why not. */
    run(id: CommandID, card: Card | undefined = selected()) {
      // The cursor stays on the card that the person acts upon, wherever it goes, also if they never moved it.
      if (card && card.id === selection.card()) selection.select(card.id)
      const why = table[id].when?.(card)
      if (why === undefined) return table[id].run(card)
      const taskNumber = card?.entry.meta.taskNumber
      app.tell({
        level: "warning",
        text: why,
        key: "refused",
        ...(taskNumber ? { taskNumber } : {}),
      })
    },
    enter: (id: EntryID) => entries[id](),
    /** A card let go over a column: the same gate as by key, and the same questions. */
    drop(id: string, to: Status) {
      const card = board.card(id)
      if (!card || card.column() === to) return
      selection.select(id)
      const from = card.column()
      if (to === "done" && from === "review") return commands.run("kagan.approve", card)
      if (to === forwardOf(from)) return commands.run("kagan.forward", card)
      if (to === backOf(from)) return commands.run("kagan.back", card)
      const why = app.unable() ?? desk.judged(card, to)
      const { taskNumber } = card.entry.meta
      if (why !== undefined) return app.tell({ level: "warning", text: why, key: "refused", taskNumber })
      return void desk.move(card, to, true)
    },
    keys: (id: CommandID): readonly string[] => keysOf(app.rebinding, id),
  }
  return commands
}
