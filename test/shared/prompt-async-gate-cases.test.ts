import { beforeEach, describe, expect, it } from "vitest"
import { manualClock } from "../kit/clock.ts"
import { err, ok } from "../../src/core/result.ts"
import { contextMark } from "../../src/core/turn.ts"
import { sharedSlots } from "../../src/shared/gate/slots.ts"
import type { MessageWithParts } from "../../src/shared/host.ts"
import { releasePromptAsyncReservation, storeContext } from "../../src/shared/prompt-async-gate.ts"
import * as worlds from "./gate-world.ts"
import { makeWorld, memoryLeases, type World } from "./gate-world.ts"

beforeEach(() => sharedSlots().slots.clear())

const S = "s"
const intent = { id: "i1", messageID: "msg_i1", partID: "prt_i1" }
/** Wrapped, because an async function would wait for a promise that it returns. */
type Woken = { readonly result: ReturnType<World["wake"]> }
type Given<T> = Promise<T> | { readonly result: Promise<T> }
const unwrap = <T>(given: Given<T>) => ("result" in given ? given.result : given)
const now = <T>(given: Given<T>) => worlds.now(unwrap(given))
const isPending = (given: Given<unknown>) => worlds.isPending(unwrap(given))
const status = async (given: Given<{ status: string }>) => (await now(given)).status

/** Wakes and lets the settle pass. */
async function woken(world: World, ...args: Parameters<World["wake"]>): Promise<Woken> {
  const result = world.wake(...args)
  await world.clock.advance(150)
  return { result }
}

describe("who gets in", () => {
  it("G1 two in one tick: one is sent, the other learns by whom it is reserved", async () => {
    const world = makeWorld()
    const [first, second] = [world.wake(S, "a:1"), world.wake(S, "b:1")]
    await world.clock.advance(150)
    expect(await status(first)).toBe("dispatched")
    expect(await now(second)).toEqual({ status: "reserved", reservedBy: "a:1" })
    expect(world.sends.length).toBe(1)
  })

  it("G2 of 50 at once one is sent", async () => {
    const world = makeWorld()
    const results = Array.from({ length: 50 }, (_, n) => world.wake(S, `r:${n}`))
    await world.clock.advance(150)
    const all = await Promise.all(results.map(status))
    expect(all.filter((one) => one === "reserved").length).toBe(49)
    expect(world.sends.length).toBe(1)
  })

  it("G4 two sessions overlap", async () => {
    const world = makeWorld()
    world.held = true
    void world.wake("a")
    void world.wake("b")
    await world.clock.advance(150)
    expect([world.inFlight("a"), world.inFlight("b")]).toEqual([1, 1])
  })

  it("G5 two clients, one session: one is sent", async () => {
    const [one, two] = [makeWorld(), makeWorld()]
    const results = [one.wake(S, "a:1"), two.wake(S, "b:1")]
    await one.clock.advance(150)
    await two.clock.advance(150)
    expect(await Promise.all(results.map(status))).toEqual(["dispatched", "reserved"])
    expect(one.sends.length + two.sends.length).toBe(1)
  })

  it("G6 no question before the settle is over", async () => {
    const world = makeWorld()
    void world.wake(S)
    await world.clock.advance(149)
    expect(world.asks).toEqual([])
    await world.clock.advance(1)
    expect(world.asks).toContain("statuses /repo/wt")
  })
})

