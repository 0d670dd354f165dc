import { test, vi } from "vitest"
import { openWindows, play } from "./windows-play.ts"

vi.setConfig({ testTimeout: 3_600_000 })

test("1,000 operations by key in two windows against each other", async () => {
  // A board of ten cards is played to its end; then the next one.
  for (let seed = 1; seed <= 10; seed++) {
    const windows = await openWindows()
    try {
      await play(windows, 50, seed, 10)
    } finally {
      await windows.dispose()
    }
  }
})
