import { lstat, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { forecast } from "../../../src/shared/git/forecast.ts"
import { findMerge, mergeSnapshot, type MergeStep } from "../../../src/shared/git/merge.ts"
import { removeWorktree } from "../../../src/shared/git/worktree-remove.ts"
import { bench, checkoutAt, failure, hastyGit, value, type Bench } from "./throwaway.ts"

const STRATEGIES = ["squash", "merge"] as const
type Strategy = (typeof STRATEGIES)[number]

/** A task that changes `a.txt` and adds `new.txt`, and its snapshot. */
async function ready(files: Record<string, string> = { "a.txt": "a\nb\nc\n" }) {
  const it = await bench(files)
  const task = await it.task("t")
  await task.write("a.txt", "a\nB\nc\n")
  await task.write("new.txt", "new\n")
  await task.commit("task")
  const snapshot = await task.snapshot()
  const merge = (strategy: Strategy = "squash", over: Partial<Parameters<typeof mergeSnapshot>[0]> = {}) =>
    mergeSnapshot({
      repo: it.opened,
      target: "main",
      snapshot: snapshot.commit,
      strategy,
      message: `Title\n\nKagan-Snapshot: ${snapshot.commit}\n`,
      worktree: task.dir,
      branch: task.branch,
      ...over,
    })
  return { it, task, snapshot, merge, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
}

/** What a refused merge must leave exactly as it was. */
async function evidence(it: Bench, dir = it.repo.dir) {
  const at = checkoutAt(dir)
  const gitDir = (await at.git("rev-parse", "--absolute-git-dir")).trim()
  const files: Record<string, string> = {}
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && !path.startsWith(join(dir, ".git"))) files[path] = (await readFile(path)).toString("base64")
  }
  return {
    head: await at.git("rev-parse", "HEAD"),
    main: await it.repo.git("rev-parse", "refs/heads/main"),
    status: await at.git("--no-optional-locks", "status", "--porcelain", "--ignored", "-z"),
    stash: await it.repo.git("stash", "list"),
    leftovers: (await readdir(gitDir)).filter((name) => /^(MERGE_|SQUASH_|AUTO_MERGE|index\.lock)/.test(name)),
    files,
  }
}

describe("a merge", () => {
  test.each(STRATEGIES)("lands as one commit in the checkout of the base, as %s", async (strategy) => {
    await using at = await ready()
    const { it, task, snapshot } = at
    await it.repo.write("other.txt", "base moved\n")
    const before = await it.repo.commit("moved")
    expect(value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit }))).toEqual({
      target: before,
      conflicts: [],
      behind: 1,
      contained: false,
    })
    const steps: MergeStep[] = []
    const merged = value(await at.merge(strategy, { journal: async (step) => void steps.push(step) }))
    expect(merged).toEqual({ commit: merged.commit, target: "main", from: before, checkout: it.repo.dir })
    expect(steps.map((step) => step.step)).toEqual(["committing", "advancing", "merged"])
    const parents = strategy === "squash" ? [before] : [before, snapshot.commit]
    expect((await it.repo.git("log", "-1", "--format=%H %P %an %s", "main")).trim()).toBe(
      [merged.commit, ...parents, "Test Person", "Title"].join(" "),
    )
    expect(await it.repo.git("status", "--porcelain")).toBe("")
    expect(await readFile(join(it.repo.dir, "new.txt"), "utf8")).toBe("new\n")
    expect(await task.git("status", "--porcelain")).toBe("")
    expect(value(await findMerge({ repo: it.opened, target: "main", snapshot: snapshot.commit }))).toBe(merged.commit)
    failure(await at.merge(strategy), "already_merged")
  })

  test("into a branch that is checked out nowhere moves only the branch", async () => {
    await using at = await ready()
    const { it, snapshot } = at
    await it.repo.git("checkout", "-q", "-b", "elsewhere")
    const before = await evidence(it)
    const merged = value(await at.merge())
    expect(merged.checkout).toBeUndefined()
    expect((await it.repo.git("rev-parse", "main^{tree}")).trim()).toBe(snapshot.tree)
    const after = await evidence(it)
    expect(after).toEqual({ ...before, main: `${merged.commit}\n` })
  })

  test("C047 into a base that moved on since it was shown is refused until it is shown again", async () => {
    await using at = await ready()
    const shown = (await at.it.repo.git("rev-parse", "main")).trim()
    await at.it.repo.write("a.txt", "a\nb\nc\nd\ne\nf\n")
    const moved = await at.it.repo.commit("moved, in the same file")
    const refused = failure(await at.merge("squash", { expected: shown }), "target_moved")
    expect(refused.data).toEqual({ target: "main", expected: shown, actual: moved })
    value(await at.merge("squash", { expected: moved }))
    expect(await readFile(join(at.it.repo.dir, "a.txt"), "utf8")).toBe("a\nB\nc\nd\ne\nf\n")
  })

  test("C047 C114 of work that went on, or of a worktree on another branch, is refused", async () => {
    await using at = await ready()
    await at.task.write("late.txt", "x\n")
    expect(failure(await at.merge(), "changed_since_review").data.files).toEqual(["late.txt"])
    await at.task.commit("late")
    expect(failure(await at.merge(), "changed_since_review").data.files).toEqual(["late.txt"])
    await at.task.git("reset", "-q", "--hard", "HEAD^")
    await at.task.git("checkout", "-q", "-b", "other")
    expect(failure(await at.merge(), "branch_switched").data).toEqual({ expected: "kagan/t", actual: "other" })
    await at.task.git("checkout", "-q", "kagan/t")
    value(await at.merge())
  })

  test("whose base is gone says so", async () => {
    await using at = await ready()
    await at.it.repo.git("branch", "-m", "main", "trunk")
    expect(failure(await at.merge(), "base_gone").text).toBe("there is no local branch main any more")
  })
})

