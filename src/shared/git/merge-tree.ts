import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { fail, type GitResult } from "./failure.ts"
import { mergeBase } from "./history.ts"
import { guardPrograms } from "./programs.ts"
import type { Repository } from "./repository.ts"

export interface MergedTree {
  /** The result; with conflicts it holds markers and must not be used. */
  readonly tree: string
  readonly conflicts: readonly string[]
}

/** Merges two commits as objects: no checkout, index or branch is touched. */
export async function mergeTrees(repo: Repository, ours: string, theirs: string): GitResult<MergedTree> {
  // Without common history git would only say "refusing to merge"; here a shallow clone is named.
  const base = await mergeBase(repo, ours, theirs)
  if (!base.ok) return base
  const guard = await guardPrograms(repo.git, repo.commonDir)
  if (!guard.ok) return guard
  const answer = await repo.git.run(
    [
      ...guard.value.args,
      "-c",
      "core.bare=true",
      "merge-tree",
      "--write-tree",
      "-z",
      "--name-only",
      "--no-messages",
      ours,
      theirs,
    ],
    { cwd: repo.commonDir, okCodes: [0, 1], timeoutMs: 120_000 },
  )
  if (!answer.ok) return answer
  const [tree, ...names] = splitNul(answer.value.bytes)
  if (tree === undefined || !/^[0-9a-f]{40,64}$/.test(tree)) {
    return fail("unreadable", "git merge-tree answered something unknown", { what: "merge-tree" }, answer.value.stderr)
  }
  const conflicts = [...new Set(names.filter((name) => name !== ""))]
  if (answer.value.code === 1 && conflicts.length === 0) {
    return fail("unreadable", "git found conflicts and named none", { what: "merge-tree" }, answer.value.stderr)
  }
  return ok({ tree, conflicts: answer.value.code === 1 ? conflicts : [] })
}