describe("what counts as busy", () => {
  it.each([{ type: "busy" }, { type: "retry", attempt: 1, message: "rate limit", next: 9 }, { type: "something new" }])(
    "G7 the status %j",
    async (answer) => {
      const world = makeWorld()
      world.host.statusAnswers.push(ok({ [S]: answer }))
      expect(await status(await woken(world, S))).toBe("active")
      expect(sharedSlots().slots.size).toBe(0)
      expect(world.sends).toEqual([])
    },
  )

  it("G8 absent from the status with a finished tail: sent", async () => {
    const world = makeWorld()
    world.userPrompt(S)
    world.endTurn(S)
    await world.clock.advance(150)
    world.host.statusAnswers.push(ok({}))
    expect(await status(await woken(world, S))).toBe("dispatched")
  })

  it("G9 absent from the status while a user message waits: the cold start of a turn", async () => {
    const world = makeWorld()
    world.announces = false
    const early = world.userPrompt(S)
    expect(early).toBeDefined()
    world.host.statusAnswers.push(ok({}))
    expect(await status(await woken(world, S))).toBe("active")
    expect(world.sends).toEqual([])
  })

  it("G10 the status is asked in the session's own directory", async () => {
    const world = makeWorld()
    world.session(S).directory = "/elsewhere/wt"
    expect(await status(await woken(world, S, "a:1", { directory: "/plugin" }))).toBe("dispatched")
    expect(world.asks.filter((ask) => ask.startsWith("statuses")).at(-1)).toBe("statuses /elsewhere/wt")
  })

  it("G11 a status that hangs is active after 5 s, and nothing is sent", async () => {
    const world = makeWorld()
    world.host.statusAnswers.push("hang")
    const result = await woken(world, S)
    await world.clock.advance(4_999)
    expect(await isPending(result)).toBe(true)
    await world.clock.advance(1)
    expect(await status(result)).toBe("active")
    expect(world.sends).toEqual([])
    expect(world.clock.pending()).toBe(0)
  })

  it.each(["server_error", "unreachable", "timeout"] as const)("G12 a status that fails: %s", async (kind) => {
    const world = makeWorld()
    world.host.statusAnswers.push(err({ kind, text: "no luck", status: 500 }))
    expect(await status(await woken(world, S))).toBe("active")
    expect(world.sends).toEqual([])
    expect(world.logs.some((line) => line.message.includes("no luck"))).toBe(true)
  })

  it("G13 without a status only with a reason", async () => {
    const world = makeWorld()
    await expect(world.wake(S, "a:1", { checkStatus: false } as never)).rejects.toThrow(/reason/)
    await expect(world.wake(S, "a:1", { checkStatus: false, reason: " " } as never)).rejects.toThrow(/reason/)
    const more = { checkStatus: false, reason: "it was made a moment ago" } as never
    expect(await status(await woken(world, S, "a:1", more))).toBe("dispatched")
    expect(world.asks.some((ask) => ask.startsWith("statuses"))).toBe(false)
  })

  const at = Date.UTC(2030, 0, 1)
  const user = (parts: unknown[] = [{ type: "text", text: "do it" }], id = "u1") =>
    ({
      info: { id, role: "user", time: { created: at }, agent: "build", model: {} },
      parts,
    }) as unknown as MessageWithParts
  const assistant = (info: object, parts: unknown[] = []) =>
    ({
      info: { id: "a1", role: "assistant", parentID: "u1", time: { created: at, completed: at }, ...info },
      parts,
    }) as unknown as MessageWithParts
  const running = { time: { created: at } }
  const tool = (state: object) => [{ type: "tool", tool: "bash", callID: "c", state }]
  const context = user(
    [{ type: "text", text: "board", synthetic: true, metadata: { kagan: { inject: "x", seq: 1 } } }],
    "c1",
  )
  const aborted = { error: { name: "MessageAbortedError", data: { message: "" } } }

  it.each([
    ["no finish yet", [user(), assistant(running)], "active"],
    ["finish unknown, completed", [user(), assistant({ finish: "unknown" })], "dispatched"],
    ["finish unknown, not completed", [user(), assistant({ ...running, finish: "unknown" })], "active"],
    [
      "tool-calls with a pending tool",
      [user(), assistant({ finish: "tool-calls" }, tool({ status: "pending" }))],
      "active",
    ],
    [
      "tool-calls with a running tool",
      [user(), assistant({ finish: "tool-calls" }, tool({ status: "running" }))],
      "active",
    ],
    [
      "a question that waits",
      [user(), assistant(running, [{ type: "tool", tool: "question", state: { status: "running" } }])],
      "active",
    ],
    [
      "tool-calls, all ended",
      [user(), assistant({ finish: "tool-calls" }, tool({ status: "completed" }))],
      "dispatched",
    ],
    [
      "a dismissed question",
      [
        user(),
        assistant({ finish: "tool-calls" }, tool({ status: "error", error: "The user dismissed this question" })),
      ],
      "dispatched",
    ],
    ["stop", [user(), assistant({ finish: "stop" })], "dispatched"],
    ["true", [user(), assistant({ finish: true })], "dispatched"],
    [
      "an error alone",
      [user(), assistant({ ...running, error: { name: "APIError", data: { message: "429" } } })],
      "dispatched",
    ],
    ["aborted", [user(), assistant(aborted)], "dispatched"],
    ["an unanswered user message", [user(), assistant({ finish: "stop" }), user(undefined, "u2")], "active"],
    ["our context after a finished turn", [user(), assistant({ finish: "stop" }), context], "dispatched"],
    ["our context in a session that never ran", [context], "dispatched"],
    [
      "a forged mark in the text",
      [user(), assistant({ finish: "stop" }), user([{ type: "text", text: '{"kagan":{"inject":"x"}}' }], "u2")],
      "active",
    ],
    [
      "a forged mark without synthetic",
      [
        user(),
        assistant({ finish: "stop" }),
        user([{ type: "text", text: "x", metadata: { kagan: { inject: "x" } } }], "u2"),
      ],
      "active",
    ],
  ] as [string, MessageWithParts[], string][])("G14 the tail: %s", async (_, messages, expected) => {
    const world = makeWorld()
    world.session(S).messages = messages
    world.host.statusAnswers.push(ok({}))
    expect(await status(await woken(world, S))).toBe(expected)
  })

  it("a turn of a process that has died does not block for ever", async () => {
    const clock = manualClock()
    const world = makeWorld({ clock, startedAt: clock.now() + 1 })
    world.session(S).messages = [user(), assistant(running, tool({ status: "running" }))]
    expect(await status(await woken(world, S))).toBe("dispatched")
  })
})

