import { beforeAll, describe, expect, test, vi } from "vitest"
import ts from "typescript"
import { collector, judge, type Allowed, type Finding } from "./audit/findings.ts"
import { auditedProgram, placeOf, walk, type Audited } from "./audit/program.ts"
import { checkSnippet, snippetFiles, type Snippet } from "./audit/snippets/snippet.ts"

/*
 * Titles, paths, diffs and a model's words may hold control characters and bidi overrides. All of it reaches the screen
 * through few doors; what is given to one of them must be constant, a number, or have been made displayable on the spot.
 */

/** Answer displayable text, whatever they are given. */
const cleaners: ReadonlySet<string> = new Set([
  ...["displayable", "displayableLines", "fit", "pad", "padStart", "fitPath", "wrap"].map(
    (name) => `src/core/text.ts#${name}`,
  ),
  ...["fitSegments"].map((name) => `src/tui/ui/segments.ts#${name}`),
])

/** Functions and members that draw, with the properties or arguments that are drawn. */
const drawingCalls: Readonly<Record<string, readonly (number | string)[]>> = {
  "src/tui/ui/line.tsx#chunk": [0],
  "@opencode-ai/plugin/dist/tui.d.ts#TuiPluginApi.toast": ["title", "message"],
  "@opencode-ai/plugin/dist/tui.d.ts#TuiAttention.notify": ["title", "message"],
}
const drawingProperties = /^(?:title|bottomTitle|content|placeholder|initialValue)$/
/** Answer text that is as displayable as what they are called on and given. */
const keeping =
  /^(?:join|repeat|slice|at|trim|toUpperCase|toLowerCase|padEnd|padStart|concat|map|filter|flatMap|find|toReversed)$/

