import { rm } from "node:fs/promises"
import { join } from "node:path"
import { ok } from "../../core/result.ts"
import { decodePath, splitNul } from "./bytes.ts"
import { fail, ioFailure, nameSome, type GitResult } from "./failure.ts"
import { resolveCommit } from "./history.ts"
import { onOwnRef } from "./left-locks.ts"
import { dropRecord, readRecord, writeRecord, type WorktreeRecord } from "./ownership.ts"
import { guardPrograms } from "./programs.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"
import { readStatus } from "./status.ts"
import { changedSince } from "./snapshot.ts"
import { lockedFailure } from "./worktree.ts"
import { adminFolder, gitLink, listWorktrees, worktreeState } from "./worktree-state.ts"

export interface RemoveWorktree {
  readonly repo: Repository
  readonly path: string
  /** Remove the branch too; what only it holds is then named as well. */
  readonly deleteBranch?: boolean
  /** The person has seen what would be lost. */
  readonly discard?: boolean
  /** A commit that was merged: what it holds is not lost. */
  readonly merged?: string
  /** Refs that will go as well and so keep nothing (`refs/kagan/7/*`). */
  readonly without?: string
}

export interface Loss {
  readonly uncommitted: readonly string[]
  readonly ignored: readonly string[]
  /** Submodules with commits that were never pushed. */
  readonly submodules: readonly string[]
  /** Commits that no other branch, tag or snapshot holds. */
  readonly commits: number
}

/**
 * Removes a worktree that is provably ours, and its branch when asked. What would be lost is named first, unless the
 * person discards it. A foreign folder in its place is never touched, a locked entry never forced.
 */
export async function removeWorktree(wanted: RemoveWorktree): GitResult<{ readonly removed: boolean }> {
  const { repo, path } = wanted
  const { git, commonDir } = repo
  const record = await readRecord(commonDir, path)
  if (!record.ok) return record
  if (record.value === undefined) {
    const again = await worktreeState(repo, path)
    // A second removal finds nothing, and that is what it wants.
    if (again.ok && again.value.kind === "missing" && !again.value.registered) return ok({ removed: false })
    return fail("not_ours", `nothing proves that ${path} is ours; it was left as it is`, { path })
  }
  const state = await worktreeState(repo, path)
  if (!state.ok) return state
  const entries = await listWorktrees(repo)
  if (!entries.ok) return entries
  const locked = entries.value.find((entry) => entry.path === path)?.locked
  if (locked !== undefined) return lockedFailure(path, locked)
  if (state.value.kind === "broken") {
    return fail("worktree_broken", `git has lost its link to ${path}; ${state.value.command} mends it`, {
      path,
      command: state.value.command,
    })
  }
  if (!wanted.discard) {
    const loss = await whatWouldBeLost(repo, record.value, wanted)
    if (!loss.ok) return loss
    const text = lossText(loss.value)
    if (text !== undefined) return fail("would_lose", `removing ${path} would lose ${text}`, loss.value)
  }
  const begun = await writeRecord(commonDir, { ...record.value, state: "removing" })
  if (!begun.ok) return begun
  if (state.value.kind === "foreign") {
    const admin = await adminFolder(commonDir, path)
    const failed = admin && (await rm(admin, { recursive: true, force: true }).catch((error: Error) => error))
    if (failed instanceof Error) return ioFailure(path, "forgetting", failed)
  } else if (state.value.kind !== "missing" || state.value.registered) {
    // --force: submodules and files that the person has just discarded; a lock would need it twice.
    const removed = await whileLocked(git.clock, () =>
      git.run(["worktree", "remove", "--force", "--", path], { cwd: commonDir, timeoutMs: 300_000 }),
    )
    if (!removed.ok) return removed
  }
  if (wanted.deleteBranch) {
    const gone = await deleteBranch(repo, record.value.branch)
    if (!gone.ok) return gone
  }
  const dropped = await dropRecord(commonDir, path)
  return dropped.ok ? ok({ removed: true }) : dropped
}

/** In words what a removal would lose, also where the worktree is gone already; empty: nothing. */
export async function lossOf(wanted: RemoveWorktree): GitResult<string> {
  const record = await readRecord(wanted.repo.commonDir, wanted.path)
  if (!record.ok) return record
  if (record.value === undefined) return ok("")
  const loss = await whatWouldBeLost(wanted.repo, record.value, wanted)
  return loss.ok ? ok(lossText(loss.value) ?? "") : loss
}

