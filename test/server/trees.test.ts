import { cp, readFile, rename, rm } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import type { Result } from "../../src/core/result.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { makeBranchWatch } from "../../src/server/branch-watch.ts"
import { gitTrees } from "../../src/server/trees.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { readRecord } from "../../src/shared/git/ownership.ts"
import { openStore } from "../../src/shared/store.ts"
import { manualClock } from "../kit/clock.ts"
import { bench, value, type Bench, type TaskTree } from "../shared/git/throwaway.ts"

const treesOf = (it: Pick<Bench, "opened">) =>
  gitTrees(it.opened, openStore(it.opened.commonDir, { clock: systemClock }), () => ({
    branchPrefix: "kagan",
    copy: [".env"],
  }))

function must<T>(result: Result<T, { readonly text: string }>): T {
  if (!result.ok) throw new Error(result.error.text)
  return result.value
}

function metaOf(task: TaskTree, more: Partial<TaskMeta> = {}): TaskMeta {
  const where = { baseBranch: "main", branch: task.branch, worktree: task.dir, taskNumber: 1, sessionID: "ses_1" }
  return {
    v: 1,
    boardTask: true,
    repo: "r",
    status: "review",
    order: 1,
    baseCommit: "",
    generation: 1,
    ...where,
    ...more,
  }
}

test("a merge lands in the base itself, or in the local branch that follows it; else the person chooses", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const trees = treesOf(it)
  await it.repo.git("update-ref", "refs/remotes/origin/main", "main")
  await it.repo.git("remote", "add", "origin", it.side)
  const task = await it.task("t1", "origin/main")
  await task.write("a.txt", "b\n")
  const { commit } = await task.snapshot(1, "origin/main")
  const remote = metaOf(task, { baseBranch: "origin/main" })
  const loose = must(await trees.landing(remote, commit))
  expect(loose).toMatchObject({ behind: 0, conflicts: [] })
  expect(loose.target).toBeUndefined()
  await it.repo.git("branch", "-q", "--set-upstream-to=origin/main", "main")
  await it.repo.write("z.txt", "z\n")
  const tip = await it.repo.commit("main went on")
  expect(must(await trees.landing(remote, commit))).toMatchObject({ target: "main", tip, behind: 1 })
  await it.repo.git("branch", "release", "main~1")
  expect(await trees.landing({ ...remote, baseBranch: "gone" }, commit)).toMatchObject({
    ok: false,
    error: { kind: "base_gone", text: "there is no branch gone" },
  })
  expect(must(await trees.landing(remote, commit, "release"))).toMatchObject({ target: "release", behind: 0 })
  expect(must(await trees.branches())).toEqual(["main", "release"])
  expect(await trees.remote()).toBe("origin")
})

test("what deleting a task loses is what nothing else holds: of a merged one nothing", async () => {
  await using it = await bench({ ".gitignore": "*.log\n", "a.txt": "a\n" })
  const trees = treesOf(it)
  const task = await it.task()
  await task.write("new.txt", "n\n")
  await task.commit("work")
  await task.write("a.txt", "b\n")
  await task.write("x.log", "noise\n")
  const snapshot = await task.snapshot()
  expect(must(await trees.loss(metaOf(task)))).toBe("uncommitted a.txt; ignored x.log; 1 commit of the branch")
  const merged = metaOf(task, { merge: { state: "merged", snapshot: snapshot.commit, at: 1 } })
  expect(must(await trees.loss(merged))).toBe("ignored x.log")
  await task.write("late.txt", "after the merge\n")
  expect(must(await trees.loss(merged))).toBe("uncommitted late.txt; ignored x.log")
  must(await trees.remove(merged))
  must(await trees.forget(merged))
  expect(await it.repo.git("for-each-ref", "refs/kagan", "refs/heads/kagan")).toBe("")
  expect(must(await trees.loss(merged))).toBe("")
  must(await trees.remove(merged))
})

test("a branch that moves is told once, however it moved, and nothing is asked while none does", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const trees = treesOf(it)
  await it.repo.git("branch", "release/1.0")
  await it.repo.git("pack-refs", "--all")
  let moved = 0
  let asked = 0
  let happened = () => {}
  const watch = makeBranchWatch({
    trees: {
      tips: (branches) => {
        asked++
        return trees.tips(branches)
      },
      watch: async (branches, changed) => {
        happened = changed
        return trees.watch(branches, () => undefined)
      },
    },
    clock: manualClock(),
    log: (text) => expect.fail(text),
    moved: () => void moved++,
  })
  expect(await watch.follow(["main", "release/1.0"])).toBe(true)
  expect(await watch.follow(["main"])).toBe(false)
  const before = asked
  await it.repo.commit("empty")
  happened()
  await watch.check()
  expect(moved).toBe(1)
  await watch.check()
  await it.repo.git("update-ref", "refs/heads/release/1.0", "main")
  await watch.check()
  expect(moved).toBe(2)
  await it.repo.git("branch", "-q", "kagan/other", "main")
  await watch.check()
  expect(moved).toBe(2)
  expect(asked).toBeGreaterThan(before)
  watch.dispose()
  const last = asked
  happened()
  await watch.check()
  expect(asked).toBe(last)
})

