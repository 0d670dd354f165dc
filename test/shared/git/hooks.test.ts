import { spawn } from "node:child_process"
import { chmod, lstat, mkdir, readFile, readdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { isAlive, isGroupAlive } from "../../../src/shared/git/alive.ts"
import { mergeSnapshot } from "../../../src/shared/git/merge.ts"
import { changedSince, takeSnapshot } from "../../../src/shared/git/snapshot.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { gitEnv } from "../../kit/repo.ts"
import { bench, failure, value, type Bench, type TaskTree } from "./throwaway.ts"

const hook = (it: Bench, name: string, body: string) =>
  writeFile(join(it.repo.dir, ".git", "hooks", name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })

/** A base that moved on, and a task with committed, uncommitted and ignored work. */
async function ready() {
  const it = await bench({ "a.txt": "a\nb\nc\n", ".gitignore": "node_modules/\n" })
  await mkdir(join(it.repo.dir, ".git", "hooks"), { recursive: true })
  const task = await it.task("t")
  await task.write("a.txt", "a\nB\nc\n")
  await task.commit("part")
  await task.write("new.txt", "new\n")
  await task.write("node_modules/dep.sh", "exit 0\n")
  await it.repo.write("base.txt", "base\n")
  await it.repo.commit("moved")
  const snapshot = await task.snapshot()
  const wanted = {
    repo: it.opened,
    target: "main",
    snapshot: snapshot.commit,
    strategy: "squash",
    message: "Title\n\nBody\n",
    worktree: task.dir,
    branch: task.branch,
  } as const
  const changed = () =>
    changedSince({
      repo: it.opened,
      worktree: task.dir,
      indexFile: task.indexFile,
      base: "main",
      snapshot: snapshot.commit,
    })
  const merge = (over: Partial<Parameters<typeof mergeSnapshot>[0]> = {}) => mergeSnapshot({ ...wanted, ...over })
  return { it, task, snapshot, wanted, merge, changed, [Symbol.asyncDispose]: () => it[Symbol.asyncDispose]() }
}

/** What a borrowed worktree must have again. */
async function evidence(task: TaskTree) {
  const gitDir = (await task.git("rev-parse", "--absolute-git-dir")).trim()
  const files: Record<string, string> = {}
  for (const entry of await readdir(task.dir, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile()) files[path.slice(task.dir.length)] = await readFile(path, "utf8")
  }
  return {
    head: await readFile(join(gitDir, "HEAD"), "utf8"),
    branch: await task.git("rev-parse", "HEAD"),
    status: await task.git("status", "--porcelain", "--ignored", "-z"),
    index: await task.git("ls-files", "-s"),
    ours: (await readdir(gitDir)).filter((name) => /^(kagan|MERGE|AUTO|index\.lock)/.test(name)),
    files,
  }
}

describe("where commit hooks exist", () => {
  test.each(["squash", "merge"] as const)(
    "they run in the task's worktree on the merged files, and all is put back (%s)",
    async (strategy) => {
      await using at = await ready()
      const { it, task } = at
      const log = join(it.side, "log")
      await hook(
        it,
        "pre-commit",
        `pwd >'${log}'; cat base.txt a.txt new.txt >>'${log}'; git ls-files '*.txt' >>'${log}'; sh node_modules/dep.sh`,
      )
      await hook(it, "commit-msg", `echo 'Change-Id: 1' >>"$1"`)
      const before = await evidence(task)
      const from = (await it.repo.git("rev-parse", "main")).trim()
      value(await at.merge({ strategy }))
      expect(await readFile(log, "utf8")).toBe(`${task.dir}\nbase\na\nB\nc\nnew\na.txt\nbase.txt\nnew.txt\n`)
      expect(await it.repo.git("log", "-1", "--format=%B", "main")).toBe("Title\n\nBody\nChange-Id: 1\n\n")
      const parents = strategy === "squash" ? [from] : [from, at.snapshot.commit]
      expect((await it.repo.git("log", "-1", "--format=%P", "main")).trim().split(" ")).toEqual(parents)
      expect(await evidence(task)).toEqual(before)
      expect(value(await at.changed())).toEqual([])
      expect(await it.repo.git("status", "--porcelain")).toBe("")
    },
  )

  test("a refusal shows the hook's words, and nothing has changed anywhere", async () => {
    await using at = await ready()
    const { it, task } = at
    await hook(it, "pre-commit", "echo 'lint: 3 problems' >&2; exit 1")
    const before = await evidence(task)
    const main = await it.repo.git("rev-parse", "main")
    const refused = failure(await at.merge(), "hook_refused")
    expect(refused.text).toBe("pre-commit refused the merge: lint: 3 problems")
    expect(await evidence(task)).toEqual(before)
    expect(await it.repo.git("rev-parse", "main")).toBe(main)
    expect(await it.repo.git("status", "--porcelain")).toBe("")
  })

  test.each([
    ["and stages them", "sed -i s/new/NEW/ new.txt; git add new.txt"],
    ["and refuses", "sed -i s/new/NEW/ new.txt; exit 1"],
    ["and leaves them", "sed -i s/new/NEW/ new.txt; echo x >made.txt"],
  ])("a hook that rewrites files %s: nothing is merged, and the edits are the task's to review", async (_, body) => {
    await using at = await ready()
    const { it, task } = at
    await hook(it, "pre-commit", body)
    const main = await it.repo.git("rev-parse", "main")
    const refused = failure(await at.merge(), "hook_changed_files")
    expect(refused.data.applied).toBe(true)
    expect(refused.data.files).toContain("new.txt")
    expect(await it.repo.git("rev-parse", "main")).toBe(main)
    expect(await readFile(join(task.dir, "new.txt"), "utf8")).toBe("NEW\n")
    expect((await task.git("symbolic-ref", "--short", "HEAD")).trim()).toBe(task.branch)
    await expect(lstat(join(task.dir, "base.txt"))).rejects.toThrow("ENOENT")
    expect(value(await at.changed()).map((file) => file.path)).toContain("new.txt")
    await rm(join(it.repo.dir, ".git", "hooks", "pre-commit"))
    const again = await task.snapshot(2)
    value(await at.merge({ snapshot: again.commit }))
    expect(await readFile(join(it.repo.dir, "new.txt"), "utf8")).toBe("NEW\n")
  })

  test("a merge commit is asked of pre-merge-commit, and a squash is not", async () => {
    await using at = await ready()
    const { it, task } = at
    const hook = join(it.opened.commonDir, "hooks", "pre-merge-commit")
    await writeFile(hook, "#!/bin/sh\ntest -f base.txt || exit 3\necho no merges on Fridays >&2\nexit 1\n", {
      mode: 0o755,
    })
    const before = await evidence(task)
    const refused = failure(await at.merge({ strategy: "merge" }), "hook_refused")
    expect(refused.text).toBe("pre-merge-commit refused the merge: no merges on Fridays")
    expect(await evidence(task)).toEqual(before)
    value(await at.merge({ strategy: "squash" }))
  })

  test("a hook that hangs ends with its children at the limit", async () => {
    await using at = await ready()
    const { it, task } = at
    await hook(it, "pre-commit", `sleep 1000 & echo $! >'${it.side}/pid'; wait`)
    const before = await evidence(task)
    failure(await at.merge({ commitTimeoutMs: 1_500 }), "timed_out")
    expect(await evidence(task)).toEqual(before)
    const pid = Number(await readFile(join(it.side, "pid"), "utf8"))
    expect(isAlive(pid)).toBe(false)
  })

  test("a configured hook folder that is not there is an error, not a commit without hooks", async () => {
    await using at = await ready()
    const { it, task } = at
    await it.repo.git("config", "core.hooksPath", ".husky/_")
    expect(failure(await at.merge(), "hook_missing").data.path).toBe(join(task.dir, ".husky/_"))
    await writeFile(join(it.repo.dir, ".git/info/exclude"), ".husky/_\n")
    await task.write(".husky/_/pre-commit", `#!/bin/sh\necho ran >'${it.side}/ran'\n`)
    await chmod(join(task.dir, ".husky/_/pre-commit"), 0o755)
    value(await at.merge())
    expect(await readFile(join(it.side, "ran"), "utf8")).toBe("ran\n")
  })

  test("files that were brought along, and the host's line in a config file, neither get in nor get lost", async () => {
    await using it = await bench({ "opencode.json": "{}\n" })
    await mkdir(join(it.repo.dir, ".git", "hooks"), { recursive: true })
    await hook(it, "pre-commit", "exit 0")
    await it.repo.write("local.txt", "local\n")
    const path = join(it.side, "wt")
    value(await createWorktree({ repo: it.opened, branch: "kagan/1", base: "main", path, copy: ["local.txt"] }))
    await rm(join(it.repo.dir, "local.txt"))
    await writeFile(join(path, "opencode.json"), '{\n  "$schema": "https://opencode.ai/config.json",}\n')
    await writeFile(join(path, "work.txt"), "w\n")
    await it.repo.write("opencode.json", '{"model": "a/b"}\n')
    await it.repo.commit("config")
    const indexFile = join(it.side, "index")
    const wanted = { repo: it.opened, worktree: path, n: 1, generation: 1, indexFile, base: "main" }
    const snapshot = value(await takeSnapshot(wanted))
    const merge = { repo: it.opened, target: "main", strategy: "squash", message: "x", worktree: path } as const
    value(await mergeSnapshot({ ...merge, snapshot: snapshot.commit }))
    expect(await it.repo.git("show", "main:opencode.json")).toBe('{"model": "a/b"}\n')
    expect(await it.repo.git("ls-tree", "--name-only", "main")).toBe("opencode.json\nwork.txt\n")
    expect(await readFile(join(path, "local.txt"), "utf8")).toBe("local\n")
    expect(value(await changedSince({ ...wanted, snapshot: snapshot.commit }))).toEqual([])
  })

  test("other hooks, and ones that cannot run, do not borrow the worktree", async () => {
    await using at = await ready()
    const { it } = at
    await hook(it, "pre-push", "exit 1")
    await hook(it, "pre-commit", "exit 1")
    await chmod(join(it.repo.dir, ".git/hooks/pre-commit"), 0o644)
    value(await at.merge())
  })
})

test("killed in the middle of a hook, the next look puts the worktree back, and the merge can be done again", async () => {
  await using at = await ready()
  const { it, task, wanted } = at
  const started = join(it.side, "started")
  await hook(it, "pre-commit", `echo $$ >'${started}'; test -e '${it.side}/go' || sleep 1000`)
  const before = await evidence(task)
  const { repo: _, ...plain } = wanted
  const file = join(it.side, "merge.ts")
  const from = (name: string) => JSON.stringify(join(process.cwd(), "src/shared/git", name))
  await writeFile(
    file,
    `import { openRepository } from ${from("repository.ts")}
     import { makeGit } from ${from("runner.ts")}
     import { isAlive, isGroupAlive } from "../../../src/shared/git/alive.ts"
import { mergeSnapshot } from ${from("merge.ts")}
     const repo = (await openRepository(makeGit(), ${JSON.stringify(it.repo.dir)})).value
     await mergeSnapshot({ repo, ...${JSON.stringify(plain)} })`,
  )
  const child = spawn(process.execPath, [file], { env: gitEnv(), stdio: "ignore" })
  const hookPid = Number(await appears(started))
  child.kill("SIGKILL")
  await new Promise((resolve) => child.once("close", resolve))
  // The hook outlives the host; while it runs, the worktree is in use.
  expect(failure(await at.changed(), "locked").text).toContain("a merge is under way in")
  process.kill(hookPid, "SIGKILL")
  await gone(it, hookPid)
  expect(value(await at.changed())).toEqual([])
  expect(await evidence(task)).toEqual(before)
  await writeFile(join(it.side, "go"), "")
  value(await at.merge())
  expect(await readFile(join(it.repo.dir, "new.txt"), "utf8")).toBe("new\n")
})

/** The content of a file once it is there. */
async function appears(path: string): Promise<string> {
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    const text = await readFile(path, "utf8").catch(() => "")
    if (text !== "") return text
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error(`${path} did not appear`)
}

/** Waits until the hook's process group (git and its hook) is gone. */
async function gone(it: Bench, hookPid: number): Promise<void> {
  const gitDir = join(it.repo.dir, ".git", "worktrees")
  const [name] = await readdir(gitDir)
  const note = JSON.parse(await readFile(join(gitDir, name!, "kagan-borrowed.json"), "utf8")) as { group: number }
  expect(note.group).toBeGreaterThan(0)
  for (const deadline = Date.now() + 60_000; Date.now() < deadline;) {
    if (!isGroupAlive(note.group) && !isAlive(hookPid)) return
    // What the hook started is in its group.
    if (isGroupAlive(note.group)) process.kill(-note.group, "SIGKILL")
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Error("the hook did not end")
}
