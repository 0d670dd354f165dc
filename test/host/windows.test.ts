import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { openWindows, type Windows } from "./windows-play.ts"

vi.setConfig({ testTimeout: 600_000, hookTimeout: 240_000 })

let windows: Windows

beforeAll(async () => {
  windows = await openWindows()
})
afterAll(() => windows?.dispose())

test("C108 what one window does is known in the other", async () => {
  const { boards, seen } = windows
  const made = await boards[0].get("task.create", { draftID: "heard", title: "Heard by the other", description: "" })
  await seen.until(made.sessionID, "created", (meta) => meta.lastGatedStatus === "backlog")
  await vi.waitFor(
    async () => {
      const { facts } = await boards[1].get("board.facts", {})
      expect(facts.map(({ sessionID }) => sessionID)).toContain(made.sessionID)
    },
    { timeout: 60_000, interval: 50 },
  )
})
