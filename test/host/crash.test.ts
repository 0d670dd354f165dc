import { expect, test, vi } from "vitest"
import { judgeToll, livedThrough, POINTS } from "./crash-points.ts"

vi.setConfig({ testTimeout: 600_000 })

/** Four of the whole matrix (`npm run test:crash`): a claim, a helper's turn, the agent's turn, and a snapshot. */
const SAMPLE = ["intake claimed", "agent wrote a file", "snapshot, after its commit", "reviewer asked"]

test.each(SAMPLE)("OpenCode killed at: %s", async (name) => {
  expect(POINTS[name]).toBeDefined()
  judgeToll(name, await livedThrough(POINTS[name]!))
})
