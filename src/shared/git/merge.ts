import { join } from "node:path"
import { ok } from "../../core/result.ts"
import type { MergeStrategy } from "../../core/task.ts"
import { advance, mendAdvance, moved } from "./advance.ts"
import { borrowForCommit, returnBorrowed } from "./borrow.ts"
import { splitNul } from "./bytes.ts"
import { commitHooks, commitTree } from "./commit.ts"
import { fail, nameSome, type GitResult } from "./failure.ts"
import { lookUp, resolveBase, resolveCommit, treeOfCommit } from "./history.ts"
import { planLanding } from "./merge-plan.ts"
import { mergeTrees } from "./merge-tree.ts"
import { guardFrom, guardPrograms, type ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import { isOn, readSettings, type Setting } from "./settings.ts"
import { changedSince } from "./snapshot.ts"
import { gitLink, listWorktrees, worktreeState, type WorktreeEntry } from "./worktree-state.ts"

export interface Forecast {
  /** The target's commit that this is about. */
  readonly target: string
  /** Files that conflict; none: it merges. */
  readonly conflicts: readonly string[]
  /** Commits of the target that the snapshot does not have. */
  readonly behind: number
  /** The target has all of the work already. */
  readonly contained: boolean
}

/** What a merge of the snapshot into a branch would meet. Touches nothing. */
export async function forecast(wanted: {
  readonly repo: Repository
  readonly target: string
  readonly snapshot: string
}): GitResult<Forecast> {
  const { repo, snapshot } = wanted
  const [target, guard] = await Promise.all([resolveBase(repo, wanted.target), guardPrograms(repo.git, repo.commonDir)])
  if (!target.ok) return target
  if (!guard.ok) return guard
  const [merged, tree, behind] = await Promise.all([
    mergeTrees(repo, target.value, snapshot, guard.value),
    treeOfCommit(repo, target.value),
    repo.git.run(["rev-list", "--count", `${snapshot}..${target.value}`], { cwd: repo.commonDir }),
  ])
  if (!merged.ok) return merged
  if (!tree.ok) return tree
  if (!behind.ok) return behind
  return ok({
    target: target.value,
    conflicts: merged.value.conflicts,
    behind: Number(behind.value.stdout.trim()),
    contained: merged.value.conflicts.length === 0 && merged.value.tree === tree.value,
  })
}

/** What a merge has done so far, for the card's history. */
export type MergeStep =
  | {
      readonly step: "committing"
      readonly target: string
      readonly from: string
      readonly snapshot: string
      readonly worktree?: string
    }
  | { readonly step: "advancing"; readonly target: string; readonly from: string; readonly to: string }
  | { readonly step: "merged"; readonly target: string; readonly commit: string }

export interface MergeWanted {
  readonly repo: Repository
  /** A local branch. */
  readonly target: string
  /** The approved snapshot's commit. */
  readonly snapshot: string
  readonly strategy: MergeStrategy
  /** The whole commit message, kept character for character. */
  readonly message: string
  /** The task's worktree: it must still equal the snapshot, and commit hooks run there. */
  readonly worktree?: string
  /** The task's branch, on which the worktree must stand. */
  readonly branch?: string
  /** The target's commit that the person was shown; another one is not merged into. */
  readonly expected?: string
  /** For signing and hooks; by default one minute, and ten with hooks. */
  readonly commitTimeoutMs?: number
  readonly journal?: (step: MergeStep) => Promise<void>
}

export interface Merged {
  readonly commit: string
  readonly target: string
  readonly from: string
  /** The checkout that was moved along. */
  readonly checkout?: string
}

/**
 * Merges an approved snapshot into a local branch: all of it or nothing. Conflicts, files in the way and unfinished
 * business of the person are found and named before anything is touched.
 */
export async function mergeSnapshot(wanted: MergeWanted): GitResult<Merged> {
  const { repo, target, snapshot } = wanted
  if (wanted.worktree !== undefined) {
    const returned = await returnBorrowed(repo, wanted.worktree)
    if (!returned.ok) return returned
  }
  const mended = await mendAdvance(repo, target)
  if (!mended.ok) return mended
  const there = wanted.worktree !== undefined && (await gitLink(wanted.worktree)) !== undefined
  const [from, entries, settings] = await Promise.all([
    targetCommit(repo, target),
    listWorktrees(repo),
    readSettings(repo.git, there ? wanted.worktree! : repo.root),
  ])
  if (!from.ok) return from
  if (!entries.ok) return entries
  if (!settings.ok) return settings
  if (wanted.expected !== undefined && wanted.expected !== from.value) {
    return movedOn(repo, target, wanted.expected, from.value)
  }
  const guard = guardFrom(settings.value, repo.git.trusted())
  // Both look at many files and neither touches one.
  const [plan, unchanged] = await Promise.all([
    planLanding(repo, { target, from: from.value, snapshot }, entries.value, guard),
    refuseChanged(wanted, entries.value, guard),
  ])
  if (!plan.ok) return plan
  if (!unchanged.ok) return unchanged
  const { tree, checkout } = plan.value

  const where = wanted.worktree === undefined ? {} : { worktree: wanted.worktree }
  await wanted.journal?.({ step: "committing", target, from: from.value, snapshot, ...where })
  const at = checkout === undefined ? {} : { checkout }
  const commit = await makeCommit(wanted, {
    from: from.value,
    tree: tree,
    settings: settings.value,
    there,
    ...at,
  })
  if (!commit.ok) return commit
  await wanted.journal?.({ step: "advancing", target, from: from.value, to: commit.value })
  const advanced = await advance(repo, { target, from: from.value, to: commit.value, ...at }, guard)
  if (!advanced.ok) return advanced
  await wanted.journal?.({ step: "merged", target, commit: commit.value })
  return ok({ commit: commit.value, target, from: from.value, ...at })
}

/**
 * The commit by which a local branch has a snapshot: one that names it in a `Kagan-Snapshot` trailer or has it as a
 * parent. `undefined`: it was not merged. Tells after a crash what became of a merge.
 */
export async function findMerge(wanted: {
  readonly repo: Repository
  readonly target: string
  readonly snapshot: string
  /** The commit that a journal names. */
  readonly commit?: string
}): GitResult<string | undefined> {
  const { repo, snapshot } = wanted
  const mended = await mendAdvance(repo, wanted.target)
  if (!mended.ok) return mended
  const target = await targetCommit(repo, wanted.target)
  if (!target.ok) return target.error.kind === "base_gone" ? ok(undefined) : target
  const log = await repo.git.run(
    [
      "log",
      "-z",
      "--no-color",
      "--format=%H%x00%P%x00%(trailers:key=Kagan-Snapshot,valueonly)",
      target.value,
      "--not",
      `${snapshot}^`,
    ],
    { cwd: repo.commonDir },
  )
  if (!log.ok) return log
  const fields = splitNul(log.value.bytes)
  for (let i = 0; i + 2 < fields.length; i += 3) {
    const named = fields[i + 2]!.split("\n").some((value) => value.trim() === snapshot)
    if (named || fields[i] === wanted.commit || fields[i + 1]!.split(" ").includes(snapshot)) return ok(fields[i]!)
  }
  return ok(undefined)
}

/**
 * The local branch that a merge for this base goes into: itself, or for a remote-tracking branch the one local branch
 * that tracks it. `undefined`: the person chooses.
 */
export async function localTarget(repo: Repository, base: string): GitResult<string | undefined> {
  const itself = await lookUp(repo, [`refs/heads/${base}^{commit}`])
  if (!itself.ok) return itself
  if (itself.value[0] !== undefined) return ok(base)
  const branches = await repo.branches()
  if (!branches.ok) return branches
  const tracking = branches.value.filter((branch) => !branch.remote && branch.upstream === `refs/remotes/${base}`)
  return ok(tracking.length === 1 ? tracking[0]!.name : undefined)
}

/** Says by how many commits a branch is not any more what the person was shown. */
export async function movedOn(repo: Repository, target: string, expected: string, actual: string) {
  const counted = await repo.git.run(["rev-list", "--count", `${expected}..${actual}`], { cwd: repo.commonDir })
  return moved(target, expected, actual, counted.ok ? Number(counted.value.stdout.trim()) : undefined)
}

async function targetCommit(repo: Repository, target: string): GitResult<string> {
  const commit = await resolveCommit(repo, `refs/heads/${target}`)
  if (commit.ok || commit.error.kind !== "branch_missing") return commit
  const remote = await resolveCommit(repo, `refs/remotes/${target}`)
  const text = remote.ok
    ? `${target} is a remote branch: choose a local one to merge into`
    : `there is no local branch ${target} any more`
  return fail("base_gone", text, { branch: target })
}

async function refuseChanged(
  wanted: MergeWanted,
  entries: readonly WorktreeEntry[],
  guard: ProgramGuard,
): GitResult<void> {
  const { repo, worktree, branch, snapshot } = wanted
  if (worktree === undefined) return ok()
  const state = await worktreeState(repo, worktree, branch, entries)
  if (!state.ok) return state
  // Without the folder there is nothing that could differ; the snapshot holds the work.
  if (state.value.kind === "missing") return ok()
  if (branch !== undefined && state.value.kind !== "ready") {
    const actual = "branch" in state.value ? state.value.branch : undefined
    const now = actual === undefined ? `no longer on ${branch}` : `on ${actual} and no longer on ${branch}`
    return fail("branch_switched", `${worktree} is ${now}`, { expected: branch, ...(actual ? { actual } : {}) })
  }
  const changed = await changedSince({
    repo,
    worktree,
    indexFile: join((await gitLink(worktree)) ?? repo.commonDir, "kagan-private"),
    snapshot,
    guard,
  })
  if (!changed.ok) return changed
  const files = changed.value.map((file) => file.path)
  return files.length === 0 ? ok() : fail("changed_since_review", `changed since review: ${nameSome(files)}`, { files })
}

interface Planned {
  readonly from: string
  readonly tree: string
  readonly settings: readonly Setting[]
  /** The task's worktree is where it belongs. */
  readonly there: boolean
  readonly checkout?: string
}

async function makeCommit(wanted: MergeWanted, planned: Planned): GitResult<string> {
  const { repo, snapshot, strategy, message, worktree } = wanted
  const { from, settings, there, checkout } = planned
  const cwd = checkout ?? repo.root
  const parents = strategy === "squash" ? [from] : [from, snapshot]
  const signed = isOn(settings, "commit.gpgsign")
  const hooks = await commitHooks(repo.git, repo.commonDir, there ? worktree! : cwd, settings)
  if (!hooks.ok) return hooks
  if (hooks.value === undefined) {
    const timeoutMs = wanted.commitTimeoutMs ?? 60_000
    return commitTree({ git: repo.git, cwd, tree: planned.tree, parents, message, signed, timeoutMs })
  }
  if (!there || worktree === undefined) {
    const text = "there are commit hooks, and the task's worktree, where they run, is missing: restore it"
    return fail("hook_missing", text, { path: hooks.value.folder })
  }
  const tree = await treeOfCommit(repo, snapshot)
  if (!tree.ok) return tree
  return borrowForCommit({
    repo,
    worktree,
    tree: tree.value,
    mergedTree: planned.tree,
    from,
    parents,
    message,
    signed,
    hooks: hooks.value,
    timeoutMs: wanted.commitTimeoutMs ?? 600_000,
  })
}
