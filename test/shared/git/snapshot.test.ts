import { chmod, lstat, mkdir, readFile, readdir, rm, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { diffCommits } from "../../../src/shared/git/diff.ts"
import { changedSince, dropSnapshots, takeSnapshot, treeOf } from "../../../src/shared/git/snapshot.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { bench, checkoutAt, failure, value, type Bench, type TaskTree } from "./throwaway.ts"

const names = async (it: Bench, commit: string) =>
  (await it.repo.git("ls-tree", "-r", "-z", "--name-only", commit)).split("\0").filter((name) => name !== "")

const wantedOf = (it: Bench, task: TaskTree) => ({
  repo: it.opened,
  worktree: task.dir,
  n: 1,
  generation: 1,
  indexFile: task.indexFile,
  base: "main",
})

describe("a snapshot", () => {
  test("is the exact tree: untracked in, ignored out, staged and unstaged as they lie on disk", async () => {
    await using it = await bench({
      ".gitignore": "out/\n*.log\n",
      "a.txt": "a\n",
      "gone.txt": "g\n",
      "dir/x": "x\n",
      "exec.sh": "",
    })
    const task = await it.task()
    await task.write("a.txt", "staged\n")
    await task.git("add", "a.txt")
    await task.write("a.txt", "on disk\n")
    await task.write("neu é.txt", "new\n")
    await task.write("out/build", "x")
    await task.write("x.log", "x")
    await task.write("forced.log", "kept")
    await task.git("add", "-f", "forced.log")
    await rm(join(task.dir, "gone.txt"))
    await rm(join(task.dir, "dir"), { recursive: true })
    await task.write("dir", "now a file\n")
    await symlink("a.txt", join(task.dir, "link"))
    await chmod(join(task.dir, "exec.sh"), 0o755)
    const before = await evidence(task)
    const snapshot = await task.snapshot()
    expect(await names(it, snapshot.commit)).toEqual([
      ".gitignore",
      "a.txt",
      "dir",
      "exec.sh",
      "forced.log",
      "link",
      "neu é.txt",
    ])
    expect(await it.repo.git("show", `${snapshot.commit}:a.txt`)).toBe("on disk\n")
    expect(await it.repo.git("ls-tree", snapshot.commit, "exec.sh", "link")).toMatch(/^100755 .*\n120000 /)
    expect(await evidence(task)).toEqual(before)
    expect((await it.repo.git("rev-parse", "refs/kagan/1/1")).trim()).toBe(snapshot.commit)
    expect((await it.repo.git("rev-parse", `${snapshot.commit}^`)).trim()).toBe(snapshot.head)
    expect(await readdir(join(it.side, "private"))).toEqual([])
  })

  test("of the same work is the same snapshot again", async () => {
    await using it = await bench()
    const task = await it.task()
    await task.write("new.txt", "n\n")
    const first = await task.snapshot()
    expect((await task.snapshot()).commit).toBe(first.commit)
    await task.write("new.txt", "m\n")
    expect((await task.snapshot()).commit).not.toBe(first.commit)
    value(await dropSnapshots(it.opened, 1))
    expect(await it.repo.git("for-each-ref", "refs/kagan")).toBe("")
  })

  test("does not miss edits that flags or equal sizes and times hide", async () => {
    await using it = await bench({ "assumed.txt": "a\n", "skipped.txt": "b\n", "gone.txt": "c\n", "racy.txt": "one\n" })
    const task = await it.task()
    await task.git("update-index", "--assume-unchanged", "assumed.txt")
    await task.git("update-index", "--skip-worktree", "skipped.txt", "gone.txt")
    await task.write("assumed.txt", "changed\n")
    await task.write("skipped.txt", "changed\n")
    await rm(join(task.dir, "gone.txt"))
    // Same size, and written in the instant of the index: only the content tells.
    const index = (await task.git("rev-parse", "--git-path", "index")).trim()
    const at = (await lstat(index)).mtime
    await task.write("racy.txt", "two\n")
    await utimes(join(task.dir, "racy.txt"), at, at)
    const snapshot = await task.snapshot()
    const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
    expect(diff.files.map((file) => file.path)).toEqual(["assumed.txt", "gone.txt", "racy.txt", "skipped.txt"])
    expect(await task.git("ls-files", "-v")).toContain("h assumed.txt\nS gone.txt\nH racy.txt\nS skipped.txt")
  })

  test("of a sparse checkout keeps what is not checked out and takes what was edited there", async () => {
    await using it = await bench({ "in/a": "a\n", "out/b": "b\n", "out/c": "c\n" })
    const task = await it.task()
    await task.git("sparse-checkout", "set", "--cone", "in")
    await task.write("out/b", "edited\n")
    const snapshot = await task.snapshot()
    expect(await names(it, snapshot.commit)).toEqual(["in/a", "out/b", "out/c"])
    expect(await it.repo.git("show", `${snapshot.commit}:out/b`)).toBe("edited\n")
  })

  test("C040 is refused while files are unmerged, and names them", async () => {
    await using it = await bench({ "a.txt": "a\nb\n" })
    const task = await it.task()
    await task.write("a.txt", "a\nT\n")
    await task.commit("task")
    await it.repo.write("a.txt", "a\nM\n")
    await it.repo.commit("moved")
    await expect(task.git("merge", "-q", "main")).rejects.toThrow()
    const refused = failure(await takeSnapshot(wantedOf(it, task)), "unmerged")
    expect(refused.data.files).toEqual(["a.txt"])
    expect(await it.repo.git("for-each-ref", "refs/kagan")).toBe("")
    await task.write("a.txt", "a\nBoth\n")
    await task.commit("resolved")
    const snapshot = await task.snapshot()
    const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
    expect(diff.files.map((file) => `${file.path} +${file.insertions} -${file.deletions}`)).toEqual(["a.txt +1 -1"])
  })

  test("C041 starts at the merge base, so the base's own news never show", async () => {
    await using it = await bench({ "a.txt": "a\nb\nc\n" })
    const task = await it.task()
    await task.write("a.txt", "a\nB\nc\n")
    await task.write("new.txt", "new\n")
    await it.repo.write("z.txt", "z\n")
    await it.repo.commit("moved")
    const paths = async () => {
      const snapshot = await task.snapshot()
      const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
      return { behind: snapshot.behind, files: diff.files.map((file) => file.path) }
    }
    expect(await paths()).toEqual({ behind: 1, files: ["a.txt", "new.txt"] })
    await task.commit("task")
    await task.git("merge", "-q", "--no-edit", "main")
    expect(await paths()).toEqual({ behind: 0, files: ["a.txt", "new.txt"] })
  })

  test("names nested repositories and leaves their content out", async () => {
    await using it = await bench()
    const task = await it.task()
    await mkdir(join(task.dir, "inner"))
    await checkoutAt(join(task.dir, "inner")).git("init", "-q")
    await task.write("inner/x.txt", "x\n")
    const snapshot = await task.snapshot()
    expect(snapshot.nested).toEqual(["inner"])
    expect(await names(it, snapshot.commit)).toEqual(["README.md"])
  })

  test("leaves out what was brought along, also when it was committed", async () => {
    await using it = await bench()
    await it.repo.write(".env", "SECRET=1\n")
    await it.repo.write("local.txt", "l\n")
    const path = join(it.side, "wt")
    value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path, copy: [".env", "local.txt"] }))
    const at = checkoutAt(path)
    await at.write("work.txt", "w\n")
    const wanted = { repo: it.opened, worktree: path, n: 1, generation: 1, indexFile: join(it.side, "i"), base: "main" }
    expect(await names(it, value(await takeSnapshot(wanted)).commit)).toEqual(["README.md", "work.txt"])
    await at.commit("everything, the secret too")
    expect(await names(it, value(await takeSnapshot(wanted)).commit)).toEqual(["README.md", "work.txt"])
  })

  test("leaves out the host's $schema line, and nothing else of a config file", async () => {
    const host = (text: string) => text.replace(/^\s*\{/, '{\n  "$schema": "https://opencode.ai/config.json",')
    const root = '{\n  "model": "a/b"\n}\n'
    const inner = '{"permission": {}}'
    await using it = await bench({ "opencode.json": root, ".opencode/opencode.json": inner })
    const task = await it.task()
    const changed = async () => {
      const snapshot = await task.snapshot()
      return value(await diffCommits(it.opened, snapshot.base, snapshot.commit)).files.map((file) => file.path)
    }
    await task.write("opencode.json", host(root))
    await task.write(".opencode/opencode.json", host(inner))
    expect(await changed()).toEqual([])
    await task.commit("the agent committed all")
    expect(await changed()).toEqual([])
    await task.write("opencode.json", host(root).replace("a/b", "c/d"))
    expect(await changed()).toEqual(["opencode.json"])
  })

  test("asks about very many or very large untracked files, and takes them when told to", async () => {
    await using it = await bench()
    const task = await it.task()
    await task.write("big.bin", "x".repeat(2_000))
    for (let i = 0; i < 5; i++) await task.write(`many/${i}`, "")
    const limits = { bytes: 1_000, count: 4 }
    const refused = failure(await takeSnapshot({ ...wantedOf(it, task), limits }), "untracked_too_much")
    expect(refused.data).toEqual({ count: 6, large: [{ path: "big.bin", bytes: 2_000 }] })
    expect(refused.text).toContain("6 untracked files")
    value(await takeSnapshot({ ...wantedOf(it, task), limits, allowLarge: true }))
  })

  test("C024 sees through autocrlf: one changed line is one changed line", async () => {
    await using it = await bench({ "w.txt": "one\r\ntwo\r\nthree\r\n", "a.txt": "lf\n" })
    await it.repo.git("config", "core.autocrlf", "true")
    const task = await it.task()
    await task.write("w.txt", "one\r\nTWO\r\nthree\r\n")
    await utimes(join(task.dir, "a.txt"), new Date(), new Date())
    const snapshot = await task.snapshot()
    const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
    expect(diff.files.map((file) => [file.path, file.insertions, file.deletions])).toEqual([["w.txt", 1, 1]])
  })

  test("runs no program that the repository's own settings name", async () => {
    await using it = await bench({ "a.txt": "a\n" })
    const task = await it.task()
    const ran = join(it.side, "ran")
    const touch = `touch '${ran}'`
    await it.repo.git("config", "core.fsmonitor", touch)
    await it.repo.git("config", "filter.evil.clean", `${touch}; cat`)
    await it.repo.git("config", "filter.evil.process", touch)
    await it.repo.git("config", "diff.evil.textconv", touch)
    await it.repo.git("config", "diff.external", touch)
    await it.repo.git("config", "core.hooksPath", it.side)
    await writeFile(join(it.side, "reference-transaction"), `#!/bin/sh\n${touch}\n`, { mode: 0o755 })
    await task.write(".gitattributes", "*.evil filter=evil diff=evil\n*.txt diff=evil\n")
    await task.write("a.txt", "b\n")
    const snapshot = await task.snapshot()
    value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
    await task.write("b.evil", "x\n")
    const refused = failure(await takeSnapshot(wantedOf(it, task)), "untrusted_filter")
    expect(refused.text).toContain("filter evil")
    await expect(lstat(ran)).rejects.toThrow("ENOENT")
  })

  test("of a worktree whose index is gone is still exact", async () => {
    await using it = await bench({ "a.txt": "a\n", "b.txt": "b\n" })
    const task = await it.task()
    await task.write("a.txt", "changed\n")
    await rm((await task.git("rev-parse", "--path-format=absolute", "--git-path", "index")).trim())
    const snapshot = await task.snapshot()
    expect(await it.repo.git("diff", "--name-only", snapshot.base, snapshot.commit)).toBe("a.txt\n")
  })
})

