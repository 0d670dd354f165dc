import { createOpencodeClient as createOld } from "@opencode-ai/sdk"
import { createOpencodeClient } from "@opencode-ai/sdk/v2"
import { describe, expect, test } from "vitest"
import { doorsOf } from "../../src/shared/host.ts"
import { manualClock } from "./clock.ts"
import { guardTurns } from "./turn-guard.ts"

const asked: string[] = []
const answer = (async (request: Request) => {
  asked.push(`${request.method} ${new URL(request.url).pathname}`)
  return Response.json({ id: "ses_1" })
}) as unknown as typeof fetch

const newest = () => createOpencodeClient({ baseUrl: "http://host.invalid", fetch: answer })
const old = () => createOld({ baseUrl: "http://host.invalid", fetch: answer })

/** The object that a dotted path leads to, without its last name, and that name. */
function follow(client: object, path: string): [Record<string, unknown>, string] {
  const names = path.split(".")
  const last = names.pop()!
  let at = client as Record<string, unknown>
  for (const name of names) at = at[name] as Record<string, unknown>
  return [at, last]
}

const turns = ["prompt", "promptAsync", "command", "shell", "summarize", "init"].map((name) => `session.${name}`)
const screen = ["appendPrompt", "submitPrompt", "executeCommand", "publish"].map((name) => `tui.${name}`)
const shared = [...turns, ...screen, "tui.control.next", "tui.control.response"]
const newer = ["v2", "experimental.session.background", "experimental.controlPlane.moveSession", "sync.start"]

describe("outside the gate", () => {
  test.each([
    ...shared.map((path) => ({ path, make: old, generation: "first" })),
    ...[...shared, ...newer].map((path) => ({ path, make: newest, generation: "second" })),
  ])("$path of the $generation generation is there, and reading it throws", ({ path, make }) => {
    const [plain, last] = follow(make(), path)
    expect(plain[last]).toBeDefined()
    const guard = guardTurns(make())
    const [held, name] = follow(guard.client, path)
    expect(() => held[name]).toThrow(`${path} starts or steers a turn`)
    expect(guard.refused).toHaveLength(1)
    expect(guard.refused[0]).toContain("turn-guard.test")
  })

  test("the way a member is read makes no difference", () => {
    const { client, refused } = guardTurns(newest())
    const raw = client as unknown as Record<string, Record<string, unknown>>
    const half = "Async"
    expect(() => Reflect.get(client.session, `prompt${half}`)).toThrow(/only the gate/)
    expect(() => raw["session"]?.["summarize"]).toThrow(/only the gate/)
    expect(() => {
      const { prompt } = client.session
      return prompt
    }).toThrow(/only the gate/)
    expect(() => raw["client"]).toThrow(/only the gate/)
    expect(() => ({ ...client.session })).toThrow(/only the gate/)
    expect(() => Object.getOwnPropertyDescriptor(client, "client")).toThrow(/only the gate/)
    expect(() => guardTurns(old()).client["_client" as "session"]).toThrow(/only the gate/)
    expect(refused).toHaveLength(6)
  })

  test("a read that was caught is remembered", async () => {
    const { client, refused } = guardTurns(newest())
    await Promise.resolve()
      .then(() => client.session.promptAsync({ sessionID: "ses_1" }))
      .catch(() => undefined)
    expect(refused).toHaveLength(1)
  })
})

describe("what is left", () => {
  test("reading works, and the doors are built over it", async () => {
    asked.length = 0
    const guard = guardTurns(newest())
    const { host } = doorsOf(guard.client, manualClock())
    expect(await host.session("ses_1")).toEqual({ ok: true, value: { id: "ses_1" } })
    expect(asked).toEqual(["GET /session/ses_1"])
    expect(guard.refused).toEqual([])
  })

  test("through its door the gate prompts, and the door is shut again at once", async () => {
    asked.length = 0
    const guard = guardTurns(newest())
    const doors = doorsOf(guard.client, manualClock())
    const door = guard.forGate(doors.turns)
    const input = { sessionID: "ses_1", parts: [{ type: "text", text: "go on" }] } as const
    const sent = door.session.promptAsync({ ...input, parts: [...input.parts] })
    expect(() => doors.turns.session.promptAsync({ ...input, parts: [...input.parts] })).toThrow(/only the gate/)
    await sent
    expect(asked).toEqual(["POST /session/ses_1/prompt_async"])
  })

  test("there is one gate", () => {
    const guard = guardTurns(newest())
    const { turns: door } = doorsOf(guard.client, manualClock())
    guard.forGate(door)
    expect(() => guard.forGate(door)).toThrow("has its door already")
  })
})
