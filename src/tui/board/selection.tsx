import { createMemo, createSignal, type Accessor } from "solid-js"
import { STATUSES, type Status } from "../../core/task.ts"

export type Columns = Readonly<Record<Status, readonly string[]>>
type Place = { readonly column: Status; readonly index: number; readonly card: string | undefined }

/**
 * The cursor. It keeps its card wherever the card goes; only when the card is gone does it rest on the one that took
 * its place.
 */
export function createSelection(columns: Accessor<Columns>) {
  const [wanted, want] = createSignal<{ card?: string; column?: Status; index: number }>({ index: 0 })

  const place = createMemo(
    (): Place => {
      const { card, index } = wanted()
      const found = card === undefined ? undefined : find(columns(), card)
      if (found) return found
      // Until the person moved it, the cursor stands on the first card there is.
      const column = wanted().column ?? STATUSES.find((status) => columns()[status].length > 0) ?? "backlog"
      const ids = columns()[column]
      const at = Math.max(0, Math.min(index, ids.length - 1))
      return { column, index: at, card: ids[at] }
    },
    undefined,
    { equals: samePlace },
  )

  /** Remembers where the cursor stands, so that it stays there when its card goes. */
  function rest(next: { column: Status; index: number }) {
    const ids = columns()[next.column]
    const index = Math.max(0, Math.min(next.index, ids.length - 1))
    want({ column: next.column, index, ...(ids[index] === undefined ? {} : { card: ids[index] }) })
  }

  return {
    card: () => place().card,
    column: () => place().column,
    index: () => place().index,
    select(card: string) {
      const found = find(columns(), card)
      if (found) rest(found)
    },
    /** Selects a card that may not be listed yet; the cursor goes there when it is. */
    expect: (card: string) => want({ ...place(), card }),
    goTo: (column: Status, index = 0) => rest({ column, index }),
    vertical: (step: number) => rest({ column: place().column, index: place().index + step }),
    horizontal(step: number) {
      const at = STATUSES.indexOf(place().column) + step
      const column = STATUSES[Math.max(0, Math.min(at, STATUSES.length - 1))]!
      if (column !== place().column) rest({ column, index: place().index })
    },
    first: () => rest({ column: place().column, index: 0 }),
    last: () => rest({ column: place().column, index: Number.MAX_SAFE_INTEGER }),
    /** The next of these cards after the cursor, in reading order, round the end. */
    nextOf(cards: readonly string[]) {
      const current = place().card
      const at = current === undefined ? -1 : cards.indexOf(current)
      const order = STATUSES.flatMap((status) => columns()[status])
      const here = current === undefined ? -1 : order.indexOf(current)
      const next = at >= 0 ? cards[(at + 1) % cards.length] : (cards.find((id) => order.indexOf(id) > here) ?? cards[0])
      if (next !== undefined) this.select(next)
      return next
    },
  }
}

function samePlace(a: Place | undefined, b: Place): boolean {
  return a?.card === b.card && a?.column === b.column && a?.index === b.index
}

function find(columns: Columns, card: string) {
  for (const column of STATUSES) {
    const index = columns[column].indexOf(card)
    if (index >= 0) return { column, index, card }
  }
  return undefined
}
