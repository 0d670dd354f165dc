import { execFile } from "node:child_process"
import { chmod, lstat, mkdir, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { describe, expect, test } from "vitest"
import { writeRecord } from "../../../src/shared/git/ownership.ts"
import { createWorktree, restoreWorktree } from "../../../src/shared/git/worktree.ts"
import { listWorktrees, worktreeState } from "../../../src/shared/git/worktree-state.ts"
import { removeWorktree } from "../../../src/shared/git/worktree-remove.ts"
import { gitEnv, makeRepo } from "../../kit/repo.ts"
import { bench, checkoutAt, failure, hastyGit, value, type Bench } from "./throwaway.ts"

const heads = async (it: Bench) =>
  (await it.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads")).trim().split("\n")
const paths = async (it: Bench) => value(await listWorktrees(it.opened)).map((entry) => entry.path)

describe("creating", () => {
  test("C007 a taken branch or folder is refused and left alone", async () => {
    await using it = await bench()
    await it.repo.git("branch", "kagan/1-x")
    const before = await it.repo.git("rev-parse", "kagan/1-x")
    const path = join(it.side, "wt")
    const wanted = { repo: it.opened, branch: "kagan/1-x", base: "main", path }
    failure(await createWorktree(wanted), "branch_taken")
    expect(await it.repo.git("rev-parse", "kagan/1-x")).toBe(before)
    await mkdir(path)
    await writeFile(join(path, "notes.txt"), "mine")
    failure(await createWorktree({ ...wanted, branch: "kagan/2-y" }), "path_taken")
    expect(await readFile(join(path, "notes.txt"), "utf8")).toBe("mine")
    expect(await heads(it)).toEqual(["kagan/1-x", "main"])
  })

  test("C028 many at once from a remote-tracking base all succeed and track nothing", async () => {
    await using it = await bench()
    const dir = join(it.side, "clone")
    await it.repo.git("clone", "-q", it.repo.dir, dir)
    const clone = checkoutAt(dir)
    const repos = [await it.reopen(dir), await it.reopen(dir)]
    const made = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        createWorktree({
          repo: repos[i % 2]!,
          branch: `kagan/${i}`,
          base: "origin/main",
          path: join(it.side, "wt", `${i}`),
        }),
      ),
    )
    expect(made.map((one) => one.ok)).toEqual(made.map(() => true))
    expect(value(await listWorktrees(repos[0]!))).toHaveLength(9)
    expect(await clone.git("config", "--get-regexp", "^branch.")).not.toContain("kagan")
  })

  test("C007 another process in the middle of adding a worktree is waited for", async () => {
    await using it = await bench()
    const first = { repo: it.opened, branch: "kagan/1-x", base: "main", path: join(it.side, "wt", "1") }
    value(await createWorktree(first))
    const common = join(it.opened.commonDir, "worktrees", "1", "commondir")
    const words = await readFile(common)
    // Between the two steps in which git writes it.
    await writeFile(common, "")
    let waits = 0
    const git = hastyGit(() => (++waits === 2 ? writeFile(common, words) : undefined))
    const busy = { ...it.opened, git }
    expect((await listWorktrees(busy)).ok).toBe(true)
    expect(waits).toBe(2)

    await writeFile(common, "")
    waits = 0
    const second = { repo: busy, branch: "kagan/2-y", base: "main", path: join(it.side, "wt", "2") }
    value(await createWorktree(second))
    expect(waits).toBeGreaterThanOrEqual(2)
    expect(await paths(it)).toHaveLength(3)

    await writeFile(common, "")
    expect(failure(await listWorktrees({ ...it.opened, git: hastyGit() }), "locked").text).toContain(common)
  })

  test("C020 hooks do not run, so one that fails cannot leave half a worktree", async () => {
    await using it = await bench()
    const hooks = join(it.side, "hooks")
    await mkdir(hooks)
    for (const name of ["post-checkout", "reference-transaction"]) {
      await writeFile(join(hooks, name), `#!/bin/sh\necho ran >>${it.side}/ran\nexit 127\n`, { mode: 0o755 })
    }
    await it.repo.git("config", "core.hooksPath", hooks)
    const task = await it.task()
    expect(value(await worktreeState(it.opened, task.dir, task.branch)).kind).toBe("ready")
    await expect(lstat(join(it.side, "ran"))).rejects.toThrow("ENOENT")
  })

  test("a failure in the middle leaves neither folder nor branch nor entry, and git's words", async () => {
    await using it = await bench({ "a.txt": "a\n", ".gitattributes": "*.txt filter=broken\n" })
    await it.repo.git("config", "filter.broken.smudge", "exit 1")
    const path = join(it.side, "wt")
    const refused = failure(
      await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }),
      "untrusted_filter",
    )
    expect(refused.data.filters).toEqual(["broken"])
    expect(await heads(it)).toEqual(["main"])
    expect(await paths(it)).toEqual([it.repo.dir])
    await expect(lstat(path)).rejects.toThrow("ENOENT")
    await it.repo.git("config", "filter.broken.smudge", "cat")
    const again = failure(
      await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }),
      "untrusted_filter",
    )
    value(
      await createWorktree({
        repo: { ...it.opened, git: { ...it.git, trusted: () => again.data.digests } },
        branch: "kagan/1",
        base: "main",
        path,
      }),
    )
  })

  test.each(["record", "branch", "entry", "folder"])(
    "after a crash behind the %s the same call goes on",
    async (point) => {
      await using it = await bench({ "a.txt": "a\n" })
      const path = join(it.side, "wt")
      const base = (await it.repo.git("rev-parse", "main")).trim()
      value(
        await writeRecord(it.opened.commonDir, { v: 1, state: "creating", path, branch: "kagan/1", base, copied: [] }),
      )
      if (point !== "record") await it.repo.git("branch", "kagan/1")
      if (point === "entry" || point === "folder") {
        await it.repo.git("worktree", "add", "-q", path, "kagan/1")
        await writeFile(join(it.repo.dir, ".git/worktrees/wt/locked"), "initializing")
      }
      if (point === "entry") await rm(path, { recursive: true })
      if (point === "folder") await rm(join(path, "a.txt"))
      const made = value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }))
      expect(made).toMatchObject({ path, branch: "kagan/1", base })
      expect(await readFile(join(path, "a.txt"), "utf8")).toBe("a\n")
      const again = value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }))
      expect(again.resumed).toBe(true)
      expect(await heads(it)).toEqual(["kagan/1", "main"])
    },
  )

  test("C007 cleaning up after a crash takes neither a foreign folder nor a branch that went on", async () => {
    await using it = await bench()
    const path = join(it.side, "wt")
    const base = (await it.repo.git("rev-parse", "main")).trim()
    value(
      await writeRecord(it.opened.commonDir, { v: 1, state: "creating", path, branch: "kagan/1", base, copied: [] }),
    )
    await mkdir(path)
    await writeFile(join(path, "notes.txt"), "mine")
    failure(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }), "path_taken")
    expect(await readFile(join(path, "notes.txt"), "utf8")).toBe("mine")
    await rm(path, { recursive: true })
    await it.repo.git("checkout", "-q", "-b", "kagan/1")
    const ahead = await it.repo.commit("someone's")
    await it.repo.git("checkout", "-q", "main")
    failure(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path }), "branch_taken")
    expect((await it.repo.git("rev-parse", "kagan/1")).trim()).toBe(ahead)
  })

  test("C003 only a direct child of the root is accepted", async () => {
    await using it = await bench()
    const root = join(it.side, "root")
    const wanted = { repo: it.opened, branch: "kagan/1", base: "main", root }
    failure(await createWorktree({ ...wanted, path: join(root, "..", "x") }), "outside_root")
    failure(await createWorktree({ ...wanted, path: join(root, "a", "b") }), "outside_root")
    failure(await createWorktree({ ...wanted, path: "relative" }), "outside_root")
    await symlink(it.side, join(it.side, "link"))
    value(await createWorktree({ ...wanted, path: join(it.side, "link", "root", "ok") }))
  })
})

