import { eastAsianWidth } from "get-east-asian-width"

/**
 * Foreign text made fit for a terminal. Titles, model output, diffs and file names are hostile until they went through
 * here: what would move the cursor, turn the line round or hide is shown as `<202E>` (or a control picture), graphemes
 * stay whole, and widths are counted in cells.
 */

/**
 * One code unit, one grapheme, one cell, and nothing that hides: most of what is shown, frames and signs included, so
 * that it needs no segmentation.
 */
const PLAIN =
  /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2027\u2030-\u205e\u2190-\u22ff\u2300-\u2319\u2500-\u25fc\u26a0\u2713\u2717\u29d7]*$/
const GRAPHEMES = new Intl.Segmenter("en", { granularity: "grapheme" })
const MARKS_PER_GRAPHEME = 6
const ELLIPSIS = "…"

/** One line: line ends and tabs become blanks, everything that acts on a terminal or hides becomes visible. */
export function displayable(text: string): string {
  return PLAIN.test(text) ? text : visible(text.replace(/\r\n|[\n\r\t\v\f\u0085\u2028\u2029]/g, " "))
}

/** The lines of a longer text, each displayable; tabs become blanks up to the next multiple of `tab`. */
export function displayableLines(text: string, tab = 4): string[] {
  return text.split(/\r\n|[\n\r\u2028\u2029]/).map((line) => {
    if (PLAIN.test(line)) return line
    return visible(line.includes("\t") ? expandTabs(line, tab) : line)
  })
}

/** Width in terminal cells; the text is expected to be displayable. */
export function width(text: string): number {
  if (PLAIN.test(text)) return text.length
  let cells = 0
  for (const { segment } of GRAPHEMES.segment(text)) cells += graphemeWidth(segment)
  return cells
}

/**
 * Displayable text of at most `cells` cells; what does not fit ends in `…`. A cut never splits a grapheme, so the result
 * may be a cell narrower than asked. Cost is bounded by `cells`, not by the length of the text.
 */
export function fit(text: string, cells: number): string {
  if (cells <= 0) return ""
  // A grapheme that is drawn has a bounded number of code units, so a longer rest cannot be seen anyway.
  const bound = cells * 32 + 64
  const line = displayable(text.length > bound ? text.slice(0, bound) : text)
  if (PLAIN.test(line)) {
    return line.length <= cells && text.length <= bound ? line : line.slice(0, cells - 1) + ELLIPSIS
  }
  let used = 0
  let kept = ""
  let keptWithEllipsis = ""
  for (const { segment } of GRAPHEMES.segment(line)) {
    const cost = graphemeWidth(segment)
    if (used + cost > cells) return keptWithEllipsis + ELLIPSIS
    used += cost
    kept += segment
    if (used <= cells - 1) keptWithEllipsis = kept
  }
  return text.length > bound ? keptWithEllipsis + ELLIPSIS : kept
}

/** Like `fit`, filled with blanks to exactly `cells`. */
export function pad(text: string, cells: number): string {
  const line = fit(text, cells)
  return line + " ".repeat(Math.max(0, cells - width(line)))
}

/** Like `fit` with blanks before it, for figures. */
export function padStart(text: string, cells: number): string {
  const line = fit(text, cells)
  return " ".repeat(Math.max(0, cells - width(line))) + line
}

/** The tail of a path when it is too long: `…/deep/file.ts`, since the end tells more than the start. */
export function fitPath(path: string, cells: number): string {
  const line = displayable(path)
  if (width(line) <= cells) return line
  if (cells <= 0) return ""
  const segments = [...GRAPHEMES.segment(line)].map(({ segment }) => segment)
  let used = 1
  let from = segments.length
  while (from > 0 && used + graphemeWidth(segments[from - 1]!) <= cells) used += graphemeWidth(segments[--from]!)
  return ELLIPSIS + segments.slice(from).join("")
}

