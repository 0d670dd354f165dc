import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ok, type Result } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import { mergeBase } from "./history.ts"
import { guardPrograms } from "./programs.ts"
import type { Repository } from "./repository.ts"
import type { GitOutput } from "./runner.ts"
import { treeEntries } from "./tree.ts"

export interface MergedTree {
  /** The result; with conflicts it holds markers and must not be used. */
  readonly tree: string
  readonly conflicts: readonly string[]
}

/**
 * Merges two commits as objects: no checkout, index or branch is touched. How files merge (`merge=union` and the like)
 * is for the attributes of the side that is merged into to say, and not for the task's.
 */
export async function mergeTrees(repo: Repository, ours: string, theirs: string): GitResult<MergedTree> {
  // Without common history git would only say "refusing to merge"; here a shallow clone is named.
  const base = await mergeBase(repo, ours, theirs)
  if (!base.ok) return base
  const guard = await guardPrograms(repo.git, repo.commonDir)
  if (!guard.ok) return guard
  const folder = await mkdtemp(join(tmpdir(), "kagan-merge-"))
  try {
    const attributes = await attributesOf(repo, ours, folder)
    if (!attributes.ok) return attributes
    const args = ["merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", ours, theirs]
    const answer = await repo.git.run([...guard.value.args, ...args], {
      cwd: folder,
      env: { GIT_DIR: repo.commonDir, GIT_WORK_TREE: folder },
      okCodes: [0, 1],
      timeoutMs: 120_000,
    })
    return answer.ok ? read(answer.value) : answer
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Git reads attributes from the work tree: here one that holds nothing else. */
async function attributesOf(repo: Repository, commit: string, folder: string): GitResult<void> {
  const found = await treeEntries(repo.git, repo.commonDir, commit, [".gitattributes"])
  if (!found.ok) return found
  const entry = found.value.get(".gitattributes")
  if (entry === undefined || !entry.mode.startsWith("100")) return ok()
  const blob = await repo.git.run(["cat-file", "blob", entry.object], { cwd: repo.commonDir })
  if (!blob.ok) return blob
  await writeFile(join(folder, ".gitattributes"), blob.value.bytes)
  return ok()
}

function read(answer: GitOutput): Result<MergedTree, GitFailure> {
  const [tree, ...names] = splitNul(answer.bytes)
  if (tree === undefined || !/^[0-9a-f]{40,64}$/.test(tree)) {
    return fail("unreadable", "git merge-tree answered something unknown", { what: "merge-tree" }, answer.stderr)
  }
  const conflicts = [...new Set(names.filter((name) => name !== ""))]
  if (answer.code === 1 && conflicts.length === 0) {
    return fail("unreadable", "git found conflicts and named none", { what: "merge-tree" }, answer.stderr)
  }
  return ok({ tree, conflicts: answer.code === 1 ? conflicts : [] })
}
