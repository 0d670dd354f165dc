import type { Renderable } from "@opentui/core"
import { createSignal } from "solid-js"
import type { Status } from "../../core/task.ts"

export type At = { readonly x: number; readonly y: number }
export type Hand = ReturnType<typeof makeHand>

/**
 * The mouse with a card: pressed and let go on it is a click, let go over another column is a move. The host tells the
 * release also to whatever the drag was captured by, so that each listener asks where the mouse really is.
 */
export function makeHand(acts: {
  readonly click: (card: string) => void
  readonly drop: (card: string, status: Status) => void
}) {
  const [held, setHeld] = createSignal<string>()
  const [dragging, setDragging] = createSignal(false)

  function letGo(): string | undefined {
    const card = held()
    setHeld(undefined)
    setDragging(false)
    return card
  }

  return {
    /** A card is held and the mouse has moved. */
    dragging: () => held() !== undefined && dragging(),
    press: (card: string) => void setHeld(card),
    drag: () => void (held() !== undefined && setDragging(true)),
    /** Let go on a card. */
    release(card: string, box: Renderable | undefined, at: At) {
      if (held() !== card || !isInside(box, at)) return
      letGo()
      acts.click(card)
    },
    /** Let go somewhere in a column; `column` is where the held card stands. */
    releaseOver(status: Status, column: (card: string) => Status | undefined, box: Renderable | undefined, at: At) {
      if (!isInside(box, at)) return
      const card = letGo()
      if (card !== undefined && column(card) !== status) acts.drop(card, status)
    },
  }
}

function isInside(box: Renderable | undefined, { x, y }: At): boolean {
  return box !== undefined && x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height
}
