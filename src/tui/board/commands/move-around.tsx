import { STATUSES } from "../../../core/task.ts"
import type { BehavioursOf, Desk } from "./behaviour.tsx"

/** The cursor's way over the board. */
export function moveAround({ app }: Desk): BehavioursOf<"Move around"> {
  const { board, selection } = app
  return {
    "kagan.left": { run: () => selection.horizontal(-1) },
    "kagan.right": { run: () => selection.horizontal(1) },
    "kagan.down": { run: () => selection.vertical(1) },
    "kagan.up": { run: () => selection.vertical(-1) },
    "kagan.first": { run: () => selection.first() },
    "kagan.last": { run: () => selection.last() },
    "kagan.page.down": {
      run: () => (app.pane() ? app.setPaneTop(app.paneTop() + 10) : selection.vertical(5)),
    },
    "kagan.page.up": { run: () => (app.pane() ? app.setPaneTop(app.paneTop() - 10) : selection.vertical(-5)) },
    "kagan.column.1": { run: () => selection.goTo(STATUSES[0]) },
    "kagan.column.2": { run: () => selection.goTo(STATUSES[1]) },
    "kagan.column.3": { run: () => selection.goTo(STATUSES[2]) },
    "kagan.column.4": { run: () => selection.goTo(STATUSES[3]) },
    "kagan.next": {
      when: () => (board.needing().length === 0 ? "nothing needs you" : undefined),
      run: () => void selection.nextOf(board.needing()),
    },
  }
}
