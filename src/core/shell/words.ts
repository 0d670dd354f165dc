import type { ParameterExpansionPart, SyntaxNode, Word, WordPart } from "unbash"
import {
  braces,
  combine,
  isKnown,
  joinPieces,
  NOT_KNOWN,
  oneOf,
  split,
  UNKNOWN,
  type Fields,
  type Piece,
  type Ways,
} from "./fields.ts"
import { assign, lookUp, type Scope } from "./scope.ts"

/** Runs a substitution and answers what it prints, with marks where that is not known. */
export type Substitute = (part: SyntaxNode, scope: Scope) => string

/** The ways a word of a command may turn out, each a list of fields. */
export function expandWord(word: Word, scope: Scope, run: Substitute): Ways {
  return word.parts ? expandParts(word.parts, scope, run) : [[word.value]]
}

function expandParts(parts: readonly WordPart[], scope: Scope, run: Substitute): Ways {
  const at = parts.findIndex((part) => part.type === "BraceExpansion")
  const brace = parts[at]
  if (brace === undefined) {
    return oneOf(
      combine(
        parts.map((part) => piecesOf(part, scope, run, false)),
        unknownPiece,
      ).map(joinPieces),
    )
  }
  // Each of the list becomes a word of its own, with what stands around it.
  const words = braces(brace.text).map((text) => {
    const { pos, end } = brace
    return expandParts(
      [...parts.slice(0, at), { type: "Literal", pos, end, text, value: text }, ...parts.slice(at + 1)],
      scope,
      run,
    )
  })
  return oneOf(combine<Fields>(words, [UNKNOWN]).map((way) => way.flat()))
}

/** The ways of a word where the shell does not split it: an assignment, a redirection, the text of a here-string. */
export function expandText(word: Word, scope: Scope, run: Substitute): readonly string[] {
  return word.parts ? textOf(word.parts, scope, run) : [word.value]
}

export function textOf(parts: readonly WordPart[], scope: Scope, run: Substitute): readonly string[] {
  const pieces = parts.map((part) => piecesOf(part, scope, run, true))
  return oneOf(combine(pieces, unknownPiece).map((way) => [way.map((piece) => piece.fields.join(" ")).join("")])).map(
    (way) => way[0] ?? "",
  )
}

const unknownPiece: Piece = { fields: [UNKNOWN] }

function piecesOf(part: WordPart, scope: Scope, run: Substitute, quoted: boolean): readonly Piece[] {
  switch (part.type) {
    case "Literal":
    case "SingleQuoted":
    case "AnsiCQuoted":
      return [{ fields: [part.value] }]
    case "DoubleQuoted":
    case "LocaleString": {
      const list = listIn(part.parts, scope)
      if (list) return list.map((fields) => ({ fields }))
      return textOf(part.parts, scope, run).map((text) => ({ fields: [text] }))
    }
    case "SimpleExpansion":
      return spread(lookUp(scope, part.text.slice(1)), quoted)
    case "ParameterExpansion":
      return spread(parameter(part, scope, run), quoted)
    case "CommandExpansion": {
      const printed = part.script ? run(part.script, scope) : UNKNOWN
      return spread([[printed.replace(/\n+$/, "")]], quoted)
    }
    case "ProcessSubstitution": {
      const printed = part.script ? run(part.script, scope) : UNKNOWN
      const name = `/dev/fd/${part.pos}`
      if (part.operator === "<") scope.files.set(name, printed)
      return [{ fields: [name] }]
    }
    case "BraceExpansion":
      return [{ fields: [part.text] }]
    case "Glob":
    case "ExtendedGlob":
    case "ArithmeticExpansion":
      run(part, scope)
      return [unknownPiece]
  }
}

/** `"$@"` and `"${list[@]}"` alone keep their fields apart. */
function listIn(parts: readonly WordPart[], scope: Scope): Ways | undefined {
  const [only] = parts
  if (parts.length !== 1 || !only) return undefined
  if (only.type === "SimpleExpansion" && only.text === "$@") return lookUp(scope, "@")
  if (only.type === "ParameterExpansion" && !only.operation && !only.prefix) {
    if (only.parameter === "@") return lookUp(scope, "@")
    if (only.index?.value === "@") return lookUp(scope, only.parameter)
  }
  return undefined
}

