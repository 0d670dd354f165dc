import type { Status } from "../../src/core/task.ts"
import { cardIn } from "../../test/kit/screen-board.ts"
import type { Seen, Terminal } from "../../test/kit/terminal.ts"

/** A busy machine takes its time; a demo that fails for that shows nothing. */
const PATIENCE = 180_000

/** Someone who uses the board by its keys and goes on only when the screen shows what they wait for. */
export interface Pilot {
  sees(what: Seen): Promise<string>
  gone(what: Seen): Promise<string>
  /** Waits until the card stands in that column with that state, and answers the screen. */
  card(number: number, status: Status, state: RegExp): Promise<string>
  /** Waits for the board, connected to its server half. */
  boards(): Promise<string>
  /** Writes a task into the create dialog; answers the screen before Enter. */
  writes(title: string, description: string): Promise<string>
  /** Approves the decisions of the selected card one after the other; answers the screen with the first. */
  agrees(questions: readonly string[]): Promise<string>
}

export function makePilot(tui: Terminal, patience = PATIENCE): Pilot {
  const pilot: Pilot = {
    sees: (what) => tui.waitFor(what, patience),
    gone: (what) => tui.waitGone(what, patience),
    card: (number, status, state) => pilot.sees(cardIn(number, status, state)),
    async boards() {
      await pilot.sees(/makes the first task/)
      return pilot.gone(/waiting for|look only/)
    },
    async writes(title, description) {
      await tui.press("n")
      await pilot.sees("New task")
      await tui.type(title)
      await tui.press("tab")
      await tui.type(description)
      const screen = await pilot.sees(description.slice(0, 20))
      await tui.press("enter")
      await pilot.gone("New task")
      return screen
    },
    async agrees(questions) {
      await tui.press("i")
      let first: string | undefined
      for (const question of questions) {
        const screen = await pilot.sees(question)
        first ??= screen
        await tui.press("enter")
      }
      await pilot.gone("Enter approve")
      return first ?? tui.screen()
    },
  }
  return pilot
}
