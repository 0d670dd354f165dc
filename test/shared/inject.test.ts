import { appendFileSync } from "node:fs"
import { beforeEach, describe, expect, it } from "vitest"
import { err } from "../../src/core/result.ts"
import { sharedSlots } from "../../src/shared/gate/slots.ts"
import { MAX_CHARS, MAX_STAGED } from "../../src/shared/inject/outbox.ts"
import { memoryLeases } from "./gate-world.ts"
import * as worlds from "./gate-world.ts"
import { makeInjectWorld, type InjectWorld } from "./inject-world.ts"

beforeEach(() => sharedSlots().slots.clear())

const S = "s"
const intent = { id: "i1", messageID: "msg_i1", partID: "prt_i1" }
const later = (world: InjectWorld, ms = 1_000) => world.clock.advance(ms)

/** A prompt of the gate with contexts, and the settle behind it. */
async function prompt(
  world: InjectWorld,
  texts: string[],
  allow?: Parameters<InjectWorld["inject"]["prompt"]>[2],
  one = intent,
) {
  world.session(S)
  world.state.track(S, worlds.DIR)
  const args = {
    client: world.turns,
    sessionID: S,
    source: "start:1" as const,
    intent: one,
    input: { sessionID: S, parts: [{ type: "text" as const, text: "Please start." }] },
  }
  const contexts = texts.map((text) => ({ source: "test:ctx", kind: "note", text }))
  const result = world.inject.prompt(args, contexts, allow)
  await world.clock.advance(150)
  return { result }
}

const statusOf = async ({ result }: { result: Promise<{ status: string }> }) => (await worlds.now(result)).status

describe("when it is stored", () => {
  it("I1 at idle: one message, no request of the model", async () => {
    const world = makeInjectWorld()
    expect(world.tell(S, "hello")).toMatchObject({ ok: true, value: { seq: 1 } })
    expect(world.sends).toEqual([])
    await later(world)
    expect(world.contexts(S)).toEqual(["hello"])
    expect(world.session(S).requests).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("I2 in the final step: nothing before the turn is over", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "late")
    await later(world, 60_000)
    expect(world.sends).toEqual([])
    expect([world.inject.waiting(S), world.inject.waiting(S, "note"), world.inject.waiting(S, "board")]).toEqual([
      1, 1, 0,
    ])
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["late"])
    expect(world.session(S).requests).toBe(1)
  })

  it("I3 inside the hook before a tool call, and not after it", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "first")
    await world.inject.aroundTool(S, "c1")
    expect(world.contexts(S)).toEqual(["first"])
    world.tell(S, "second")
    await later(world)
    expect(world.contexts(S)).toEqual(["first"])
  })

  it("I4 what is told while a tool runs goes in the hook after it", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    await world.tool(S, "c1", () => void world.tell(S, "meanwhile"))
    expect(world.contexts(S)).toEqual(["meanwhile"])
  })

  it("I5 three parallel hooks send each item once", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    for (const text of ["a", "b", "c"]) world.tell(S, text)
    await Promise.all(["c1", "c2", "c3"].map((call) => world.inject.aroundTool(S, call)))
    expect(world.contexts(S)).toEqual(["a", "b", "c"])
    expect(world.maxInFlight).toBe(1)
  })

  it("I6 the order is that of telling, across hooks and idle and sources", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "1", "a:1")
    world.tell(S, "2", "b:1")
    await world.inject.aroundTool(S, "c1")
    for (const text of ["3", "4", "5"]) world.tell(S, text, "a:1")
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["1", "2", "3", "4", "5"])
    expect(world.marks(S).map((mark) => mark.seq)).toEqual([1, 2, 3, 4, 5])
  })

  it("I29 while the host waits to retry nothing is sent", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.emit("session.status", { sessionID: S, status: { type: "retry", attempt: 1, message: "429", next: 99 } })
    expect(world.state.retryUntil(S)).toBe(99)
    world.tell(S, "x")
    await later(world, 60_000)
    expect(world.sends).toEqual([])
  })

  it("I30 the tool hook of another session is none of its", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "x")
    world.state.track("child", worlds.DIR)
    await world.tool("child")
    expect(world.sends).toEqual([])
  })

  it("I37 what a tool of ours tells its session comes after its result", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    await world.inject.aroundTool(S, "c1")
    // The tool's own execute runs between the two hooks.
    world.tell(S, "what the tool adds", "tool:kagan_board")
    expect(world.contexts(S)).toEqual([])
    await world.inject.aroundTool(S, "c1")
    expect(world.contexts(S)).toEqual(["what the tool adds"])
  })
})