function spread(ways: Ways, quoted: boolean): readonly Piece[] {
  if (quoted) return ways.map((fields) => ({ fields: [fields.join(" ")] }))
  return ways.map((fields) => {
    const texts = fields.map(split)
    const all = texts.flatMap((text) => text.fields)
    return { fields: all, before: texts[0]?.before ?? false, after: texts.at(-1)?.after ?? false }
  })
}

function parameter(part: ParameterExpansionPart, scope: Scope, run: Substitute): Ways {
  let ways = lookUp(scope, part.parameter)
  if (part.prefix === "#") return NOT_KNOWN
  if (part.prefix === "!") {
    ways = oneOf(ways.flatMap((way) => (isKnown(way[0] ?? "") ? lookUp(scope, way[0] ?? "") : NOT_KNOWN)))
  }
  if (part.index?.parts) run(part.index, scope)
  if (part.index) ways = ways.map((way) => element(way, part.index!.value))
  const operation = part.operation
  if (!operation) return ways
  const each = (change: (text: string) => string | undefined): Ways =>
    oneOf(ways.map((way) => way.map((text) => (isKnown(text) ? (change(text) ?? UNKNOWN) : UNKNOWN))))
  const operand = (word: Word | undefined) => {
    const texts = word ? expandText(word, scope, run) : [""]
    return texts.length === 1 && isKnown(texts[0]!) ? texts[0]! : undefined
  }
  switch (operation.type) {
    case "Default": {
      const others: Ways = expandText(operation.operand, scope, run).map((text) => [text])
      const known = scope.vars.has(part.parameter)
      if (operation.operator.endsWith("=") && !known) assign(scope, part.parameter, others)
      return oneOf([...(operation.operator.includes("+") ? [[]] : ways), ...others])
    }
    case "Remove": {
      const cut = operand(operation.operand)
      return each((text) => (cut === undefined ? undefined : remove(text, cut, operation.operator)))
    }
    case "Replace": {
      const from = operand(operation.pattern)
      const to = operand(operation.replacement)
      if (from === undefined || to === undefined || /[*?[]/.test(from) || from === "") return each(() => undefined)
      return each((text) => replaced(text, from, to, operation.operator))
    }
    case "Slice": {
      const offset = Number(operand(operation.offset)?.trim())
      const length = operation.length ? Number(operand(operation.length)?.trim()) : Infinity
      if (Number.isNaN(offset) || Number.isNaN(length) || part.parameter === "@") return NOT_KNOWN
      return each((text) => {
        const start = offset < 0 ? text.length + offset : offset
        return text.slice(start, length < 0 ? text.length + length : start + length)
      })
    }
    case "CaseModification":
      return each((text) => recased(text, operation.operator))
    case "Transform":
      return each((text) => (operand(operation.operand) === "L" ? text.toLowerCase() : undefined))
    case "Names":
    case "Unknown":
      return NOT_KNOWN
  }
}

function element(way: Fields, index: string): Fields {
  if (index === "@" || index === "*") return way
  return /^\d+$/.test(index) && way.every(isKnown) ? [way[Number(index)] ?? ""] : [UNKNOWN]
}

function remove(text: string, cut: string, operator: string): string | undefined {
  const fromStart = operator.startsWith("#")
  if (!/[*?[]/.test(cut)) {
    if (fromStart) return text.startsWith(cut) ? text.slice(cut.length) : text
    return text.endsWith(cut) ? text.slice(0, text.length - cut.length) : text
  }
  // The two usual forms with a wildcard: up to a mark, and from a mark on.
  const mark = fromStart ? cut.slice(1) : cut.slice(0, -1)
  if ((fromStart ? cut[0] : cut.at(-1)) !== "*" || mark === "" || /[*?[]/.test(mark)) return undefined
  const at = operator === "#" || operator === "%%" ? text.indexOf(mark) : text.lastIndexOf(mark)
  if (at === -1) return text
  return fromStart ? text.slice(at + mark.length) : text.slice(0, at)
}

function replaced(text: string, from: string, to: string, operator: string): string {
  if (operator === "//") return text.replaceAll(from, () => to)
  if (operator === "/#") return text.startsWith(from) ? to + text.slice(from.length) : text
  if (operator === "/%") return text.endsWith(from) ? text.slice(0, text.length - from.length) + to : text
  return text.replace(from, () => to)
}

function recased(text: string, operator: string): string {
  const up = operator.startsWith("^")
  const change = (part: string) => (up ? part.toUpperCase() : part.toLowerCase())
  return operator.length > 1 ? change(text) : change(text.slice(0, 1)) + text.slice(1)
}