describe("bringing files along", () => {
  test("takes untracked files by gitignore patterns and .worktreeinclude, contained, through no link", async () => {
    await using it = await bench({ ".gitignore": ".env*\nlocal/\n", "tracked/x.txt": "x\n", "conf.txt": "base\n" })
    const at = it.repo
    await at.write(".env", "SECRET=1\n")
    await at.write(".env.test", "T=1\n")
    await at.write("local/deep/a.json", "{}\n")
    await at.write("other.txt", "no\n")
    await at.write(".worktreeinclude", "/local/\n")
    await at.write("run.sh", "#!/bin/sh\n")
    await chmod(join(at.dir, "run.sh"), 0o755)
    await writeFile(join(it.side, "outside"), "outside")
    await symlink("../outside", join(at.dir, ".env.link"))
    await symlink(".env", join(at.dir, ".env.inner"))
    const path = join(it.side, "wt")
    const copy = [".env*", "!.env.test", "run.sh", "tracked/x.txt"]
    const made = value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path, copy }))
    expect(made.copied.toSorted()).toEqual([".env", ".env.inner", "local/deep/a.json", "run.sh"])
    expect(made.skipped).toEqual([{ path: ".env.link", why: "the link leads outside the checkout" }])
    expect((await lstat(join(path, "run.sh"))).mode & 0o111).toBe(0o111)
    expect((await lstat(join(path, ".env.inner"))).isSymbolicLink()).toBe(true)
    await expect(lstat(join(path, "other.txt"))).rejects.toThrow("ENOENT")
  })

  test("C101 nothing is written through a link of the base", async () => {
    await using it = await bench({ ".gitignore": ".env\n" })
    await mkdir(join(it.side, "elsewhere"))
    await symlink("../../elsewhere", join(it.repo.dir, "sub"))
    await it.repo.commit("link")
    await rm(join(it.repo.dir, "sub"))
    await it.repo.write("sub/.env", "S=1\n")
    const path = join(it.side, "wt", "one")
    const made = value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path, copy: [".env"] }))
    expect(made).toMatchObject({ copied: [], skipped: [{ path: "sub/.env" }] })
    expect(await readdir(join(it.side, "elsewhere"))).toEqual([])
  })
})

