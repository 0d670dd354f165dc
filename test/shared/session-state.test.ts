import { describe, expect, it } from "vitest"
import { err, ok } from "../../src/core/result.ts"
import type { Change } from "../../src/shared/session-state.ts"
import { DIR, makeWorld, memoryLeases, now, type World } from "./gate-world.ts"

const S = "s"

function changes(world: World): string[] {
  const seen: string[] = []
  const tell = (change: Change) => ("sessionID" in change ? `${change.kind} ${change.sessionID}` : change.kind)
  world.state.subscribe((change) => void seen.push(tell(change)))
  return seen
}

describe("the phase of a session", () => {
  it("goes through a turn with its tools", async () => {
    const world = makeWorld()
    const seen = changes(world)
    const phases = [world.state.phase(S)]
    const note = () => void phases.push(world.state.phase(S))
    world.state.foreignPrompt(S, "msg_user")
    note()
    world.busy(S)
    note()
    world.state.enterTool(S, "c1")
    world.state.enterTool(S, "c2")
    world.state.leaveTool(S, "c1")
    note()
    world.state.leaveTool(S, "c2")
    note()
    world.idle(S)
    note()
    await world.clock.advance(150)
    note()
    expect(phases).toEqual(["unknown", "admitting", "step", "window", "step", "step", "idle"])
    expect(seen).toEqual(["foreign_prompt s", "busy s", "idle s"])
    expect(world.clock.pending()).toBe(0)
  })

  it("busy again before the settle is over is no end", async () => {
    const world = makeWorld()
    const seen = changes(world)
    world.busy(S)
    world.idle(S)
    await world.clock.advance(149)
    world.busy(S)
    await world.clock.advance(1_000)
    expect(world.state.phase(S)).toBe("step")
    expect(seen).toEqual(["busy s"])
  })

  it("a retry says until when, and the next busy takes it back", () => {
    const world = makeWorld()
    world.emit("session.status", { sessionID: S, status: { type: "retry", attempt: 2, message: "429", next: 77 } })
    expect([world.state.phase(S), world.state.retryUntil(S)]).toEqual(["step", 77])
    world.busy(S)
    expect(world.state.retryUntil(S)).toBeUndefined()
  })

  it("a prompt that was admitted and never began is forgotten", async () => {
    const world = makeWorld()
    world.state.foreignPrompt(S, undefined)
    await world.clock.advance(9_999)
    expect(world.state.phase(S)).toBe("admitting")
    await world.clock.advance(1)
    expect(world.state.phase(S)).toBe("unknown")
  })

  it("is blocked by an open undo and by the archive, until they are closed", () => {
    const world = makeWorld()
    const seen = changes(world)
    const update = (info: object) =>
      world.emit("session.updated", { sessionID: S, info: { id: S, directory: DIR, ...info } })
    update({ revert: { messageID: "m" }, time: {} })
    expect(world.state.phase(S)).toBe("blocked")
    update({ time: { archived: 5 } })
    expect(world.state.phase(S)).toBe("blocked")
    update({ time: {} })
    expect(world.state.phase(S)).toBe("unknown")
    expect(seen).toEqual(["unblocked s"])
  })

  it("is dead for ten minutes, whatever events come late", async () => {
    const world = makeWorld()
    world.busy(S)
    world.emit("session.deleted", { info: { id: S } })
    world.busy(S)
    world.idle(S)
    world.state.foreignPrompt(S, "x")
    expect(world.state.phase(S)).toBe("dead")
    await world.clock.advance(10 * 60_000)
    expect(world.state.phase(S)).toBe("unknown")
  })

  it("is fenced with its directory only", () => {
    const world = makeWorld()
    world.state.track("a", "/one")
    world.state.track("b", "/two")
    world.state.fence("/one")
    expect([world.state.phase("a"), world.state.phase("b")]).toEqual(["fenced", "unknown"])
    world.state.unfence("/one")
    expect(world.state.phase("a")).toBe("unknown")
  })

  it.each([
    [{ type: "session.status" }],
    [{ type: "session.status", properties: "text" }],
    [{ type: "session.status", properties: { status: { type: "busy" } } }],
    [{ type: "session.updated", properties: { info: 7 } }],
    [{ type: "session.error", properties: {} }],
    [{ type: "message.updated", properties: { info: { sessionID: S, role: "user" } } }],
    [{ type: "server.instance.disposed", properties: {} }],
    [{ type: "something.new", properties: { sessionID: S } }],
  ])("does not mind %j", (event) => {
    const world = makeWorld()
    const seen = changes(world)
    world.state.observe(event)
    expect(world.state.phase(S)).toBe("unknown")
    expect(seen).toEqual([])
  })
})

