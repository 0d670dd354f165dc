import { createHash } from "node:crypto"
import { mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { diffCommits } from "../../../src/shared/git/diff.ts"
import { forecast } from "../../../src/shared/git/forecast.ts"
import { mergeSnapshot } from "../../../src/shared/git/merge.ts"
import { openRepository } from "../../../src/shared/git/repository.ts"
import { makeGit } from "../../../src/shared/git/runner.ts"
import { takeSnapshot } from "../../../src/shared/git/snapshot.ts"
import { createWorktree, restoreWorktree } from "../../../src/shared/git/worktree.ts"
import { worktreeState } from "../../../src/shared/git/worktree-state.ts"
import { gitEnv, makeRepo } from "../../kit/repo.ts"
import { bench, checkoutAt, failure, value } from "./throwaway.ts"

describe("opening", () => {
  test("from a subfolder or a linked worktree it is the same repository, and says from where", async () => {
    await using it = await bench({ "sub/a.txt": "a\n" })
    const task = await it.task()
    const inside = await it.reopen(join(task.dir, "sub"))
    expect(inside).toMatchObject({
      root: it.repo.dir,
      commonDir: join(it.repo.dir, ".git"),
      worktreeRoot: task.dir,
      isLinkedWorktree: true,
      bare: false,
      shallow: false,
      hasCommit: true,
    })
    expect(await it.reopen(join(it.repo.dir, "sub"))).toMatchObject({
      worktreeRoot: it.repo.dir,
      isLinkedWorktree: false,
    })
  })

  test("C011 no commit yet is said, makes nothing, and is over with the first commit", async () => {
    await using it = await bench()
    const dir = join(it.side, "empty")
    await mkdir(dir)
    const empty = checkoutAt(dir)
    await empty.git("init", "-q", "-b", "main")
    const opened = value(await openRepository(it.git, dir))
    expect(opened.hasCommit).toBe(false)
    expect(value(await opened.defaultBase())).toBeUndefined()
    const path = join(it.side, "wt")
    const refused = await createWorktree({ repo: opened, branch: "kagan/1-x", base: "main", path })
    expect(failure(refused, "no_commit").text).toContain("no commit yet")
    expect(await empty.git("for-each-ref")).toBe("")
    expect((await readdir(it.side)).toSorted()).toEqual(["empty", "repo"])
    await empty.git("commit", "-q", "--allow-empty", "-m", "x")
    value(await createWorktree({ repo: await it.reopen(dir), branch: "kagan/1-x", base: "main", path }))
  })

  test("C023 another owner is not 'no repository', and the exception is the person's to make", async () => {
    await using it = await bench()
    const git = makeGit({ env: { ...gitEnv(), GIT_TEST_ASSUME_DIFFERENT_OWNER: "1" } })
    const refused = failure(await openRepository(git, it.repo.dir), "dubious_ownership")
    expect(refused.data.command).toBe(`git config --global --add safe.directory ${it.repo.dir}`)
    expect(refused.text).toContain(refused.data.command)
  })

  test("no repository, no folder, no git and an old git are told apart", async () => {
    await using it = await bench()
    const outside = join(it.side, "outside")
    await mkdir(outside)
    const git = makeGit({ env: { ...gitEnv(), GIT_CEILING_DIRECTORIES: it.side } })
    failure(await openRepository(git, outside), "not_a_repository")
    failure(await openRepository(git, join(it.side, "nowhere")), "folder_missing")
    const bin = join(it.side, "bin")
    await mkdir(bin)
    failure(await openRepository(makeGit({ env: { PATH: bin } }), it.repo.dir), "git_missing")
    await writeFile(join(bin, "git"), "#!/bin/sh\necho git version 2.30.1\n", { mode: 0o755 })
    const old = failure(await openRepository(makeGit({ env: { PATH: bin } }), it.repo.dir), "git_too_old")
    expect(old.text).toBe("git 2.30.1 is too old: Kagan needs 2.39 or newer")
  })

  test("a bare repository has no checkout, and a worktree of it finds it", async () => {
    await using it = await bench()
    const bare = join(it.side, "bare.git")
    await it.repo.git("clone", "-q", "--bare", it.repo.dir, bare)
    const opened = value(await openRepository(it.git, bare))
    expect(opened).toMatchObject({ root: bare, bare: true, hasCommit: true })
    expect(opened.worktreeRoot).toBeUndefined()
    const path = join(it.side, "wt")
    value(await createWorktree({ repo: opened, branch: "kagan/1-x", base: "main", path }))
    expect(await it.reopen(path)).toMatchObject({ root: bare, bare: true, worktreeRoot: path, isLinkedWorktree: true })
  })
})

describe("C026 the base", () => {
  test("is the remote's default branch, whatever is checked out and whatever it is called", async () => {
    await using it = await bench()
    await it.repo.git("branch", "-m", "main", "trunk")
    const dir = join(it.side, "clone")
    await it.repo.git("clone", "-q", it.repo.dir, dir)
    const clone = checkoutAt(dir)
    await clone.git("checkout", "-q", "-b", "feature/x")
    await clone.commit("half done")
    const opened = await it.reopen(dir)
    expect(value(await opened.defaultBase())).toMatchObject({ branch: "trunk", remote: false })
    await clone.git("branch", "-q", "-D", "trunk")
    expect(value(await opened.defaultBase())).toMatchObject({ branch: "origin/trunk", remote: true })
  })

  test("is never guessed from its name: with nothing to go by it is the one that is checked out, and said so", async () => {
    await using it = await bench()
    await it.repo.git("checkout", "-q", "-b", "develop")
    const base = value(await it.opened.defaultBase())
    expect(base).toMatchObject({ branch: "develop" })
    expect(base!.reason).toContain("nothing says")
    await it.repo.git("config", "init.defaultBranch", "main")
    expect(value(await it.opened.defaultBase())).toMatchObject({ branch: "main" })
  })
})

test("C016 a shallow clone is named, and never read as 'no changes'", async () => {
  await using it = await bench()
  await it.repo.git("checkout", "-q", "-b", "feature")
  await it.repo.write("f.txt", "f\n")
  await it.repo.commit("feature")
  await it.repo.git("checkout", "-q", "main")
  await it.repo.commit("two")
  await it.repo.commit("three")
  const dir = join(it.side, "shallow")
  await it.repo.git("clone", "-q", "--depth", "1", "--no-single-branch", `file://${it.repo.dir}`, dir)
  const repo = await it.reopen(dir)
  expect(repo.shallow).toBe(true)
  const path = join(it.side, "wt")
  value(await createWorktree({ repo, branch: "kagan/1-x", base: "origin/feature", path }))
  const wanted = { repo, worktree: path, n: 1, generation: 1, indexFile: join(it.side, "index"), base: "origin/main" }
  const snapshot = failure(await takeSnapshot(wanted), "no_merge_base")
  expect(snapshot.text).toContain("git fetch --unshallow")
  const tip = (await checkoutAt(path).git("rev-parse", "HEAD")).trim()
  failure(await forecast({ repo, target: "main", snapshot: tip }), "no_merge_base")
  const merge = { repo, target: "main", snapshot: tip, strategy: "merge", message: "x" } as const
  failure(await mergeSnapshot(merge), "no_merge_base")
  expect(await checkoutAt(dir).git("log", "--format=%s", "main")).toBe("three\n")
})

test("a partial clone fetches what it lacks, by no program of the repository's choice; any other stays offline", async () => {
  await using it = await bench({ "a.txt": "one\n" })
  await it.repo.write("a.txt", "two\n")
  await it.repo.commit("two")
  await it.repo.git("config", "uploadpack.allowFilter", "true")
  const dir = join(it.side, "partial")
  await it.repo.git("clone", "-q", "--filter=blob:none", `file://${it.repo.dir}`, dir)
  const old = (await checkoutAt(dir).git("rev-parse", "HEAD^")).trim()
  const ran = join(it.side, "ran")
  await checkoutAt(dir).git("config", "remote.origin.uploadpack", `touch '${ran}'; git-upload-pack`)
  failure(await diffCommits(await it.reopen(dir), old, "HEAD"), "failed")
  await expect(readFile(ran)).rejects.toThrow("ENOENT")
  await checkoutAt(dir).git("config", "--unset", "remote.origin.uploadpack")
  const diff = value(await diffCommits(await it.reopen(dir), old, "HEAD"))
  expect(diff.files).toMatchObject([{ path: "a.txt", insertions: 1, deletions: 1 }])
  failure(await it.opened.git.run(["ls-remote", `file://${dir}`], { cwd: it.repo.dir }), "failed")
})

test("C027 GIT_DIR and friends in the environment do not lead into another repository", async () => {
  await using it = await bench({ "a.txt": "a\n" })
  await using outer = await makeRepo()
  const env = {
    ...gitEnv(),
    GIT_DIR: join(outer.dir, ".git"),
    GIT_INDEX_FILE: join(outer.dir, ".git", "index"),
    GIT_WORK_TREE: outer.dir,
    GIT_OBJECT_DIRECTORY: join(outer.dir, ".git", "objects"),
    GIT_CONFIG_COUNT: "1",
    GIT_CONFIG_KEY_0: "core.worktree",
    GIT_CONFIG_VALUE_0: outer.dir,
  }
  const before = await fingerprint(join(outer.dir, ".git"))
  const repo = value(await openRepository(makeGit({ env }), it.repo.dir))
  const path = join(it.side, "wt")
  value(await createWorktree({ repo, branch: "kagan/1-x", base: "main", path }))
  await writeFile(join(path, "a.txt"), "b\n")
  const snapshot = value(
    await takeSnapshot({ repo, worktree: path, n: 1, generation: 1, indexFile: join(it.side, "i"), base: "main" }),
  )
  expect(value(await diffCommits(repo, snapshot.base, snapshot.commit)).files).toHaveLength(1)
  value(
    await mergeSnapshot({
      repo,
      target: "main",
      snapshot: snapshot.commit,
      strategy: "squash",
      message: "x",
      worktree: path,
    }),
  )
  expect(await readFile(join(it.repo.dir, "a.txt"), "utf8")).toBe("b\n")
  expect(await fingerprint(join(outer.dir, ".git"))).toBe(before)
})

test("C118 a moved repository is named with the command that mends it", async () => {
  await using it = await bench()
  const task = await it.task()
  const moved = join(it.side, "moved")
  await rename(it.repo.dir, moved)
  const broken = failure(await openRepository(it.git, task.dir), "worktree_broken")
  expect(broken.data.command).toBe(`git worktree repair ${task.dir}`)
  const repo = await it.reopen(moved)
  expect(value(await worktreeState(repo, task.dir, task.branch))).toMatchObject({ kind: "broken" })
  await checkoutAt(moved).git("worktree", "repair", task.dir)
  expect(value(await worktreeState(repo, task.dir, task.branch))).toMatchObject({ kind: "ready" })
})

test("C114 a branch that was renamed, left or deleted by hand is seen, with the last commit to go back to", async () => {
  await using it = await bench()
  const task = await it.task("t")
  const head = (await task.git("rev-parse", "HEAD")).trim()
  const state = async () => value(await worktreeState(it.opened, task.dir, task.branch))
  expect(await state()).toEqual({ kind: "ready", head, branch: "kagan/t" })
  await task.git("branch", "-m", "kagan/renamed")
  expect(await state()).toEqual({ kind: "renamed", branch: "kagan/renamed", head })
  await task.git("branch", "-m", "kagan/t")
  await task.git("checkout", "-q", "-b", "other")
  expect(await state()).toEqual({ kind: "switched", branch: "other", head })
  await task.git("checkout", "-q", "--detach")
  expect(await state()).toEqual({ kind: "detached", head })
  await task.git("checkout", "-q", "kagan/t")
  await it.repo.git("update-ref", "-d", "refs/heads/kagan/t")
  expect(await state()).toEqual({ kind: "branch_gone", branch: "kagan/t", last: head })
  const wanted = { repo: it.opened, worktree: task.dir, n: 1, generation: 1, indexFile: task.indexFile, base: "main" }
  expect(failure(await takeSnapshot(wanted), "branch_missing").data.branch).toBe("kagan/t")
  failure(await restoreWorktree({ repo: it.opened, path: task.dir, branch: "kagan/t", from: head }), "path_taken")
})

/** Every file below a folder, as one value. */
async function fingerprint(folder: string): Promise<string> {
  const hash = createHash("sha256")
  const names = await readdir(folder, { recursive: true, withFileTypes: true })
  for (const entry of names
    .filter((one) => one.isFile())
    .toSorted((a, b) => (a.parentPath + a.name < b.parentPath + b.name ? -1 : 1))) {
    const path = join(entry.parentPath, entry.name)
    hash.update(path).update(await readFile(path))
  }
  return hash.digest("hex")
}