describe("removing", () => {
  test("needs proof that it is ours, and then is done twice in a row", async () => {
    await using it = await bench()
    const own = join(it.side, "own")
    await it.repo.git("worktree", "add", "-q", "-b", "mine", own)
    failure(await removeWorktree({ repo: it.opened, path: own, discard: true }), "not_ours")
    const task = await it.task("t")
    expect(value(await removeWorktree({ repo: it.opened, path: task.dir, deleteBranch: true }))).toEqual({
      removed: true,
    })
    expect(value(await removeWorktree({ repo: it.opened, path: task.dir, deleteBranch: true }))).toEqual({
      removed: false,
    })
    expect(await heads(it)).toEqual(["main", "mine"])
    expect(await paths(it)).toEqual([it.repo.dir, own])
  })

  test("C048 what would be lost is named first: uncommitted, ignored and commits that only the branch has", async () => {
    await using it = await bench({ ".gitignore": "out/\n", "a.txt": "a\n" })
    const task = await it.task("t")
    await task.write("b.txt", "b\n")
    await task.commit("only here")
    await task.write("a.txt", "changed\n")
    await task.write("out/build", "x")
    const wanted = { repo: it.opened, path: task.dir, deleteBranch: true }
    const refused = failure(await removeWorktree(wanted), "would_lose")
    expect(refused.data).toEqual({ uncommitted: ["a.txt"], ignored: ["out"], submodules: [], commits: 1 })
    expect(await readFile(join(task.dir, "a.txt"), "utf8")).toBe("changed\n")
    await task.snapshot()
    await task.git("checkout", "-q", "a.txt")
    await rm(join(task.dir, "out"), { recursive: true })
    // The snapshot keeps the commits.
    expect(value(await removeWorktree(wanted))).toEqual({ removed: true })
  })

  test("C101 links in it are removed, not followed", async () => {
    await using it = await bench()
    const outside = join(it.side, "outside")
    await mkdir(outside)
    await writeFile(join(outside, "keep"), "keep")
    const task = await it.task()
    await symlink(outside, join(task.dir, "out"))
    value(await removeWorktree({ repo: it.opened, path: task.dir, discard: true }))
    expect(await readFile(join(outside, "keep"), "utf8")).toBe("keep")
  })

  test("C013 filled submodules do not keep it from going, and their unpushed commits are named", async () => {
    await using it = await bench()
    await using sub = await makeRepo({ files: { "s.txt": "s\n" } })
    await it.repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", sub.dir, "lib")
    await it.repo.commit("submodule")
    const [a, b] = [await it.task("a"), await it.task("b")]
    await b.git("-c", "protocol.file.allow=always", "submodule", "update", "-q", "--init")
    value(await removeWorktree({ repo: it.opened, path: a.dir, deleteBranch: true }))
    await checkoutAt(join(b.dir, "lib")).git(
      "-c",
      "user.name=T",
      "-c",
      "user.email=t@e",
      "commit",
      "-q",
      "--allow-empty",
      "-m",
      "inner",
    )
    const refused = failure(await removeWorktree({ repo: it.opened, path: b.dir }), "would_lose")
    expect(refused.data.submodules).toEqual(["lib"])
    value(await removeWorktree({ repo: it.opened, path: b.dir, discard: true }))
    expect(await paths(it)).toEqual([it.repo.dir])
  })
})