describe("what is stored", () => {
  it("I8 synthetic, with its provenance in the metadata and nothing of it in the text", async () => {
    const world = makeInjectWorld()
    const told = world.tell(S, "the text", "reference:#12")
    await later(world)
    const [message] = world.session(S).messages
    expect(message!.parts).toMatchObject([
      {
        type: "text",
        text: "the text",
        synthetic: true,
        metadata: { kagan: { seq: 1, source: "reference:#12", kind: "note" } },
      },
    ])
    expect(world.marks(S)[0]!.inject).toBe(told.ok ? told.value.id : "")
    expect(world.sends[0]!.input.noReply).toBe(true)
  })

  it("I9 I10 agent, model and variant are those at the time of the send", async () => {
    const world = makeInjectWorld()
    Object.assign(world.session(S), { agent: "labother", model: { id: "m1", providerID: "mock" } })
    world.userPrompt(S)
    world.tell(S, "x")
    // The person switches the model meanwhile.
    const switched = world.session(S).messages[0]!
    Object.assign(switched.info, { model: { providerID: "mock", modelID: "m2", variant: "high" } })
    world.endTurn(S)
    await later(world)
    expect(world.sends[0]!.input).toMatchObject({
      agent: "labother",
      model: { providerID: "mock", modelID: "m2" },
      variant: "high",
    })
    expect(world.session(S).agent).toBe("labother")
  })

  it("I33 in an empty session as whom the session's row says", async () => {
    const world = makeInjectWorld()
    world.session(S).agent = "plan"
    world.tell(S, "before anything")
    await later(world)
    expect(world.sends[0]!.input.agent).toBe("plan")
    expect(world.sends[0]!.input.parts[0]!.synthetic).toBe(true)
  })
})

describe("crashes", () => {
  it("I11 accepted, then the process dies: delivered once by the next one", async () => {
    const first = makeInjectWorld()
    first.userPrompt(S)
    first.tell(S, "x")
    first.session(S).running = false
    const world = first.restart()
    world.state.track(S, worlds.DIR)
    world.inject.kick(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["x"])
    await later(world.restart(), 60_000)
    expect(world.contexts(S)).toEqual(["x"])
  })

  it.each([
    ["I12 sent and stored: not sent again", "ok", 0],
    ["I13 sent and not arrived: sent again under the same id", "lost", 1],
  ] as const)("%s", async (_, fate, again) => {
    const first = makeInjectWorld()
    first.held = true
    first.tell(S, "x")
    await later(first, 100)
    expect(first.journal(S).map((line) => line.t)).toEqual(["staged", "sending"])
    const sent = first.sends[0]!.input
    // The process dies here: nothing of what comes back is seen.
    sharedSlots().slots.clear()
    const world = first.restart()
    if (fate === "ok")
      world.session(S).messages.push({
        info: { id: sent.messageID, role: "user", time: { created: 0 }, agent: "build", model: {} },
        parts: sent.parts,
      } as never)
    world.state.track(S, worlds.DIR)
    world.inject.kick(S)
    await later(world)
    expect(world.sends.length).toBe(again)
    expect(world.sends.map((send) => send.input.messageID)).toEqual(again ? [sent.messageID] : [])
    expect(world.contexts(S)).toEqual(["x"])
    expect(world.inject.waiting(S)).toBe(0)
  })

  it("I14 a torn last line spoils nothing but itself, and is reported", async () => {
    const first = makeInjectWorld()
    first.userPrompt(S)
    first.tell(S, "whole")
    appendFileSync(first.store.paths.session(S).outbox, '{"t":"staged","id":"torn","te')
    const world = first.restart()
    world.tell(S, "after")
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["whole", "after"])
    expect(world.logs.filter((line) => line.message.includes("cannot be read")).length).toBe(1)
  })

  it("I38 after a restart it is neither lost nor sent again", async () => {
    const first = makeInjectWorld()
    first.tell(S, "kept")
    await later(first)
    const world = first.restart()
    world.state.track(S, worlds.DIR)
    world.inject.kick(S)
    await later(world)
    expect(world.sends).toEqual([])
    expect(world.contexts(S)).toEqual(["kept"])
  })
})