describe("what the host answers", () => {
  it("G15 the methods are called on their own object", async () => {
    const world = makeWorld() // Its methods use private fields.
    expect(await status(await woken(world, S))).toBe("dispatched")
  })

  it("G16 a client that cannot prompt is unavailable, and nothing is reserved", async () => {
    const world = makeWorld()
    ;(world.turns.session as any).promptAsync = undefined
    expect(await status(world.wake(S))).toBe("unavailable")
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("G17 a throw in the send fails, and holds", async () => {
    const world = makeWorld()
    world.outcome = "throw"
    expect(await status(await woken(world, S))).toBe("failed")
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(250)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("G18 404 rejects, buries the session and holds nothing", async () => {
    const world = makeWorld()
    world.outcome = 404
    expect(await now(await woken(world, S))).toEqual({ status: "rejected", httpStatus: 404 })
    expect(sharedSlots().slots.size).toBe(0)
    const asked = world.asks.length
    expect(await now(world.wake(S))).toEqual({ status: "blocked", reason: "deleted" })
    expect([world.asks.length, world.sends.length]).toEqual([asked, 1])
    expect(world.clock.pending()).toBe(0)
  })

  it("G18 a session that the check finds gone is buried as well", async () => {
    const world = makeWorld()
    world.session(S).gone = true
    expect(await now(await woken(world, S))).toEqual({ status: "rejected", httpStatus: 404 })
    const asked = world.asks.length
    expect(await now(world.wake(S))).toEqual({ status: "blocked", reason: "deleted" })
    expect([world.asks.length, world.sends.length]).toEqual([asked, 0])
  })

  it("G19 400 rejects; after 500 the transcript is asked before anything is sent again", async () => {
    const world = makeWorld()
    world.outcome = 400
    expect(await now(await woken(world, "a"))).toEqual({ status: "rejected", httpStatus: 400 })
    world.outcome = 500
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("failed")
    // It was stored all the same, and answered.
    world.session(S).messages.push(
      {
        info: { id: intent.messageID, role: "user", time: { created: 0 }, agent: "build", model: {} },
        parts: [],
      } as never,
      {
        info: { id: "a1", role: "assistant", finish: "stop", time: { created: 1, completed: 2 } },
        parts: [],
      } as never,
    )
    await world.clock.advance(250)
    world.outcome = "ok"
    expect(await now(await woken(world, S, "a:1", { intent }))).toMatchObject({ status: "dispatched", already: true })
    expect(world.sends.filter((send) => send.input.sessionID === S).length).toBe(1)
  })

  it("G20 a refused connection fails and can be tried again under the same ids", async () => {
    const world = makeWorld()
    world.outcome = "network"
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("failed")
    await world.clock.advance(250)
    world.outcome = "ok"
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("dispatched")
    const ids = world.sends.map(({ input }) => [input.messageID, input.parts[0]!.id])
    expect(ids).toEqual([
      ["msg_i1", "prt_i1"],
      ["msg_i1", "prt_i1"],
    ])
  })
})

describe("after the send", () => {
  it.each(["ok", "network"] as const)("G21 the hold's edge, after %s", async (outcome) => {
    const world = makeWorld()
    world.outcome = outcome
    await woken(world, S)
    if (outcome === "ok") world.endTurn(S)
    await world.clock.advance(249)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(1)
    const next = world.wake(S)
    expect(await isPending(next)).toBe(true)
  })

  it("G22 the first sign of the turn ends the wait for it; the next wake needs its end", async () => {
    const world = makeWorld()
    world.announces = false
    await woken(world, S)
    await world.clock.advance(10)
    world.busy(S)
    await world.clock.advance(400)
    expect(await status(await woken(world, S))).toBe("active")
    world.endTurn(S)
    await world.clock.advance(150)
    expect(await status(await woken(world, S))).toBe("dispatched")
    expect(world.maxInFlight).toBe(1)
  })

  it("G23 no sign and not stored: rejected late", async () => {
    const world = makeWorld()
    world.announces = false
    world.outcome = "lost"
    await woken(world, S)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(5_000)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.logs.some((line) => line.message.includes("rejected late") && line.level === "error")).toBe(true)
    expect(world.clock.pending()).toBe(0)
  })

  it("G23 no sign but stored: waits for its end", async () => {
    const world = makeWorld()
    world.announces = false
    await woken(world, S)
    world.host.statusAnswers.push(ok({})) // Cold: the status is silent.
    await world.clock.advance(5_000)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(10_000) // By now the status shows it.
    expect(await status(await woken(world, S))).toBe("active")
    world.endTurn(S)
    await world.clock.advance(150)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("G24 limbo: reserved until the transcript says that it never arrived", async () => {
    const world = makeWorld()
    world.held = true
    const result = await woken(world, S, "a:1", { intent })
    await world.clock.advance(30_000)
    expect(await now(result)).toMatchObject({ status: "failed", error: { name: "DispatchTimeout", intentID: "i1" } })
    await world.clock.advance(30_000)
    expect(await now(world.wake(S))).toEqual({ status: "reserved", reservedBy: "a:1" })
    await world.clock.advance(4 * 60_000 + 29_999)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(1)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.logs.some((line) => line.level === "error" && line.message.includes("never arrived"))).toBe(true)
  })

  it("G24 limbo: the end of somebody else's turn does not free it", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1", { intent })
    world.busy(S)
    await world.clock.advance(10_000)
    world.endTurn(S)
    await world.clock.advance(60_000)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(6 * 60_000)
    expect(sharedSlots().slots.size).toBe(0)
  })

  it("G24 limbo: once its turn was seen to end the transcript is asked at once", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1", { intent })
    world.sends[0]!.land()
    await world.clock.advance(30_000)
    expect(await status(world.wake(S))).toBe("reserved")
    world.endTurn(S)
    await world.clock.advance(150 + 249)
    expect(await status(world.wake(S))).toBe("reserved")
    await world.clock.advance(1)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("G25 limbo: a late success is one message, and no second send", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1", { intent })
    await world.clock.advance(45_000)
    world.sends[0]!.come("ok")
    await world.clock.advance(300)
    expect(await status(await woken(world, S))).toBe("active")
    world.endTurn(S)
    await world.clock.advance(150)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.session(S).messages.filter((message) => message.info.role === "user").length).toBe(1)
    expect(world.sends.length).toBe(1)
    expect(world.clock.pending()).toBe(0)
  })

  it("G26 limbo: a late failure frees, and nobody is left with a rejection", async () => {
    const world = makeWorld()
    const unhandled: unknown[] = []
    const hear = (cause: unknown) => void unhandled.push(cause)
    process.on("unhandledRejection", hear)
    world.held = true
    await woken(world, S)
    await world.clock.advance(45_000)
    world.sends[0]!.come("network")
    await world.clock.advance(250)
    await new Promise((resolve) => setImmediate(resolve))
    process.off("unhandledRejection", hear)
    expect(unhandled).toEqual([])
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("G27 limbo: what is proven absent is sent again under the same ids", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1", { intent })
    await world.clock.advance(6 * 60_000)
    world.held = false
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("dispatched")
    expect(world.sends.map((send) => send.input.messageID)).toEqual(["msg_i1", "msg_i1"])
    expect(world.sends.map((send) => send.input.parts[0]!.id)).toEqual(["prt_i1", "prt_i1"])
  })

  it("G28 limbo: what is stored already is not sent again", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1", { intent })
    const message = { info: { id: "msg_i1", role: "user", time: { created: 0 }, agent: "build", model: {} }, parts: [] }
    const answer = {
      info: { id: "a1", role: "assistant", finish: "stop", time: { created: 1, completed: 2 } },
      parts: [],
    }
    world.session(S).messages.push(message as never, answer as never)
    await world.clock.advance(6 * 60_000)
    expect(sharedSlots().slots.size).toBe(0)
    expect(await now(await woken(world, S, "a:1", { intent }))).toMatchObject({ status: "dispatched", already: true })
    expect(world.sends.length).toBe(1)
  })

  it("G29 an answered wake is never sent again, also behind a later turn of the user", async () => {
    const world = makeWorld()
    await woken(world, S, "a:1", { intent })
    world.endTurn(S)
    await world.clock.advance(250)
    world.userPrompt(S)
    world.endTurn(S)
    await world.clock.advance(150)
    expect(await now(await woken(world, S, "a:1", { intent }))).toMatchObject({ status: "dispatched", already: true })
    expect(world.sends.length).toBe(1)
    // And when it has scrolled out of what is read of the transcript, the host is asked for it.
    for (let n = 0; n < 40; n++) {
      world.userPrompt(S)
      world.endTurn(S)
    }
    await world.clock.advance(150)
    expect(await now(await woken(world, S, "a:1", { intent }))).toMatchObject({ status: "dispatched", already: true })
    expect(world.sends.length).toBe(1)
  })

  it("a message that was stored and never begun is begun, once, under its ids", async () => {
    const clock = manualClock()
    const world = makeWorld({ clock, startedAt: clock.now() + 1 })
    const message = { info: { id: "msg_i1", role: "user", time: { created: 0 }, agent: "build", model: {} }, parts: [] }
    world.session(S).messages.push(message as never)
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("dispatched")
    world.endTurn(S)
    await world.clock.advance(250)
    expect(await now(await woken(world, S, "a:1", { intent }))).toMatchObject({ already: true })
    expect([world.sends.length, world.session(S).requests]).toEqual([1, 1])
    expect(world.session(S).messages.filter((one) => one.info.role === "user").length).toBe(1)
  })
})

describe("release", () => {
  it("G30 in the settle: the first never sends", async () => {
    const world = makeWorld()
    const first = world.wake(S, "a:1")
    expect(releasePromptAsyncReservation(S, { reservedBy: "a:1" })).toBe(true)
    const second = world.wake(S, "b:1")
    await world.clock.advance(150)
    expect((await now(first)).status).toBe("reserved")
    expect(await status(second)).toBe("dispatched")
    expect(world.sends.length).toBe(1)
  })

  it("G31 of what is on its way: takes effect when it comes back", async () => {
    const world = makeWorld()
    world.held = true
    const first = await woken(world, S, "a:1")
    expect(releasePromptAsyncReservation(S, { reservedByPrefix: "a:" })).toBe(true)
    expect(await status(world.wake(S, "b:1"))).toBe("reserved")
    world.sends[0]!.come("network")
    expect(await status(first)).toBe("failed")
    const next = world.wake(S, "b:1")
    expect(await isPending(next)).toBe(true)
    expect(world.maxInFlight).toBe(1)
  })

  it("G31 of a turn that was seen to run: the session stays its own until the end", async () => {
    const world = makeWorld()
    await woken(world, S, "a:1")
    expect(releasePromptAsyncReservation(S, { reservedBy: "a:1" })).toBe(true)
    expect(sharedSlots().slots.get(S)).toMatchObject({ turn: { source: "a:1" } })
    world.endTurn(S)
    await world.clock.advance(150)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("G33 who comes late touches nobody else's reservation", async () => {
    const world = makeWorld()
    world.held = true
    await woken(world, S, "a:1")
    await world.clock.advance(30_000)
    world.emit("session.deleted", { sessionID: S })
    await world.clock.advance(11 * 60_000) // The tombstone is gone as well.
    const second = world.wake(S, "b:1")
    world.sends[0]!.come("network")
    await world.settle()
    expect(sharedSlots().slots.get(S)?.reservation?.source).toBe("b:1")
    await world.clock.advance(150)
    world.sends[1]!.come("ok")
    expect(await status(second)).toBe("dispatched")
  })

  it.each([-3_600_000, 3_600_000])("G34 a wall clock that jumps by %d ms changes no hold", async (jump) => {
    const clock = manualClock()
    let wall = 0
    const world = makeWorld({ clock: { ...clock, now: () => clock.now() + wall } })
    world.outcome = "network"
    await woken(world, S)
    wall = jump
    await clock.advance(249)
    expect(await status(world.wake(S))).toBe("reserved")
    await clock.advance(1)
    expect(sharedSlots().slots.size).toBe(0)
  })
})

describe("what happens to the session", () => {
  function idles(world: World) {
    const seen: number[] = []
    world.state.subscribe((change) => {
      if (change.kind === "idle") seen.push(world.clock.monotonic())
    })
    return seen
  }

  it("G35 the two idle events of one end are one edge", async () => {
    const world = makeWorld()
    const seen = idles(world)
    world.busy(S)
    world.endTurn(S)
    await world.clock.advance(1_000)
    expect(seen).toEqual([150])
  })

  it("G36 an abort's two pairs are one edge, after the second", async () => {
    const world = makeWorld()
    const seen = idles(world)
    world.busy(S)
    await world.clock.advance(10)
    world.idle(S)
    world.emit("session.error", { sessionID: S, error: { name: "MessageAbortedError" } })
    const early = world.wake(S)
    await world.clock.advance(61)
    world.session(S).running = false
    world.idle(S)
    await world.clock.advance(1_000)
    expect(seen).toEqual([221])
    expect(await status(early)).not.toBe("failed")
    expect(world.sends.every((send) => send.at >= 150)).toBe(true)
  })

  it("G37 an abort of a session that is at rest is no edge", async () => {
    const world = makeWorld()
    world.busy(S)
    world.endTurn(S)
    await world.clock.advance(150)
    const seen = idles(world)
    world.idle(S)
    await world.clock.advance(1_000)
    expect(seen).toEqual([])
  })

  it.each(["settling", "on its way"])("G38 deleted while %s", async (when) => {
    const world = makeWorld()
    world.held = true
    const result = world.wake(S)
    if (when === "on its way") await world.clock.advance(150)
    world.session(S).gone = true
    world.emit("session.deleted", { sessionID: S, info: { id: S } })
    expect(await now(result)).toEqual({ status: "blocked", reason: "deleted" })
    const before = [world.asks.length, world.sends.length]
    world.emit("session.error", { sessionID: S, error: {} })
    world.idle(S)
    world.idle(S)
    await world.clock.advance(60_000)
    expect(await now(world.wake(S))).toEqual({ status: "blocked", reason: "deleted" })
    expect([world.asks.length, world.sends.length]).toEqual(before)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it.each([
    ["revert", "reverted"],
    ["archived", "archived"],
  ] as const)("G39 with %s it is blocked, and nothing is sent", async (flag, reason) => {
    const world = makeWorld()
    world.session(S)[flag] = true
    expect(await now(await woken(world, S))).toEqual({ status: "blocked", reason })
    expect(world.sends).toEqual([])
  })

  it("G40 a user's prompt between check and send revokes the wake", async () => {
    const world = makeWorld()
    const answer = Promise.withResolvers<any>()
    world.host.statusAnswers.push(answer.promise)
    const result = await woken(world, S)
    world.announces = false
    world.state.foreignPrompt(S, "msg_user")
    answer.resolve(ok({}))
    expect(await status(result)).toBe("active")
    expect(world.sends).toEqual([])
  })

  it("G41 our own message in chat.message is none of a stranger", async () => {
    const world = makeWorld()
    world.held = true
    const result = await woken(world, S, "a:1", { intent })
    expect(world.state.foreignPrompt(S, intent.messageID)).toBe(false)
    expect(world.state.phase(S)).not.toBe("admitting")
    world.sends[0]!.come("ok")
    expect(await status(result)).toBe("dispatched")
  })

  it("G42 a fence in the settle: no call is made", async () => {
    const world = makeWorld()
    world.session(S)
    const result = world.wake(S, "a:1", { directory: "/repo/wt" })
    await world.clock.advance(100)
    world.state.fence("/repo/wt")
    expect(await now(result)).toEqual({ status: "blocked", reason: "disposing" })
    await world.clock.advance(60_000)
    expect([world.asks, world.sends]).toEqual([[], []])
    expect(world.clock.pending()).toBe(0)
    world.state.unfence("/repo/wt")
    expect(await status(await woken(world, S, "a:1", { directory: "/repo/wt" }))).toBe("dispatched")
  })

  it("G42 a fence after the idle event and before its edge: the edge never comes", async () => {
    const world = makeWorld()
    world.state.track(S, "/repo/wt")
    world.busy(S)
    const seen = idles(world)
    world.idle(S)
    await world.clock.advance(8)
    world.emit("server.instance.disposed", { directory: "/repo/wt" })
    await world.clock.advance(1_000)
    expect(seen).toEqual([])
    expect(world.clock.pending()).toBe(0)
  })

  it("G42 a fence while the host is asked: nothing more is asked in that directory", async () => {
    const world = makeWorld()
    world.session(S).directory = "/elsewhere/wt"
    const real = world.host.session
    world.host.session = async (id) => {
      world.state.fence("/elsewhere/wt")
      return real(id)
    }
    const result = await woken(world, S, "a:1", { directory: "/plugin" })
    expect(["active", "blocked"]).toContain(await status(result))
    expect(world.asks).toEqual([`session ${S}`, "statuses /plugin"])
    expect(world.sends).toEqual([])
  })

  it("G43 a fence of one directory leaves the others alone", async () => {
    const world = makeWorld()
    world.session("b").directory = "/other"
    const [a, b] = [world.wake("a", "x:a", { directory: "/repo/wt" }), world.wake("b", "x:b", { directory: "/other" })]
    world.state.fence("/repo/wt")
    await world.clock.advance(150)
    expect(await now(a)).toEqual({ status: "blocked", reason: "disposing" })
    expect(await status(b)).toBe("dispatched")
  })

  it.each([
    [1_000, 1_000],
    [60_000, 2_000],
  ])("G44 dispose waits for what is on its way: back after %d ms, over after %d", async (back, over) => {
    const world = makeWorld()
    world.held = true
    const result = await woken(world, S)
    world.clock.setTimer(back, () => world.sends[0]!.come("ok"))
    const started = world.clock.monotonic()
    let ended = 0
    const disposed = world.gate.dispose().then(() => (ended = world.clock.monotonic()))
    await world.clock.advance(5_000)
    await now(disposed)
    expect(ended - started).toBe(over)
    expect(["dispatched", "blocked"]).toContain(await status(result))
    expect(sharedSlots().slots.size).toBe(0)
    expect(await status(world.wake(S))).toBe("unavailable")
    await world.clock.advance(60_000)
    expect(world.clock.pending()).toBe(0)
  })
})

describe("what is kept", () => {
  it("G47 10,000 sessions leave nothing behind", async () => {
    const world = makeWorld()
    world.outcome = "network"
    world.host.statusAnswers.push(...Array.from({ length: 10_000 }, () => ok({})))
    const results = Array.from({ length: 10_000 }, (_, n) => world.wake(`s${n}`))
    await world.clock.advance(150)
    expect((await Promise.all(results)).every((result) => result.status === "failed")).toBe(true)
    await world.clock.advance(250)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.state.size()).toBeLessThanOrEqual(2_000)
    expect(world.clock.pending()).toBe(0)
  })

  it("G48 a log that throws changes no result", async () => {
    const world = makeWorld({
      log: () => {
        throw new Error("disk full")
      },
    })
    expect(await status(await woken(world, S))).toBe("dispatched")
    expect(await status(world.wake(S))).toBe("reserved")
  })

  it("G49 agent, model and variant are always sent", async () => {
    const world = makeWorld()
    Object.assign(world.session("row"), { agent: "labother", model: { id: "m2", providerID: "mock", variant: "high" } })
    await woken(world, "row")
    const fromRow = { agent: "labother", model: { providerID: "mock", modelID: "m2" }, variant: "high" }
    expect(world.sends[0]!.input).toMatchObject(fromRow)
    // The latest user message knows better than the row.
    world.endTurn("row")
    world.session("row").agent = "build"
    await world.clock.advance(250)
    await woken(world, "row")
    expect(world.sends[1]!.input).toMatchObject(fromRow)
    // What the caller says stands.
    const input = {
      sessionID: "own",
      agent: "plan",
      model: { providerID: "p", modelID: "x" },
      parts: [{ type: "text" as const, text: "go" }],
    }
    await woken(world, "own", "a:1", { input })
    expect(world.sends[2]!.input).toMatchObject({ agent: "plan", model: { providerID: "p", modelID: "x" } })
    expect(world.sends[2]!.input.variant).toBeUndefined()
    const unchecked = { checkStatus: false, reason: "made a moment ago" } as never
    await woken(world, "row2", "a:1", unchecked)
    expect(world.sends[3]!.input).toMatchObject({ agent: "build", model: { providerID: "mock", modelID: "m1" } })
  })

  it("G50 a late error of the turn before is not ours", async () => {
    const world = makeWorld()
    world.announces = false
    await woken(world, S)
    world.emit("session.error", { sessionID: S, error: { name: "APIError" } })
    await world.clock.advance(300)
    expect(await status(await woken(world, S))).toBe("active")
    expect(world.logs.some((line) => line.message.includes("rejected late"))).toBe(false)
  })

  it("G50 an error of ours, with nothing stored, is seen early", async () => {
    const world = makeWorld()
    world.announces = false
    world.outcome = "lost"
    await woken(world, S)
    world.emit("session.error", { sessionID: S, error: { name: "UnknownError" } })
    await world.clock.advance(250)
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.logs.some((line) => line.message.includes("rejected late"))).toBe(true)
  })

  it("G54 building it asks nothing", () => {
    const world = makeWorld()
    expect([world.asks, world.sends, world.clock.pending()]).toEqual([[], [], 0])
  })

  it("G55 the same intent asked for twice is one wake", async () => {
    const world = makeWorld()
    const [first, second] = [world.wake(S, "board:1", { intent }), world.wake(S, "board:1", { intent })]
    await world.clock.advance(150)
    expect([await status(first), await status(second)]).toEqual(["dispatched", "reserved"])
    world.endTurn(S)
    await world.clock.advance(250)
    expect(await now(await woken(world, S, "board:1", { intent }))).toMatchObject({ already: true })
    expect(world.session(S).requests).toBe(1)
  })
})

describe("across processes", () => {
  function two() {
    const clock = manualClock()
    const leases = memoryLeases()
    const sessions = new Map()
    const make = (name: string) => makeWorld({ clock, sessions, leases: leases.of(name) })
    return { clock, leases, a: make("a"), b: make("b"), sessions }
  }

  it("G51 one lease, two processes: one turn; released at its end", async () => {
    const { clock, a, b } = two()
    const first = a.wake(S, "a:1", { intent })
    await clock.advance(150)
    expect(await status(first)).toBe("dispatched")
    sharedSlots().slots.clear() // The other process has a map of its own.
    a.session(S).running = false // And a status that says nothing.
    const second = b.wake(S, "b:1", { intent })
    await clock.advance(150)
    expect(await status(second)).toBe("active")
    expect(b.sends).toEqual([])
  })

  it("G51 a dead process's lease is taken over", async () => {
    const { clock, leases, b } = two()
    await leases.of("a").take(S)
    const early = b.wake(S)
    await clock.advance(150)
    expect(await status(early)).toBe("active")
    leases.die("a")
    const late = b.wake(S)
    await clock.advance(150)
    expect(await status(late)).toBe("dispatched")
    b.endTurn(S)
    await clock.advance(250)
    expect(await leases.of("b").holder(S)).toEqual(ok(undefined))
  })

  it("a turn that somebody else started in a session of ours is leased while it runs", async () => {
    const { clock, leases, a } = two()
    a.state.track(S, "/repo/wt")
    a.session(S)
    a.userPrompt(S)
    await clock.advance(10)
    expect(await leases.of("b").holder(S)).toMatchObject({ value: { mine: false, alive: true } })
    a.endTurn(S)
    await clock.advance(150)
    expect(await leases.of("b").holder(S)).toEqual(ok(undefined))
  })
})

describe("storeContext", () => {
  const message = (id: string, n: number) => ({
    sessionID: id,
    messageID: `msg_c${n}`,
    noReply: true,
    agent: "build",
    model: { providerID: "mock", modelID: "m1" },
    parts: [
      { id: `prt_c${n}`, type: "text" as const, text: "ctx", synthetic: true, metadata: { kagan: { inject: `${n}` } } },
    ],
  })
  const store = (world: World, at: "idle" | { toolCall: string }, n = 1) => {
    world.session(S)
    return storeContext({ client: world.turns, sessionID: S, source: "inject:test", message: message(S, n), at })
  }

  it("at a confirmed idle: stored at once, no settle and no hold", async () => {
    const world = makeWorld()
    expect(await status(store(world, "idle"))).toBe("dispatched")
    expect(contextMark(world.session(S).messages[0]!)?.inject).toBe("1")
    expect(sharedSlots().slots.size).toBe(0)
    expect(world.session(S).requests).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("G18 finds the session gone: it is buried", async () => {
    const world = makeWorld()
    world.session(S).gone = true
    expect(await now(store(world, "idle"))).toEqual({ status: "blocked", reason: "deleted" })
    const asked = world.asks.length
    expect(await now(world.wake(S))).toEqual({ status: "blocked", reason: "deleted" })
    expect([world.asks.length, world.sends.length]).toEqual([asked, 0])
  })

  it("G53 is no turn: a wake is still owed, and goes through", async () => {
    const world = makeWorld()
    await store(world, "idle")
    expect(await status(await woken(world, S, "a:1", { intent }))).toBe("dispatched")
    expect(world.session(S).requests).toBe(1)
  })

  it("in a running turn only inside that tool call's hook", async () => {
    const world = makeWorld()
    world.busy(S)
    expect(await status(store(world, "idle"))).toBe("active")
    expect(await status(store(world, { toolCall: "c1" }))).toBe("active")
    world.state.enterTool(S, "c1")
    expect(await status(store(world, { toolCall: "c2" }))).toBe("active")
    expect(await status(store(world, { toolCall: "c1" }))).toBe("dispatched")
    world.state.leaveTool(S, "c1")
    expect(await status(store(world, { toolCall: "c1" }))).toBe("active")
    expect(world.sends.length).toBe(1)
  })

  it("one at a time with a wake", async () => {
    const world = makeWorld()
    void world.wake(S, "a:1")
    expect(await now(store(world, "idle"))).toEqual({ status: "reserved", reservedBy: "a:1" })
  })

  it("inside a hook while our own wake's hold is on: stored", async () => {
    const world = makeWorld()
    await woken(world, S)
    world.state.enterTool(S, "c1")
    expect(await status(store(world, { toolCall: "c1" }))).toBe("dispatched")
    expect(world.maxInFlight).toBe(1)
  })

  it("one that hangs in a hook keeps others out until it comes back", async () => {
    const world = makeWorld()
    world.busy(S)
    world.state.enterTool(S, "c1")
    world.held = true
    const first = store(world, { toolCall: "c1" }, 1)
    await world.clock.advance(30_000)
    expect(await status(first)).toBe("failed")
    expect(await status(store(world, { toolCall: "c1" }, 2))).toBe("reserved")
    world.sends[0]!.come("ok")
    await world.settle()
    world.held = false
    expect(await status(store(world, { toolCall: "c1" }, 2))).toBe("dispatched")
    expect(world.maxInFlight).toBe(1)
  })
})