describe("C018 a folder that is gone", () => {
  test("is restored, and can be removed, twice in a row", async () => {
    await using it = await bench({ "a.txt": "a\n" })
    const task = await it.task("t")
    await task.write("b.txt", "b\n")
    await task.commit("work")
    for (let round = 0; round < 2; round++) {
      await rm(task.dir, { recursive: true })
      expect(value(await worktreeState(it.opened, task.dir, task.branch))).toEqual({
        kind: "missing",
        registered: true,
      })
      value(await restoreWorktree({ repo: it.opened, path: task.dir, branch: task.branch }))
      expect(await readFile(join(task.dir, "b.txt"), "utf8")).toBe("b\n")
    }
    await rm(task.dir, { recursive: true })
    value(await removeWorktree({ repo: it.opened, path: task.dir, deleteBranch: true, discard: true }))
    expect(await heads(it)).toEqual(["main"])
    expect(await paths(it)).toEqual([it.repo.dir])
  })

  test("a locked entry is named and not forced", async () => {
    await using it = await bench()
    const task = await it.task("t")
    await it.repo.git("worktree", "lock", "--reason", "on a disk", task.dir)
    await rm(task.dir, { recursive: true })
    const restored = await restoreWorktree({ repo: it.opened, path: task.dir, branch: task.branch })
    expect(failure(restored, "worktree_locked").text).toContain("on a disk")
    failure(await removeWorktree({ repo: it.opened, path: task.dir, discard: true }), "worktree_locked")
    expect(await paths(it)).toEqual([it.repo.dir, task.dir])
  })

  test("a foreign folder in its place is neither written to nor removed", async () => {
    await using it = await bench()
    const task = await it.task("t")
    await rm(task.dir, { recursive: true })
    await mkdir(task.dir)
    await writeFile(join(task.dir, "notes.txt"), "mine")
    expect(value(await worktreeState(it.opened, task.dir, task.branch)).kind).toBe("foreign")
    failure(await restoreWorktree({ repo: it.opened, path: task.dir, branch: task.branch }), "path_taken")
    value(await removeWorktree({ repo: it.opened, path: task.dir, deleteBranch: true, discard: true }))
    expect(await readFile(join(task.dir, "notes.txt"), "utf8")).toBe("mine")
    expect(await heads(it)).toEqual(["main"])
  })
})