describe("failures", () => {
  it("I7 a failure in the middle lets nobody overtake", async () => {
    const world = makeInjectWorld()
    world.held = true
    for (const text of ["1", "2", "3"]) world.tell(S, text)
    await later(world, 100)
    world.sends[0]!.come("ok")
    await world.settle()
    world.sends[1]!.come("network")
    await world.settle()
    world.held = false
    await later(world, 5_000)
    expect(world.contexts(S)).toEqual(["1", "2", "3"])
    expect(world.sends.map((send) => send.input.parts[0]!.text)).toEqual(["1", "2", "2", "3"])
  })

  it("I15 a failed flush is logged with who and which attempt, and tried again", async () => {
    const world = makeInjectWorld()
    world.outcome = 500
    world.tell(S, "x", "board:facts")
    await later(world, 100)
    await later(world, 1_000)
    world.outcome = "ok"
    await later(world, 10_000)
    expect(world.contexts(S)).toEqual(["x"])
    const lines = world.logs.filter((line) => line.level === "error" && line.message.startsWith("[inject] not stored"))
    expect(lines.map((line) => [line.extra.source, line.extra.attempt])).toEqual([
      ["board:facts", 1],
      ["board:facts", 2],
    ])
    expect(world.sends.length).toBe(3)
  })

  it("I16 what never arrives is given up, and those behind it go on", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "poison")
    world.tell(S, "good")
    for (let n = 0; n < 5; n++) {
      await later(world, 100_000)
      world.sends.at(-1)!.come(500)
      await world.settle()
    }
    world.held = false
    await later(world, 100_000)
    expect(world.contexts(S)).toEqual(["good"])
    expect(world.logs.filter((line) => line.message.includes("given up")).length).toBe(1)
    expect(world.inject.waiting(S)).toBe(0)
    expect(world.clock.pending()).toBe(0)
  })

  it("what the host refuses is given up at once", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "bad")
    world.tell(S, "good")
    await later(world, 100)
    world.sends[0]!.come(400)
    world.held = false
    await later(world)
    expect(world.contexts(S)).toEqual(["good"])
  })

  it("I17 telling answers before any flush, and never with its failure", () => {
    const world = makeInjectWorld()
    world.outcome = "network"
    const told = world.tell(S, "x")
    expect(told.ok).toBe(true)
    expect(world.sends).toEqual([])
  })

  it("I32 a drain that throws does not stop the tool", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "x")
    world.outcome = "throw"
    await world.tool(S)
    world.outcome = "ok"
    await world.tool(S, "c2")
    expect(world.contexts(S)).toEqual(["x"])
  })

  it("I32 a send that hangs lets the tool go on after the hook's budget", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "x")
    world.tell(S, "y")
    world.held = true
    const hook = world.inject.aroundTool(S, "c1")
    await later(world, 4_999)
    expect(await worlds.isPending(hook)).toBe(true)
    await later(world, 1)
    await worlds.now(hook)
    // What comes back late is followed by no other send: the final step may have begun.
    world.held = false
    world.sends[0]!.come("ok")
    await later(world, 60_000)
    expect(world.sends.length).toBe(1)
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["x", "y"])
  })

  it("a foreign prompt before the send is no attempt", async () => {
    const world = makeInjectWorld()
    for (let n = 0; n < 8; n++) {
      world.tell(S, `x${n}`)
      await world.clock.advance(100 - (n === 0 ? 0 : 1))
      world.userPrompt(S)
      await world.clock.advance(5)
      world.endTurn(S)
    }
    await later(world, 120_000)
    expect(world.logs.filter((line) => line.message.includes("given up"))).toEqual([])
    expect(world.contexts(S).length).toBe(8)
  })
})

describe("bounds", () => {
  it("I31 what may wait is bounded, and a hook takes all of it", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    const told = Array.from({ length: 100 }, (_, n) => world.tell(S, `x${n}`))
    expect(told.filter((one) => one.ok).length).toBe(MAX_STAGED)
    expect(told.at(-1)).toMatchObject({ ok: false, error: { kind: "full" } })
    const hook = world.inject.aroundTool(S, "c1")
    for (let n = 0; n < 40; n++) await world.settle()
    await worlds.now(hook)
    expect(world.contexts(S).length).toBe(MAX_STAGED)
  })

  it.each([
    ["blank", " \n\t"],
    ["too_long", "x".repeat(MAX_CHARS + 1)],
  ])("refuses what is %s", (kind, text) => {
    const world = makeInjectWorld()
    expect(world.tell(S, text, "board:facts")).toMatchObject({ ok: false, error: { kind } })
    expect(world.journal(S)).toEqual([])
    const [line, ...more] = world.logs
    expect([line?.level, line?.extra.source, more]).toEqual(["error", "board:facts", []])
    expect(line?.message).toContain("not accepted")
  })
})

