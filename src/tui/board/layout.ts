import { STATUSES, type Status } from "../../core/task.ts"

export type Size = { readonly width: number; readonly height: number }

/** Too small for anything to be read. */
export const isTiny = ({ width, height }: Size): boolean => width < 20 || height < 8

/** Where everything stands, from the size alone. */
export type Layout =
  | { readonly kind: "tiny" }
  | {
      readonly kind: "board"
      readonly columns: 1 | 2 | 4
      /** One width per visible column; together they fill the board. */
      readonly widths: readonly number[]
      /** Rows of the columns, borders included; 0 when the details take all. */
      readonly rows: number
      readonly density: Density
      readonly details?: Pane
    }

export type Pane = { readonly side: "right" | "below" | "instead"; readonly width: number; readonly height: number }

/** A card is three lines and a blank one, or two lines close together. */
export type Density = "full" | "compact"

export const CARD_ROWS: Readonly<Record<Density, number>> = { full: 4, compact: 2 }
const HEAD = 1
const FOOT = 1

export function layoutOf({ width, height }: Size, details: boolean): Layout {
  if (isTiny({ width, height })) return { kind: "tiny" }
  const body = height - HEAD - FOOT
  const side = !details ? undefined : width >= 120 ? "right" : height >= 20 ? "below" : "instead"
  const pane: Pane | undefined =
    side === "right"
      ? { side, width: Math.max(40, Math.floor(width * 0.3)), height: body }
      : side === "below"
        ? { side, width, height: Math.floor(body / 2) }
        : side === "instead"
          ? { side, width, height: body }
          : undefined
  const boardWidth = pane?.side === "right" ? width - pane.width : width
  const rows = pane?.side === "below" ? body - pane.height : pane?.side === "instead" ? 0 : body
  const columns = boardWidth >= 100 ? 4 : boardWidth >= 50 ? 2 : 1
  const each = Math.floor(boardWidth / columns)
  return {
    kind: "board",
    columns,
    widths: Array.from({ length: columns }, (_, i) => (i === columns - 1 ? boardWidth - each * (columns - 1) : each)),
    rows,
    density: rows - 2 >= 11 ? "full" : "compact",
    ...(pane ? { details: pane } : {}),
  }
}

/** The columns that are shown: those around the cursor, moving only when it leaves them. */
export function visibleColumns(count: number, cursor: Status, first: number): { first: number; statuses: Status[] } {
  const at = STATUSES.indexOf(cursor)
  const start = Math.max(
    0,
    Math.min(at < first ? at : at >= first + count ? at - count + 1 : first, STATUSES.length - count),
  )
  return { first: start, statuses: STATUSES.slice(start, start + count) }
}

/** The cards that are drawn, with the cursor among them, moving only when it leaves them. */
export function visibleCards(input: {
  readonly total: number
  readonly rows: number
  readonly density: Density
  readonly first: number
  /** Index that has to be seen; undefined where the cursor is elsewhere. */
  readonly cursor?: number
}): { readonly first: number; readonly count: number } {
  // The blank line after the last card may be cut off.
  const fits = Math.max(1, Math.floor((input.rows + (input.density === "full" ? 1 : 0)) / CARD_ROWS[input.density]))
  const most = Math.max(0, input.total - fits)
  let first = Math.max(0, Math.min(input.first, most))
  if (input.cursor !== undefined) {
    if (input.cursor < first) first = input.cursor
    if (input.cursor >= first + fits) first = input.cursor - fits + 1
  }
  return { first, count: Math.min(fits, input.total - first) }
}