function auditShown(audited: Audited, prefix: string): Finding[] {
  const { checker } = audited
  const { report, findings } = collector(audited)

  function placesOf(node: ts.Node): string[] {
    let symbol = checker.getSymbolAtLocation(node)
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    return (symbol?.declarations ?? []).flatMap((declaration) => placeOf(declaration) ?? [])
  }

  /** Nothing in it can come from elsewhere. */
  function isClean(node: ts.Expression, depth = 12): boolean {
    if (depth === 0) return false
    const clean = (inner: ts.Expression) => isClean(inner, depth - 1)
    if (isConstant(checker.getTypeAtLocation(node)) || ts.isStringLiteralLike(node)) return true
    if (ts.isParenthesizedExpression(node) || ts.isNonNullExpression(node) || ts.isAsExpression(node))
      return clean(node.expression)
    if (ts.isTemplateExpression(node)) return node.templateSpans.every((span) => clean(span.expression))
    if (ts.isConditionalExpression(node)) return clean(node.whenTrue) && clean(node.whenFalse)
    if (ts.isBinaryExpression(node)) {
      const { kind } = node.operatorToken
      if (kind === ts.SyntaxKind.AmpersandAmpersandToken) return clean(node.right)
      const joins = [ts.SyntaxKind.PlusToken, ts.SyntaxKind.BarBarToken, ts.SyntaxKind.QuestionQuestionToken]
      return joins.includes(kind) && clean(node.left) && clean(node.right)
    }
    if (ts.isArrayLiteralExpression(node))
      return node.elements.every((one) => clean(ts.isSpreadElement(one) ? one.expression : one))
    if (ts.isCallExpression(node)) {
      const callee = node.expression
      if (placesOf(callee).some((place) => cleaners.has(place))) return true
      if (ts.isPropertyAccessExpression(callee) && keeping.test(callee.name.text))
        return clean(callee.expression) && node.arguments.every((one) => isFunction(one) || clean(one))
      return returned(callee)?.every(clean) ?? false
    }
    if (ts.isElementAccessExpression(node)) return clean(node.expression)
    if (ts.isPropertyAccessExpression(node)) return comesClean(node, depth) || clean(node.expression)
    return ts.isIdentifier(node) && comesClean(node, depth)
  }

  /** A constant set to something clean, or an element of something clean. */
  function comesClean(node: ts.Expression, depth: number): boolean {
    const symbol = ts.isShorthandPropertyAssignment(node.parent)
      ? checker.getShorthandAssignmentValueSymbol(node.parent)
      : checker.getSymbolAtLocation(node)
    const declaration = symbol?.valueDeclaration
    if (!declaration) return false
    if (ts.isVariableDeclaration(declaration)) {
      const list = declaration.parent
      if (ts.isVariableDeclarationList(list) && ts.isForOfStatement(list.parent))
        return isClean(list.parent.expression, depth - 1)
      const constant = ts.getCombinedNodeFlags(declaration) & ts.NodeFlags.Const
      return !!constant && !!declaration.initializer && isClean(declaration.initializer, depth - 1)
    }
    const parameter = ts.isBindingElement(declaration) ? declaration.parent.parent : declaration
    if (!ts.isParameter(parameter) || !isFunction(parameter.parent)) return false
    const caller = parameter.parent.parent
    if (!ts.isCallExpression(caller) || !ts.isPropertyAccessExpression(caller.expression)) return false
    const { name, expression } = caller.expression
    return keeping.test(name.text) && isClean(expression, depth - 1)
  }

  /** What a function of the same program answers, where that can be read. */
  function returned(callee: ts.Expression): ts.Expression[] | undefined {
    let symbol = checker.getSymbolAtLocation(callee)
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    let declaration: ts.Node | undefined = symbol?.valueDeclaration
    if (declaration && ts.isVariableDeclaration(declaration)) declaration = declaration.initializer
    if (!declaration || !ts.isFunctionLike(declaration) || !("body" in declaration) || !declaration.body)
      return undefined
    const body = declaration.body as ts.ConciseBody
    if (!ts.isBlock(body)) return [body]
    const answers: ts.Expression[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isFunctionLike(node)) return
      if (ts.isReturnStatement(node) && node.expression) answers.push(node.expression)
      ts.forEachChild(node, visit)
    }
    visit(body)
    return answers
  }

  function drawn(node: ts.Expression, where: string): void {
    if (isText(checker.getTypeAtLocation(node)) && !isClean(node)) report("raw text", where, node)
  }

  function call(node: ts.CallExpression): void {
    const declaration = checker.getResolvedSignature(node)?.declaration
    const own = declaration && (ts.isFunctionTypeNode(declaration) ? declaration.parent : declaration)
    const place = own && placeOf(own)
    for (const what of (place && drawingCalls[place]) || []) {
      const given = node.arguments[typeof what === "number" ? what : 0]
      if (!given) continue
      if (typeof what === "number") drawn(given, place!.slice(place!.indexOf("#") + 1))
      else if (!ts.isObjectLiteralExpression(given)) report("unread", place!.slice(place!.indexOf("#") + 1), given)
      else
        for (const property of given.properties) {
          if (property.name?.getText() !== what) continue
          if (ts.isPropertyAssignment(property)) drawn(property.initializer, `${what} of a notice of the host`)
          else if (ts.isShorthandPropertyAssignment(property)) drawn(property.name, `${what} of a notice of the host`)
        }
    }
  }

  for (const file of audited.sources(prefix))
    walk(file, (node) => {
      if (ts.isCallExpression(node)) call(node)
      else if (ts.isJsxExpression(node) && node.expression && ts.isJsxElement(node.parent)) {
        const tag = node.parent.openingElement.tagName
        if (ts.isIdentifier(tag) && /^[a-z]/.test(tag.text)) drawn(node.expression, `<${tag.text}>`)
      } else if (ts.isJsxAttribute(node) && node.initializer && ts.isJsxExpression(node.initializer)) {
        const tag = node.parent.parent.tagName
        if (!ts.isIdentifier(tag) || !/^[a-z]/.test(tag.text) || !drawingProperties.test(node.name.getText())) return
        if (node.initializer.expression) drawn(node.initializer.expression, `<${tag.text} ${node.name.getText()}>`)
      } else if (ts.isPropertyAssignment(node) && node.name.getText() === "__isChunk")
        report("made here", "TextChunk", node.parent)
    })
  return findings

  function isText(type: ts.Type): boolean {
    return (type.isUnion() ? type.types : [type]).some(
      (one) => one.flags & (ts.TypeFlags.StringLike | ts.TypeFlags.Any),
    )
  }

  function isConstant(type: ts.Type): boolean {
    const fixed =
      ts.TypeFlags.Literal |
      ts.TypeFlags.NumberLike |
      ts.TypeFlags.BooleanLike |
      ts.TypeFlags.Undefined |
      ts.TypeFlags.Null
    return (type.isUnion() ? type.types : [type]).every((one) => one.flags & fixed)
  }
}