describe.each(STRATEGIES)("nothing is touched (%s)", (strategy) => {
  test("C043 by a merge over uncommitted changes, staged ones too", async () => {
    await using at = await ready()
    const { it } = at
    await it.repo.write("a.txt", "a\nb\nc\nlocal\n")
    for (const staged of [false, true]) {
      if (staged) await it.repo.git("add", "a.txt")
      const before = await evidence(it)
      const refused = failure(await at.merge(strategy), "in_the_way")
      expect(refused.data).toMatchObject({ checkout: it.repo.dir, changed: ["a.txt"] })
      expect(refused.text).toContain(`${it.repo.dir}: uncommitted changes in a.txt`)
      expect(await evidence(it)).toEqual(before)
    }
    await it.repo.git("stash", "-q")
    value(await at.merge(strategy))
    await it.repo.git("stash", "drop", "-q")
  })

  test("C045 by untracked and ignored files in the way; others do not matter", async () => {
    await using at = await ready()
    const { it } = at
    await it.repo.write("new.txt", "mine")
    const before = await evidence(it)
    expect(failure(await at.merge(strategy), "in_the_way").data).toMatchObject({ untracked: ["new.txt"], ignored: [] })
    expect(await evidence(it)).toEqual(before)
    await writeFile(join(it.repo.dir, ".git", "info", "exclude"), "new.txt\n")
    expect(failure(await at.merge(strategy), "in_the_way").data).toMatchObject({ untracked: [], ignored: ["new.txt"] })
    expect(await readFile(join(it.repo.dir, "new.txt"), "utf8")).toBe("mine")
    await rm(join(it.repo.dir, "new.txt"))
    await it.repo.write("notes.pdf", "mine")
    value(await at.merge(strategy))
    expect(await readFile(join(it.repo.dir, "notes.pdf"), "utf8")).toBe("mine")
  })

  test("C046 by a conflict, which is named per file", async () => {
    await using at = await ready()
    const { it, snapshot } = at
    await it.repo.write("a.txt", "a\nX\nc\n")
    await it.repo.commit("base2")
    const before = await evidence(it)
    const seen = value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit }))
    expect(seen.conflicts).toEqual(["a.txt"])
    const refused = failure(await at.merge(strategy), "conflicts")
    expect(refused).toMatchObject({ text: "conflict with main in a.txt", data: { files: ["a.txt"] } })
    expect(await evidence(it)).toEqual(before)
    expect(JSON.stringify(before)).not.toContain(Buffer.from("<<<<<<<").toString("base64"))
  })

  test("C021 by a signature that fails, or waits for a passphrase", async () => {
    await using at = await ready()
    const { it } = at
    await it.repo.git("config", "commit.gpgSign", "true")
    await it.repo.git("config", "user.signingKey", "DEADBEEF")
    for (const script of ["echo 'gpg: no secret key' >&2; exit 2", "exec sleep 1000"]) {
      await writeFile(join(it.side, "gpg"), `#!/bin/sh\n${script}\n`, { mode: 0o755 })
      await it.repo.git("config", "gpg.program", join(it.side, "gpg"))
      const before = await evidence(it)
      const refused = failure(await at.merge(strategy, { commitTimeoutMs: 1_000 }), "signing_failed")
      expect(refused.text).toContain("unlock your key")
      expect(await evidence(it)).toEqual(before)
    }
    await it.repo.git("config", "commit.gpgSign", "false")
    value(await at.merge(strategy))
  })
})

