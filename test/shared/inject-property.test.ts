import fc from "fast-check"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, it } from "vitest"
import { sharedSlots } from "../../src/shared/gate/slots.ts"
import { DIR, type Outcome } from "./gate-world.ts"
import { makeInjectWorld, type InjectWorld } from "./inject-world.ts"

const RUNS = Number(process.env.KAGAN_PROPERTY_RUNS ?? 3_000)
const dir = mkdtempSync(join(tmpdir(), "kagan-inject-"))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

type Step =
  | { readonly do: "tell" | "user" | "end" | "abort" | "before" | "after" | "wake" | "delete" }
  | { readonly do: "tick"; readonly ms: number }
  | { readonly do: "come"; readonly how: Outcome; readonly landed: boolean }
  | { readonly do: "crash"; readonly landed: boolean }

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Step>({ do: "tell" }) },
  {
    weight: 8,
    arbitrary: fc.constantFrom<Step>(
      { do: "user" },
      { do: "end" },
      { do: "abort" },
      { do: "before" },
      { do: "after" },
      { do: "wake" },
    ),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("tick" as const), ms: fc.constantFrom(1, 100, 150, 1_000, 5_000, 30_000) }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("come" as const),
      how: fc.constantFrom<Outcome>("ok", "ok", "ok", 500, "network"),
      landed: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("crash" as const), landed: fc.boolean() }) },
)

/** Walks, then lets everything come to rest, and compares what was accepted with what stands in the transcript. */
async function walk(steps: readonly Step[], serial: number) {
  const S = `s${serial}`
  sharedSlots().slots.clear()
  let prompts = 0
  let broken: string | undefined
  let hooks: Promise<void>[] = []
  const start = (make: () => InjectWorld) => {
    const made = make()
    made.held = true
    made.session(S)
    made.state.track(S, DIR)
    return made
  }
  const accepted: string[] = []
  const options = {
    dir,
    onCall({ what, sessionID }: { what: string; sessionID?: string }) {
      if (what !== "prompt" || sessionID !== S) return
      const phase = world.state.phase(S)
      if (phase === "step" || phase === "admitting") broken ??= `sent while ${phase}`
      if (world.session(S).running && phase !== "window") broken ??= "sent into a running turn outside a hook"
    },
  }
  let world: InjectWorld = start(() => makeInjectWorld(options))
  const given: string[] = []

  /** The host answers within the bounded waits of the hooks; what it does beyond them nobody can make up for. */
  async function comeBack() {
    for (let send = flying(); send; send = flying()) {
      send.come("ok")
      await world.settle()
    }
  }
  const flying = () => world.sends.find((send) => !send.back)

  async function take(one: Step) {
    switch (one.do) {
      case "tell": {
        const text = `t${accepted.length}`
        if (world.tell(S, text).ok) accepted.push(text)
        break
      }
      case "user": {
        // The hook of the foreign prompt is awaited by the host before the message is stored.
        const admitted = world.inject.admitting(S, `msg_user${prompts++}`)
        await comeBack()
        await world.clock.advance(1_000)
        await admitted
        if (!world.session(S).running) world.userPrompt(S)
        break
      }
      case "end":
        if (!world.session(S).running) break
        await comeBack()
        await Promise.all(hooks.map(() => world.clock.advance(5_000)))
        await Promise.all(hooks)
        hooks = []
        world.endTurn(S)
        break
      case "abort":
        if (!world.session(S).running || hooks.length > 0) break
        world.idle(S)
        await world.clock.advance(61)
        world.endTurn(S)
        break
      case "before":
      case "after":
        // The hooks of up to two parallel calls; the host waits for them before the turn goes on.
        if (world.session(S).running && hooks.length < 2) hooks.push(world.inject.aroundTool(S, `c${hooks.length}`))
        break
      case "wake":
        void world.wake(S)
        await world.clock.advance(150)
        break
      case "tick":
        if (hooks.length > 0 && one.ms >= 1_000) await comeBack()
        await world.clock.advance(one.ms)
        break
      case "come": {
        const send = world.sends.find((each) => !each.back)
        // An error says nothing of whether the message was stored.
        if (one.how !== "ok" && one.landed) send?.land()
        send?.come(one.how)
        await world.settle()
        break
      }
      case "crash": {
        world.die()
        const away = world.sends.filter((each) => !each.back)
        world.session(S).running = false
        if (one.landed) for (const send of away) send.land()
        given.push(...givenUp(world))
        hooks = []
        sharedSlots().slots.clear()
        const died = world
        world = start(() => died.restart())
        world.inject.kick(S)
        break
      }
      case "delete":
        break
    }
    await world.settle()
  }

  for (const one of steps) {
    await take(one)
    if (broken) throw new Error(`I36: ${broken}\n${JSON.stringify(steps)}`)
  }
  for (let round = 0; round < 12; round++) {
    world.held = false
    for (const send of world.sends) if (!send.back) await take({ do: "come", how: "ok", landed: false })
    await take({ do: "end" })
    await world.clock.advance(120_000)
    if (!world.session(S).running) world.inject.kick(S)
    await world.settle()
  }
  given.push(...givenUp(world))
  const delivered = world.contexts(S)
  const expected = accepted.filter((text) => !given.includes(text) || delivered.includes(text))
  const what = {
    delivered,
    expected,
    requests: world.session(S).requests,
    turns: world.session(S).turns,
    waiting: world.inject.waiting(S),
  }
  if (broken) throw new Error(`I36: ${broken}\n${JSON.stringify(steps)}`)
  if (JSON.stringify(delivered) !== JSON.stringify(expected)) throw new Error(`I36: ${JSON.stringify([what, steps])}`)
  if (what.waiting > 0) throw new Error(`I36: something still waits ${JSON.stringify([what, steps])}`)
  if (what.requests !== what.turns) throw new Error(`I36: a request too many ${JSON.stringify([what, steps])}`)
}

function givenUp(world: InjectWorld): string[] {
  return world
    .journal(world.sessions.keys().next().value!)
    .flatMap((line, _, all) =>
      line.t === "given_up" ? all.find((one) => one.t === "staged" && one.id === line.id).text : [],
    )
}

it("I36 on any walk: each accepted context once, in order, never into a step, and no request for it", async () => {
  let serial = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 16, size: "max" }), (steps) => walk(steps, serial++)),
    { numRuns: RUNS },
  )
})
