import { expect, test, vi } from "vitest"
import { GIT_POINTS } from "./crash-git-points.ts"
import { judgeToll, livedThrough, POINTS } from "./crash-points.ts"

vi.setConfig({ testTimeout: 600_000 })

/** Four of the whole matrix (`npm run test:crash`): a creation, the agent's turn, a snapshot, and a merge. */
test.each(["agent wrote a file", "snapshot, after its commit"])("OpenCode killed at: %s", async (name) => {
  expect(POINTS[name]).toBeDefined()
  judgeToll(name, await livedThrough(POINTS[name]!))
})

test.each([
  ["create, after the second worktree", "both stand, each once"],
  ["merge, after the checkout moved", "merged once, by itself"],
])("OpenCode killed at: %s", async (name, outcome) => {
  const [story, spot] = GIT_POINTS[name]!
  expect(await story(spot)).toBe(outcome)
})
