import { displayable, fit, width } from "../../core/text.ts"
import type { AnyCommandID } from "../board/rebinding.ts"
import type { Tone } from "./signs.ts"

/** A piece of one line in one tone. Its text is foreign until it went through `fitSegments`. */
export type Segment = {
  readonly text: string
  readonly tone?: Tone
  readonly bold?: boolean
  /** The command that a click on it does. */
  readonly command?: AnyCommandID
}

/** Displayable segments of at most `cells` cells together; where something that shows is left out, the cut ends in `…`. */
export function fitSegments(segments: readonly Segment[], cells: number): Segment[] {
  const fitted: Segment[] = []
  let left = cells
  for (const [index, segment] of segments.entries()) {
    if (left <= 0) break
    if (segment.text === "") continue
    const whole = fit(segment.text, left)
    const isFull = width(whole) === left && segments.slice(index + 1).some((rest) => rest.text.trim() !== "")
    const text = isFull ? fit(`${whole}…`, left) : whole
    fitted.push({ ...segment, text })
    if (isFull || isCut(text, segment.text)) break
    left -= width(text)
  }
  return fitted
}

const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" })
const MOST_MARKED = 500

/** The segment with these places of its text brought out; what is seen as one character is marked as a whole. */
export function withMarks(segment: Segment, places: ReadonlySet<number>): Segment[] {
  if (places.size === 0) return [segment]
  const parts: { text: string; readonly isMarked: boolean }[] = []
  for (const { segment: grapheme, index } of GRAPHEMES.segment(segment.text)) {
    if (index > MOST_MARKED) {
      parts.push({ text: segment.text.slice(index), isMarked: false })
      break
    }
    const isMarked = Array.from(grapheme, (_, i) => index + i).some((place) => places.has(place))
    const last = parts.at(-1)
    if (last?.isMarked === isMarked) last.text += grapheme
    else parts.push({ text: grapheme, isMarked })
  }
  return parts.map(({ text, isMarked }) => (isMarked ? { text, tone: "accent", bold: true } : { ...segment, text }))
}

/** They look the same. */
export function sameSegments(a: readonly Segment[] | undefined, b: readonly Segment[]): boolean {
  if (a === b) return true
  if (a?.length !== b.length) return false
  const isSame = (one: Segment, two: Segment) =>
    one.text === two.text &&
    one.tone === two.tone &&
    (one.bold ?? false) === (two.bold ?? false) &&
    one.command === two.command
  return a.every((segment, index) => isSame(segment, b[index]!))
}

/** A cut may leave a cell free beside a wide character; what follows must not begin there. */
function isCut(text: string, whole: string): boolean {
  return text.endsWith("…") && text !== displayable(whole.slice(0, text.length * 4 + 8))
}

export const cellsOf = (segments: readonly Segment[]) => segments.reduce((sum, { text }) => sum + width(text), 0)

/** The command of what stands in that cell of a line. */
export function commandAt(segments: readonly Segment[], cell: number): AnyCommandID | undefined {
  let end = 0
  return segments.find(({ text }) => cell < (end += width(text)))?.command
}

/** Left and right part of one line of exactly `cells` cells; the left part gives way. */
export function justify(left: readonly Segment[], right: readonly Segment[], cells: number): Segment[] {
  const tail = fitSegments(right, cells)
  const room = cells - cellsOf(tail)
  const head = fitSegments(left, tail.length > 0 ? room - 1 : room)
  return [...head, { text: " ".repeat(Math.max(0, room - cellsOf(head))) }, ...tail]
}

/** As many parts as fit whole into `cells`: half of a hint tells nothing. */
export function wholeParts(parts: readonly (readonly Segment[])[], separator: string, cells: number): Segment[] {
  let shown: Segment[] = []
  for (let count = 1; count <= parts.length; count++) {
    const next = joined(parts.slice(0, count), separator)
    if (cellsOf(next) > cells) break
    shown = next
  }
  return shown
}

/** A dialog's hint in `cells` cells, in whole parts: those before the last go first, the first two stay longest. */
export function fitHint(hint: string, cells: number): string {
  const parts = hint.split(" · ")
  const last = parts.slice(2).slice(-1)
  const fits = (some: readonly string[]) => width(some.join(" · ")) <= cells
  while (parts.length > 3 && !fits(parts)) parts.splice(-2, 1)
  const first = parts.slice(0, 2)
  const shorter = [parts, first, [...parts.slice(0, 1), ...last]].find(fits)
  return (shorter ?? parts.slice(0, 1)).join(" · ")
}

/** Parts with a separator between those that say something. */
export function joined(parts: readonly (Segment | readonly Segment[] | undefined)[], separator: string): Segment[] {
  const out: Segment[] = []
  for (const part of parts) {
    const list = part === undefined ? [] : Array.isArray(part) ? (part as Segment[]) : [part as Segment]
    if (list.every(({ text }) => text === "")) continue
    if (out.length > 0) out.push({ text: separator, tone: "muted" })
    out.push(...list)
  }
  return out
}
