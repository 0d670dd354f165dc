import { existsSync } from "node:fs"
import { expect, test } from "vitest"
import { gitEnv, makeRepo } from "./repo.ts"

test("a repository has branch main, one commit, and is gone after dispose", async () => {
  const repo = await makeRepo({ files: { "src/a.txt": "a\n" } })
  expect((await repo.git("branch", "--show-current")).trim()).toBe("main")
  expect((await repo.git("ls-files")).trim()).toBe("src/a.txt")
  await repo.write("b.txt", "b\n")
  const id = await repo.commit("Second")
  expect((await repo.git("rev-list", "--count", id)).trim()).toBe("2")
  await repo.dispose()
  expect(existsSync(repo.dir)).toBe(false)
})

test("git of a test obeys no variable of the process around it", async () => {
  const env = gitEnv({ PATH: process.env["PATH"], GIT_DIR: "/somewhere/.git", GIT_INDEX_FILE: "/somewhere/index" })
  expect(env["GIT_DIR"]).toBeUndefined()
  expect(env["GIT_INDEX_FILE"]).toBeUndefined()
  expect(env["GIT_CONFIG_GLOBAL"]).toBe("/dev/null")
})

test("a failing git call throws git's own words", async () => {
  await using repo = await makeRepo()
  await expect(repo.git("rev-parse", "--verify", "nothing")).rejects.toThrow(/needed a single revision/i)
})