function isFunction(node: ts.Node): node is ts.ArrowFunction | ts.FunctionExpression {
  return ts.isArrowFunction(node) || ts.isFunctionExpression(node)
}

const doors: readonly Allowed[] = [
  {
    rule: "made here",
    symbol: "TextChunk",
    file: "src/tui/ui/line.tsx",
    count: 1,
    reason: "the door itself: what is given to it is read at each call",
  },
]

const head = `import type { TuiPluginApi } from "@opencode-ai/plugin/tui"
  import type { Segment } from "../src/tui/ui/segments.ts"
  import { chunk } from "../src/tui/ui/line.tsx"
  declare const api: TuiPluginApi
  declare const title: string
  declare const colour: Parameters<typeof chunk>[1]\n`

const snippets: readonly Snippet[] = [
  {
    tsx: true,
    name: "shown: as it came",
    code: `${head}
      export const A = () => <text>{title}</text>
      export const B = (props: { title: string }) => <text>{\`#1 \${props.title}\`}</text>
      export const C = () => <box title={title} />
      export const D = (parts: string[]) => <span>{parts.map((part) => part.trim()).join(" ")}</span>
      export const E = (parts: Segment[]) => parts.map((part) => chunk(part.text, colour))
      export const f = () => api.ui.toast({ title: "Kagan", message: title })
      export const g = (message: string) => api.attention.notify({ message })
      export const h = (given: { message: string }) => api.ui.toast(given)
      export const i = (text: string) => ({ __isChunk: true as const, text })`,
    finds: [
      "raw text: <text> ×2",
      "raw text: <box title>",
      "raw text: <span>",
      "raw text: chunk",
      "raw text: message of a notice of the host ×2",
      "unread: TuiPluginApi.toast",
      "made here: TextChunk",
    ],
  },
  {
    tsx: true,
    name: "shown: constant, counted, or made displayable",
    code: `${head}
      import { displayable, fit, wrap } from "../src/core/text.ts"
      import { fitSegments } from "../src/tui/ui/segments.ts"
      const shown = fit(title, 20)
      const NAMES = { one: "One", two: "Two" } as const
      const label = (long: boolean) => (long ? displayable(title) : "short")
      export const A = (props: { n: number; which: keyof typeof NAMES }) => (
        <text>
          {shown} {props.n} {NAMES[props.which]} {label(props.n > 3)}
        </text>
      )
      export const B = () => <text>{wrap(title, 60, 4).join("\\n")}</text>
      export const C = (parts: Segment[]) => fitSegments(parts, 9).map(({ text }) => chunk(text, colour))
      export const d = () => {
        const message = displayable(title)
        api.ui.toast({ title: "Kagan", message })
      }
      export const E = () => <box title={\` \${fit(title, 9)} \`}>{<text>x</text>}</box>`,
    finds: [],
  },
]

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles(snippets))
})

test("what the screen shows has been made displayable", () => {
  expect(judge(auditShown(audited, "src/tui"), doors)).toEqual([])
})

describe("every form is seen for what it is", () => {
  test.each(snippets)("$name", (snippet) => checkSnippet(audited, snippet, auditShown))
})
