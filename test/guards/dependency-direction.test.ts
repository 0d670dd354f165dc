import ts from "typescript"
import { describe, expect, test } from "vitest"
import { importsOf, lineOf, parse, resolveImport, sourcesOf, visit, type Source } from "./sources.ts"

interface House {
  /** Which of our own folders and files it may import from. */
  readonly own: readonly string[]
  /** Packages that it must not import. */
  readonly notPackages: readonly RegExp[]
}

const RUNTIME = [/^node:/, /^bun(:|$)/]
const HOST = [/^@opencode-ai\//]
const SCREEN = [/^solid-js(\/|$)/, /^@opentui\//]

/** Who may know whom. The halves meet in core alone. */
const HOUSES: readonly (readonly [prefix: string, house: House])[] = [
  ["src/core/", { own: ["src/core/"], notPackages: [...RUNTIME, ...HOST, ...SCREEN] }],
  ["src/shared/", { own: ["src/shared/", "src/core/"], notPackages: SCREEN }],
  ["src/server/", { own: ["src/server/", "src/shared/", "src/core/"], notPackages: SCREEN }],
  ["src/server.ts", { own: ["src/server/", "src/shared/", "src/core/"], notPackages: SCREEN }],
  ["src/cli.ts", { own: ["src/server/", "src/shared/", "src/core/"], notPackages: SCREEN }],
  // The one door of the screen to a process: the person's own editor.
  ["src/tui/editor.ts", { own: ["src/core/"], notPackages: [/^node:fs/, /^bun(:|$)/] }],
  ["src/tui/", { own: ["src/tui/", "src/core/"], notPackages: [/^node:child_process$/, /^node:fs/, /^bun(:|$)/] }],
  ["src/tui.tsx", { own: ["src/tui/", "src/core/"], notPackages: [/^node:child_process$/, /^node:fs/, /^bun(:|$)/] }],
]

function wrongImports(source: Source): string[] {
  const house = HOUSES.find(([prefix]) => source.path.startsWith(prefix))?.[1]
  if (!house) return [`${source.path}: belongs to no house`]
  return importsOf(source).flatMap(({ from, line }) => {
    const at = `${source.path}:${line}`
    if (from === undefined) return [`${at}: imports what cannot be read from the source`]
    const own = resolveImport(source.path, from)
    if (own !== undefined) {
      if (!/\.(tsx?|json)$/.test(own)) return [`${at}: "${from}" has no extension`]
      const isAllowed = own === "package.json" || house.own.some((prefix) => own.startsWith(prefix))
      return isAllowed ? [] : [`${at}: must not import "${from}"`]
    }
    const isScreen = SCREEN.some((pattern) => pattern.test(from))
    if (isScreen && !source.path.endsWith(".tsx")) return [`${at}: a file that imports "${from}" is a .tsx file`]
    return house.notPackages.some((pattern) => pattern.test(from)) ? [`${at}: must not import "${from}"`] : []
  })
}

/** What the runtime gives to everybody, and core must be given: time, chance, and the world. */
const AMBIENT = new Set([
  ..."performance crypto process Bun Deno globalThis window self console fetch require queueMicrotask".split(" "),
  ..."setTimeout setInterval setImmediate clearTimeout clearInterval BroadcastChannel Worker WebSocket localStorage".split(
    " ",
  ),
])

function ambientUses(source: Source): string[] {
  const found: string[] = []
  const report = (node: ts.Node, what: string) => found.push(`${source.path}:${lineOf(source, node)}: uses ${what}`)
  visit(source.tree, (node) => {
    if (ts.isIdentifier(node) && AMBIENT.has(node.text) && isReference(node)) report(node, node.text)
    if (ts.isNewExpression(node) && node.expression.getText(source.tree) === "Date" && !node.arguments?.length) {
      report(node, "new Date()")
    }
    if (ts.isCallExpression(node) && node.expression.getText(source.tree) === "Date") report(node, "Date()")
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) {
      const text = node.getText(source.tree)
      if (/^Date\s*(\?\.|\.)?\s*(now|\[["'`]now["'`]\])$/.test(text)) report(node, "Date.now")
      if (/^Math\s*(\?\.|\.)?\s*(random|\[["'`]random["'`]\])$/.test(text)) report(node, "Math.random")
    }
    // Taken apart, or handed on whole, they could not be seen any more.
    if (ts.isIdentifier(node) && (node.text === "Date" || node.text === "Math") && isReference(node)) {
      const isUsedInPlace =
        ts.isPropertyAccessExpression(node.parent) ||
        ts.isElementAccessExpression(node.parent) ||
        ts.isNewExpression(node.parent) ||
        ts.isCallExpression(node.parent) ||
        (ts.isBinaryExpression(node.parent) && node.parent.operatorToken.kind === ts.SyntaxKind.InstanceOfKeyword)
      if (!isUsedInPlace) report(node, `${node.text} as a value`)
    }
  })
  return found
}

/** Whether an identifier stands for a value: not a member's name, a key, a declaration, or a type. */
function isReference(node: ts.Identifier): boolean {
  const parent = node.parent
  if (ts.isPropertyAccessExpression(parent)) return parent.expression === node
  if (ts.isTypeNode(parent) || ts.isQualifiedName(parent) || ts.isExpressionWithTypeArguments(parent)) return false
  if (ts.isImportSpecifier(parent) || ts.isExportSpecifier(parent)) return false
  if (ts.isShorthandPropertyAssignment(parent)) return true
  const named = parent as { name?: ts.Node; propertyName?: ts.Node }
  return named.name !== node && named.propertyName !== node
}

const sources = sourcesOf("src")

describe("imports", () => {
  test("go in one direction: tui and shared know core, server knows shared and core, core knows nobody", () => {
    expect(sources.length).toBeGreaterThan(0)
    expect(sources.flatMap(wrongImports)).toEqual([])
  })

  test.each([
    ["src/core/x.ts", 'import { a } from "../shared/store.ts"'],
    ["src/core/x.ts", 'export * from "node:fs"'],
    ["src/core/x.ts", 'type A = import("@opencode-ai/sdk").Session'],
    ["src/core/x.ts", 'const fs = await import("node:fs/promises")'],
    ["src/core/x.ts", "const any = await import(name)"],
    ["src/core/x.tsx", 'import { createSignal } from "solid-js"'],
    ["src/core/x.ts", 'import { a } from "./y"'],
    ["src/shared/x.ts", 'import { a } from "../server/events.ts"'],
    ["src/shared/x.ts", 'import type { A } from "../tui/store.ts"'],
    ["src/server/validator/x.ts", 'import { a } from "../../tui/board/store.tsx"'],
    ["src/tui/x.tsx", 'import { a } from "../shared/tasks.ts"'],
    ["src/tui/x.tsx", 'import { spawn } from "node:child_process"'],
    ["src/tui/x.ts", 'import type { JSX } from "solid-js"'],
    ["src/tui/x.ts", 'import { a } from "../../test/kit/repo.ts"'],
    ["src/elsewhere/x.ts", ""],
  ])("%s: %s is refused", (path, text) => {
    expect(wrongImports(parse(path, text))).toHaveLength(1)
  })
})

describe("core", () => {
  test("has no clock, no chance and no world of its own", () => {
    const core = sources.filter((source) => source.path.startsWith("src/core/"))
    expect(core.length).toBeGreaterThan(0)
    expect(core.flatMap(ambientUses)).toEqual([])
  })

  test.each([
    "const t = Date.now()",
    'const t = Date["now"]()',
    "const t = new Date()",
    "const t = Date()",
    "const { now } = Date",
    "const r = Math.random()",
    "const pick = { Math }",
    "setTimeout(run, 1)",
    "const id = crypto.randomUUID()",
    "const t = performance.now()",
    "console.log(1)",
    "const home = process.env.HOME",
    "const g = globalThis",
  ])("%s is refused", (text) => {
    expect(ambientUses(parse("src/core/x.ts", text))).toHaveLength(1)
  })

  test.each([
    "const day = new Date(at).toISOString()",
    "const m = Math.max(1, 2)",
    "const o = { process: 1, fetch() {} }; o.process; o.fetch()",
    "type T = Date",
    "const is = at instanceof Date",
  ])("%s is allowed", (text) => {
    expect(ambientUses(parse("src/core/x.ts", text))).toEqual([])
  })
})
