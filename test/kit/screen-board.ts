import { STATUS_TITLE, STATUSES, type Status } from "../../src/core/task.ts"

/** The board as somebody reads it off a screen, at any width: what is not shown is not there. */
export interface BoardSeen {
  /** The columns that are shown, from left to right. */
  readonly columns: readonly ColumnSeen[]
  /** An empty one where that column is not shown. */
  column(status: Status): ColumnSeen
  /** The card with that number, wherever it stands. */
  card(number: number): CardSeen | undefined
  /** The card under the cursor. */
  readonly selected: CardSeen | undefined
}

export interface ColumnSeen {
  readonly status: Status
  /** What stands in its head beside the name, such as "2/2 +1 queued". */
  readonly head: string
  readonly cards: readonly CardSeen[]
  /** Whether a card has this in its lines, such as "#1" or "answers needed". */
  has(text: string | RegExp): boolean
}

export interface CardSeen {
  readonly number: number
  readonly title: string
  readonly status: Status
  readonly selected: boolean
  /** State and facts, without their indent. */
  readonly lines: readonly string[]
}

/** Reads the board off a screen; without one, no column is found. */
export function board(screen: string): BoardSeen {
  const columns = columnsOf(screen.split("\n"))
  const cards = columns.flatMap((column) => column.cards)
  return {
    columns,
    column: (status) => columns.find((column) => column.status === status) ?? makeColumn(status, "", []),
    card: (number) => cards.find((card) => card.number === number),
    selected: cards.find((card) => card.selected),
  }
}

/** To wait for: the card stands in that column, and its lines say that. */
export function cardIn(number: number, status: Status, says: string | RegExp = ""): (screen: string) => boolean {
  const seen = (screen: string) => {
    const card = board(screen).card(number)
    return card?.status === status && matches(card.lines.join("\n"), says)
  }
  return Object.assign(seen, { toString: () => `#${number} in ${STATUS_TITLE[status]} that says "${says}"` })
}

/** To wait for: anything else that can be read off the board; `what` names it when it is not seen. */
export function onBoard(what: string, test: (board: BoardSeen) => boolean): (screen: string) => boolean {
  return Object.assign((screen: string) => test(board(screen)), { toString: () => what })
}

const HEAD = new RegExp(`╭ (${STATUSES.map((status) => STATUS_TITLE[status]).join("|")}) +([^─╭╮]*)[^╭╮]*╮`, "g")

/** The boxes that begin with a column's name; a row of boxes ends where its borders do. */
function columnsOf(lines: readonly string[]): ColumnSeen[] {
  const top = lines.findIndex((line) => line.search(HEAD) >= 0)
  if (top < 0) return []
  return [...lines[top]!.matchAll(HEAD)].map((match) => {
    const from = Bun.stringWidth(lines[top]!.slice(0, match.index))
    const to = from + Bun.stringWidth(match[0])
    const inner: string[] = []
    for (const line of lines.slice(top + 1)) {
      const row = cells(line, from, to)
      if (row.startsWith("╰")) break
      inner.push(row.slice(1).replace(/│$/, ""))
    }
    const status = STATUSES.find((one) => STATUS_TITLE[one] === match[1])!
    return makeColumn(status, match[2]!.trim().replace(/\s+/g, " "), cardsOf(inner, status))
  })
}

function makeColumn(status: Status, head: string, cards: readonly CardSeen[]): ColumnSeen {
  const has = (text: string | RegExp) =>
    cards.some((card) => matches([`#${card.number} ${card.title}`, ...card.lines].join("\n"), text))
  return { status, head, cards, has }
}

function cardsOf(rows: readonly string[], status: Status): CardSeen[] {
  return rows.flatMap((row, at) => {
    const head = /^([▌| ])#(\d+) (.*)$/.exec(row)
    if (!head) return []
    const [, mark, number, title] = head
    // At most two lines more, up to a blank one or the next card: what comes after them may be a notice over the column.
    const below = rows.slice(at + 1, at + 3).map((line) => line.slice(1))
    const end = below.findIndex((line) => line.trim() === "" || line.startsWith("#"))
    const lines = (end < 0 ? below : below.slice(0, end)).map((line) => line.trim())
    return [{ number: Number(number), title: title!.trimEnd(), status, selected: mark !== " ", lines }]
  })
}

/** The part of a line that stands in these cells of the screen; wide characters take two. */
function cells(line: string, from: number, to: number): string {
  let at = 0
  let part = ""
  for (const { segment } of new Intl.Segmenter().segment(line)) {
    if (at >= from && at < to) part += segment
    at += Bun.stringWidth(segment)
  }
  return part
}

function matches(text: string, wanted: string | RegExp): boolean {
  return typeof wanted === "string" ? text.includes(wanted) : wanted.test(text)
}
