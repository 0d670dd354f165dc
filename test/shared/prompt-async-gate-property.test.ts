import fc from "fast-check"
import { afterAll, beforeAll, expect, it } from "vitest"
import * as gate from "../../src/shared/prompt-async-gate.ts"
import * as slots from "../../src/shared/gate/slots.ts"
import { copyOfGate, OWN_MAP } from "./gate-copy.ts"
import { step, walk, type Copy } from "./gate-walk.ts"

const RUNS = Number(process.env.KAGAN_PROPERTY_RUNS ?? 3_000)
const steps = fc.array(step, { maxLength: 20, size: "max" })
let second: Awaited<ReturnType<typeof copyOfGate>>

beforeAll(async () => {
  second = await copyOfGate([OWN_MAP])
})
afterAll(() => second.dispose())

it("P1 P2 P3 P4 P5 P6 P7 P8 hold on any walk", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await walk(taken, [{ gate, slots }])
    }),
    { numRuns: RUNS },
  )
})

it("P9 a wall clock that jumps changes nothing", async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      const still = await walk(
        taken.filter((one) => one.do !== "jump"),
        [{ gate, slots }],
      )
      expect(await walk(taken, [{ gate, slots }])).toEqual(still)
    }),
    { numRuns: RUNS },
  )
})

it("P10 two processes with one lease keep them as well", async () => {
  const copies: Copy[] = [{ gate, slots }, second]
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await walk(taken, copies)
    }),
    { numRuns: RUNS },
  )
})