/** Displayable lines of at most `cells` cells, broken between words where possible and hard where a word is longer. */
export function wrap(text: string, cells: number, limit = Number.POSITIVE_INFINITY): string[] {
  const lines: string[] = []
  if (cells <= 0) return lines
  for (const source of displayableLines(text)) {
    for (const line of wrapLine(source, cells)) {
      if (lines.length === limit) {
        lines[limit - 1] = fit(`${lines[limit - 1]!.slice(0, -1)} ${ELLIPSIS}`, cells)
        return lines
      }
      lines.push(line)
    }
  }
  return lines
}

function* wrapLine(source: string, cells: number): Generator<string> {
  let line = ""
  let used = 0
  for (const word of source.split(/(?<= )/)) {
    const cost = width(word)
    if (used + width(word.trimEnd()) <= cells) {
      line += word
      used += cost
      continue
    }
    if (used > 0) {
      yield line.trimEnd()
      line = ""
      used = 0
    }
    for (const { segment } of GRAPHEMES.segment(word)) {
      const step = graphemeWidth(segment)
      if (used + step > cells && segment !== " ") {
        yield line
        line = ""
        used = 0
      }
      line += segment
      used += step
    }
  }
  yield line.trimEnd()
}

function graphemeWidth(segment: string): number {
  const first = segment.codePointAt(0)!
  if (segment.length === 1 && first < 0x300) return 1
  if (/^[\p{Emoji_Presentation}]|^\p{Regional_Indicator}{2}|^\p{Emoji}\u{FE0F}/u.test(segment)) return 2
  if (/^\p{Extended_Pictographic}.*\u{200D}/u.test(segment)) return 2
  if (/^\p{Mark}/u.test(segment)) return 0
  return eastAsianWidth(first)
}

function visible(text: string): string {
  let out = ""
  for (const { segment } of GRAPHEMES.segment(text)) out += visibleGrapheme(segment, out === "")
  return out
}

function visibleGrapheme(segment: string, first: boolean): string {
  if (PLAIN.test(segment)) return segment
  const emoji = /\p{Extended_Pictographic}|\p{Regional_Indicator}|^[#*0-9]/u.test(segment)
  const points = [...segment]
  let out = first && /^\p{Mark}/u.test(segment) ? "◌" : ""
  let marks = 0
  for (const [index, point] of points.entries()) {
    if (/\p{Mark}/u.test(point) && !/[\u{FE00}-\u{FE0F}\u{E0100}-\u{E01EF}]/u.test(point)) {
      if (++marks <= MARKS_PER_GRAPHEME) out += point
      continue
    }
    out += joins(point, index, emoji) ? point : visiblePoint(point)
  }
  return out
}

/** Joiners, selectors and tags do honest work inside an emoji, and a joiner between letters; elsewhere they hide. */
function joins(point: string, index: number, emoji: boolean): boolean {
  if (index === 0) return false
  if (/[\u{FE00}-\u{FE0F}\u{200D}]/u.test(point)) return true
  if (point === "\u{200C}") return true
  return emoji && /[\u{E0020}-\u{E007F}]/u.test(point)
}

function visiblePoint(point: string): string {
  const code = point.codePointAt(0)!
  if (code < 0x20) return String.fromCodePoint(0x2400 + code)
  if (code === 0x7f) return "\u{2421}"
  if (/\p{Surrogate}/u.test(point)) return "\u{FFFD}"
  if (/[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/u.test(point)) {
    return `<${code.toString(16).toUpperCase().padStart(4, "0")}>`
  }
  return point
}

function expandTabs(line: string, tab: number): string {
  let out = ""
  let column = 0
  for (const part of line.split(/(\t)/)) {
    if (part === "\t") {
      const blanks = tab - (column % tab)
      out += " ".repeat(blanks)
      column += blanks
    } else {
      out += part
      column += width(part)
    }
  }
  return out
}