/** What only this worktree (and its branch, when that goes too) holds. */
async function whatWouldBeLost(
  repo: Repository,
  record: WorktreeRecord,
  wanted: Pick<RemoveWorktree, "deleteBranch" | "merged" | "without">,
): GitResult<Loss> {
  const { git } = repo
  const state = await worktreeState(repo, record.path)
  if (!state.ok) return state
  let uncommitted: readonly string[] = []
  let ignored: readonly string[] = []
  let submodules: readonly string[] = []
  if (state.value.kind !== "missing" && state.value.kind !== "foreign" && state.value.kind !== "broken") {
    const guard = await guardPrograms(git, record.path)
    if (!guard.ok) return guard
    const status = await readStatus(git, record.path, {
      ignored: true,
      insideSubmodules: true,
      guard: guard.value.args,
    })
    if (!status.ok) return status
    const brought = new Set(record.copied)
    const own = status.value.filter((entry) => !brought.has(entry.path))
    uncommitted = own.filter((entry) => entry.kind !== "ignored").map((entry) => entry.path)
    if (uncommitted.length > 0 && wanted.merged !== undefined) {
      const indexFile = join((await gitLink(record.path)) ?? repo.commonDir, "kagan-private")
      const changed = await changedSince({ repo, worktree: record.path, indexFile, snapshot: wanted.merged })
      if (!changed.ok) return changed
      uncommitted = changed.value.map((file) => file.path)
    }
    ignored = own.filter((entry) => entry.kind === "ignored").map((entry) => entry.path)
    const inner = await unpushedSubmodules(repo, record.path)
    if (!inner.ok) return inner
    submodules = inner.value
  }
  const counts = wanted.deleteBranch === true && wanted.merged === undefined
  const commits = counts ? await onlyOn(repo, record.branch, wanted.without) : ok(0)
  return commits.ok ? ok({ uncommitted, ignored, submodules, commits: commits.value }) : commits
}

async function unpushedSubmodules(repo: Repository, path: string): GitResult<readonly string[]> {
  const listed = await repo.git.run(["ls-files", "-z", "--stage"], { cwd: path })
  if (!listed.ok) return listed
  const paths = splitNul(listed.value.bytes)
    .filter((line) => line.startsWith("160000 "))
    .map((line) => line.slice(line.indexOf("\t") + 1))
  const found: string[] = []
  for (const inner of paths) {
    const folder = join(path, inner)
    const top = await repo.git.run(["rev-parse", "--path-format=absolute", "--show-toplevel"], {
      cwd: folder,
      okCodes: [0, 128],
    })
    // Never filled: there is nothing of its own in it.
    if (!top.ok || top.value.code !== 0 || decodePath(top.value.bytes).replace(/\n$/, "") !== folder) continue
    const own = await repo.git.run(["rev-list", "--max-count=1", "HEAD", "--branches", "--not", "--remotes"], {
      cwd: folder,
    })
    if (!own.ok) return own
    if (own.value.bytes.length > 0) found.push(inner)
  }
  return ok(found)
}

async function onlyOn(repo: Repository, branch: string, without: string | undefined): GitResult<number> {
  const ref = `refs/heads/${branch}`
  const tip = await resolveCommit(repo, ref)
  if (!tip.ok) return tip.error.kind === "branch_missing" ? ok(0) : tip
  const counted = await repo.git.run(
    [
      "rev-list",
      "--count",
      "--single-worktree",
      ref,
      "--not",
      `--exclude=${ref}`,
      ...(without === undefined ? [] : [`--exclude=${without}`]),
      "--all",
    ],
    { cwd: repo.commonDir },
  )
  return counted.ok ? ok(Number(counted.value.stdout.trim())) : counted
}

/** Removes a branch that no checkout stands on; a missing one is fine. */
async function deleteBranch(repo: Repository, branch: string): GitResult<void> {
  const { git, commonDir } = repo
  const ref = `refs/heads/${branch}`
  const entries = await listWorktrees(repo)
  if (!entries.ok) return entries
  const used = entries.value.find((entry) => entry.branch === branch)
  if (used) return fail("branch_taken", `${branch} is checked out in ${used.path}`, { branch, by: used.path })
  const tip = await resolveCommit(repo, ref)
  if (!tip.ok) return tip.error.kind === "branch_missing" ? ok() : tip
  const gone = await onOwnRef(repo, ref, () => git.run(["update-ref", "-d", ref, tip.value], { cwd: commonDir }))
  if (!gone.ok) return gone
  const section = await whileLocked(git.clock, () =>
    git.run(["config", "--remove-section", `branch.${branch}`], { cwd: commonDir, okCodes: [0, 128] }),
  )
  return section.ok ? ok() : section
}

function lossText(loss: Loss): string | undefined {
  const parts: string[] = []
  if (loss.uncommitted.length > 0) parts.push(`uncommitted ${nameSome(loss.uncommitted)}`)
  if (loss.ignored.length > 0) parts.push(`ignored ${nameSome(loss.ignored)}`)
  if (loss.submodules.length > 0) parts.push(`unpushed commits in ${nameSome(loss.submodules)}`)
  if (loss.commits > 0) parts.push(`${loss.commits} ${loss.commits === 1 ? "commit" : "commits"} of the branch`)
  return parts.length > 0 ? parts.join("; ") : undefined
}
