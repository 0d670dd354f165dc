import { lstat, mkdir, readdir, realpath, rename, rm, rmdir } from "node:fs/promises"
import { dirname, join, resolve } from "node:path"
import { err, ok } from "../../core/result.ts"
import { isBranchName } from "../../core/slug.ts"
import { returnBorrowed } from "./borrow.ts"
import { copyUntracked, type Copied } from "./copy.ts"
import { fail, ioFailure, type GitResult } from "./failure.ts"
import { resolveBase, resolveCommit } from "./history.ts"
import { onOwnRef } from "./left-locks.ts"
import { dropRecord, readRecord, writeRecord, type WorktreeRecord } from "./ownership.ts"
import { explainBlocked, guardPrograms } from "./programs.ts"
import { renamedTo } from "./relink.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"
import { adminFolder, gitLink, listWorktrees, worktreeState } from "./worktree-state.ts"

export interface CreateWorktree {
  readonly repo: Repository
  readonly branch: string
  /** A branch, tag or commit. */
  readonly base: string
  /** Absolute; its folder must not exist. */
  readonly path: string
  /** When given, `path` must be a direct child of it. */
  readonly root?: string
  /** Patterns (gitignore syntax) of untracked files to bring along. */
  readonly copy?: readonly string[]
  /** Digests of repository filters that the person trusts. */
  readonly signal?: AbortSignal
}

export interface CreatedWorktree extends Copied {
  readonly path: string
  readonly branch: string
  /** The commit that the branch begins at. */
  readonly base: string
  /** It was there already, from an earlier call that did not come to its end. */
  readonly resumed: boolean
}

/** One creation at a time per repository: git's own locks make parallel ones fail. */
const queues = new Map<string, Promise<unknown>>()

/**
 * Creates branch and worktree, all or nothing: a failure leaves neither, and the same call after a crash cleans up or
 * goes on. Hooks do not run and no branch is tracked.
 */
export function createWorktree(wanted: CreateWorktree): GitResult<CreatedWorktree> {
  const key = wanted.repo.commonDir
  const turn = (queues.get(key) ?? Promise.resolve()).then(() => create(wanted))
  const settled: Promise<unknown> = turn.then(forget, forget)
  queues.set(key, settled)
  return turn

  function forget() {
    if (queues.get(key) === settled) queues.delete(key)
  }
}

async function create(wanted: CreateWorktree): GitResult<CreatedWorktree> {
  const { repo, branch, path } = wanted
  if (!isBranchName(branch)) return fail("branch_missing", `git does not allow the branch name ${branch}`, { branch })
  const placed = await checkPlace(wanted)
  if (!placed.ok) return placed
  const base = await resolveBase(repo, wanted.base)
  if (!base.ok) return base

  const before = await readRecord(repo.commonDir, path)
  if (!before.ok) return before
  if (before.value !== undefined) {
    if (before.value.branch !== branch) return pathTaken(path, `task branch ${before.value.branch} has it`)
    const returned = await returnBorrowed(repo, path)
    if (!returned.ok) return returned
    const there = await worktreeState(repo, path, branch)
    if (!there.ok) return there
    if (before.value.state === "ready" && there.value.kind === "ready") {
      const { copied } = before.value
      return ok({ path, branch, base: before.value.base, copied, skipped: [], resumed: true })
    }
    if (before.value.state === "ready") return pathTaken(path, "an earlier worktree of this task is registered there")
    const cleaned = await undo(repo, before.value)
    if (!cleaned.ok) return cleaned
  }
  const free = await checkFree(repo, branch, path)
  if (!free.ok) return free

  const record: WorktreeRecord = { v: 1, state: "creating", path, branch, base: base.value, copied: [] }
  const claimed = await writeRecord(repo.commonDir, record)
  if (!claimed.ok) return claimed
  const made = await make(wanted, record)
  if (made.ok) {
    const kept = await writeRecord(repo.commonDir, { ...record, state: "ready", copied: made.value.copied })
    if (kept.ok) return ok({ path, branch, base: base.value, ...made.value, resumed: false })
    return afterUndo(await undo(repo, record), kept)
  }
  // Another process won the name between our look and our call: its branch is not ours to remove.
  if (made.error.kind === "branch_taken") {
    const dropped = await dropRecord(repo.commonDir, path)
    return afterUndo(dropped, made)
  }
  return afterUndo(await undo(repo, record), made)
}