describe("the end", () => {
  it("I18 dispose waits for what is on its way, and writes it down", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "x")
    await later(world, 100)
    const disposed = world.inject.dispose()
    await later(world, 500)
    expect(await worlds.isPending(disposed)).toBe(true)
    world.sends[0]!.come("ok")
    await worlds.now(disposed)
    expect(world.journal(S).at(-1).t).toBe("delivered")
  })

  it("I19 dispose does not wait for ever", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "x")
    await later(world, 100)
    const disposed = world.inject.dispose()
    await later(world, 1_999)
    expect(await worlds.isPending(disposed)).toBe(true)
    await later(world, 1)
    await worlds.now(disposed)
    expect(world.journal(S).at(-1).t).toBe("sending")
  })

  it("I20 after a fence or dispose it is written down, and nobody is called", async () => {
    const world = makeInjectWorld()
    world.session(S)
    world.state.track(S, worlds.DIR)
    world.state.fence(worlds.DIR)
    world.tell(S, "fenced")
    await later(world, 120_000)
    await world.inject.dispose()
    world.tell(S, "disposed")
    await later(world, 120_000)
    expect([world.asks, world.sends]).toEqual([[], []])
    expect(world.journal(S).map((line) => line.text)).toEqual(["fenced", "disposed"])
  })

  it("whenIdle waits for what is told, not for what fails", async () => {
    const world = makeInjectWorld()
    world.tell(S, "x")
    await worlds.now(world.inject.whenIdle())
    expect(world.contexts(S)).toEqual(["x"])
  })

  it("I26 an abort loses nothing: one drain, after the second idle", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "x")
    await later(world, 10)
    world.idle(S)
    await later(world, 61)
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["x"])
    expect(world.sends[0]!.at).toBeGreaterThanOrEqual(10 + 61 + 150)
    expect(world.sends.length).toBe(1)
  })

  it("I27 a deleted session's contexts are dropped, with one line", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    world.tell(S, "x")
    world.tell(S, "y")
    world.session(S).gone = true
    world.emit("session.deleted", { sessionID: S, info: { id: S } })
    world.idle(S)
    await later(world, 120_000)
    expect(world.sends).toEqual([])
    expect(world.logs.filter((line) => line.message.includes("dropped")).length).toBe(1)
    expect(world.clock.pending()).toBe(0)
  })

  it("I28 with an open undo nothing is sent, until it is closed", async () => {
    const world = makeInjectWorld()
    world.session(S).revert = true
    const info = { id: S, directory: worlds.DIR, revert: { messageID: "m" }, time: {} }
    world.emit("session.updated", { sessionID: S, info })
    world.tell(S, "x")
    await later(world, 300_000)
    expect(world.sends).toEqual([])
    world.session(S).revert = false
    world.emit("session.updated", { sessionID: S, info: { id: S, directory: worlds.DIR, time: {} } })
    await later(world)
    expect(world.contexts(S)).toEqual(["x"])
  })

  it("I35 two processes, one outbox: each context once, in order", async () => {
    const leases = memoryLeases()
    const a = makeInjectWorld({ leases: leases.of("a") })
    a.tell(S, "from a")
    const b = makeInjectWorld({
      leases: leases.of("b"),
      clock: a.clock,
      sessions: a.sessions,
      dir: a.store.dir.replace(/\/kagan$/, ""),
    })
    b.tell(S, "from b")
    await later(a, 120_000)
    expect(a.contexts(S)).toEqual(["from a", "from b"])
    expect(a.sends.length + b.sends.length).toBe(2)
  })
})

