import { ok } from "../../core/result.ts"
import { refuseInTheWay, targetCheckout } from "./checkout.ts"
import { fail, nameSome, type GitResult } from "./failure.ts"
import { lookUp, mergeBase } from "./history.ts"
import { mergeTrees } from "./merge-tree.ts"
import type { ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import type { WorktreeEntry } from "./worktree-state.ts"

export interface Landing {
  readonly target: string
  /** The target's commit, and its tree. */
  readonly from: string
  readonly fromTree: string
  readonly snapshot: string
  readonly snapshotTree: string
}

/** What will land and where, or why it cannot: all that can be known before anything is touched. */
export async function planLanding(
  repo: Repository,
  wanted: Landing,
  entries: readonly WorktreeEntry[],
  guard: ProgramGuard,
): GitResult<{ readonly tree: string; readonly checkout?: string }> {
  const tree = await planMerge(repo, wanted, guard)
  if (!tree.ok) return tree
  const checkout = await targetCheckout(repo, wanted.target, entries)
  if (!checkout.ok) return checkout
  if (checkout.value === undefined) return ok({ tree: tree.value })
  const free = await refuseInTheWay(repo, checkout.value, wanted.from, tree.value, guard)
  return free.ok ? ok({ tree: tree.value, checkout: checkout.value }) : free
}

/** The tree that a merge will land, or why nothing can: conflicts, nothing to merge, all there already. */
async function planMerge(repo: Repository, wanted: Landing, guard: ProgramGuard): GitResult<string> {
  const { target, from, snapshot } = wanted
  const merged = await mergeTrees(repo, from, snapshot, guard)
  if (!merged.ok) return merged
  if (merged.value.conflicts.length > 0) {
    const files = merged.value.conflicts
    return fail("conflicts", `conflict with ${target} in ${nameSome(files)}`, { files, target })
  }
  if (merged.value.tree !== wanted.fromTree) return ok(merged.value.tree)
  const start = await mergeBase(repo, from, snapshot)
  if (!start.ok) return start
  const tree = await lookUp(repo, [`${start.value}^{tree}`])
  if (!tree.ok) return tree
  const empty = tree.value[0] === wanted.snapshotTree && start.value !== snapshot
  if (empty) return fail("nothing_to_merge", `the task changes nothing that ${target} does not have`, { target })
  return fail("already_merged", `${target} has all of this already`, { target, commit: from })
}