test("git's own folder of branches tells of a move in another terminal", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const trees = treesOf(it)
  let told = () => {}
  const heard = new Promise<void>((resolve) => (told = resolve))
  const stop = must(await trees.watch(["main"], told))
  await it.repo.commit("moved by hand")
  await heard
  stop()
})

test("the base is brought in under the work; a conflict is an answer and touches nothing", async () => {
  await using it = await bench({ "a.txt": "a\n", "b.txt": "b\n" })
  const trees = treesOf(it)
  const task = await it.task()
  await task.write("a.txt", "task\n")
  const meta = metaOf(task)
  expect(must(await trees.update(meta))).toEqual({ base: "main" })
  await it.repo.write("b.txt", "base\n")
  await it.repo.commit("base")
  expect(must(await trees.update(meta))).toMatchObject({ base: "main", commit: expect.any(String) })
  expect(await task.git("status", "--porcelain")).toBe(" M a.txt\n")
  await it.repo.write("a.txt", "base too\n")
  await it.repo.commit("base again")
  expect(must(await trees.update(meta))).toEqual({ base: "main", conflicts: ["a.txt"] })
  expect(await task.git("status", "--porcelain")).toBe(" M a.txt\n")
})

test("a worktree that is put back has what is brought along, and that is still not the task's", async () => {
  await using it = await bench({ "a.txt": "a\n", ".gitignore": ".env\n" })
  const trees = treesOf(it)
  const task = await it.task("t1")
  await it.repo.write(".env", "SECRET=1\n")
  const meta = metaOf(task)
  await rm(task.dir, { recursive: true })
  expect(await trees.worktree(meta)).toEqual({ state: "missing" })
  must(await trees.restore(meta))
  expect(await readFile(join(task.dir, ".env"), "utf8")).toBe("SECRET=1\n")
  expect(value(await readRecord(it.opened.commonDir, task.dir))).toMatchObject({ state: "ready", copied: [".env"] })
})

test("C118 a moved repository has its tasks' worktrees again at the first look, and touches nobody else's", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const task = await it.task("t1")
  await task.write("new.txt", "new\n")
  const own = join(it.side, "own")
  await it.repo.git("worktree", "add", "-q", "-b", "own", own)
  const [linkOfTask, linkOfOwn] = [
    await readFile(join(task.dir, ".git"), "utf8"),
    await readFile(join(own, ".git"), "utf8"),
  ]
  const copy = join(it.side, "copy")
  await cp(it.repo.dir, copy, { recursive: true })
  // A copy does not take them over as long as the original is there.
  expect((await treesOf({ opened: await it.reopen(copy) }).worktree(metaOf(task))).state).toBe("foreign")
  expect(await readFile(join(task.dir, ".git"), "utf8")).toBe(linkOfTask)
  const moved = join(it.side, "moved")
  await rename(it.repo.dir, moved)
  await expect(task.git("status")).rejects.toThrow("not a git repository")
  const trees = treesOf({ opened: await it.reopen(moved) })
  expect(await trees.worktree(metaOf(task))).toEqual({ state: "present" })
  expect(await task.git("status", "--porcelain")).toBe("?? new.txt\n")
  expect(await readFile(join(own, ".git"), "utf8")).toBe(linkOfOwn)
  // What proves nothing is named with the command, and left as it is.
  await rm(join(moved, ".git/kagan/worktrees"), { recursive: true })
  await rename(moved, it.repo.dir)
  expect((await treesOf({ opened: await it.reopen(it.repo.dir) }).worktree(metaOf(task))).state).toBe("foreign")
})

test("C118 a worktree that was given another name is found, and goes back whole with what was not committed", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const trees = treesOf(it)
  const [task, other] = [await it.task("t1"), await it.task("t2")]
  await task.write("new.txt", "new\n")
  await rename(task.dir, `${task.dir}2`)
  expect(await trees.worktree(metaOf(task))).toEqual({ state: "missing", renamed: `${task.dir}2` })
  must(await trees.restore(metaOf(task)))
  expect(await trees.worktree(metaOf(task))).toEqual({ state: "present" })
  expect(await task.git("status", "--porcelain")).toBe("?? new.txt\n")
  expect(await trees.worktree(metaOf(other))).toEqual({ state: "present" })
})
