import fc from "fast-check"
import { expect, test, vi } from "vitest"
import { live, lives } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 6_600_000 })

const RUNS = Number(process.env.KAGAN_LIVES ?? 100_000)

test(`${RUNS} random lives`, async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (life) => {
      expect(await live(life)).toEqual([])
    }),
    { numRuns: RUNS },
  )
})