describe("C048 nothing to merge", () => {
  test("a branch without work has nothing; with uncommitted edits they are the work", async () => {
    await using it = await bench({ "a.txt": "a\n" })
    const task = await it.task("t")
    const merge = async () =>
      mergeSnapshot({
        repo: it.opened,
        target: "main",
        snapshot: (await task.snapshot()).commit,
        strategy: "squash",
        message: "x",
        worktree: task.dir,
      })
    failure(await merge(), "nothing_to_merge")
    await it.repo.commit("base moved")
    failure(await merge(), "nothing_to_merge")
    await task.write("a.txt", "b\n")
    value(await merge())
  })

  test("C116 what was merged or squashed by hand is recognised, and its branch goes without force", async () => {
    await using at = await ready()
    const { it, task, snapshot } = at
    await it.repo.git("merge", "-q", "--squash", "kagan/t")
    await it.repo.git("commit", "-q", "-m", "squashed by hand")
    expect(value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit })).contained).toBe(true)
    failure(await at.merge(), "already_merged")
    value(await removeWorktree({ repo: it.opened, path: task.dir, deleteBranch: true }))
  })
})

test.each(["#42 fix `rm -rf $HOME` \"q\" 'q' $(touch /tmp/c051) \\n %s", "# only hash", "-x Tïtle\twith tab"])(
  "C051 the subject %j is the title, character for character",
  async (title) => {
    await using at = await ready()
    await at.it.repo.git("config", "commit.cleanup", "strip")
    value(await at.merge("squash", { message: title }))
    expect(await at.it.repo.git("cat-file", "commit", "main")).toMatch(new RegExp(`\n\n${RegExp.escape(title)}\n$`))
    await expect(lstat("/tmp/c051")).rejects.toThrow("ENOENT")
  },
)

describe("C053 the person's unfinished business", () => {
  const conflict = async (it: Bench) => {
    await it.repo.git("checkout", "-q", "-b", "side", "HEAD^")
    await it.repo.write("b.txt", "side\n")
    await it.repo.commit("side")
    await it.repo.git("checkout", "-q", "main")
  }
  test.each([
    ["merge", ["merge", "-q", "side"]],
    ["rebase", ["rebase", "-q", "side"]],
    ["cherry-pick", ["cherry-pick", "side"]],
    ["revert", ["revert", "--no-edit", "HEAD^"]],
    ["bisect", ["bisect", "start", "HEAD", "HEAD~2"]],
  ])("a %s under way is respected to the byte", async (operation, args) => {
    await using at = await ready({ "a.txt": "a\nb\nc\n", "b.txt": "one\n" })
    const { it } = at
    await it.repo.write("b.txt", "two\n")
    await it.repo.commit("two")
    await it.repo.write("b.txt", "three\n")
    await it.repo.commit("three")
    await conflict(it)
    await it.repo.git(...args).catch(() => undefined)
    const before = { ...(await evidence(it)), git: await gitFolder(it) }
    const refused = failure(await at.merge(), "under_way")
    expect(refused.data).toEqual({ operation, checkout: it.repo.dir })
    expect(refused.text).toContain(`a ${operation} is under way in ${it.repo.dir}`)
    expect({ ...(await evidence(it)), git: await gitFolder(it) }).toEqual(before)
  })
})

