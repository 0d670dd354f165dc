import { ok } from "../../core/result.ts"
import type { GitResult } from "./failure.ts"
import { resolveBase, treeOfCommit } from "./history.ts"
import { mergeTrees } from "./merge-tree.ts"
import { guardPrograms } from "./programs.ts"
import type { Repository } from "./repository.ts"

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
