import { execFile } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { expect } from "vitest"
import type { Result } from "../../../src/core/result.ts"
import type { GitFailure, GitFailureKind } from "../../../src/shared/git/failure.ts"
import { systemClock } from "../../../src/shared/clock.ts"
import { openRepository, type Repository } from "../../../src/shared/git/repository.ts"
import { makeGit, type Git } from "../../../src/shared/git/runner.ts"
import { takeSnapshot, type Snapshot } from "../../../src/shared/git/snapshot.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { gitEnv, makeRepo, type Repo } from "../../kit/repo.ts"

/** A throw-away repository with Kagan's git layer opened on it. */
export interface Bench {
  readonly repo: Repo
  readonly git: Git
  readonly opened: Repository
  /** A folder beside the repository, removed with it. */
  readonly side: string
  /** A new task worktree on `kagan/<name>`. */
  task(name?: string, base?: string): Promise<TaskTree>
  reopen(directory?: string): Promise<Repository>
  [Symbol.asyncDispose](): Promise<void>
}

export interface TaskTree extends Repo {
  readonly branch: string
  snapshot(generation?: number, base?: string): Promise<Snapshot>
  readonly indexFile: string
}

export async function bench(files?: Readonly<Record<string, string>>): Promise<Bench> {
  const side = await realpath(await mkdtemp(join(tmpdir(), "kagan-git-")))
  const repo = await makeRepo({ dir: join(side, "repo"), ...(files ? { files } : {}) })
  const git = makeGit({ env: gitEnv() })
  const opened = value(await openRepository(git, repo.dir))
  let tasks = 0
  return {
    repo,
    git,
    opened,
    side,
    async task(name = `t${tasks + 1}`, base = "main") {
      const n = ++tasks
      const branch = `kagan/${name}`
      const path = join(side, "worktrees", name)
      value(await createWorktree({ repo: opened, branch, base, path }))
      const indexFile = join(side, "private", `${name}.index`)
      const at = checkoutAt(path)
      return {
        ...at,
        branch,
        indexFile,
        snapshot: async (generation = 1, from = base) =>
          value(await takeSnapshot({ repo: opened, worktree: path, n, generation, indexFile, base: from })),
      }
    },
    reopen: async (directory = repo.dir) => value(await openRepository(git, directory)),
    [Symbol.asyncDispose]: () => rm(side, { recursive: true, force: true, maxRetries: 5 }),
  }
}

/** A git that waits for locks without waiting; `onWait` is told how long each time. */
export function hastyGit(onWait: (ms: number) => void | Promise<void> = () => undefined): Git {
  const setTimer = (ms: number, run: () => void) => {
    // Longer ones are limits of calls and not waits.
    if (ms > 10_000) return systemClock.setTimer(ms, run)
    void Promise.resolve(onWait(ms)).then(run)
    return () => undefined
  }
  return makeGit({ env: gitEnv(), clock: { ...systemClock, setTimer } })
}

/** The value of an outcome that must be one. */
export function value<T>(result: Result<T, GitFailure>): T {
  if (!result.ok) throw new Error(`${result.error.kind}: ${result.error.text}\n${result.error.stderr ?? ""}`)
  return result.value
}

/** The failure of an outcome that must be one of this kind. */
export function failure<K extends GitFailureKind>(
  result: Result<unknown, GitFailure>,
  kind: K,
): Extract<GitFailure, { kind: K }> {
  if (result.ok) throw new Error(`expected ${kind}, and it worked: ${JSON.stringify(result.value)}`)
  expect(result.error.kind, `${result.error.text}\n${result.error.stderr ?? ""}`).toBe(kind)
  return result.error as Extract<GitFailure, { kind: K }>
}

/** Git and files of a folder that is there already; it is not removed. */
export function checkoutAt(dir: string): Repo {
  const git = (...args: string[]) =>
    new Promise<string>((resolve, reject) => {
      execFile("git", args, { cwd: dir, env: gitEnv(), maxBuffer: 1 << 28 }, (error, stdout, stderr) =>
        error ? reject(new Error(`git ${args.join(" ")}: ${stderr || error.message}`)) : resolve(stdout),
      )
    })
  return {
    dir,
    git,
    async write(path, text) {
      await mkdir(dirname(join(dir, path)), { recursive: true })
      await writeFile(join(dir, path), text)
    },
    async commit(message) {
      await git("add", "-A")
      await git("commit", "-q", "--allow-empty", "-m", message)
      return (await git("rev-parse", "HEAD")).trim()
    },
    dispose: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }
}
