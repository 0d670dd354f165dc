import { describe, expect, test } from "vitest"
import { FILE_LIMIT_ENDS, FILE_LIMIT_FAILS, GIT_FAILS, GIT_KILLED, HOST_KILLED, survives } from "./life.ts"

describe.each([
  ["the host is killed", HOST_KILLED],
  ["git is killed", GIT_KILLED],
  ["git fails", GIT_FAILS],
  ["a limit of file size ends git", FILE_LIMIT_ENDS],
  ["a limit of file size stops git's writes", FILE_LIMIT_FAILS],
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
