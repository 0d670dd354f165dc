import { lstat, readFile, readdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { returnBorrowed } from "../../../src/shared/git/borrow.ts"
import { diffCommits } from "../../../src/shared/git/diff.ts"
import { forecast } from "../../../src/shared/git/forecast.ts"
import { localTarget, mergeSnapshot } from "../../../src/shared/git/merge.ts"
import type { Git } from "../../../src/shared/git/runner.ts"
import { updateFromBase } from "../../../src/shared/git/update-base.ts"
import { bench, checkoutAt, failure, value } from "./throwaway.ts"

/** A task with committed and uncommitted work, and a base that moved on. */
async function ready() {
  const it = await bench({ "a.txt": "a\nb\nc\n", "b.txt": "b\n", "gone.txt": "g\n" })
  const task = await it.task("t")
  await task.write("a.txt", "a\nB\nc\n")
  await task.commit("part")
  await task.write("b.txt", "uncommitted\n")
  await task.write("new.txt", "untracked\n")
  await it.repo.write("a.txt", "a\nb\nc\nd\ne\n")
  await it.repo.write("base.txt", "base\n")
  await it.repo.git("rm", "-q", "gone.txt")
  const base = await it.repo.commit("moved")
  const update = () => updateFromBase({ repo: it.opened, worktree: task.dir, branch: task.branch, base: "main" })
  return { it, task, base, update, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
}

describe("updating from the base", () => {
  test("brings the base in under committed and uncommitted work, and the diff stays the task's own", async () => {
    await using at = await ready()
    const { it, task, base } = at
    const head = (await task.git("rev-parse", "HEAD")).trim()
    const { commit } = value(await at.update())
    expect((await task.git("log", "-1", "--format=%H %P %s")).trim()).toBe(
      `${commit} ${head} ${base} Merge main into kagan/t`,
    )
    expect(await task.git("status", "--porcelain")).toBe(" M b.txt\n?? new.txt\n")
    expect(await readFile(join(task.dir, "a.txt"), "utf8")).toBe("a\nB\nc\nd\ne\n")
    await expect(lstat(join(task.dir, "gone.txt"))).rejects.toThrow("ENOENT")
    const snapshot = await task.snapshot()
    expect(snapshot).toMatchObject({ base, behind: 0 })
    const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
    expect(diff.files.map((file) => file.path)).toEqual(["a.txt", "b.txt", "new.txt"])
    expect(value(await at.update())).toEqual({})
    value(
      await mergeSnapshot({
        repo: it.opened,
        target: "main",
        snapshot: snapshot.commit,
        strategy: "squash",
        message: "x",
        worktree: task.dir,
      }),
    )
  })

  test("is left alone by a look that comes while files and branch change", async () => {
    await using at = await ready()
    const { it, task } = at
    const seen: string[] = []
    const run: Git["run"] = async (args, options) => {
      if (args.includes("kagan: update from base") || args.includes("-u")) {
        seen.push(failure(await returnBorrowed(it.opened, task.dir), "locked").text)
      }
      return it.git.run(args, options)
    }
    const repo = { ...it.opened, git: { ...it.git, run } }
    value(await updateFromBase({ repo, worktree: task.dir, branch: task.branch, base: "main" }))
    expect(seen).toEqual(Array.from({ length: 2 }, () => `a merge is under way in ${task.dir}`))
    expect(await task.git("status", "--porcelain")).toBe(" M b.txt\n?? new.txt\n")
    value(await returnBorrowed(it.opened, task.dir))
  })

  test("names a conflict per file and touches nothing, also where only uncommitted work conflicts", async () => {
    await using at = await ready()
    const { it, task } = at
    await it.repo.write("b.txt", "base's own\n")
    await it.repo.commit("conflict")
    const before = [
      await task.git("rev-parse", "HEAD"),
      await task.git("status", "--porcelain"),
      await task.git("ls-files", "-s"),
    ]
    expect(failure(await at.update(), "conflicts").data).toEqual({ files: ["b.txt"], target: "main" })
    expect([
      await task.git("rev-parse", "HEAD"),
      await task.git("status", "--porcelain"),
      await task.git("ls-files", "-s"),
    ]).toEqual(before)
    expect(
      (await readdir(join(it.repo.dir, ".git", "worktrees", "t"))).filter((name) => name.startsWith("kagan")),
    ).toEqual([])
  })

  test("is refused on another branch and during a person's merge", async () => {
    await using at = await ready()
    const { task } = at
    await task.git("checkout", "-q", "-b", "other")
    failure(await at.update(), "branch_switched")
    await task.git("checkout", "-q", "kagan/t")
    const gitDir = (await task.git("rev-parse", "--absolute-git-dir")).trim()
    await writeFile(join(gitDir, "MERGE_HEAD"), await task.git("rev-parse", "main"))
    failure(await at.update(), "under_way")
  })

  test.each([false, true])("cut off, a look takes it back or finishes it (branch moved: %s)", async (movedAlready) => {
    await using at = await ready()
    const { it, task, base } = at
    const gitDir = (await task.git("rev-parse", "--absolute-git-dir")).trim()
    const head = (await task.git("rev-parse", "HEAD")).trim()
    const before = await task.snapshot()
    const { commit } = value(await at.update())
    const after = await task.snapshot(2)
    const note = {
      worktree: task.dir,
      gitDir,
      head: "ref: refs/heads/kagan/t\n",
      tree: before.tree,
      mergedTree: after.tree,
      from: head,
      pid: 999_999_999,
      forward: { branch: "refs/heads/kagan/t", commit },
    }
    await writeFile(join(gitDir, "kagan-borrowed.json"), JSON.stringify(note))
    if (!movedAlready) await it.repo.git("update-ref", "refs/heads/kagan/t", head)
    const again = await task.snapshot(3)
    expect(again.tree).toBe(movedAlready ? after.tree : before.tree)
    expect(again.base).toBe(movedAlready ? base : (await it.repo.git("rev-parse", "main^")).trim())
    expect((await readdir(gitDir)).filter((name) => name.startsWith("kagan"))).toEqual([])
  })
})

test("a remote base is merged into the local branch that tracks it, or the person chooses", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  const dir = join(it.side, "clone")
  await it.repo.git("clone", "-q", it.repo.dir, dir)
  const clone = checkoutAt(dir)
  const repo = await it.reopen(dir)
  expect(value(await localTarget(repo, "origin/main"))).toBe("main")
  expect(value(await localTarget(repo, "main"))).toBe("main")
  await clone.git("branch", "-q", "second", "origin/main")
  expect(value(await localTarget(repo, "origin/main"))).toBeUndefined()
  const head = (await clone.git("rev-parse", "HEAD")).trim()
  expect(value(await forecast({ repo, target: "origin/main", snapshot: head }))).toMatchObject({
    conflicts: [],
    contained: true,
  })
  const merge = { repo, target: "origin/main", snapshot: head, strategy: "squash", message: "x" } as const
  expect(failure(await mergeSnapshot(merge), "base_gone").text).toContain("choose a local one")
})
