import { join } from "node:path"
import { heapStats } from "bun:jsc"
import { ok } from "../../src/core/result.ts"
import { systemClock, type Clock } from "../../src/shared/clock.ts"
import { sharedSlots } from "../../src/shared/gate/slots.ts"
import { doorsOf, type HostDoors, type Turns } from "../../src/shared/host.ts"
import { makeGate, promptAsyncAfterSessionIdle } from "../../src/shared/prompt-async-gate.ts"
import { makeSessionState } from "../../src/shared/session-state.ts"
import { openStore } from "../../src/shared/store.ts"
import { startServer } from "../../test/kit/host.ts"
import { startModel, text } from "../../test/kit/model.ts"
import { makeSandbox } from "../../test/kit/sandbox.ts"
import { median, report, timed, type Figure } from "./report.ts"

/*
 * What a wake costs over the raw call, with the settle left out (it is a wait, not work): on the real host, and of the
 * gate alone over a host that answers at once. And what many sessions leave behind.
 */

const ROUNDS = 25
const MANY = 10_000

/** Counts the timers that are armed on the system's clock. */
function countingClock(): Clock & { armed(): number } {
  const armed = new Set<() => void>()
  return {
    ...systemClock,
    setTimer(ms, run) {
      const cancel = systemClock.setTimer(ms, () => {
        armed.delete(cancel)
        run()
      })
      armed.add(cancel)
      return () => {
        armed.delete(cancel)
        cancel()
      }
    },
    armed: () => armed.size,
  }
}

const prompt = (sessionID: string) => ({ sessionID, parts: [{ type: "text" as const, text: "Hello" }] })
const args = (client: Turns, sessionID: string) =>
  ({ client, sessionID, input: prompt(sessionID), source: "bench:wake", settleMs: 0 }) as const

async function onTheRealHost(): Promise<Figure[]> {
  await using model = disposing(await startModel(() => text("Hello.")))
  await using box = await makeSandbox({ plugin: false, model: model.value })
  const server = await startServer(box)
  try {
    const doors: HostDoors = doorsOf(server.client, systemClock)
    const { leases } = openStore(join(box.repo.dir, ".git"), { clock: systemClock })
    const state = makeSessionState({ host: doors.host, clock: systemClock, leases })
    const gate = makeGate({ ...doors, state, leases, clock: systemClock, log() {} })
    const events = await server.events(box.repo.dir)
    const session = async () => (await server.client.session.create({ title: "Bench" })).data!.id
    const over = (id: string) =>
      events.waitFor((event) => event.type === "session.idle" && event.properties.sessionID === id)
    const raw: number[] = []
    const gated: number[] = []
    // The first turns of an instance are slow; one of each is not counted. Alternating, so that both see the same load.
    for (let round = 0; round <= ROUNDS; round++) {
      const [one, two] = [await session(), await session()]
      const rawTime = await timed(() => doors.turns.session.promptAsync(prompt(one)))
      await over(one)
      const gateTime = await timed(() => promptAsyncAfterSessionIdle(args(doors.turns, two)))
      await over(two)
      if (round > 0) raw.push(rawTime)
      if (round > 0) gated.push(gateTime)
    }
    await gate.dispose()
    state.dispose()
    return [
      { name: "raw promptAsync, real host", value: median(raw), unit: "ms" },
      { name: "wake through the gate, real host", value: median(gated), unit: "ms" },
      { name: "cost of a wake over the raw call", value: median(gated) - median(raw), unit: "ms" },
    ]
  } finally {
    await server.stop()
  }
}

/** Over a host that answers at once, so that nothing but the gate is measured. */
async function alone(): Promise<Figure[]> {
  const clock = countingClock()
  const host = {
    session: async (id: string) =>
      ok({ id, directory: "/x", agent: "build", model: { id: "m", providerID: "p" }, time: {} } as never),
    statuses: async () => ok({}),
    messages: async () => ok([]),
    message: async () => ok(undefined),
  }
  const turns: Turns = { session: { prompt: async () => ({}), promptAsync: async () => ({}) } }
  const state = makeSessionState({ host, clock })
  const gate = makeGate({ turns, host, state, clock, log() {} })
  const heap = () => {
    Bun.gc(true)
    return heapStats().heapSize / 1024
  }
  await promptAsyncAfterSessionIdle(args(turns, "warm"))
  const before = heap()
  const spent = await timed(async () => {
    for (let n = 0; n < MANY; n++) await promptAsyncAfterSessionIdle(args(turns, `s${n}`))
  })
  const during = heap()
  for (let n = 0; n < MANY; n++) {
    state.observe({ type: "session.status", properties: { sessionID: `s${n}`, status: { type: "busy" } } })
    state.observe({ type: "session.idle", properties: { sessionID: `s${n}` } })
  }
  while (sharedSlots().slots.size > 1 || clock.armed() > 2) await Bun.sleep(50)
  const after = heap()
  state.observe({ type: "session.deleted", properties: { info: { id: "warm" } } })
  await gate.dispose()
  const left = clock.armed()
  state.dispose()
  return [
    { name: "the gate's own work per wake", value: spent / MANY, unit: "ms" },
    { name: `memory, ${MANY.toLocaleString("en")} sessions being woken`, value: during - before, unit: "KiB" },
    { name: `memory, ${MANY.toLocaleString("en")} sessions at rest again`, value: after - before, unit: "KiB" },
    { name: "timers left", value: left, unit: "", budget: 0 },
  ]
}

function disposing<T extends { dispose(): Promise<unknown> }>(value: T) {
  return { value, [Symbol.asyncDispose]: async () => void (await value.dispose()) }
}

report([...(await onTheRealHost()), ...(await alone())])
process.exit(0)
