import { getTreeSitterClient, pathToFiletype } from "@opentui/core"
import type { Span } from "../../core/words.ts"
import type { CodeLine, PatchLine } from "./lines.ts"
import { isCode } from "./lines.ts"

/** What a piece of code is, as the host's themes name it. */
export type Syntax =
  | "comment"
  | "keyword"
  | "function"
  | "variable"
  | "string"
  | "number"
  | "type"
  | "operator"
  | "punctuation"

export type Coloured = { readonly span: Span; readonly syntax: Syntax }

/** Finds out what the pieces of a text are; nothing for a language that it does not know. */
export type Highlighter = (
  text: string,
  path: string,
) => Promise<readonly (readonly [start: number, end: number, group: string])[]>

/** A longer change stays without colours: they are worth little there and cost much. */
const MOST_CELLS = 120_000
const MOST_LINES = 3_000

/** The host's own parsers. */
export const hostHighlighter: Highlighter = async (text, path) => {
  const type = pathToFiletype(path)
  if (!type) return []
  const { highlights } = await getTreeSitterClient().highlightOnce(text, type)
  return (highlights ?? []).map(([start, end, group]) => [start, end, group] as const)
}

/** The colours of a patch's lines. Both sides are read as they stand in the hunks, so a cut construct may be missed. */
export async function colourLines(
  lines: readonly PatchLine[],
  path: string,
  highlight: Highlighter,
): Promise<ReadonlyMap<CodeLine, readonly Coloured[]>> {
  const code = lines.filter(isCode)
  const coloured = new Map<CodeLine, readonly Coloured[]>()
  if (code.length > MOST_LINES || code.reduce((sum, { text }) => sum + text.length, 0) > MOST_CELLS) return coloured
  for (const side of ["delete", "add"] as const) {
    const part = code.filter(({ kind }) => kind === side || kind === "context")
    if (!part.some(({ kind }) => kind === side) && side === "delete") continue
    const highlights = await highlight(part.map(({ text }) => text).join("\n"), path)
    for (const [line, spans] of byLine(part, highlights)) coloured.set(line, spans)
  }
  return coloured
}

function byLine(
  lines: readonly CodeLine[],
  highlights: readonly (readonly [number, number, string])[],
): Map<CodeLine, Coloured[]> {
  const found = new Map<CodeLine, Coloured[]>()
  const sorted = highlights.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])
  let start = 0
  let next = 0
  let open: (readonly [number, number, string])[] = []
  for (const line of lines) {
    const end = start + line.text.length
    while (next < sorted.length && sorted[next]![0] < end) open.push(sorted[next++]!)
    open = open.filter(([, to]) => to > start)
    const spans: Coloured[] = []
    for (const [from, to, group] of open) {
      const span: Span = [Math.max(0, from - start), Math.min(line.text.length, to - start)]
      if (span[1] <= span[0] || from >= end) continue
      const syntax = syntaxOf(group, line.text.slice(...span))
      if (syntax) spans.push({ span, syntax })
    }
    if (spans.length > 0) found.set(line, spans)
    start = end + 1
  }
  return found
}

/** The parsers name more than they know: what a name looks like decides between type, constant and variable. */
export function syntaxOf(group: string, text: string): Syntax | undefined {
  switch (group.split(".")[0]) {
    case "comment":
      return "comment"
    case "keyword":
    case "conditional":
    case "repeat":
    case "include":
    case "exception":
      return "keyword"
    case "string":
    case "character":
      return "string"
    case "number":
    case "boolean":
    case "float":
      return "number"
    case "function":
    case "method":
      return "function"
    case "type":
      return /^[A-Z]/.test(text) || group.includes("builtin") ? "type" : undefined
    case "constant":
      return /^[A-Z][A-Z0-9_]+$/.test(text) || group.includes("builtin") ? "number" : undefined
    case "variable":
    case "property":
    case "attribute":
    case "label":
      return "variable"
    case "operator":
      return "operator"
    case "punctuation":
      return "punctuation"
    default:
      return undefined
  }
}
