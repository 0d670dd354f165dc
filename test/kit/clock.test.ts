import { expect, test } from "vitest"
import { manualClock } from "./clock.ts"

test("timers run in order of their time, and one set by another runs within the same advance", async () => {
  const clock = manualClock(1000)
  const seen: string[] = []
  clock.setTimer(30, () => seen.push(`late@${clock.monotonic()}`))
  clock.setTimer(10, () => {
    seen.push(`early@${clock.monotonic()}`)
    clock.setTimer(5, () => seen.push(`chained@${clock.monotonic()}`))
  })
  await clock.advance(9)
  expect(seen).toEqual([])
  await clock.advance(21)
  expect(seen).toEqual(["early@10", "chained@15", "late@30"])
  expect(clock.now()).toBe(1030)
  expect(clock.pending()).toBe(0)
})

test("a cleared timer never runs, and promises settle between timers", async () => {
  const clock = manualClock()
  const seen: string[] = []
  const clear = clock.setTimer(10, () => seen.push("cleared"))
  clock.setTimer(5, () => void Promise.resolve().then(() => seen.push("promise")))
  clock.setTimer(6, () => seen.push("second"))
  clear()
  await clock.advance(100)
  expect(seen).toEqual(["promise", "second"])
})
