import { beforeAll, describe, expect, test, vi } from "vitest"
import ts from "typescript"
import { judge, type Allowed, type Finding } from "./audit/findings.ts"
import { auditedProgram, readSource, type Audited } from "./audit/program.ts"
import { rawTypes } from "./audit/raw.ts"
import { surfaceDrift } from "./audit/drift.ts"
import { surfaces, turnGateways, turnSinks, unmistakable } from "./audit/surface.ts"
import { further } from "./audit/snippets/further.ts"
import { innocent } from "./audit/snippets/innocent.ts"
import { names } from "./audit/snippets/names.ts"
import { others } from "./audit/snippets/others.ts"
import { shapes } from "./audit/snippets/shapes.ts"
import { checkSnippet, fileOf, snippetFiles, type Snippet } from "./audit/snippets/snippet.ts"
import { turnDoors } from "./audit/turn-doors.ts"
import { auditTurns } from "./audit/turns.ts"

const ways = [...names, ...shapes, ...others]
const snippets = [...ways, ...further, ...innocent]
const check = (snippet: Snippet) => checkSnippet(audited, snippet, auditTurns)

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles(snippets))
})

describe("src", () => {
  test("R1: only the gate starts a turn, and every step towards one is accounted for", () => {
    expect(judge(auditTurns(audited, "src/"), turnDoors)).toEqual([])
  })

  test("the list of what starts or steers a turn is that of the installed host", () => {
    expect(surfaceDrift(audited)).toEqual([])
  })

  test.each(["src/shared/host.ts#Host", "src/tui/client.ts#SessionReader"])("%s gives no way to a turn", (place) => {
    const [file = "", name = ""] = place.split("#")
    const source = audited.sources(file)[0]
    expect(source, `${file} does not exist`).toBeDefined()
    const module = audited.checker.getSymbolAtLocation(source!)
    const symbol = audited.checker.getExportsOfModule(module!).find((one) => one.name === name)
    expect(symbol, `${place} does not exist`).toBeDefined()
    expect(waysOut(audited.checker.getDeclaredTypeOfSymbol(symbol!))).toEqual([])
  })
})

describe("every form is seen for what it is", () => {
  test("there are 40 ways and 5 innocent snippets, each with a name of its own", () => {
    expect([ways.length, innocent.length]).toEqual([40, 5])
    expect(new Set(snippets.map(fileOf)).size).toBe(snippets.length)
  })

  test.each(ways)("caught: $name", check)
  test.each(further)("caught too: $name", check)
  test.each(innocent)("clean: $name", check)
})

describe("the list of accepted uses", () => {
  const use: Finding = { rule: "sink", symbol: "Session.prompt", file: "src/a.ts", line: 3, text: "session.prompt()" }
  const entry: Allowed = { ...use, count: 1, reason: "the only place that may" }

  test("fails for a use nobody accepted, in another file too", () => {
    expect(judge([use], [])).toEqual(["src/a.ts:3 sink of Session.prompt: session.prompt()"])
    expect(judge([use, { ...use, file: "src/b.ts" }], [entry])).toEqual([
      "src/b.ts:3 sink of Session.prompt: session.prompt()",
    ])
  })

  test("fails for one use more, for one less, and for an entry that is not used", () => {
    expect(judge([use], [entry])).toEqual([])
    expect(judge([use, { ...use, line: 4 }], [entry])).toHaveLength(1)
    expect(judge([use], [{ ...entry, count: 2 }])).toHaveLength(1)
    expect(judge([], [entry])).toHaveLength(1)
  })

  test("fails for an entry without a reason, and for one said twice", () => {
    expect(judge([use], [{ ...entry, reason: " " }])).toHaveLength(1)
    expect(judge([use], [entry, entry])).toHaveLength(1)
  })
})

test("a way that is added to an accepted file, or to a new one, is found", () => {
  const host = readSource("src/shared/host.ts")
  const files = {
    "src/shared/host.ts": `${host}
      export const late = (client: OpencodeClient, id: string) => client.session.prompt({ sessionID: id })`,
    "src/core/sneaky.ts": `import type { HostDoors } from "../shared/host.ts"
      export const go = ({ turns: t }: HostDoors) => t.session["prompt" as const]({ sessionID: "s", parts: [] })`,
    "src/tui/sneaky.tsx": `import type { TuiPluginApi } from "@opencode-ai/plugin/tui"
      type Props = { api: TuiPluginApi }
      export const Go = (props: Props) => (
        <text onMouseDown={() => props.api.client.session.summarize({ sessionID: "s" })}>go</text>
      )`,
  }
  const changed = auditedProgram(files, audited)
  const found = Object.keys(files).flatMap((file) => auditTurns(changed, file))
  const complaints = judge(
    found,
    turnDoors.filter((door) => door.file in files),
  )
  expect(complaints.map((line) => line.split(": ")[0])).toEqual([
    "src/core/sneaky.ts:2 entrance of HostDoors.turns",
    "src/core/sneaky.ts:2 sink of Turns.prompt",
    "src/tui/sneaky.tsx:4 sink of Session2.summarize",
    "src/tui/sneaky.tsx:4 entrance of TuiPluginApi.client",
    "src/shared/host.ts raw type of OpencodeClient",
    "src/shared/host.ts sink of Session2.prompt",
  ])
})

/** Members by which a value of this type could start a turn, at any depth of its own methods. */
function waysOut(type: ts.Type): string[] {
  const raw = rawTypes(audited, { sinks: turnSinks, gateways: turnGateways }, unmistakable)
  const turns = surfaces.filter(({ container }) => /^(?:Session|Session2|Tui|Turns)$/.test(container))
  const banned = new Set(turns.flatMap((surface) => surface.sinks.split(" ")))
  const inner = (one: ts.Type, depth: number): string[] =>
    one.getProperties().flatMap((property) => {
      const of = audited.checker.getTypeOfSymbol(property)
      if (raw.carries(of)) return [`${property.name}: a raw client`]
      if (of.getCallSignatures().length > 0) return banned.has(property.name) ? [property.name] : []
      return depth > 0 ? inner(of, depth - 1).map((name) => `${property.name}.${name}`) : []
    })
  return inner(type, 3)
}
