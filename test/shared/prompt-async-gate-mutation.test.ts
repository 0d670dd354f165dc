import fc from "fast-check"
import { expect, it } from "vitest"
import { copyOfGate, OWN_MAP, type Patch } from "./gate-copy.ts"
import { step, walk } from "./gate-walk.ts"

/* Known faults of such gates, put back into a copy of the source: the walk of the property test must find each. */

const faults: Record<string, Patch> = {
  "X1 a time-out frees the session while the send is on its way": {
    file: "shared/gate/flight.ts",
    find: "        enterLimbo(reservation)\n        end({",
    put: "        keep(reservation, 250)\n        end({",
  },
  "X2 a release frees the session while the send is on its way": {
    file: "shared/gate/flight.ts",
    find: '      case "sending":\n      case "limbo":\n        return\n',
    put: '      case "sending":\n      case "limbo":\n        return letGo(reservation)\n',
  },
  "X3 a release in the settle does not stop the send": {
    file: "shared/prompt-async-gate.ts",
    find: '    if (reservation.revoked) return reservation.revoked\n    if (!holds(reservation)) return { status: "reserved", reservedBy: holderOf(reservation.sessionID) ?? "released" }\n',
    put: "",
  },
}

const steps = fc.array(step, { maxLength: 20, size: "max" })

it("without a fault the copy passes", async () => {
  const copy = await copyOfGate([OWN_MAP])
  await fc.assert(
    fc.asyncProperty(steps, async (taken) => {
      await walk(taken, [copy])
    }),
    { numRuns: 100 },
  )
  await copy.dispose()
})

it.each(Object.keys(faults))("found: %s", async (name) => {
  const copy = await copyOfGate([OWN_MAP, faults[name]!])
  const found = await fc.check(
    fc.asyncProperty(steps, async (taken) => {
      await walk(taken, [copy])
    }),
    { numRuns: 20_000, endOnFailure: true },
  )
  await copy.dispose()
  expect(found.failed, name).toBe(true)
  expect(String(found.errorInstance)).toMatch(/P[1-8]: /)
})
