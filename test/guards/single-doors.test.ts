import ts from "typescript"
import { describe, expect, test } from "vitest"
import { dottedName, importsOf, lineOf, parse, sourcesOf, visit, type Source } from "./sources.ts"

interface Door {
  readonly what: string
  /** Lines of a file that go through the door. */
  readonly uses: (source: Source) => number[]
  /** Files that hold the door, by path; or how many files of a half may, where no name is fixed. */
  readonly owners: readonly string[] | "one in each half"
}

/** Lines of accesses (`a.b.c`, `a["b"]?.c`, and what is taken apart from `a.b`) whose dotted name matches. */
const accessTo = (pattern: RegExp) => (source: Source) =>
  linesWhere(source, (node) => {
    if (ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)) return pattern.test(dottedName(node))
    if (!ts.isBindingElement(node) || !ts.isVariableDeclaration(node.parent.parent)) return false
    const whole = node.parent.parent.initializer
    const key = node.propertyName ?? node.name
    return whole !== undefined && ts.isIdentifier(key) && pattern.test(`${dottedName(whole)}.${key.text}`)
  })

const imports = (pattern: RegExp) => (source: Source) =>
  importsOf(source)
    .filter(({ from }) => from !== undefined && pattern.test(from))
    .map(({ line }) => line)

const names = (name: string) => (source: Source) =>
  linesWhere(source, (node) => ts.isIdentifier(node) && node.text === name)

const either =
  (...ways: ((source: Source) => number[])[]) =>
  (source: Source) =>
    ways.flatMap((way) => way(source))

function linesWhere(source: Source, is: (node: ts.Node) => boolean): number[] {
  const lines: number[] = []
  visit(source.tree, (node) => {
    if (is(node)) lines.push(lineOf(source, node))
  })
  return lines
}

function isEventHook(node: ts.Node): boolean {
  if (ts.isMethodDeclaration(node)) return ts.isObjectLiteralExpression(node.parent) && node.name.getText() === "event"
  if (!ts.isPropertyAssignment(node) || node.name.getText() !== "event") return false
  return ts.isArrowFunction(node.initializer) || ts.isFunctionExpression(node.initializer)
}

/** A variable of the process's environment, such as `process.env.X`. */
function isVariable(target: ts.Node): boolean {
  if (!ts.isPropertyAccessExpression(target) && !ts.isElementAccessExpression(target)) return false
  return /(^|\.)process\.env$/.test(dottedName(target.expression))
}

/** `process.env.X = …`, `delete process.env.X`, `Object.assign(process.env, …)`. */
function changesEnvironment(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.EqualsToken) return isVariable(node.left)
  if (ts.isDeleteExpression(node)) return isVariable(node.expression)
  return (
    ts.isCallExpression(node) &&
    /^(Object\.(assign|defineProperty)|Reflect\.(set|deleteProperty))$/.test(dottedName(node.expression)) &&
    node.arguments[0] !== undefined &&
    /(^|\.)process\.env$/.test(dottedName(node.arguments[0]))
  )
}

const DOORS: readonly Door[] = [
  {
    what: "calls that start or steer a turn",
    uses: accessTo(/(^|\.)(session\.(prompt|command|shell|init|summarize)|promptAsync)$/),
    owners: ["src/shared/host.ts", "src/shared/prompt-async-gate.ts"],
  },
  {
    what: "the host's session update and create",
    uses: accessTo(/(^|\.)session\.(update|create|fork)$/),
    owners: ["src/shared/host.ts"],
  },
  {
    what: "writes of metadata",
    uses: accessTo(/(^|\.)(metadata|metadataDoor)\.(write|create)$/),
    owners: ["src/shared/tasks.ts"],
  },
  {
    what: "the host's client",
    uses: accessTo(
      /(^|\.)client\.(session|config|permission|question|app|tui|instance|path|project|provider|event|global|file|find|vcs|v2)\.\w+$/,
    ),
    owners: ["src/shared/host.ts", "src/tui/client.ts"],
  },
  { what: "making a client of the host", uses: names("createOpencodeClient"), owners: ["src/shared/host.ts"] },
  {
    what: "child processes",
    uses: either(imports(/^(node:)?child_process$|^bun$/), accessTo(/(^|\.)Bun\.(spawn|spawnSync|\$)$/)),
    owners: [
      "src/shared/git/runner.ts",
      // Asks when a process started.
      "src/shared/store/claim.ts",
      // Asks which commands a dead OpenCode left behind, where there is no /proc.
      "src/server/left-commands.ts",
      // The person's own editor, on the board's key for it.
      "src/tui/editor.ts",
      // The person's own npm, for updates.
      "src/server/npm.ts",
      // Setup commands and checks, as the project's options name them.
      "src/server/command.ts",
    ],
  },
  {
    what: "running git",
    uses: (source) =>
      linesWhere(source, (node) => {
        const first = ts.isCallExpression(node) ? node.arguments[0] : undefined
        const program = first && ts.isArrayLiteralExpression(first) ? first.elements[0] : first
        const isRun =
          ts.isCallExpression(node) && /(^|\.)(spawn|spawnSync|exec\w*|fork)$/.test(dottedName(node.expression))
        return isRun && program !== undefined && ts.isStringLiteralLike(program) && /^git( |$)/.test(program.text)
      }),
    owners: ["src/shared/git/runner.ts"],
  },
  { what: "the channel between the halves", uses: names("BroadcastChannel"), owners: "one in each half" },
  {
    what: "the subscription to host events",
    uses: either(accessTo(/(^|\.)event\.(on|subscribe|listen)$/), (source) =>
      source.path.startsWith("src/tui") ? [] : linesWhere(source, isEventHook),
    ),
    owners: "one in each half",
  },
  {
    what: "changes of the process's environment",
    uses: (source) => linesWhere(source, changesEnvironment),
    owners: "one in each half",
  },
  { what: "the console", uses: names("console"), owners: [] },
]