test("changed since a snapshot is told with what changed, and a commit alone changes nothing", async () => {
  await using it = await bench({ "a.txt": "a\n", "b.txt": "b\n" })
  const task = await it.task()
  await task.write("a.txt", "A\n")
  await task.write("new.txt", "n\n")
  const snapshot = await task.snapshot()
  const changes = async () => value(await changedSince({ ...wantedOf(it, task), snapshot: snapshot.commit }))
  expect(await changes()).toEqual([])
  await task.commit("the same, committed")
  expect(await changes()).toEqual([])
  expect(value(await treeOf(wantedOf(it, task)))).toBe(snapshot.tree)
  await task.write("new.txt", "m\n")
  await rm(join(task.dir, "b.txt"))
  await task.write("more/x.txt", "x\n")
  expect(await changes()).toEqual([
    { path: "b.txt", kind: "deleted" },
    { path: "more/x.txt", kind: "added" },
    { path: "new.txt", kind: "modified" },
  ])
})

test("whatever is edited, staged, ignored or flagged, the snapshot is what `git add -A` on a fresh index would give", async () => {
  const path = fc.constantFrom("a", "b", "dir/c", "dir/d", "deep/er/e", "x.log", "naïve ü", "q\tt")
  const step = fc.oneof(
    fc.record({ kind: fc.constant("write" as const), path, text: fc.string({ maxLength: 6 }) }),
    fc.record({ kind: fc.constantFrom("delete", "add", "forget", "hide", "commit", "link", "exec"), path }),
  )
  await using it = await bench({ ".gitignore": "*.log\n", a: "a\n", b: "b\n", "dir/c": "c\n", "dir/d": "d\n" })
  const task = await it.task()
  const base = (await task.git("rev-parse", "HEAD")).trim()
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 10 }), async (steps) => {
      await task.git("reset", "-q", "--hard", base)
      await task.git("clean", "-fdxq")
      for (const one of steps) await play(task, one)
      const snapshot = await task.snapshot()
      const index = join(it.side, "fresh-index")
      await rm(index, { force: true })
      const git = (...args: string[]) => it.git.run(args, { cwd: task.dir, env: { GIT_INDEX_FILE: index } })
      // What is tracked counts although it is ignored, so the fresh index starts with the tracked names and no flags.
      const tracked = (await task.git("ls-files", "-z")).split("\0").filter((name) => name !== "")
      value(await git("read-tree", "--empty"))
      const there: string[] = []
      for (const name of tracked) if (await lstat(join(task.dir, name)).catch(() => undefined)) there.push(name)
      if (there.length > 0) value(await git("add", "-f", "--", ...there))
      value(await git("add", "-A"))
      expect(snapshot.tree).toBe(value(await git("write-tree")).stdout.trim())
    }),
    { numRuns: 25 },
  )
})

