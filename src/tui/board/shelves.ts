import { columnOf, STATUSES, type Status, type TaskMeta } from "../../core/task.ts"

export type Shelf = "active" | "archived" | "trashed"
type Columns = Readonly<Record<Status, readonly string[]>>
type Placed = {
  readonly id: string
  readonly shelf: Shelf
  readonly column: Status
  readonly order: number
  readonly number: number
}

/**
 * Which card stands where: the columns of each shelf, kept in order. A card that comes, goes or moves is the only one
 * that is looked at; a list that it does not touch stays the very same list.
 */
export function makeShelves() {
  const places = new Map<string, Placed>()
  /** A copy of the repository may have its own task of the same number. */
  const numbers = new Map<number, Set<string>>()
  const sorted = byShelf((): Record<Status, Placed[]> => byStatus(() => []))
  const lists = byShelf((): Record<Status, readonly string[] | undefined> => byStatus(() => undefined))
  const columns: Record<Shelf, Columns | undefined> = byShelf(() => undefined)

  function touch({ shelf, column }: Placed) {
    lists[shelf][column] = undefined
    columns[shelf] = undefined
  }

  function remove(id: string): boolean {
    const place = places.get(id)
    if (!place) return false
    places.delete(id)
    const same = numbers.get(place.number)
    same?.delete(id)
    if (same?.size === 0) numbers.delete(place.number)
    const list = sorted[place.shelf][place.column]
    list.splice(rankOf(list, place), 1)
    touch(place)
    return true
  }

  return {
    /** Puts a card where its task says; false when it stands there already. */
    put(id: string, meta: TaskMeta): boolean {
      const next = placeOf(id, meta)
      if (samePlace(places.get(id), next)) return false
      remove(id)
      places.set(id, next)
      const same = numbers.get(next.number)
      if (same) same.add(id)
      else numbers.set(next.number, new Set([id]))
      const list = sorted[next.shelf][next.column]
      list.splice(rankOf(list, next), 0, next)
      touch(next)
      return true
    },
    /** Takes a card away; false when there was none. */
    remove,
    /** How many cards there are on all shelves. */
    total: () => places.size,
    byNumber: (number: number) => [...(numbers.get(number) ?? [])].at(-1),
    columns(shelf: Shelf): Columns {
      const list = (status: Status) => (lists[shelf][status] ??= sorted[shelf][status].map(({ id }) => id))
      return (columns[shelf] ??= byStatus(list))
    },
  }
}

function placeOf(id: string, meta: TaskMeta): Placed {
  return {
    id,
    shelf: meta.trashedAt ? "trashed" : meta.archivedAt ? "archived" : "active",
    column: columnOf(meta),
    order: meta.order,
    number: meta.taskNumber,
  }
}

function samePlace(a: Placed | undefined, b: Placed): boolean {
  return a?.shelf === b.shelf && a.column === b.column && a.order === b.order && a.number === b.number
}

/** At work in the person's own order, put away newest first; never undecided. */
function compare(a: Placed, b: Placed): number {
  const wanted = a.shelf === "active" ? a.order - b.order || a.number - b.number : b.number - a.number
  return wanted || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)
}

/** Where it stands in the list, or would. */
function rankOf(list: readonly Placed[], place: Placed): number {
  let [from, to] = [0, list.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (compare(list[middle]!, place) < 0) from = middle + 1
    else to = middle
  }
  return from
}

export function byStatus<T>(list: (status: Status) => T): Record<Status, T> {
  return Object.fromEntries(STATUSES.map((status) => [status, list(status)])) as Record<Status, T>
}

function byShelf<T>(make: () => T): Record<Shelf, T> {
  return { active: make(), archived: make(), trashed: make() }
}
