import { lstat, readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { mendAdvance } from "../../../src/shared/git/advance.ts"
import { makeGit } from "../../../src/shared/git/runner.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { gitEnv } from "../../kit/repo.ts"
import { FILE_LIMIT_ENDS, FILE_LIMIT_FAILS, GIT_FAILS, GIT_KILLED, HOST_KILLED, survives } from "./life.ts"
import { bench, checkoutAt, failure, value } from "./throwaway.ts"

describe("a fast-forward that was cut off", () => {
  /** A checkout as git leaves it when it dies on the way from `from` to `to`. */
  async function cutOff() {
    const it = await bench({ "a.txt": "a\n", "b.txt": "b\n", "gone.txt": "g\n", "mine.txt": "m\n" })
    const from = (await it.repo.git("rev-parse", "HEAD")).trim()
    await it.repo.git("checkout", "-q", "-b", "ahead")
    await it.repo.write("a.txt", "AAAA\n")
    await it.repo.write("b.txt", "BBBB\n")
    await it.repo.write("new/x.txt", "xxxx\n")
    await rm(join(it.repo.dir, "gone.txt"))
    const to = await it.repo.commit("ahead")
    await it.repo.git("checkout", "-q", "main")
    await it.repo.write("mine.txt", "my own\n")
    await it.repo.write("staged.txt", "staged\n")
    await it.repo.git("add", "staged.txt")
    const note = { target: "main", from, to, checkout: it.repo.dir, pid: 999_999_999 }
    const file = join(it.repo.dir, ".git", "kagan-advancing.json")
    await writeFile(file, JSON.stringify(note))
    const status = () => it.repo.git("status", "--porcelain")
    const before = await status()
    return { it, from, to, file, before, status, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
  }

  test("among the files is taken back, the half-written one too, and nothing else", async () => {
    await using at = await cutOff()
    const { it, file, before, status } = at
    await it.repo.write("a.txt", "AAAA\n")
    await it.repo.write("b.txt", "BB")
    await it.repo.write("new/x.txt", "")
    await rm(join(it.repo.dir, "gone.txt"))
    value(await mendAdvance(it.opened, "main"))
    expect(await status()).toBe(before)
    expect(await readFile(join(it.repo.dir, "mine.txt"), "utf8")).toBe("my own\n")
    await expect(lstat(join(it.repo.dir, "new"))).rejects.toThrow("ENOENT")
    await expect(lstat(file)).rejects.toThrow("ENOENT")
  })

  test("behind the index is finished", async () => {
    await using at = await cutOff()
    const { it, to } = at
    await it.repo.git("rm", "-q", "--cached", "staged.txt")
    await it.repo.git("read-tree", "-m", "-u", "HEAD", to)
    value(await mendAdvance(it.opened, "main"))
    expect((await it.repo.git("rev-parse", "main")).trim()).toBe(to)
    expect(await at.status()).toBe(" M mine.txt\n?? staged.txt\n")
  })

  test("and edited since is left alone and named", async () => {
    await using at = await cutOff()
    const { it } = at
    await it.repo.write("a.txt", "edited since\n")
    await it.repo.write("b.txt", "BBBB\n")
    const refused = failure(await mendAdvance(it.opened, "main"), "in_the_way")
    expect(refused.data.changed).toEqual(["a.txt"])
    expect(await readFile(join(it.repo.dir, "a.txt"), "utf8")).toBe("edited since\n")
    expect(await readFile(join(it.repo.dir, "b.txt"), "utf8")).toBe("b\n")
    await it.repo.git("checkout", "-q", "a.txt")
    value(await mendAdvance(it.opened, "main"))
  })

  test("C117 with git's lock left behind names the lock and deletes nothing", async () => {
    await using at = await cutOff()
    const { it, file } = at
    const lock = join(it.repo.dir, ".git", "index.lock")
    await writeFile(lock, "")
    expect(failure(await mendAdvance(it.opened, "main"), "locked").data.path).toBe(lock)
    await lstat(lock)
    await rm(lock)
    value(await mendAdvance(it.opened, "main"))
    await expect(lstat(file)).rejects.toThrow("ENOENT")
  })

  test("another window's running merge is left alone", async () => {
    await using at = await cutOff()
    const { it, file } = at
    await writeFile(file, JSON.stringify({ ...JSON.parse(await readFile(file, "utf8")), pid: process.ppid }))
    failure(await mendAdvance(it.opened, "main"), "locked")
    await lstat(file)
    value(await mendAdvance(it.opened, "other"))
  })
})

describe("whatever happens at a git call of a task's life, a look repairs it and nothing is lost", () => {
  test.each([
    ["the host is killed", HOST_KILLED, false, [9, 27]],
    ["the host is killed", HOST_KILLED, true, [36, 46, 54]],
    ["git is killed", GIT_KILLED, true, [14, 40, 50]],
    ["git fails", GIT_FAILS, true, [24, 42, 48]],
    ["a limit of file size ends git", FILE_LIMIT_ENDS, false, [12, 23]],
    ["a limit of file size stops git's writes", FILE_LIMIT_FAILS, false, [13, 37]],
  ])("%s (%s, commit hook: %s)", async (_, instead, hook, calls) => {
    for (const n of calls) expect(await survives(n, instead, hook), `there is a call ${n}`).toBe(true)
  })
})

test("a folder that cannot be written leaves nothing behind and says why", async () => {
  await using it = await bench()
  const git = makeGit({ env: gitEnv() })
  const wanted = { repo: { ...it.opened, git }, branch: "kagan/1", base: "main" }
  await writeFile(join(it.side, "file"), "")
  failure(await createWorktree({ ...wanted, path: join(it.side, "file", "wt") }), "io")
  expect((await checkoutAt(it.repo.dir).git("for-each-ref", "--format=%(refname:short)", "refs/heads")).trim()).toBe(
    "main",
  )
})
