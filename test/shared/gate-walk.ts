import fc from "fast-check"
import type * as GateModule from "../../src/shared/prompt-async-gate.ts"
import type * as SlotsModule from "../../src/shared/gate/slots.ts"
import type { PromptAsyncGateResult } from "../../src/shared/prompt-async-gate.ts"
import { manualClock } from "../kit/clock.ts"
import { DIR, makeWorld, memoryLeases, type FakeSession, type Outcome, type Send, type World } from "./gate-world.ts"

/** One step of a random history of two sessions. */
export type Step =
  | { readonly do: "go"; readonly s: string; readonly by: number; readonly intent?: number }
  | { readonly do: "note"; readonly s: string }
  | { readonly do: "tick"; readonly ms: number }
  | { readonly do: "come"; readonly n: number; readonly how: Outcome }
  | { readonly do: "busy" | "idle" | "end" | "user" | "abort" | "delete" | "error" | "lose"; readonly s: string }
  | { readonly do: "release"; readonly s: string; readonly how: "owner" | "prefix" | "wrong" }
  | { readonly do: "fence" | "unfence" }
  | { readonly do: "jump"; readonly ms: number }

const s = fc.constantFrom("a", "b")

export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant("go" as const), s, by: fc.nat(2) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("go" as const), s, by: fc.nat(2), intent: fc.nat(1) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("note" as const), s }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("tick" as const),
      ms: fc.constantFrom(1, 100, 150, 151, 249, 250, 251, 1_000, 5_000, 5_001, 30_000, 60_000, 301_000),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant("come" as const),
      n: fc.nat(2),
      how: fc.constantFrom<Outcome>("ok", "ok", "ok", "lost", 400, 404, 500, "network"),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("busy", "idle", "end", "end", "user", "abort", "error", "lose" as const),
      s,
    }) as fc.Arbitrary<Step>,
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete" as const), s }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("release" as const),
      s,
      how: fc.constantFrom("owner", "owner", "prefix", "wrong" as const),
    }) as fc.Arbitrary<Step>,
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom("fence" as const, "unfence" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("jump" as const), ms: fc.constantFrom(-3_600_000, 3_600_000) }) },
)

export type Copy = { readonly gate: typeof GateModule; readonly slots: typeof SlotsModule }

/** After this long a send that never came back is given up, once the transcript has been asked. */
const GIVEN_UP_MS = 30_000 + 5 * 60_000
const TOMBSTONE_MS = 10 * 60_000
const STATUSES = ["dispatched", "active", "reserved", "unavailable", "failed", "rejected", "blocked"]

/**
 * Walks through the steps and checks after each of them what must always hold (P1–P8). Answers what was sent and how
 * every call ended, for comparisons. With two copies, each step of a wake goes to one of them in turn, as to two
 * processes on one repository.
 */
