import { createEffect, on, untrack } from "solid-js"

/** More than a hand presses while it waits; what is beyond is held down. */
const MOST = 20

/**
 * Moves that were pressed before there were lines to move in: they are made when the lines are there, in their order.
 * Only moves wait; whatever else is done acts on what is seen, and gives up those that were not made yet.
 */
export function createEarlyMoves(isWaiting: () => boolean) {
  let held: (() => void)[] = []
  createEffect(
    on(isWaiting, () =>
      untrack(() => {
        while (held.length > 0 && !isWaiting()) held.shift()!()
      }),
    ),
  )
  return {
    /** Makes the move now, or once there is something to move in. */
    make(move: () => void) {
      if (!isWaiting()) move()
      else if (held.length < MOST) held.push(move)
    },
    drop() {
      held = []
    },
  }
}