describe("asking", () => {
  it("a lost end is made up for", async () => {
    const world = makeWorld()
    world.busy(S)
    world.endTurn(S)
    await world.clock.advance(150)
    world.busy(S)
    world.session(S).running = false
    const seen = changes(world)
    expect((await now(world.state.ask(S, DIR))).kind).toBe("quiet")
    expect([world.state.phase(S), ...seen]).toEqual(["idle", "idle s"])
  })

  it("a lost beginning too", async () => {
    const world = makeWorld()
    world.session(S).running = true
    const seen = changes(world)
    expect((await now(world.state.ask(S, DIR))).kind).toBe("busy")
    expect([world.state.phase(S), ...seen]).toEqual(["step", "busy s"])
  })

  it("what begins while the question is out counts", async () => {
    const world = makeWorld()
    const answer = Promise.withResolvers<any>()
    world.host.statusAnswers.push(answer.promise)
    const asked = world.state.ask(S, DIR)
    await world.settle()
    world.emit("session.status", { sessionID: S, status: { type: "busy" } })
    answer.resolve(ok({}))
    expect((await now(asked)).kind).toBe("busy")
  })

  it("no directory is needed, the host knows it", async () => {
    const world = makeWorld()
    world.session(S).directory = "/x"
    expect((await now(world.state.ask(S))).kind).toBe("quiet")
    expect(world.asks).toContain("statuses /x")
    expect(world.state.directoryOf(S)).toBe("/x")
  })

  it("a session that is gone, elsewhere, blocked or unknown says so", async () => {
    const leases = memoryLeases()
    const world = makeWorld({ leases: leases.of("me") })
    world.session("gone").gone = true
    await leases.of("other").take("elsewhere")
    world.session("reverted").revert = true
    world.session("archived").archived = true
    const kinds = []
    for (const id of ["gone", "elsewhere", "reverted", "archived"])
      kinds.push((await now(world.state.ask(id, DIR))).kind)
    world.host.statusAnswers.push(err({ kind: "server_error", text: "500", status: 500 }))
    kinds.push((await now(world.state.ask("unknown", DIR))).kind)
    expect(kinds).toEqual(["gone", "elsewhere", "blocked", "blocked", "unknown"])
  })

  it("reads further back when only contexts are at the end", async () => {
    const world = makeWorld()
    const context = (n: number) => ({
      info: { id: `c${n}`, role: "user", time: { created: 0 } },
      parts: [{ type: "text", text: "x", synthetic: true, metadata: { kagan: { inject: `${n}` } } }],
    })
    world.userPrompt(S)
    world.endTurn(S)
    await world.clock.advance(150)
    for (let n = 0; n < 31; n++) world.session(S).messages.push(context(n) as never)
    const asked = await now(world.state.ask(S, DIR))
    expect(asked).toMatchObject({ kind: "quiet", tail: { kind: "finished" } })
    expect(world.asks.filter((ask) => ask === `messages ${S}`).length).toBe(2)
  })
})

it("keeps a bounded number of sessions, and never forgets one that is ours or at work", () => {
  const world = makeWorld()
  world.state.track("ours", DIR)
  world.emit("session.status", { sessionID: "working", status: { type: "busy" } })
  for (let n = 0; n < 5_000; n++) world.emit("session.updated", { info: { id: `s${n}`, directory: DIR, time: {} } })
  expect(world.state.size()).toBeLessThanOrEqual(2_000)
  expect(world.state.tracked("ours")).toBe(true)
  expect(world.state.phase("working")).toBe("step")
})

it("keeps a bounded number of own ids", () => {
  const world = makeWorld()
  for (let n = 0; n < 5_000; n++) world.state.expectOwn(`m${n}`)
  expect([world.state.isOwn("m0"), world.state.isOwn("m4999"), world.state.isOwn(undefined)]).toEqual([
    false,
    true,
    false,
  ])
})