describe("with a prompt", () => {
  it("I21 blocked: neither prompt nor contexts", async () => {
    const world = makeInjectWorld()
    const blocked = await prompt(world, ["1", "2"], () => ({ allow: false, reason: "not agreed" }))
    expect(await worlds.now(blocked.result)).toEqual({ status: "refused", reason: "not agreed" })
    await later(world)
    expect([world.sends, world.journal(S)]).toEqual([[], []])
  })

  it("I22 refused by the host: its contexts are taken back, others stay", async () => {
    const world = makeInjectWorld()
    world.tell(S, "independent")
    await later(world)
    world.held = true
    const made = await prompt(world, ["1", "2"])
    world.sends[1]!.come("ok")
    await world.settle()
    world.sends[2]!.come("ok")
    await world.settle()
    world.sends[3]!.come(400)
    expect(await statusOf(made)).toBe("rejected")
    expect(world.contexts(S)).toEqual(["independent"])
    expect(world.inject.waiting(S)).toBe(0)
  })

  it("I22 refused late: taken back when the intent is given up", async () => {
    const world = makeInjectWorld()
    world.announces = false
    world.held = true
    const made = await prompt(world, ["1"])
    world.sends[0]!.come("ok")
    await world.settle()
    world.sends[1]!.come("lost")
    expect(await statusOf(made)).toBe("dispatched")
    await later(world, 5_000)
    await worlds.now(world.inject.withdraw(S, intent.id))
    expect(world.contexts(S)).toEqual([])
  })

  it("I23 allowed: contexts first, one request", async () => {
    const world = makeInjectWorld()
    world.tell(S, "told before")
    const made = await prompt(world, ["1", "2"])
    expect(await statusOf(made)).toBe("dispatched")
    expect(world.session(S).messages.map((message) => (message.parts[0] as { text: string }).text)).toEqual([
      "told before",
      "1",
      "2",
      "Please start.",
    ])
    expect(world.session(S).requests).toBe(1)
  })

  it("the same intent again adds nothing", async () => {
    const world = makeInjectWorld()
    world.session(S).running = true
    expect(await statusOf(await prompt(world, ["1"]))).toBe("active")
    world.session(S).running = false
    expect(await statusOf(await prompt(world, ["1"]))).toBe("dispatched")
    world.endTurn(S)
    await later(world)
    expect(await statusOf(await prompt(world, ["1"]))).toBe("dispatched")
    expect(world.contexts(S)).toEqual(["1"])
    expect(world.session(S).requests).toBe(1)
  })

  it("refused and tried again, the contexts are told again", async () => {
    const world = makeInjectWorld()
    world.held = true
    const refused = await prompt(world, ["1"])
    world.sends[0]!.come("ok")
    await world.settle()
    world.sends[1]!.come(400)
    expect(await statusOf(refused)).toBe("rejected")
    expect(world.contexts(S)).toEqual([])
    world.held = false
    expect(await statusOf(await prompt(world, ["1"]))).toBe("dispatched")
    expect(world.contexts(S)).toEqual(["1"])
  })

  it("contexts of an intent go with no other boundary", async () => {
    const world = makeInjectWorld()
    world.userPrompt(S)
    expect(await statusOf(await prompt(world, ["of the intent"]))).toBe("active")
    await world.tool(S)
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual([])
    expect(await statusOf(await prompt(world, ["of the intent"]))).toBe("dispatched")
    expect(world.contexts(S)).toEqual(["of the intent"])
  })

  it("a wake does not go without the contexts that wait", async () => {
    const world = makeInjectWorld()
    world.outcome = "network"
    world.tell(S, "needed")
    const woken = world.wake(S)
    await world.clock.advance(150)
    expect((await worlds.now(woken)).status).toBe("failed")
    expect(world.sends.every((send) => send.kind === "prompt")).toBe(true)
  })

  it("I24 a user's prompt during a drain waits for it, and later contexts wait for the turn", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "1")
    world.tell(S, "2")
    await later(world, 100)
    const admitted = world.inject.admitting(S, "msg_user")
    expect(await worlds.isPending(admitted)).toBe(true)
    world.sends[0]!.come("ok")
    await worlds.now(admitted)
    world.held = false
    world.userPrompt(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["1"])
    expect(world.session(S).requests).toBe(1)
    world.endTurn(S)
    await later(world)
    expect(world.contexts(S)).toEqual(["1", "2"])
  })

  it("I24 and not longer than a second", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "1")
    await later(world, 100)
    const admitted = world.inject.admitting(S, "msg_user")
    await later(world, 1_000)
    await worlds.now(admitted)
  })

  it("I25 our own message in chat.message waits for nothing and changes nothing", async () => {
    const world = makeInjectWorld()
    world.held = true
    world.tell(S, "1")
    await later(world, 100)
    await worlds.now(world.inject.admitting(S, world.sends[0]!.input.messageID))
    expect(world.state.phase(S)).not.toBe("admitting")
  })

  it("a host that does not answer for the identity is asked again later", async () => {
    const world = makeInjectWorld()
    const real = world.host.messages
    world.host.messages = async () => err({ kind: "timeout", text: "no answer" })
    world.tell(S, "x")
    await later(world)
    expect(world.sends).toEqual([])
    world.host.messages = real
    await later(world, 5_000)
    expect(world.contexts(S)).toEqual(["x"])
  })
})
