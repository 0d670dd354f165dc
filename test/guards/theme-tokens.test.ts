import { beforeAll, describe, expect, test, vi } from "vitest"
import ts from "typescript"
import { collector, judge, type Finding } from "./audit/findings.ts"
import { auditedProgram, walk, type Audited } from "./audit/program.ts"
import { checkSnippet, snippetFiles, type Snippet } from "./audit/snippets/snippet.ts"

/*
 * The screen is drawn in the person's own theme: every colour is one of its tokens, which are `RGBA` values that only
 * the host makes. So a colour property must hold an `RGBA`, and nothing of ours may make one or write codes of a terminal.
 */

const colourName = /^(?:fg|bg|\w*(?:[cC]olor|Fg|Bg))$/
const colourHelpers =
  /^(?:(?:bg|bright)?(?:Black|Red|Green|Yellow|Blue|Magenta|Cyan|White)|black|red|green|yellow|blue|magenta|cyan|white|fg|bg)$/
const makers = /^(?:parseColor|hexToRgb|hsvToRgb|ansi256\w*|rgbToHex|SyntaxStyle)$/
const hex = /#(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})(?![\w-])/i

function auditColours(audited: Audited, prefix: string): Finding[] {
  const { checker } = audited
  const { report, findings } = collector(audited)

  /** Something of the renderer, under whatever name it is known here. */
  function fromRenderer(node: ts.Node): string | undefined {
    let symbol = checker.getSymbolAtLocation(node)
    if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol)
    const file = symbol?.declarations?.[0]?.getSourceFile().fileName ?? ""
    return file.includes("/@opentui/core/") ? symbol!.name : undefined
  }

  function value(name: string, expression: ts.Expression | undefined, node: ts.Node): void {
    if (!expression || !colourName.test(name)) return
    // The text of a JSX attribute has no type of its own.
    if (ts.isStringLiteral(expression)) return report("no token", `${name}: string`, node)
    const type = checker.getTypeAtLocation(expression)
    for (const one of type.isUnion() ? type.types : [type]) {
      const nothing = ts.TypeFlags.Undefined | ts.TypeFlags.Null | ts.TypeFlags.Never | ts.TypeFlags.NumberLike
      if (one.flags & nothing || one.symbol?.name === "RGBA" || one.getCallSignatures().length > 0) continue
      report("no token", `${name}: ${checker.typeToString(checker.getBaseTypeOfLiteralType(one))}`, node)
    }
  }

  for (const file of audited.sources(prefix))
    walk(file, (node) => {
      if (ts.isJsxAttribute(node)) {
        const given = node.initializer
        const expression = given && ts.isJsxExpression(given) ? given.expression : given
        value(node.name.getText(), expression as ts.Expression | undefined, node)
      } else if (ts.isPropertyAssignment(node) && ts.isIdentifier(node.name))
        value(node.name.text, node.initializer, node)
      else if (ts.isShorthandPropertyAssignment(node)) value(node.name.text, node.name, node)
      else if (ts.isBinaryExpression(node) && ts.isPropertyAccessExpression(node.left)) {
        if (node.operatorToken.kind === ts.SyntaxKind.EqualsToken) value(node.left.name.text, node.right, node)
      } else if (ts.isIdentifier(node) && !isTypeOrImport(node)) {
        const name = fromRenderer(node)
        if (name && (name === "RGBA" || makers.test(name))) report("made here", name, node)
        else if (name && colourHelpers.test(name) && ts.isCallExpression(node.parent)) report("made here", name, node)
      }
      if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node)) {
        if (hex.test(node.text)) report("literal", hex.exec(node.text)![0], node)
        // eslint-disable-next-line no-control-regex
        if (/\u001b\[|\u009b/.test(node.text)) report("literal", "terminal code", node)
      }
    })
  return findings
}

function isTypeOrImport(node: ts.Identifier): boolean {
  const { parent } = node
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return true
  if (ts.isTypeReferenceNode(parent) || ts.isTypeQueryNode(parent) || ts.isQualifiedName(parent)) return true
  return (parent as { name?: ts.Node }).name === node
}

const head = `import type { TuiPluginApi } from "@opencode-ai/plugin/tui"
  declare const api: TuiPluginApi\n`

const snippets: readonly Snippet[] = [
  {
    tsx: true,
    name: "colours: as a literal, a name, a variable",
    code: `${head}
      const muted = "gray"
      export const A = () => <text fg="#ff0000">a</text>
      export const B = () => <box borderColor={muted} backgroundColor="red" />
      export const C = (props: { fg: string }) => <text fg={props.fg}>a</text>
      export const D = () => <span style={{ fg: "blue" }}>a</span>
      export const E = () => <text {...{ bg: "white" }}>a</text>`,
    finds: [
      "literal: #ff0000",
      "no token: fg: string ×3",
      "no token: borderColor: string",
      "no token: backgroundColor: string",
      "no token: bg: string",
    ],
  },
  {
    tsx: true,
    name: "colours: made here",
    code: `${head}
      import { RGBA as Colour, fg, parseColor as read, red, type BoxRenderable } from "@opentui/core"
      export const all = [Colour.fromHex("#abc"), Colour.fromInts(1, 2, 3), read("red"), fg("green")("x"), red("x")]
      export const code = "\\u001b[31mred"
      export const set = (box: BoxRenderable) => (box.borderColor = "#1234")`,
    finds: [
      "literal: #1234",
      "literal: #abc",
      "literal: terminal code",
      "made here: RGBA ×2",
      "made here: fg",
      "made here: parseColor",
      "made here: red",
      "no token: borderColor: string",
    ],
  },
  {
    tsx: true,
    name: "colours: tokens of the theme, and numbers of tasks",
    code: `${head}
      import type { RGBA } from "@opentui/core"
      type Look = { readonly fg: RGBA; readonly bg?: RGBA }
      const look = (hot: boolean): Look => ({ fg: hot ? api.theme.current.error : api.theme.current.text })
      export const A = () => <text fg={api.theme.current.textMuted}>task #12, #beta and #123456789</text>
      export const B = () => <box borderColor={look(true).fg} {...(look(false).bg ? { backgroundColor: look(false).bg } : {})} />
      export const title = (number: number) => \`#\${number} #face-lift\``,
    finds: [],
  },
]

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles(snippets))
})

test("the screen uses the colours of the host's theme, and no others", () => {
  expect(judge(auditColours(audited, "src/tui"), [])).toEqual([])
})

describe("every form is seen for what it is", () => {
  test.each(snippets)("$name", (snippet) => checkSnippet(audited, snippet, auditColours))
})