const halfOf = (path: string) => (path.startsWith("src/tui") ? "tui" : "server")

/** Every use of a door by a file that does not hold it. */
function wrongUses(door: Door, sources: readonly Source[]): string[] {
  const users = sources
    .map((source) => ({ path: source.path, lines: door.uses(source) }))
    .filter(({ lines }) => lines.length > 0)
  const { owners } = door
  const first = new Map<string, string>()
  const holds = ({ path }: { path: string }) => {
    if (owners !== "one in each half") return owners.includes(path)
    const half = halfOf(path)
    if (!first.has(half)) first.set(half, path)
    return first.get(half) === path
  }
  return users.filter((user) => !holds(user)).map(({ path, lines }) => `${path}:${lines.join(",")}: ${door.what}`)
}

const sources = sourcesOf("src")

describe("each door has one owner", () => {
  test.each(DOORS)("$what", (door) => {
    expect(wrongUses(door, sources)).toEqual([])
  })

  test("a door whose owner is named is used there, so that the name is not stale", () => {
    const stale = DOORS.flatMap(({ what, owners, uses }) =>
      owners === "one in each half"
        ? []
        : owners
            .filter((owner) => !sources.some((source) => source.path === owner && uses(source).length > 0))
            .map((owner) => `${owner}: ${what}`),
    )
    expect(stale).toEqual([])
  })
})

describe("what a door refuses", () => {
  test.each([
    ["calls that start or steer a turn", "src/server/x.ts", 'host["session"]?.prompt(input)'],
    ["calls that start or steer a turn", "src/server/x.ts", "const { promptAsync } = turns.session"],
    ["the host's session update and create", "src/shared/x.ts", "await client.session.update({ sessionID })"],
    ["writes of metadata", "src/shared/create-task.ts", "doors.metadata.create(input)"],
    ["the host's client", "src/tui/x.tsx", "api.client.session.get({ sessionID })"],
    [
      "making a client of the host",
      "src/server/x.ts",
      'import { createOpencodeClient as make } from "@opencode-ai/sdk/v2"',
    ],
    ["child processes", "src/server/x.ts", 'import { execFile } from "node:child_process"'],
    ["child processes", "src/server/x.ts", 'const { spawn } = await import("child_process")'],
    ["child processes", "src/server/x.ts", 'Bun.spawn(["ls"])'],
    ["running git", "src/shared/x.ts", 'execFile("git", ["status"])'],
    ["running git", "src/shared/x.ts", 'Bun.spawn(["git", "status"])'],
    ["changes of the process's environment", "src/server/x.ts", "delete process.env.A; process.env['B'] = '1'"],
    ["changes of the process's environment", "src/server/x.ts", "Object.assign(process.env, more)"],
    ["the console", "src/core/x.ts", "console.warn(1)"],
  ])("%s in %s: %s", (what, path, text) => {
    const door = DOORS.find((one) => one.what === what)!
    const other = parse("src/server/events.ts", text)
    const found = wrongUses(door, door.owners === "one in each half" ? [other, parse(path, text)] : [parse(path, text)])
    expect(found).toHaveLength(1)
    expect(found[0]).toContain(path)
  })

  test.each([
    ["the channel between the halves", "new BroadcastChannel(name)"],
    ["the subscription to host events", "api.event.on(type, hear)"],
  ])("%s: a second file of the same half, not the first of the other", (what, text) => {
    const door = DOORS.find((one) => one.what === what)!
    const users = ["src/server/a.ts", "src/tui/b.ts", "src/tui/c.tsx"].map((path) => parse(path, text))
    expect(wrongUses(door, users)).toEqual([`src/tui/c.tsx:1: ${what}`])
  })
})
