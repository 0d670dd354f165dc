import { beforeAll, describe, expect, test, vi } from "vitest"
import ts from "typescript"
import { WAKE_SOURCES } from "../../src/shared/wake-sources.ts"
import { auditedProgram, placeOf, walk, type Audited } from "./audit/program.ts"
import { fileOf, snippetFiles, type Snippet } from "./audit/snippets/snippet.ts"
import { parse, sourcesOf, visit, type Source } from "./sources.ts"

/*
 * A wake says by its source who asked for it. Every route stands in one table, each by a test of its own trigger:
 * a double turn is found by the log line of its source, and a lost one by the test of its route.
 */

/** Calls that lead to a turn, and which of their arguments carries the source. */
const wakes: Readonly<Record<string, number>> = {
  "src/shared/prompt-async-gate.ts#promptAsyncAfterSessionIdle": 0,
  "src/shared/prompt-async-gate.ts#promptAfterSessionIdle": 0,
  "src/shared/inject.ts#Inject.prompt": 0,
  "src/server/project.ts#Project.wake": 0,
}

/** Hands on what its own callers say, who are read themselves. */
const handsOn: ReadonlySet<string> = new Set(["src/shared/inject.ts"])

/** The routes that the wakes of the given files can say, and the places where that cannot be told. */
function routesIn(audited: Audited, files: readonly ts.SourceFile[]): { routes: Set<string>; unread: string[] } {
  const { checker } = audited
  const routes = new Set<string>()
  const unread: string[] = []
  // Whatever a wake is called in a file, one of these names stands in it.
  const named = files.filter((file) => /\b(?:prompt(?:Async)?AfterSessionIdle|prompt|wake)\b/.test(file.text))
  for (const file of named)
    walk(file, (node) => {
      if (!ts.isCallExpression(node)) return
      const declaration = checker.getResolvedSignature(node)?.declaration
      const index = declaration && wakes[placeOf(declaration) ?? ""]
      const argument = index === undefined ? undefined : node.arguments[index]
      if (!argument) return
      const property = checker.getTypeAtLocation(argument).getProperty("source")
      const type = property && checker.getTypeOfSymbol(property)
      for (const one of type?.isUnion() ? type.types : [type]) {
        const text = one?.isStringLiteral() ? one.value : isTemplate(one) ? one.texts[0] : undefined
        const route = /^([^:]+):/.exec(text ?? "")?.[1]
        if (route !== undefined) routes.add(route)
        else if (!handsOn.has(audited.name(file)))
          unread.push(
            `${audited.name(file)}: ${node.expression.getText()} with a source that is ${one ? checker.typeToString(one) : "missing"}`,
          )
      }
    })
  return { routes, unread }
}

function isTemplate(type: ts.Type | undefined): type is ts.TemplateLiteralType {
  return type !== undefined && !!(type.flags & ts.TypeFlags.TemplateLiteral)
}

/** Titles of the tests in these files. */
function titlesIn(sources: readonly Source[]): string[] {
  const titles: string[] = []
  for (const { tree } of sources)
    visit(tree, (node) => {
      if (!ts.isCallExpression(node) || !/^(?:test|it)\b/.test(node.expression.getText(tree))) return
      const [title] = node.arguments
      if (title && ts.isStringLiteralLike(title)) titles.push(title.text)
    })
  return titles
}

const isTestOf = (route: string, title: string) => title.startsWith(`source ${route}: `)
const untested = (routes: readonly string[], titles: readonly string[]) =>
  routes.filter((route) => !titles.some((title) => isTestOf(route, title)))

const strange: Snippet = {
  name: "wakes whose source cannot be told",
  code: `import { promptAsyncAfterSessionIdle as go, type PromptArgs, type Source } from "../src/shared/prompt-async-gate.ts"
    import type { Project, WakeRequest } from "../src/server/project.ts"
    export const one = (args: PromptArgs, name: string) => go({ ...args, source: \`a\${name}:x\` })
    export const two = (args: PromptArgs, who: "b" | "c") => go({ ...args, source: \`\${who}:\${args.sessionID}\` })
    export const three = (args: PromptArgs, source: Source) => go({ ...args, source })
    export const four = ({ wake }: Project, asked: WakeRequest) => wake({ ...asked, source: "task-tell:ses_1" })`,
  finds: [],
}

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles([strange]))
})

describe("wake sources", () => {
  test("every source in src has a route of the table, and every route of the table is used", () => {
    const { routes, unread } = routesIn(audited, audited.sources("src/"))
    expect(unread).toEqual([])
    expect([...routes].toSorted()).toEqual(Object.keys(WAKE_SOURCES).toSorted())
  })

  test("every route has a regression test of its own trigger", () => {
    const tests = sourcesOf("test").filter(({ path }) => /\.test\.tsx?$/.test(path) && !path.startsWith("test/guards/"))
    expect(untested(Object.keys(WAKE_SOURCES), titlesIn(tests))).toEqual([])
  })

  test("every call that is watched is declared where it is looked for", () => {
    const found = new Set<string>()
    for (const file of audited.sources("src/")) walk(file, (node) => void found.add(placeOf(node) ?? ""))
    expect(Object.keys(wakes).filter((place) => !found.has(place))).toEqual([])
  })
})

describe("what the guard sees", () => {
  test("literal and computed sources, unions, and what cannot be told", () => {
    const { routes, unread } = routesIn(audited, audited.sources(fileOf(strange)))
    expect([...routes].toSorted()).toEqual(["b", "c", "task-tell"])
    expect(unread).toHaveLength(2)
  })

  test("a route without a test, also where another's name begins with it", () => {
    const titles = titlesIn([
      parse("test/a.test.ts", `test("source task-tell-all: x", f); it.each(a)("source b: %s", f)`),
    ])
    expect(untested(["task-tell", "task-tell-all", "b"], titles)).toEqual(["task-tell"])
  })
})
