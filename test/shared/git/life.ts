import { spawn } from "node:child_process"
import { chmod, lstat, mkdir, readFile, readdir, rm, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect } from "vitest"
import type { GitResult } from "../../../src/shared/git/failure.ts"
import { findMerge, mergeSnapshot } from "../../../src/shared/git/merge.ts"
import { takeSnapshot } from "../../../src/shared/git/snapshot.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { listWorktrees } from "../../../src/shared/git/worktree-state.ts"
import { removeWorktree } from "../../../src/shared/git/worktree-remove.ts"
import { gitEnv } from "../../kit/repo.ts"
import { bench, value, type Bench } from "./throwaway.ts"

export const HOST_KILLED = "kill -9 $PPID; exit 1"
export const GIT_KILLED = "kill -9 $$"
export const GIT_FAILS = "echo 'fatal: unable to write: No space left on device' >&2; exit 128"
/** No file may be written: git is ended by the signal, and its locks stay behind. */
export const FILE_LIMIT_ENDS = "ulimit -f 0"
/** The same where the signal is ignored: git is told, and says so. */
export const FILE_LIMIT_FAILS = "trap '' XFSZ; ulimit -f 0"

/**
 * A task's life with a fault at its n-th git call, and what a look must make of it afterwards: the work merged once, the
 * person's own files as they were, nothing left over. Answers whether there was such a call.
 */
export async function survives(n: number, instead: string, hook: boolean): Promise<boolean> {
  const one = await life(hook)
  try {
    const { code, calls, words } = await one.run(n, instead)
    if (calls >= n && instead === HOST_KILLED) expect(code).toBeNull()
    else expect([0, 3], words).toContain(code)
    if (code === 3) expect(words).toMatch(/^\w+: \S/)
    if (code !== 0) await finish(one)
    await expectWhole(one)
    return calls >= n
  } catch (error) {
    throw new Error(`at git call ${n}: ${String(error)}`, { cause: error })
  } finally {
    await one.it[Symbol.asyncDispose]()
  }
}

/** The life of one task, in a process that can be killed. */
const LIFE = `
  import { openRepository } from "SRC/repository.ts"
  import { makeGit } from "SRC/runner.ts"
  import { createWorktree } from "SRC/worktree.ts"
  import { takeSnapshot } from "SRC/snapshot.ts"
  import { mergeSnapshot, findMerge } from "SRC/merge.ts"
  import { removeWorktree } from "SRC/worktree-remove.ts"
  import { writeFileSync } from "node:fs"
  const [root, path, index] = process.argv.slice(2)
  const must = (r) => { if (!r.ok) { process.stderr.write(r.error.kind + ": " + r.error.text + "\\n" + (r.error.stderr ?? "")); process.exit(3) } return r.value }
  const repo = must(await openRepository(makeGit(), root))
  must(await createWorktree({ repo, branch: "kagan/1", base: "main", path }))
  writeFileSync(path + "/a.txt", "task\\n"); writeFileSync(path + "/new.txt", "new\\n")
  const snapshot = must(await takeSnapshot({ repo, worktree: path, n: 1, generation: 1, indexFile: index, base: "main" }))
  const message = "Title\\n\\nKagan-Snapshot: " + snapshot.commit
  must(await mergeSnapshot({ repo, target: "main", snapshot: snapshot.commit, strategy: "squash", message, worktree: path, branch: "kagan/1" }))
  must(await removeWorktree({ repo, path, discard: true, deleteBranch: true }))
`

interface Life {
  readonly it: Bench
  readonly path: string
  readonly index: string
  /** Runs the life with the n-th git call replaced by a shell command; answers its exit and how many calls it made. */
  run(n: number, instead: string): Promise<{ code: number | null; calls: number; words: string }>
}

