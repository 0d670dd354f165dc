import fc from "fast-check"
import { it } from "vitest"
import * as gate from "../../src/shared/prompt-async-gate.ts"
import * as slots from "../../src/shared/gate/slots.ts"
import { copyOfGate, OWN_MAP } from "./gate-copy.ts"
import { step, walk } from "./gate-walk.ts"

const steps = fc.array(step, { maxLength: 40, size: "max" })
const limit = 30 * 60_000

it("100,000 walks of one process", { timeout: limit }, async () => {
  const walked = fc.asyncProperty(steps, async (taken) => {
    await walk(taken, [{ gate, slots }])
  })
  await fc.assert(walked, { numRuns: 100_000 })
})

it("100,000 walks of two processes", { timeout: limit }, async () => {
  const second = await copyOfGate([OWN_MAP])
  const walked = fc.asyncProperty(steps, async (taken) => {
    await walk(taken, [{ gate, slots }, second])
  })
  await fc.assert(walked, { numRuns: 100_000 })
  await second.dispose()
})