test("C117 a lock in the target checkout is waited for, then named, and never deleted", async () => {
  await using at = await ready()
  const { it } = at
  const lock = join(it.repo.dir, ".git", "index.lock")
  await writeFile(lock, "")
  const before = await evidence(it)
  const refused = failure(await at.merge("squash", { repo: { ...it.opened, git: hastyGit() } }), "locked")
  expect(refused.data.path).toBe(lock)
  expect(await evidence(it)).toEqual(before)
  let waits = 0
  const git = hastyGit(async () => void (++waits === 3 && (await rm(lock))))
  value(await at.merge("squash", { repo: { ...it.opened, git } }))
  expect(waits).toBe(3)
})

test.each([
  ["an ignored file", "new.txt"],
  ["an edit", "a.txt"],
])("%s that comes into the way in the last moment stops the merge too", async (_, path) => {
  await using at = await ready()
  const { it } = at
  await writeFile(join(it.repo.dir, ".git", "info", "exclude"), "new.txt\n")
  await it.repo.git("config", "merge.autoStash", "true")
  const main = await it.repo.git("rev-parse", "main")
  const journal = async ({ step }: MergeStep) => {
    if (step === "advancing") await it.repo.write(path, "mine")
  }
  const refused = failure(await at.merge("squash", { journal }), "in_the_way")
  expect([...refused.data.untracked, ...refused.data.changed]).toEqual([path])
  expect(await readFile(join(it.repo.dir, path), "utf8")).toBe("mine")
  expect(await it.repo.git("rev-parse", "main")).toBe(main)
  expect(await it.repo.git("stash", "list")).toBe("")
})

test("how files merge is for the base's attributes to say, not for the task's", async () => {
  await using it = await bench({ ".gitattributes": "log.txt merge=union\n", "log.txt": "1\n", "code.txt": "1\n" })
  const task = await it.task("t")
  await task.write(".gitattributes", "* merge=union\n")
  for (const at of [task, it.repo]) {
    for (const name of ["log.txt", "code.txt"]) await at.write(name, `${at.dir}\n`)
  }
  await it.repo.commit("base")
  const snapshot = await task.snapshot()
  expect(value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit })).conflicts).toEqual([
    "code.txt",
  ])
})

test("attributes in the folder of a file count as well, those of the base and not the task's", async () => {
  const files = {
    "docs/.gitattributes": "*.md merge=union\n",
    "docs/a.md": "1\n",
    "docs/deep/b.md": "1\n",
    "c.md": "1\n",
  }
  await using it = await bench(files)
  const task = await it.task("t")
  await task.write("docs/.gitattributes", "# nothing\n")
  await task.write(".gitattributes", "*.md merge=union\n")
  for (const at of [task, it.repo]) {
    for (const name of ["docs/a.md", "docs/deep/b.md", "c.md"]) await at.write(name, `${at.dir}\n`)
  }
  await it.repo.commit("base")
  const snapshot = await task.snapshot()
  const seen = value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit }))
  expect(seen.conflicts).toEqual(["c.md"])
})

test("a merge into a branch that a linked worktree has checked out moves that checkout", async () => {
  await using at = await ready()
  const { it } = at
  await it.repo.git("checkout", "-q", "--detach")
  const other = join(it.side, "other")
  await it.repo.git("worktree", "add", "-q", other, "main")
  const merged = value(await at.merge())
  expect(merged.checkout).toBe(other)
  expect(await checkoutAt(other).git("status", "--porcelain")).toBe("")
  expect(await readFile(join(other, "new.txt"), "utf8")).toBe("new\n")
})