async function life(hook: boolean): Promise<Life> {
  const it = await bench({ "a.txt": "a\n", "mine.txt": "m\n" })
  await it.repo.write("mine.txt", "my own\n")
  await it.repo.write("untracked.txt", "mine\n")
  if (hook) {
    await mkdir(join(it.repo.dir, ".git", "hooks"), { recursive: true })
    await writeFile(join(it.repo.dir, ".git", "hooks", "pre-commit"), "#!/bin/sh\nexit 0\n", { mode: 0o755 })
  }
  const [path, index, script, bin] = ["wt", "index", "life.ts", "bin"].map((name) => join(it.side, name)) as [
    string,
    string,
    string,
    string,
  ]
  await writeFile(script, LIFE.replaceAll("SRC", join(process.cwd(), "src/shared/git")))
  await mkdir(bin)
  const real = (await it.repo.git("--exec-path")).trim().replace(/\/lib(exec)?\/git-core$/, "/bin/git")
  return {
    it,
    path,
    index,
    async run(n, instead) {
      const count = join(it.side, "count")
      await writeFile(count, "")
      // Calls run side by side: each is the n-th by the place of its own line.
      const place = `$(grep -n -m1 "^$$$" '${count}' | cut -d: -f1)`
      const shim = `#!/bin/sh\necho $$ >>'${count}'\n[ "${place}" = ${n} ] && { ${instead}; }\nexec '${real}' "$@"\n`
      await writeFile(join(bin, "git"), shim)
      await chmod(join(bin, "git"), 0o755)
      const env = { ...gitEnv(), PATH: `${bin}:${process.env.PATH}` }
      const child = spawn(process.execPath, [script, it.repo.dir, path, index], {
        env,
        stdio: ["ignore", "ignore", "pipe"],
      })
      let words = ""
      child.stderr.on("data", (chunk: Buffer) => (words += chunk.toString()))
      const code = await new Promise<number | null>((resolve) => child.once("close", resolve))
      return { code, calls: (await readFile(count, "utf8")).split("\n").length - 1, words }
    },
  }
}

/** Does again, without faults, what the life did not come to; every step knows what is done already. */
async function finish({ it, path, index }: Life): Promise<void> {
  const repo = await it.reopen()
  const tip = async (ref: string) => (await it.repo.git("for-each-ref", "--format=%(objectname)", ref)).trim()
  const before = await tip("refs/kagan/1/1")
  if (before === "" || (await freed(() => findMerge({ repo, target: "main", snapshot: before }))) === undefined) {
    await freed(() => createWorktree({ repo, branch: "kagan/1", base: "main", path }))
    await writeFile(join(path, "a.txt"), "task\n")
    await writeFile(join(path, "new.txt"), "new\n")
    const wanted = { repo, worktree: path, n: 1, generation: 1, indexFile: index, base: "main" }
    const { commit } = await freed(() => takeSnapshot(wanted))
    const message = `Title\n\nKagan-Snapshot: ${commit}`
    const merge = { repo, target: "main", snapshot: commit, strategy: "squash", message, worktree: path } as const
    await freed(() => mergeSnapshot(merge))
  }
  await freed(() => removeWorktree({ repo, path, discard: true, deleteBranch: true }))
}

/**
 * What the person does who is told of a lock that was left behind. In the task's own worktree Kagan does it, a minute
 * later; on a name that only Kagan writes none may be left.
 */
async function freed<T>(step: () => GitResult<T>): Promise<T> {
  const first = await step()
  if (first.ok || first.error.kind !== "locked") return value(first)
  const { path } = first.error.data
  expect(first.error.text).toContain(path)
  expect(path).not.toMatch(/refs\/(kagan|heads\/kagan)\//)
  if (path.includes("/worktrees/wt/")) await utimes(path, Date.now() / 1000 - 61, Date.now() / 1000 - 61)
  else await rm(path)
  return value(await step())
}

async function expectWhole({ it, path }: Life): Promise<void> {
  expect(await readFile(join(it.repo.dir, "mine.txt"), "utf8")).toBe("my own\n")
  expect(await readFile(join(it.repo.dir, "untracked.txt"), "utf8")).toBe("mine\n")
  expect(await it.repo.git("status", "--porcelain")).toBe(" M mine.txt\n?? untracked.txt\n")
  expect(await it.repo.git("log", "--format=%s", "main")).toBe("Title\nFirst commit\n")
  expect(await it.repo.git("show", "main:a.txt", "main:new.txt")).toBe("task\nnew\n")
  expect(await it.repo.git("for-each-ref", "--format=%(refname)", "refs/heads")).toBe("refs/heads/main\n")
  expect(value(await listWorktrees(it.opened))).toHaveLength(1)
  await expect(lstat(path)).rejects.toThrow("ENOENT")
  expect(await readdir(join(it.repo.dir, ".git", "kagan", "worktrees"))).toEqual([])
  expect((await readdir(join(it.repo.dir, ".git"))).filter((name) => name.startsWith("kagan-"))).toEqual([])
  await it.repo.git("fsck", "--strict", "--no-dangling")
}
