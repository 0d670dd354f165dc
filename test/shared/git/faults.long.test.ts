import { describe, expect, test } from "vitest"
import { GIT_FAILS, GIT_KILLED, HOST_KILLED, survives } from "./life.ts"

describe.each([
  ["the host is killed", HOST_KILLED],
  ["git is killed", GIT_KILLED],
  ["git fails", GIT_FAILS],
])("%s at each git call of a task's life", (_, instead) => {
  test.each([false, true])(
    "(commit hook: %s) a look repairs it and nothing is lost",
    async (hook) => {
      let n = 1
      while (await survives(n, instead, hook)) n++
      expect(n).toBeGreaterThan(40)
    },
    1_800_000,
  )
})
