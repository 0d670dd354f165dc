import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { openWindows, play, type Windows } from "./windows-play.ts"

// Two boots, one after the other.
vi.setConfig({ hookTimeout: 500_000, testTimeout: 900_000 })

let windows: Windows

beforeAll(async () => {
  windows = await openWindows()
})
afterAll(() => windows?.dispose())

test("C108 60 operations by key in two windows against each other lose nothing, give no number twice and keep the limit", async () => {
  await play(windows, 30, 1, 6)
  const merged = (await windows.tasks()).filter((task) => task.merge?.state === "merged")
  expect(merged.length, "a play in which nothing is approved proves little").toBeGreaterThan(0)
})