async function make(wanted: CreateWorktree, record: WorktreeRecord): GitResult<Copied> {
  const { repo, signal } = wanted
  const { git, commonDir } = repo
  const guard = await guardPrograms(git, commonDir)
  if (!guard.ok) return guard
  const none = "0".repeat(record.base.length)
  const branched = await onOwnRef(repo, `refs/heads/${record.branch}`, () =>
    git.run(["update-ref", "-m", "kagan: task branch", `refs/heads/${record.branch}`, record.base, none], {
      cwd: commonDir,
    }),
  )
  if (!branched.ok) {
    const exists = /reference already exists/.test(branched.error.stderr ?? "")
    return exists ? branchTaken(record.branch) : branched
  }
  const added = await whileLocked(git.clock, () =>
    git.run([...guard.value.args, "worktree", "add", "--quiet", "--", record.path, record.branch], {
      cwd: commonDir,
      timeoutMs: 600_000,
      ...(signal ? { signal } : {}),
    }),
  )
  if (!added.ok) return explainBlocked(added, guard.value) as typeof added
  return copyUntracked(repo, record.path, wanted.copy ?? [])
}

async function checkPlace(wanted: CreateWorktree): GitResult<void> {
  const { path, root } = wanted
  if (path !== resolve(path)) return fail("outside_root", `${path} is not an absolute path`, { path })
  try {
    await mkdir(root ?? dirname(path), { recursive: true })
    if (root === undefined) return ok()
    const [parent, top] = await Promise.all([realpath(dirname(path)), realpath(root)])
    if (parent === top) return ok()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return ioFailure(dirname(path), "making", error)
  }
  return fail("outside_root", `${path} is not a direct child of ${root}`, { path })
}

async function checkFree(repo: Repository, branch: string, path: string): GitResult<void> {
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
  if (!(there instanceof Error)) return pathTaken(path, "something is there already")
  if (there.code !== "ENOENT") return ioFailure(path, "reading", there)
  const entries = await listWorktrees(repo)
  if (!entries.ok) return entries
  if (entries.value.some((entry) => entry.path === path))
    return pathTaken(path, "git has another worktree registered there")
  const taken = await resolveCommit(repo, `refs/heads/${branch}`)
  if (taken.ok) return branchTaken(branch)
  return taken.error.kind === "branch_missing" ? ok() : taken
}

/** Takes back what a creation made, in the reverse order, and only what it made. */
async function undo(repo: Repository, record: WorktreeRecord): GitResult<void> {
  const { git, commonDir } = repo
  const { path, branch, base } = record
  const entries = await listWorktrees(repo)
  if (!entries.ok) return entries
  const own = entries.value.find((entry) => entry.path === path)
  // A creation that was killed leaves its entry locked as "initializing"; the second --force is for that.
  if (own) {
    await whileLocked(git.clock, () =>
      git.run(["worktree", "remove", "--force", "--force", "--", path], { cwd: commonDir }),
    )
  }
  if (!(await removeOurFolder(commonDir, path))) {
    return fail("path_taken", `${path} holds files that are not ours; it was left as it is`, { path })
  }
  const admin = await adminFolder(commonDir, path)
  if (admin !== undefined) await rm(admin, { recursive: true, force: true })

  const elsewhere = entries.value.some((entry) => entry.path !== path && entry.branch === branch)
  if (!elsewhere) {
    const gone = await onOwnRef(repo, `refs/heads/${branch}`, () =>
      git.run(["update-ref", "-d", `refs/heads/${branch}`, base], { cwd: commonDir }),
    )
    // Not at its beginning any more: someone committed to it, so it stays.
    if (!gone.ok && gone.error.kind !== "failed") return gone
  }
  return dropRecord(commonDir, path)
}

