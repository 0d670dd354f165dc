import { test, vi } from "vitest"
import { openWindows, play } from "./windows-play.ts"

vi.setConfig({ testTimeout: 3_600_000 })

test("1,000 operations of two windows against each other", async () => {
  const windows = await openWindows()
  try {
    await play(windows, 500, 2)
  } finally {
    await windows.dispose()
  }
})
