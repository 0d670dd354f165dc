import { createMemo, createSignal } from "solid-js"
import { isCode, type CodeLine } from "./lines.ts"
import { findingAt, stopsOf, type Row } from "./rows.ts"

export type Cursor = ReturnType<typeof createCursor>

/** Where the person is in the diff: a row by its key, so that it stays on its line when rows come and go around it. */
export function createCursor(rows: () => readonly Row[], height: () => number) {
  const [key, setKey] = createSignal("")
  const [fallback, setFallback] = createSignal(0)
  const [anchor, setAnchor] = createSignal<string>()
  const [top, setTop] = createSignal(0)
  const stops = createMemo(() => stopsOf(rows()))
  /** Cells by which long lines are shifted to the left. */
  const [shift, setShift] = createSignal(0)

  const at = createMemo(() => {
    const found = rows().findIndex((row) => row.key === key())
    return found >= 0 ? found : Math.max(0, Math.min(fallback(), rows().length - 1))
  })
  const most = () => Math.max(0, rows().length - height())
  const first = () => Math.max(0, Math.min(top(), most()))

  function put(index: number, margin = 2) {
    const row = rows()[index]
    if (!row) return
    setKey(row.key)
    setFallback(index)
    // A box is seen as a whole, where it fits.
    let last = index
    while (row.kind === "finding" && rows()[last + 1]?.key === row.key) last++
    const room = Math.min(margin, Math.max(0, Math.floor((height() - 1) / 2)))
    if (index - room < first()) setTop(Math.max(0, index - room))
    else if (last + room >= first() + height()) setTop(Math.min(most(), Math.min(last + room - height() + 1, index)))
  }

  function step(by: number): boolean {
    const list = stops()
    const now = list.findLastIndex((index) => index <= at())
    const next = Math.max(0, Math.min(list.length - 1, now + by))
    if (list[next] === undefined) return false
    put(list[next]!)
    return next !== now
  }

  const codeAt = (index: number): CodeLine | undefined => {
    const row = rows()[index]
    return row?.kind === "code" ? (row.sides[1] ?? row.sides[0]) : undefined
  }

  return {
    at,
    top: first,
    anchor: () => anchor() !== undefined,
    shift,
    put,
    /** Whether it moved. */
    step(by: number): boolean {
      setAnchor(undefined)
      return step(by)
    },
    /** Moves the end of a range, which begins where the cursor is. */
    extend(by: number) {
      if (anchor() === undefined) setAnchor(rows()[at()]?.key)
      step(by)
    },
    /** Begins a range here, or gives it up. */
    mark() {
      setAnchor(anchor() === undefined ? rows()[at()]?.key : undefined)
    },
    clear: () => setAnchor(undefined),
    begin() {
      setAnchor(undefined)
      setShift(0)
      setTop(0)
      setKey("")
      setFallback(0)
    },
    scroll: (by: number) => setTop(Math.max(0, Math.min(first() + by, most()))),
    /** Further to the right only as long as the longest line goes on there. */
    shiftBy(by: number, overhang: number) {
      if (by < 0 || shift() < overhang) setShift(Math.max(0, shift() + by))
    },
    hunk(by: 1 | -1) {
      setAnchor(undefined)
      const hunks = rows().flatMap((row, index) => (row.kind === "hunk" ? [index] : []))
      const next = by === 1 ? hunks.find((row) => row > at()) : hunks.findLast((row) => row < at())
      if (next !== undefined) put(next)
    },
    finding(id: string) {
      setAnchor(undefined)
      const index = findingAt(rows(), id)
      if (index >= 0) put(index, 4)
    },
    /** First and last row of what is marked: the range, else the cursor's row alone. */
    marked(): readonly [number, number] {
      const start = anchor() === undefined ? -1 : rows().findIndex((row) => row.key === anchor())
      return start < 0 ? [at(), at()] : [Math.min(start, at()), Math.max(start, at())]
    },
    /** The lines of the code that is marked. */
    lines(): readonly CodeLine[] {
      const [from, to] = this.marked()
      return Array.from({ length: to - from + 1 }, (_, i) => codeAt(from + i)).filter(
        (line): line is CodeLine => line !== undefined && isCode(line),
      )
    },
    /** The finding whose box the cursor is on, or that stands right below its line. */
    onFinding(): string | undefined {
      const row = rows()[at()]
      if (row?.kind === "finding") return row.finding
      const below = rows()[at() + 1]
      return below?.kind === "finding" ? below.finding : undefined
    },
    row: () => rows()[at()],
  }
}