async function removeOurFolder(commonDir: string, path: string): Promise<boolean> {
  const there = await lstat(path).catch(() => undefined)
  if (there === undefined) return true
  if (!there.isDirectory()) return false
  if ((await readdir(path)).length === 0) {
    await rmdir(path)
    return true
  }
  const link = await gitLink(path)
  if (link === undefined || !link.startsWith(join(commonDir, "worktrees") + "/")) return false
  await rm(path, { recursive: true, force: true })
  return true
}

/** Puts a missing worktree back, at the tip of its branch (or at `from`, when the branch is gone too). */
export async function restoreWorktree(wanted: {
  readonly repo: Repository
  readonly path: string
  readonly branch: string
  readonly from?: string
  readonly copy?: readonly string[]
}): GitResult<Copied> {
  const { repo, path, branch, from } = wanted
  const { git, commonDir } = repo
  const record = await readRecord(commonDir, path)
  if (!record.ok) return record
  if (record.value === undefined) return fail("not_ours", `nothing proves that ${path} is ours`, { path })
  const state = await worktreeState(repo, path, branch)
  if (!state.ok) return state
  if (state.value.kind === "ready") return ok({ copied: record.value.copied, skipped: [] })
  if (state.value.kind !== "missing") return pathTaken(path, "something else is there now")
  if (state.value.locked !== undefined) return lockedFailure(path, state.value.locked)
  const renamed = await renamedTo(commonDir, path)
  if (!renamed.ok) return renamed
  if (renamed.value !== undefined) {
    // Everything that was not committed is in it.
    const back = await rename(renamed.value, path).catch((error: Error) => error)
    return back instanceof Error
      ? ioFailure(renamed.value, "moving back", back)
      : ok({ copied: record.value.copied, skipped: [] })
  }
  const tip = await resolveCommit(repo, `refs/heads/${branch}`)
  if (!tip.ok) {
    if (tip.error.kind !== "branch_missing" || from === undefined) return tip
    const none = "0".repeat(from.length)
    const revived = await git.run(["update-ref", "-m", "kagan: restored", `refs/heads/${branch}`, from, none], {
      cwd: commonDir,
    })
    if (!revived.ok) return revived
  }
  const guard = await guardPrograms(git, commonDir)
  if (!guard.ok) return guard
  if (state.value.registered) {
    const dropped = await git.run(["worktree", "remove", "--force", "--", path], { cwd: commonDir })
    if (!dropped.ok) return dropped
  }
  const added = await whileLocked(git.clock, () =>
    git.run([...guard.value.args, "worktree", "add", "--quiet", "--", path, branch], {
      cwd: commonDir,
      timeoutMs: 600_000,
    }),
  )
  if (!added.ok) return explainBlocked(added, guard.value) as typeof added
  const copied = await copyUntracked(repo, path, wanted.copy ?? [])
  if (!copied.ok) return copied
  const all = [...new Set([...record.value.copied, ...copied.value.copied])]
  const kept = await writeRecord(commonDir, { ...record.value, branch, state: "ready", copied: all })
  return kept.ok ? copied : kept
}

export function lockedFailure(path: string, reason: string) {
  const why = reason === "" ? "" : ` (${reason})`
  return fail("worktree_locked", `${path} is locked${why}; git worktree unlock frees it`, { path, reason })
}

function pathTaken(path: string, why: string) {
  return fail("path_taken", `${path} cannot be used: ${why}`, { path })
}

function branchTaken(branch: string) {
  return fail("branch_taken", `the branch ${branch} exists already`, { branch })
}

function afterUndo<T>(undone: { ok: true } | { ok: false; error: { text: string } }, reason: { ok: false; error: T }) {
  if (undone.ok) return reason
  const error = reason.error as T & { text: string }
  return err({ ...error, text: `${error.text}; and cleaning up failed: ${undone.error.text}` })
}