test("whatever lies in the person's checkout, every byte of theirs is there after any outcome", async () => {
  await using it = await bench({ a: "1\n2\n3\n", b: "b\n", "dir/c": "c\n", ".gitignore": "ign*\n" })
  const base = (await it.repo.git("rev-parse", "HEAD")).trim()
  const task = await it.task("t")
  const path = fc.constantFrom("a", "b", "dir/c", "dir", "new", "new/x", "ign", "ign/y", "z")
  const edit = fc.record({ path, kind: fc.constantFrom("write", "delete", "link", "folder"), staged: fc.boolean() })
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      fc.array(edit, { maxLength: 3 }),
      fc.constantFrom(...STRATEGIES),
      async (work, mine, strategy) => {
        await it.repo.git("reset", "-q", "--hard", base)
        await it.repo.git("clean", "-fdxq")
        await task.git("reset", "-q", "--hard", base)
        await task.git("clean", "-fdxq")
        for (const one of work) await play(task.dir, { ...one, text: `task ${one.path}\n` })
        for (const one of work) await task.git("add", "-A", "-f", "--", one.path).catch(() => undefined)
        const snapshot = await task.snapshot()
        for (const one of mine) {
          await play(it.repo.dir, { ...one, text: `mine ${one.path}\n` })
          if (one.staged) await it.repo.git("add", "-A", "--", one.path).catch(() => undefined)
        }
        const theirs = await contents(it.repo.dir)
        const before = await evidence(it)
        const index = await it.repo.git("ls-files", "-s")
        const merged = await mergeSnapshot({
          repo: it.opened,
          target: "main",
          snapshot: snapshot.commit,
          strategy,
          message: "m",
          worktree: task.dir,
        })
        seen.add(merged.ok ? "merged" : merged.error.kind)
        const after = await contents(it.repo.dir)
        if (!merged.ok) {
          expect(await evidence(it), merged.error.text).toEqual(before)
          expect(await it.repo.git("ls-files", "-s")).toBe(index)
          return
        }
        const committed = await tracked(it, base)
        const landed = await tracked(it, merged.value.commit)
        for (const [name, bytes] of theirs) {
          if (committed.get(name) === bytes) continue
          expect(after.get(name), `${name} after ${JSON.stringify({ work, mine })}`).toBe(bytes)
        }
        for (const [name, bytes] of after) {
          if (theirs.has(name) && committed.get(name) !== theirs.get(name)) continue
          expect(bytes, name).toBe(landed.get(name))
        }
      },
    ),
    { numRuns: 20 },
  )
  expect([...seen]).toContain("merged")
})

async function play(dir: string, { path, kind, text }: { path: string; kind: string; text: string }): Promise<void> {
  const file = join(dir, path)
  const parent = await lstat(join(file, "..")).catch(() => undefined)
  if (parent && !parent.isDirectory()) await rm(join(file, ".."))
  await rm(file, { recursive: true, force: true })
  if (kind === "delete") return
  await mkdir(join(file, ".."), { recursive: true })
  if (kind === "write") await writeFile(file, text)
  else if (kind === "link") await symlink("nowhere", file)
  else {
    await mkdir(file)
    await writeFile(join(file, "inside"), text)
  }
}

/** Every file and link of a checkout with its content. */
async function contents(dir: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const name = join(entry.parentPath, entry.name).slice(dir.length + 1)
    if (name === ".git" || name.startsWith(".git/")) continue
    if (entry.isSymbolicLink()) found.set(name, "link")
    else if (entry.isFile()) found.set(name, await readFile(join(dir, name), "utf8"))
  }
  return found
}

async function tracked(it: Bench, commit: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  for (const line of (await it.repo.git("ls-tree", "-r", "-z", commit)).split("\0").filter((one) => one !== "")) {
    const [meta, name] = line.split("\t") as [string, string]
    const [mode, , object] = meta.split(" ") as [string, string, string]
    found.set(name, mode === "120000" ? "link" : await it.repo.git("cat-file", "blob", object))
  }
  return found
}

async function gitFolder(it: Bench): Promise<Record<string, string>> {
  const dir = join(it.repo.dir, ".git")
  const found: Record<string, string> = {}
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    const loose = path.startsWith(join(dir, "objects")) || path.startsWith(join(dir, "worktrees"))
    if (entry.isFile() && !loose) found[path] = (await readFile(path)).toString("base64")
  }
  return found
}
