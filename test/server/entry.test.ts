import { expect, test } from "vitest"
import { isHeadless, tellWhenNoBoard } from "../../src/server/entry.ts"
import { ok } from "../../src/core/result.ts"
import { manualClock } from "../kit/clock.ts"

function setup() {
  const toasts: { directory: string; message: string; variant: string }[] = []
  const told = Promise.withResolvers<void>()
  const clock = manualClock()
  let heard = false
  const tell = (more: Partial<Parameters<typeof tellWhenNoBoard>[0]> = {}) =>
    tellWhenNoBoard({
      host: {
        config: async () => ok({ plugin: ["file:///nowhere/kagan"] }),
        toast: async (directory, { message, variant }) => {
          toasts.push({ directory, message, variant })
          told.resolve()
          return ok()
        },
        log: () => {},
      },
      clock,
      directory: "/nowhere/repo",
      root: "/nowhere/repo",
      url: "file:///nowhere/kagan/dist/server.js",
      heard: () => heard,
      headless: false,
      ...more,
    })
  return { toasts, told: told.promise, clock, tell, hear: () => (heard = true) }
}

// The order matters: what is told once per process is told in the last one.
test("where there is no screen nothing is armed", () => {
  const { clock, tell } = setup()
  tell({ headless: true })
  expect(clock.pending()).toBe(0)
})

test("a test is no terminal UI's worker", () => expect(isHeadless()).toBe(true))

test("a board that said hello, or a half that was ended, tells nothing", async () => {
  const { toasts, clock, tell, hear } = setup()
  const cancel = tell()
  cancel()
  await clock.advance(60_000)
  tell()
  hear()
  await clock.advance(60_000)
  expect(toasts).toEqual([])
  expect(clock.pending()).toBe(0)
})

test("without a hello it is told, once per process", async () => {
  const { toasts, told, clock, tell } = setup()
  tell()
  tell({ directory: "/nowhere/worktree" })
  await clock.advance(19_000)
  expect(toasts).toEqual([])
  await clock.advance(1_000)
  await told
  tell()
  await clock.advance(60_000)
  expect(toasts).toEqual([
    {
      directory: "/nowhere/repo",
      variant: "warning",
      message: expect.stringMatching(/lacks the line "plugin": \["file:\/\/\/nowhere\/kagan"\]$/),
    },
  ])
})
