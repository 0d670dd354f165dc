import { dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import type { MergeStrategy } from "../../core/task.ts"
import { advance, mendAdvance, moved } from "./advance.ts"
import { borrowForCommit, returnBorrowed } from "./borrow.ts"
import { splitNul } from "./bytes.ts"
import { commitHooks, commitTree } from "./commit.ts"
import { fail, nameSome, type GitResult } from "./failure.ts"
import { lookUp, noCommit, resolveCommit } from "./history.ts"
import { planLanding } from "./merge-plan.ts"
import { guardFrom, type ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import { isOn, readSettings, type Setting } from "./settings.ts"
import { changedSince } from "./snapshot.ts"
import { gitLink, listWorktrees, worktreeState, type WorktreeEntry } from "./worktree-state.ts"

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
  const looked = await look(wanted)
  if (!looked.ok) return looked
  const { from, tree, snapshotTree, settings, guard, there, checkout } = looked.value

  const where = wanted.worktree === undefined ? {} : { worktree: wanted.worktree }
  await wanted.journal?.({ step: "committing", target, from, snapshot, ...where })
  const at = checkout === undefined ? {} : { checkout }
  const commit = await makeCommit(wanted, { from, tree, snapshotTree, settings, there, ...at })
  if (!commit.ok) return commit
  await wanted.journal?.({ step: "advancing", target, from, to: commit.value })
  const advanced = await advance(repo, { target, from, to: commit.value, ...at }, guard)
  if (!advanced.ok) return advanced
  await wanted.journal?.({ step: "merged", target, commit: commit.value })
  return ok({ commit: commit.value, target, from, ...at })
}

interface Looked {
  /** The target's commit. */
  readonly from: string
  /** What will land. */
  readonly tree: string
  readonly snapshotTree: string
  readonly settings: readonly Setting[]
  readonly guard: ProgramGuard
  /** The task's worktree is where it belongs. */
  readonly there: boolean
  readonly checkout?: string
}

/** All that is to be known first: what will land and where, and that the worktree still is what was approved. */
async function look(wanted: MergeWanted): GitResult<Looked> {
  const { repo, target, worktree, snapshot } = wanted
  const link = worktree === undefined ? undefined : await gitLink(worktree)
  const there = link !== undefined
  const reading = readSettings(repo.git, there ? worktree! : repo.root)
  const guarding = reading.then((read) => (read.ok ? ok(guardFrom(read.value, repo.git.trusted())) : read))
  const placing = placesOf(repo, target, snapshot)
  const comparing = () =>
    changedSince({
      repo,
      worktree: worktree!,
      indexFile: join(link ?? repo.commonDir, "kagan-private"),
      snapshot,
      guard: guarding,
      snapshotTree: placing.then((found) => (found.ok ? ok(found.value.snapshotTree) : found)),
    })
  // It reads every file of the worktree, so it begins before the rest is known; but not in a foreign folder.
  const begun = link !== undefined && dirname(dirname(link)) === repo.commonDir ? comparing() : undefined
  const plan = async () => {
    const [places, entries, settings, guard] = await Promise.all([placing, listWorktrees(repo), reading, guarding])
    if (!places.ok) return places
    if (!entries.ok) return entries
    if (!settings.ok) return settings
    if (!guard.ok) return guard
    const { from } = places.value
    if (wanted.expected !== undefined && wanted.expected !== from) return movedOn(repo, target, wanted.expected, from)
    const landing = await planLanding(repo, { target, snapshot, ...places.value }, entries.value, guard.value)
    if (!landing.ok) return landing
    const found = { settings: settings.value, guard: guard.value, there, ...places.value, ...landing.value }
    return ok({ found, entries: entries.value })
  }
  const [planned, changed] = await Promise.all([plan(), begun])
  if (!planned.ok) return planned
  const unchanged = await refuseChanged(wanted, planned.value.entries, () => changed ?? comparing())
  return unchanged.ok ? ok(planned.value.found) : unchanged
}

async function placesOf(repo: Repository, target: string, snapshot: string) {
  const names = [`refs/heads/${target}^{commit}`, `refs/heads/${target}^{tree}`, `${snapshot}^{tree}`]
  const found = await lookUp(repo, names)
  if (!found.ok) return found
  const [from, fromTree, snapshotTree] = found.value
  if (from === undefined || fromTree === undefined) return noTarget(repo, target)
  if (snapshotTree === undefined) return noCommit(snapshot)
  return ok({ from, fromTree, snapshotTree })
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
  return noTarget(repo, target)
}

async function noTarget(repo: Repository, target: string) {
  const remote = await resolveCommit(repo, `refs/remotes/${target}`)
  const text = remote.ok
    ? `${target} is a remote branch: choose a local one to merge into`
    : `there is no local branch ${target} any more`
  return fail("base_gone", text, { branch: target })
}

async function refuseChanged(
  wanted: MergeWanted,
  entries: readonly WorktreeEntry[],
  compare: () => Awaited<ReturnType<typeof changedSince>> | ReturnType<typeof changedSince>,
): GitResult<void> {
  const { repo, worktree, branch } = wanted
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
  const changed = await compare()
  if (!changed.ok) return changed
  const files = changed.value.map((file) => file.path)
  return files.length === 0 ? ok() : fail("changed_since_review", `changed since review: ${nameSome(files)}`, { files })
}

async function makeCommit(wanted: MergeWanted, planned: Omit<Looked, "guard">): GitResult<string> {
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
  return borrowForCommit({
    repo,
    worktree,
    tree: planned.snapshotTree,
    mergedTree: planned.tree,
    from,
    parents,
    message,
    signed,
    hooks: hooks.value,
    timeoutMs: wanted.commitTimeoutMs ?? 600_000,
  })
}