export async function walk(steps: readonly Step[], copies: readonly Copy[]): Promise<string[]> {
  const clock = manualClock()
  let jumped = 0
  const leases = memoryLeases()
  const sessions = new Map<string, FakeSession>()
  /** Which process knows of which deletion, and until when it must. */
  const known = new Map<string, number>()
  const learn = (n: number, id: string) => {
    if (clock.monotonic() >= (known.get(`${n} ${id}`) ?? 0)) known.set(`${n} ${id}`, clock.monotonic() + TOMBSTONE_MS)
  }
  const isGone = (id: string) => sessions.get(id)!.gone
  const fenced = new Set<string>()
  const trace: string[] = []
  const results: Promise<PromptAsyncGateResult>[] = []
  const fail = (rule: string, what: string): never => {
    throw new Error(`${rule}: ${what}\n${JSON.stringify(steps)}\n${trace.join("\n")}`)
  }
  let broken: (() => never) | undefined
  // A call is made deep inside promises: what it breaks is told by the next step.
  const breaks = (rule: string, what: string) => void (broken ??= () => fail(rule, what))

  const worlds: World[] = copies.map((copy, n) =>
    makeWorld({
      clock: { ...clock, now: () => clock.now() + jumped },
      sessions,
      leases: leases.of(`p${n}`),
      gate: copy.gate,
      onCall({ what, sessionID, directory }) {
        if (clock.monotonic() < (known.get(`${n} ${sessionID}`) ?? 0))
          breaks("P3", `${what} of the deleted ${sessionID}`)
        if (fenced.size > 0) breaks("P3", `${what} in a disposed instance ${directory ?? sessionID}`)
        if (sessionID === undefined || (what !== "prompt" && what !== "promptAsync")) return
        trace.push(`${clock.monotonic()} ${what} ${sessionID}`)
        const flying = worlds
          .flatMap((world) => world.sends)
          .filter((send) => !send.back && send.input.sessionID === sessionID)
          .filter((send) => clock.monotonic() - send.at < GIVEN_UP_MS)
          // One whose turn is over was taken, whatever became of the answer.
          .filter((send) => !isOver(sessions.get(sessionID)!, send.input.messageID))
        if (flying.length > 0) breaks("P1", `two sends into ${sessionID}`)
        if (what === "promptAsync" && sessions.get(sessionID)!.running) breaks("P4", `a wake of the busy ${sessionID}`)
      },
    }),
  )
  for (const world of worlds) {
    world.held = true
    for (const id of ["a", "b"]) {
      world.session(id)
      world.state.track(id, DIR)
    }
  }
  const everywhere = (act: (world: World) => void) => worlds.forEach(act)
  const flight = () => worlds.flatMap((world) => world.sends).filter((send) => !send.back)
  let turn = 0

  async function take(one: Step) {
    const world = worlds[turn++ % worlds.length]!
    switch (one.do) {
      case "go": {
        const id = `i${one.intent}${one.s}`
        const intent = { id, messageID: `msg_${id}`, partID: `prt_${id}` }
        results.push(world.wake(one.s, `by:${one.by}`, one.intent === undefined ? {} : { intent }))
        break
      }
      case "note":
        results.push(world.note(one.s, "note:1"))
        break
      case "tick":
        await clock.advance(one.ms)
        break
      case "come": {
        const send = flight()[one.n]
        if (!send) break
        if (one.how === 404) sessions.get(send.input.sessionID)!.gone = true
        come(send, one.how)
        break
      }
      case "busy":
        if (!isGone(one.s)) world.busy(one.s)
        break
      case "idle":
        if (!sessions.get(one.s)!.running) world.idle(one.s)
        break
      case "end":
        if (sessions.get(one.s)!.running) end(one.s)
        break
      case "user":
        if (!isGone(one.s)) world.userPrompt(one.s)
        break
      case "abort":
        if (!sessions.get(one.s)!.running) break
        everywhere((each) => each.idle(one.s))
        await clock.advance(61)
        end(one.s)
        break
      case "lose":
        // The turn ends and its events are lost.
        sessions.get(one.s)!.running = false
        break
      case "delete":
        worlds.forEach((_, n) => learn(n, one.s))
        sessions.get(one.s)!.gone = true
        sessions.get(one.s)!.running = false
        everywhere((each) => each.emit("session.deleted", { sessionID: one.s, info: { id: one.s } }))
        break
      case "error":
        world.emit("session.error", { sessionID: one.s, error: { name: "UnknownError" } })
        break
      case "release":
        release(world, one)
        break
      case "fence":
        fenced.add(DIR)
        everywhere((each) => each.state.fence(DIR))
        break
      case "unfence":
        fenced.delete(DIR)
        everywhere((each) => each.state.unfence(DIR))
        break
      case "jump":
        jumped += one.ms
        break
    }
    await world.settle()
  }

  /** A send that comes back tells its own process that the session is gone. */
  function come(send: Send, how: Outcome) {
    const { sessionID } = send.input
    if (!isGone(sessionID)) return send.come(how)
    send.come(404)
    worlds.forEach((world, n) => world.sends.includes(send) && learn(n, sessionID))
  }

  function end(id: string) {
    worlds[0]!.endTurn(id)
    for (const other of worlds.slice(1)) other.idle(id)
  }

  function release(world: World, one: Extract<Step, { do: "release" }>) {
    const copy = copies[worlds.indexOf(world)]!
    const before = flight().length
    const source = copy.slots.holderOf(one.s) ?? "by:0"
    const how = { owner: { reservedBy: source }, prefix: { reservedByPrefix: "by:" }, wrong: { reservedBy: "no:1" } }
    copy.gate.releasePromptAsyncReservation(one.s, how[one.how])
    if (flight().length > before) fail("P8", "a release sent something")
  }

  function check() {
    broken?.()
    for (const copy of copies) {
      if (copy.slots.sharedSlots().slots.size > 2) fail("P7", "more slots than sessions")
    }
    for (const one of sessions.values()) {
      const ids = one.messages.map((message) => message.info.id)
      if (new Set(ids).size !== ids.length) fail("P2", `a message twice in ${one.id}`)
    }
  }

  try {
    for (const one of steps) {
      await take(one)
      check()
    }
    await finish()
    for (const result of await Promise.all(results)) {
      trace.push(result.status)
      if (!STATUSES.includes(result.status)) fail("P6", JSON.stringify(result))
    }
    return trace
  } finally {
    for (const copy of copies) copy.slots.sharedSlots().slots.clear()
  }

  /** Everything comes back, every turn ends, time passes: then all is free and no timer is left. */
  async function finish() {
    if (fenced.size > 0) await take({ do: "unfence" })
    for (let round = 0; round < 3; round++) {
      for (const send of flight()) come(send, "network")
      await worlds[0]!.settle()
      for (const one of sessions.values()) {
        if (one.gone) everywhere((world) => world.idle(one.id))
        else end(one.id)
      }
      await clock.advance(20 * 60_000)
      check()
    }
    for (const copy of copies) {
      const { slots } = copy.slots.sharedSlots()
      if (slots.size > 0) fail("P5", `not free: ${JSON.stringify([...slots.values()])}`)
    }
    if (clock.pending() > 0) fail("P5", `${clock.pending()} timers are left`)
  }
}

function isOver(session: FakeSession, messageID: string | undefined): boolean {
  const at = session.messages.findIndex((message) => message.info.id === messageID)
  return at >= 0 && session.messages.slice(at).some((message) => message.info.role === "assistant")
}
