/*
 * Words of a command line as far as they are known without running it. A text may hold the mark for what only the
 * running shell knows; a word may stand for several texts, and for several fields at once.
 */

/** Stands in a text for anything that is not known before the line runs. */
export const UNKNOWN = "\u{F8FF}"

/** One way a word may turn out: its fields, none when it vanishes. */
export type Fields = readonly string[]

/** The ways a value may turn out. Never empty. */
export type Ways = readonly Fields[]

/** More ways than this are not told apart: the rest becomes one that is not known. */
const MAX_WAYS = 24

export const NOT_KNOWN: Ways = [[UNKNOWN]]

/** A part of a word: its fields, and whether a blank stands before or after them. */
export type Piece = { readonly fields: Fields; readonly before?: boolean; readonly after?: boolean }

export function isKnown(text: string): boolean {
  return !text.includes(UNKNOWN)
}

/** Whether the text may turn out to be `wanted`; a text of which nothing is known may be anything. */
export function couldBe(text: string, wanted: string): boolean {
  if (isKnown(text)) return text === wanted
  const known = text.split(UNKNOWN).map((part) => part.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&"))
  return new RegExp(`^${known.join("[\\s\\S]*")}$`).test(wanted)
}

/** Joins the pieces of one word, in which a blank ends a field. */
export function joinPieces(pieces: readonly Piece[]): Fields {
  const fields: string[] = []
  let open: string | undefined
  const close = () => {
    if (open !== undefined) fields.push(open)
    open = undefined
  }
  for (const piece of pieces) {
    if (piece.before) close()
    piece.fields.forEach((field, index) => {
      if (index > 0) close()
      open = (open ?? "") + field
    })
    if (piece.after) close()
  }
  close()
  return fields
}

/** What an expansion outside of quotes gives: its text falls apart at blanks. */
export function split(text: string): Piece {
  return {
    fields: text.split(/[ \t\n]+/).filter((field) => field !== ""),
    before: /^[ \t\n]/.test(text),
    after: /[ \t\n]$/.test(text),
  }
}

/** All combinations, one of each part; too many become one of which nothing is known. */
export function combine<T>(parts: readonly (readonly T[])[], instead: T): readonly (readonly T[])[] {
  let all: T[][] = [[]]
  for (const part of parts) {
    all = all.flatMap((start) => part.map((one) => [...start, one]))
    if (all.length > MAX_WAYS) all = [...all.slice(0, MAX_WAYS), parts.map(() => instead)]
  }
  return all.map((one) => one.slice(0, parts.length))
}

/** The ways without repetition, bounded. */
export function oneOf(ways: Ways): Ways {
  const seen = new Map(ways.map((way) => [JSON.stringify(way), way] as const))
  const all = [...seen.values()]
  if (all.length === 0) return NOT_KNOWN
  return all.length > MAX_WAYS ? [...all.slice(0, MAX_WAYS), [UNKNOWN]] : all
}

/** `a{b,c}d` of a word without quotes and expansions; nested lists too, ranges are not known. */
export function braces(text: string): readonly string[] {
  const list = text.slice(1, -1)
  const parts: string[] = []
  let depth = 0
  let from = 0
  for (let at = 0; at <= list.length; at++) {
    const char = list[at]
    if (char === "{") depth++
    else if (char === "}") depth--
    else if (at === list.length || (char === "," && depth === 0)) {
      parts.push(list.slice(from, at))
      from = at + 1
    }
  }
  if (parts.length < 2) return [UNKNOWN]
  return parts.flatMap((part) => {
    const open = part.indexOf("{")
    const end = part.lastIndexOf("}")
    if (open === -1 || end < open) return [/[$`'"\\*?[]/.test(part) ? UNKNOWN : part]
    return braces(part.slice(open, end + 1)).map((inner) => part.slice(0, open) + inner + part.slice(end + 1))
  })
}