test("C015 blanks, quotes and a newline in the paths", async () => {
  await using it = await bench()
  const dir = join(it.side, `my repo "q" 'x'`)
  await using repo = await makeRepo({ dir, files: { "x -> y.md": "text\n" } })
  const opened = await it.reopen(dir)
  const path = join(it.side, "wt\nnl")
  value(await createWorktree({ repo: opened, branch: "kagan/1", base: "main", path }))
  expect(value(await listWorktrees(opened)).map((entry) => entry.path)).toEqual([dir, path])
  await checkoutAt(path).git("mv", "x -> y.md", "z.md")
  const linked = await it.reopen(path)
  expect(linked).toMatchObject({ worktreeRoot: path, root: dir })
  expect(value(await linked.dirtyFiles())).toMatchObject([{ path: "z.md", from: "x -> y.md", staged: true }])
  value(await removeWorktree({ repo: opened, path, discard: true, deleteBranch: true }))
  expect(value(await listWorktrees(opened)).map((entry) => entry.path)).toEqual([dir])
  await repo.git("fsck", "--no-dangling")
})

describe("C117 a lock that a crash left", () => {
  test("is waited for, and named with its age when it stays", async () => {
    await using it = await bench()
    const lock = join(it.repo.dir, ".git", "refs", "heads", "kagan", "1.lock")
    await mkdir(join(it.repo.dir, ".git", "refs", "heads", "kagan"))
    await writeFile(lock, "")
    const waits: number[] = []
    let freeing = false
    const git = hastyGit(async (ms) => {
      waits.push(ms)
      if (freeing && waits.length === 4) await rm(lock)
    })
    const wanted = { repo: { ...it.opened, git }, branch: "kagan/1", base: "main", path: join(it.side, "wt") }
    const refused = failure(await createWorktree(wanted), "locked")
    expect(refused.data.path).toBe(lock)
    expect(refused.text).toMatch(/holds .*1\.lock \(\d+ s old\)/)
    expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeGreaterThan(3_000)
    await lstat(lock)
    freeing = true
    waits.length = 0
    value(await createWorktree(wanted))
  })
})

test("two processes that want the same name: one gets it, the other is refused, nothing is lost", async () => {
  await using it = await bench()
  const path = (n: number) => join(it.side, "wt", `${n}`)
  const script = `
    import { openRepository } from ${JSON.stringify(join(process.cwd(), "src/shared/git/repository.ts"))}
    import { makeGit } from ${JSON.stringify(join(process.cwd(), "src/shared/git/runner.ts"))}
    import { createWorktree } from ${JSON.stringify(join(process.cwd(), "src/shared/git/worktree.ts"))}
    const repo = (await openRepository(makeGit(), ${JSON.stringify(it.repo.dir)})).value
    const made = await createWorktree({ repo, branch: "kagan/same", base: "main", path: process.argv[2] })
    process.stdout.write(made.ok ? "made" : made.error.kind)`
  const file = join(it.side, "create.ts")
  await writeFile(file, script)
  const run = (n: number) => promisify(execFile)(process.execPath, [file, path(n)], { env: gitEnv() })
  const outcomes = await Promise.all([run(1), run(2), run(3)])
  expect(outcomes.map((one) => one.stdout).toSorted()).toEqual(["branch_taken", "branch_taken", "made"])
  const [main, winner, ...more] = value(await listWorktrees(it.opened))
  expect(main?.path).toBe(it.repo.dir)
  expect(winner?.branch).toBe("kagan/same")
  expect(more).toEqual([])
})
