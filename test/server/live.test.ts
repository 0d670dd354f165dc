import { expect, test } from "vitest"
import { makeLiveOutput } from "../../src/server/live.ts"
import { manualClock } from "../kit/clock.ts"

const first = { what: "checks", name: "lint", command: "make lint", index: 1, of: 2, before: [] } as const

test("what a command writes is told at most twice a second, only when it is another line, and nothing is armed in silence", async () => {
  const clock = manualClock()
  const told: (string | undefined)[] = []
  const live = makeLiveOutput(clock, (sessionID, says) => told.push(says && `${sessionID} ${says.line}`))
  const command = live.begin("ses_1", first)
  expect(told).toEqual(["ses_1 "])
  expect(clock.pending()).toBe(0)
  for (let n = 1; n <= 1_000; n++) command.take(Buffer.from(`line ${n}\n`))
  expect(clock.pending()).toBe(1)
  await clock.advance(500)
  expect(told).toEqual(["ses_1 ", "ses_1 line 1000"])
  command.take(Buffer.from("line 1000\n"))
  await clock.advance(500)
  expect(told).toHaveLength(2)
  expect(clock.pending()).toBe(0)
  command.take(Buffer.from([0xff, 0xfe]))
  command.take(Buffer.from(" odd\n"))
  await clock.advance(500)
  expect(told.at(-1)).toBe("ses_1 \uFFFD\uFFFD odd")
  expect(live.of("ses_1")).toMatchObject({ name: "lint", output: expect.stringMatching(/^line 1\n[^]*odd\n$/) })
  command.take(Buffer.from("late"))
  command.end()
  expect(clock.pending()).toBe(0)
  expect(told.at(-1)).toBeUndefined()
  expect(live.of("ses_1")).toBeUndefined()
})

test("of endless output the end is kept and no more", () => {
  const clock = manualClock()
  const live = makeLiveOutput(clock, () => undefined)
  const command = live.begin("ses_1", first)
  for (let n = 0; n < 400; n++) command.take(Buffer.alloc(64 * 1024, "y\n"))
  command.take(Buffer.from("LAST\n"))
  const output = live.of("ses_1")!.output
  expect(output.length).toBe(64 * 1024)
  expect(output.endsWith("LAST\n")).toBe(true)
  command.end()
})

test("a command that ended takes nothing away from the one after it", () => {
  const clock = manualClock()
  const told: unknown[] = []
  const live = makeLiveOutput(clock, (_, says) => told.push(says?.name))
  const one = live.begin("ses_1", first)
  live.begin("ses_1", { ...first, name: "tests", index: 2 })
  one.end()
  expect(live.of("ses_1")?.name).toBe("tests")
  expect(told).toEqual(["lint", "tests"])
})