type Step = { kind: string; path: string; text?: string }

async function play(task: TaskTree, { kind, path, text }: Step): Promise<void> {
  const file = join(task.dir, path)
  const there = await lstat(file).catch(() => undefined)
  if (kind === "write") {
    if (there?.isSymbolicLink()) await rm(file)
    await task.write(path, text!)
  } else if (kind === "delete") await rm(file, { force: true })
  else if (kind === "add") await task.git("add", "-A", "-f", ".")
  else if (kind === "forget") await task.git("rm", "-q", "-f", "--cached", "--ignore-unmatch", "--", path)
  else if (kind === "hide") await task.git("update-index", "--assume-unchanged", "--", path).catch(() => undefined)
  else if (kind === "commit") await task.commit("step")
  else if (kind === "link" && there?.isFile()) {
    await rm(file)
    await symlink("a", file)
  } else if (kind === "exec" && there?.isFile()) await chmod(file, 0o755)
}

/** Everything that a snapshot must not touch. */
async function evidence(task: TaskTree) {
  const gitDir = (await task.git("rev-parse", "--absolute-git-dir")).trim()
  return {
    head: await readFile(join(gitDir, "HEAD"), "utf8"),
    index: (await readFile(join(gitDir, "index"))).toString("base64"),
    status: await task.git("--no-optional-locks", "status", "--porcelain", "--ignored", "-z"),
    log: await readFile(join(gitDir, "logs", "HEAD"), "utf8"),
  }
}
