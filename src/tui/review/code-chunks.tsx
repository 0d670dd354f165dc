import type { RGBA, TextChunk } from "@opentui/core"
import type { TuiThemeCurrent } from "@opencode-ai/plugin/tui"
import { fit, width } from "../../core/text.ts"
import type { Span } from "../../core/words.ts"
import { chunk } from "../ui/line.tsx"
import type { CodeLine } from "./lines.ts"
import type { Coloured, Syntax } from "./syntax.tsx"

/** The text of one line of code in `cells` cells: syntax in colours, changed words stronger, long lines shifted. */
export function codeChunks(
  theme: TuiThemeCurrent,
  line: CodeLine,
  colours: readonly Coloured[],
  cells: number,
  shift: number,
): TextChunk[] {
  const text = line.text.slice(shift)
  const strong = line.kind === "add" ? theme.diffHighlightAdded : theme.diffHighlightRemoved
  const chunks: TextChunk[] = []
  let left = cells
  for (const piece of pieces(text, colours, line.changed ?? [], shift)) {
    if (left <= 0) break
    const shown = fit(text.slice(...piece.span), left)
    const fg = piece.changed ? strong : piece.syntax ? syntaxColour(theme, piece.syntax) : theme.text
    chunks.push(chunk(shown, fg, piece.changed))
    left -= width(shown)
    // What was cut says so itself.
    if (shown.endsWith("…") && !text.slice(...piece.span).endsWith("…")) break
  }
  return chunks
}

type Piece = { readonly span: Span; readonly syntax?: Syntax; readonly changed: boolean }

/** The text in pieces that look the same throughout. Of colours that overlap the narrower one is seen. */
function pieces(text: string, colours: readonly Coloured[], changed: readonly Span[], shift: number): Piece[] {
  const inText = ([start, end]: Span): Span => [Math.max(0, start - shift), Math.min(text.length, end - shift)]
  const tints = colours.map(({ span, syntax }) => ({ span: inText(span), syntax })).filter(({ span }) => !isEmpty(span))
  const words = changed.map(inText).filter((span) => !isEmpty(span))
  const edges = new Set([0, text.length, ...tints.flatMap(({ span }) => span), ...words.flat()])
  const sorted = [...edges].toSorted((a, b) => a - b)
  return sorted.slice(0, -1).map((start, i): Piece => {
    const span: Span = [start, sorted[i + 1]!]
    const tint = tints
      .filter((one) => covers(one.span, span))
      .reduce<(typeof tints)[number] | undefined>(
        (best, one) => (best && size(best.span) < size(one.span) ? best : one),
        undefined,
      )
    return { span, changed: words.some((one) => covers(one, span)), ...(tint ? { syntax: tint.syntax } : {}) }
  })
}

const size = ([start, end]: Span) => end - start
const isEmpty = (span: Span) => size(span) <= 0
const covers = (outer: Span, inner: Span) => outer[0] <= inner[0] && outer[1] >= inner[1]

function syntaxColour(theme: TuiThemeCurrent, syntax: Syntax): RGBA {
  switch (syntax) {
    case "comment":
      return theme.syntaxComment
    case "keyword":
      return theme.syntaxKeyword
    case "function":
      return theme.syntaxFunction
    case "variable":
      return theme.syntaxVariable
    case "string":
      return theme.syntaxString
    case "number":
      return theme.syntaxNumber
    case "type":
      return theme.syntaxType
    case "operator":
      return theme.syntaxOperator
    case "punctuation":
      return theme.syntaxPunctuation
  }
}
