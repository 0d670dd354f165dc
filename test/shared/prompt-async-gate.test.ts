import { beforeEach, describe, expect, expectTypeOf, it } from "vitest"
import { readdirSync, readFileSync } from "node:fs"
import { ok } from "../../src/core/result.ts"
import { sharedSlots } from "../../src/shared/gate/slots.ts"
import type { PromptInput, Turns } from "../../src/shared/host.ts"
import {
  DEFAULT_PROMPT_ASYNC_IDLE_SETTLE_MS,
  DEFAULT_PROMPT_ASYNC_POST_DISPATCH_HOLD_MS,
  DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS,
  promptAfterSessionIdle,
  promptAsyncAfterSessionIdle,
  releasePromptAsyncReservation,
  type PromptArgs,
  type PromptAsyncGateResult,
} from "../../src/shared/prompt-async-gate.ts"
import { isPending, makeWorld, now, type World } from "./gate-world.ts"

beforeEach(() => sharedSlots().slots.clear())

const S = "s"
const done = { status: "dispatched" }

/** Both entries keep the same promises up to what a turn adds. */
describe.each(["wake", "note"] as const)("the gate's promises, %s", (entry) => {
  const go = (world: World, id = S, source?: PromptArgs["source"], more?: Partial<PromptArgs>) =>
    world[entry](id, source, more)

  it("R2 both entries give the same results for the same arguments", async () => {
    const world = makeWorld()
    const result = go(world)
    await world.clock.advance(150)
    expect(await now(result)).toMatchObject(done)
    expect(world.sends.map((send) => send.kind)).toEqual([entry === "wake" ? "promptAsync" : "prompt"])
  })

  it.each(["ok", 400, 404, 500, "throw", "network"] as const)("R3 it never throws: %s", async (outcome) => {
    const world = makeWorld()
    world.outcome = outcome
    const result = go(world)
    await world.clock.advance(150)
    const expected = {
      ok: "dispatched",
      400: "rejected",
      404: "rejected",
      500: "failed",
      throw: "failed",
      network: "failed",
    }
    expect((await now(result)).status).toBe(expected[outcome])
  })

  it("R4 active and reserved are the end of it: nothing is queued or tried again", async () => {
    const world = makeWorld()
    world.session(S).running = true
    const active = go(world)
    const reserved = go(world, S, "other:one")
    await world.clock.advance(150)
    expect(await now(active)).toEqual({ status: "active" })
    expect((await now(reserved)).status).toBe("reserved")
    const asked = world.asks.length
    await world.clock.advance(10 * 60_000)
    expect(world.asks.length).toBe(asked)
    expect(world.sends).toEqual([])
    expect(world.clock.pending()).toBe(0)
  })

  it("R5 each call has a source that later callers see", async () => {
    const world = makeWorld()
    void go(world, S, "start:task-1")
    expect(await now(go(world, S, "resume:task-1"))).toEqual({ status: "reserved", reservedBy: "start:task-1" })
  })

  it.each(["", " ", "nocolon", ":subject", "route:", "ro ute:x"])("R5 refuses the source %j", async (source) => {
    const world = makeWorld()
    await expect(go(world, S, source as never)).rejects.toThrow(TypeError)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("R6 an expired hold is gone, and what is kept stays bounded", async () => {
    const world = makeWorld()
    world.outcome = 500
    for (let n = 0; n < 100; n++) void go(world, `s${n}`)
    await world.clock.advance(150)
    expect(sharedSlots().slots.size).toBe(100)
    await world.clock.advance(250)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("R7 a live reservation refuses in every phase, without a request", async () => {
    const world = makeWorld()
    world.held = true
    const status = Promise.withResolvers<any>()
    world.host.statusAnswers.push(status.promise)
    void go(world, S, "first:one")
    const refused = async () => {
      const before = [world.asks.length, world.sends.length]
      expect(await now(go(world, S, "second:one"))).toEqual({ status: "reserved", reservedBy: "first:one" })
      expect([world.asks.length, world.sends.length]).toEqual(before)
    }
    await refused() // settle
    await world.clock.advance(150)
    await refused() // check
    status.resolve(ok({}))
    await world.settle()
    expect(world.sends.length).toBe(1)
    await refused() // dispatch
    world.sends[0]!.come("ok")
    await world.settle()
    await refused() // hold
  })

  it("R8 the reservation is taken before anything is awaited", async () => {
    const world = makeWorld()
    const [first, second] = [go(world, S, "a:1"), go(world, S, "b:1")]
    expect(sharedSlots().slots.get(S)?.reservation?.source).toBe("a:1")
    expect((await now(second)).status).toBe("reserved")
    await world.clock.advance(150)
    expect(await now(first)).toMatchObject(done)
  })

  it("R9 waits for the settle before it asks, and not at all for 0", async () => {
    const world = makeWorld()
    void go(world)
    await world.clock.advance(DEFAULT_PROMPT_ASYNC_IDLE_SETTLE_MS - 1)
    expect(world.asks).toEqual([])
    await world.clock.advance(1)
    expect(world.asks).not.toEqual([])
    const quick = go(world, "quick", "a:1", { settleMs: 0 })
    expect(await now(quick)).toMatchObject(done)
  })

  it("R10 asks the status, unless the caller gives the reason why not", async () => {
    const world = makeWorld()
    const checked = go(world, "a", "a:1")
    const unchecked = go(world, "b", "a:1", { checkStatus: false, reason: "made a moment ago" } as never)
    await world.clock.advance(150)
    expect([await now(checked), await now(unchecked)]).toMatchObject([done, done])
    expect(world.asks.filter((ask) => ask.startsWith("statuses"))).toEqual(["statuses /repo/wt"])
  })

  it("R11 a busy session is active, and free at once", async () => {
    const world = makeWorld()
    world.session(S).running = true
    const result = go(world)
    await world.clock.advance(150)
    expect(await now(result)).toEqual({ status: "active" })
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("R12 a session that the status leaves out is judged by its tail: finished passes", async () => {
    const world = makeWorld()
    world.host.statusAnswers.push(ok({}))
    const result = go(world)
    await world.clock.advance(150)
    expect(await now(result)).toMatchObject(done)
  })

  it("R13 a complete input is passed on as it is, through the client's own object", async () => {
    const world = makeWorld()
    world.session(S)
    const input: PromptInput = {
      sessionID: S,
      messageID: "msg_1",
      agent: "build",
      model: { providerID: "mock", modelID: "m1" },
      parts: [{ id: "prt_1", type: "text", text: "go", synthetic: true, metadata: { kagan: { inject: "x" } } }],
      ...(entry === "note" ? { noReply: true } : {}),
    }
    const args = { client: world.turns, sessionID: S, source: "a:1" as const, input }
    const result = entry === "wake" ? promptAsyncAfterSessionIdle(args) : promptAfterSessionIdle(args as never)
    await world.clock.advance(150)
    expect(await now(result)).toMatchObject(done)
    expect(world.sends[0]!.input).toBe(input)
  })

  it("R14 a client without the method is unavailable, and reserves nothing", async () => {
    const world = makeWorld()
    const method = entry === "wake" ? "promptAsync" : "prompt"
    const raw = world.turns.session as any
    raw[method] = undefined
    expect(await now(go(world))).toEqual({ status: "unavailable" })
    expect(sharedSlots().slots.size).toBe(0)
    delete raw[method]
    const result = go(world)
    await world.clock.advance(150)
    expect(await now(result)).toMatchObject(done)
  })

  it("R15 the response is handed on", async () => {
    const world = makeWorld()
    world.held = true
    const result = go(world)
    await world.clock.advance(150)
    world.sends[0]!.come("ok")
    const got = (await now(result)) as Extract<PromptAsyncGateResult, { status: "dispatched" }>
    expect(got.response).toEqual({ data: {}, response: { status: entry === "wake" ? 204 : 200 } })
  })

  it.each([
    ["throw", "thrown before the promise"],
    ["network", "fetch failed"],
  ] as const)("R16 the error of a failed send is handed on: %s", async (outcome, text) => {
    const world = makeWorld()
    world.outcome = outcome
    const result = go(world)
    await world.clock.advance(150)
    const got = (await now(result)) as Extract<PromptAsyncGateResult, { status: "failed" }>
    expect((got.error as Error).message).toBe(text)
  })

  it.each(["ok", "network"] as const)("R17 after an attempt the session is held: %s", async (outcome) => {
    const world = makeWorld()
    world.outcome = outcome
    void go(world)
    await world.clock.advance(150)
    if (entry === "wake" && outcome === "ok") world.endTurn(S) // A turn shorter than the hold.
    await world.clock.advance(DEFAULT_PROMPT_ASYNC_POST_DISPATCH_HOLD_MS - 1)
    expect((await now(go(world))).status).toBe("reserved")
    await world.clock.advance(1)
    const next = go(world)
    expect(await isPending(next)).toBe(true)
    await world.clock.advance(150)
    expect((await now(next)).status).toBe(outcome === "ok" ? "dispatched" : "failed")
  })

  it("R18 no hold when nothing was attempted", async () => {
    const world = makeWorld()
    world.session(S).running = true
    const first = go(world)
    await world.clock.advance(150)
    expect((await now(first)).status).toBe("active")
    world.session(S).running = false
    const second = go(world)
    await world.clock.advance(150)
    expect((await now(second)).status).toBe("dispatched")
  })

  it("R19 a send that hangs fails after the time-out, and the session is not freed behind its back", async () => {
    const world = makeWorld()
    world.held = true
    const result = go(world)
    await world.clock.advance(150 + DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS - 1)
    expect(await isPending(result)).toBe(true)
    await world.clock.advance(1)
    const got = (await now(result)) as Extract<PromptAsyncGateResult, { status: "failed" }>
    expect((got.error as Error).name).toBe("DispatchTimeout")
    // Deviation, decided: freed at the end of the hold, a second one would be on its way at the same time (X1).
    await world.clock.advance(DEFAULT_PROMPT_ASYNC_POST_DISPATCH_HOLD_MS)
    expect((await now(go(world))).status).toBe("reserved")
  })

  it("R20 the time-out's timer goes with the send", async () => {
    const world = makeWorld()
    world.outcome = 400
    const result = go(world)
    await world.clock.advance(150)
    expect((await now(result)).status).toBe("rejected")
    expect(world.clock.pending()).toBe(0)
  })

  it.each(["ok", "network"] as const)(
    "R21 a send that comes back after its time-out changes nothing: %s",
    async (how) => {
      const world = makeWorld()
      world.held = true
      const result = go(world)
      await world.clock.advance(150 + 30_000)
      expect((await now(result)).status).toBe("failed")
      // The deletion frees the session; the late send must not touch whoever comes next.
      world.emit("session.deleted", { sessionID: S })
      world.sends[0]!.come(how)
      await world.settle()
      expect(sharedSlots().slots.size).toBe(0)
    },
  )

  it.each([0, -1, 0.0, Number.NEGATIVE_INFINITY])("R22 a hold of %d is clamped to one", async (postDispatchHoldMs) => {
    const world = makeWorld()
    world.outcome = "network"
    void go(world, S, "a:1", { postDispatchHoldMs })
    await world.clock.advance(150)
    expect((await now(go(world))).status).toBe("reserved")
    await world.clock.advance(1)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("R23 odd timings are honoured", async () => {
    const world = makeWorld()
    world.held = true
    const times = { settleMs: 7, postDispatchHoldMs: 13, dispatchTimeoutMs: 17 }
    const result = go(world, S, "a:1", times)
    await world.clock.advance(6)
    expect(world.asks).toEqual([])
    await world.clock.advance(1)
    expect(world.sends.length).toBe(1)
    await world.clock.advance(16)
    expect(await isPending(result)).toBe(true)
    await world.clock.advance(1)
    expect((await now(result)).status).toBe("failed")
    world.sends[0]!.come("network")
    await world.clock.advance(12)
    expect((await now(go(world))).status).toBe("reserved")
    await world.clock.advance(1)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("R29 sessions are independent, and the clients share one map", async () => {
    const [one, two] = [makeWorld(), makeWorld()]
    const first = go(one, "a", "a:1")
    const same = go(two, "a", "b:1")
    const other = go(two, "b", "b:1")
    await one.clock.advance(150)
    await two.clock.advance(150)
    expect([await now(first), await now(same), await now(other)].map((result) => result.status)).toEqual([
      "dispatched",
      "reserved",
      "dispatched",
    ])
  })

  it("R31 every outcome leaves one line with session and source", async () => {
    const world = makeWorld()
    const outcomes = async (id: string, outcome: World["outcome"], running = false) => {
      world.outcome = outcome
      world.session(id).running = running
      const result = go(world, id, "log:it")
      await world.clock.advance(150)
      return (await now(result)).status
    }
    const seen = [await outcomes("a", "ok"), await outcomes("b", "ok", true), await outcomes("c", 400)]
    seen.push(await outcomes("d", "network"), (await now(go(world, "d", "log:it"))).status)
    const lines = world.logs.filter((line) => line.extra.source === "log:it" && line.level !== "debug")
    expect(lines.map((line) => [line.message, line.extra.sessionID])).toEqual(
      seen.map((status, n) => [`[prompt-async-gate] ${status}`, ["a", "b", "c", "d", "d"][n]]),
    )
  })

  it("R33 different prompts to one session are not folded into one", async () => {
    const world = makeWorld()
    void go(world, S, "a:1")
    await world.clock.advance(150)
    if (entry === "wake") world.endTurn(S)
    await world.clock.advance(250)
    void go(world, S, "a:1")
    await world.clock.advance(150)
    expect(world.sends.length).toBe(2)
  })
})

describe("release", () => {
  it.each([
    [{ reservedBy: "runtime-fallback:x" }, true],
    [{ reservedBy: ["nobody:1", "runtime-fallback:x"] }, true],
    [{ reservedBy: ["nobody:1", "nobody:2"] }, false],
    [{ reservedBy: "runtime-fallback:y" }, false],
    [{ reservedByPrefix: "runtime-fallback:" }, true],
    [{ reservedByPrefix: "" }, false],
    [{ reservedByPrefix: ":" }, false],
    [{ reservedByPrefix: "runtime" }, false],
    [{ reservedByPrefix: "runtime-fallback" }, false],
    [{ reservedByPrefix: "runtime-fallback2:" }, false],
    [{}, false],
  ])("R24 R25 R26 G32 by %j: %s", async (release, frees) => {
    const world = makeWorld()
    void world.wake(S, "runtime-fallback:x")
    expect(releasePromptAsyncReservation(S, release)).toBe(frees)
    expect(sharedSlots().slots.has(S)).toBe(!frees)
    const ignored = world.logs.filter((line) => line.message.includes("another owner"))
    expect(ignored.length).toBe(frees ? 0 : 1)
    if (!frees) releasePromptAsyncReservation(S, release)
    expect(world.logs.filter((line) => line.message.includes("another owner")).length).toBe(frees ? 0 : 1)
  })

  it("R26 a sibling's prefix does not reach it", async () => {
    const world = makeWorld()
    void world.wake(S, "runtime-fallback2:x")
    expect(releasePromptAsyncReservation(S, { reservedByPrefix: "runtime-fallback:" })).toBe(false)
  })

  it("R27 of a free session is false and does nothing", () => {
    expect(releasePromptAsyncReservation("nobody", { reservedBy: "a:1" })).toBe(false)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("R28 lets the next caller in at once and sends nothing itself", async () => {
    const world = makeWorld()
    world.outcome = "network"
    void world.wake(S, "a:1")
    await world.clock.advance(150)
    const asked = world.asks.length
    expect(releasePromptAsyncReservation(S, { reservedBy: "a:1" })).toBe(true)
    await world.settle()
    expect([world.asks.length, world.sends.length]).toEqual([asked, 1])
    const next = world.wake(S, "b:1")
    expect(await isPending(next)).toBe(true)
  })
})

it("R30 G3 sync and async share the reservation", async () => {
  const world = makeWorld()
  const [first, second] = [world.note(S), world.wake(S)]
  await world.clock.advance(150)
  expect([(await now(first)).status, (await now(second)).status]).toEqual(["dispatched", "reserved"])
  expect(world.maxInFlight).toBe(1)
})

it("R32 what was not dispatched leaves the intent to be tried again, unchanged", async () => {
  const world = makeWorld()
  const intent = { id: "i1", messageID: "msg_i1", partID: "prt_i1" }
  world.session(S).running = true
  const first = world.wake(S, "start:1", { intent })
  await world.clock.advance(150)
  expect((await now(first)).status).toBe("active")
  world.session(S).running = false
  const second = world.wake(S, "start:1", { intent })
  await world.clock.advance(150)
  expect((await now(second)).status).toBe("dispatched")
  expect(world.session(S).messages.map((message) => message.info.id)).toEqual(["msg_i1"])
})

it("the types keep what the words promise", () => {
  expectTypeOf<PromptAsyncGateResult["status"]>().toEqualTypeOf<
    "dispatched" | "active" | "reserved" | "unavailable" | "failed" | "rejected" | "blocked"
  >()
  type Bare = { client: Turns; sessionID: string; input: PromptInput; source: "a:1" }
  expectTypeOf<Bare>().toExtend<PromptArgs>()
  // G13: without the check, a reason; and a source has a subject.
  expectTypeOf<Bare & { checkStatus: false }>().not.toExtend<PromptArgs>()
  expectTypeOf<Bare & { checkStatus: false; reason: string }>().toExtend<PromptArgs>()
  expectTypeOf<Omit<Bare, "source"> & { source: "nocolon" }>().not.toExtend<PromptArgs>()
  expectTypeOf(promptAfterSessionIdle).parameter(0).toHaveProperty("input").toExtend<{ noReply: true }>()
})

it("a sync prompt that would run a turn is a bug of the caller", async () => {
  const world = makeWorld()
  world.session(S)
  const input: PromptInput = { sessionID: S, parts: [{ type: "text", text: "go" }] }
  const args = { client: world.turns, sessionID: S, source: "a:1" as const, input }
  await expect(promptAfterSessionIdle(args as never)).rejects.toThrow(/noReply/)
})

it("R35 no test of gate, state, store or injection waits by the clock on the wall", () => {
  const files = readdirSync(import.meta.dirname).filter((name) =>
    /^(prompt-async-gate(-cases|-property|-mutation)?|inject(-property)?|session-state)[.]test[.]ts$/.test(name),
  )
  expect(files.length).toBeGreaterThan(4)
  for (const name of files) {
    const text = readFileSync(`${import.meta.dirname}/${name}`, "utf8")
    expect(text.match(/Bun[.]sleep|setTimeout[(]|useFake[T]imers|timers[/]promises/g), name).toBeNull()
  }
})
