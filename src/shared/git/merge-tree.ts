import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { ok, type Result } from "../../core/result.ts"
import { pathIn, splitNul } from "./bytes.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import { changedFiles, lookUp, mergeBase } from "./history.ts"
import { guardPrograms, type ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import type { GitOutput } from "./runner.ts"
import { foldersAbove } from "./tree-edit.ts"

export interface MergedTree {
  /** The result; with conflicts it holds markers and must not be used. */
  readonly tree: string
  readonly conflicts: readonly string[]
}

/**
 * Merges two commits as objects: no checkout, index or branch is touched. How files merge (`merge=union` and the like)
 * is for the attributes of the side that is merged into to say, and not for the task's.
 */
export async function mergeTrees(
  repo: Repository,
  ours: string,
  theirs: string,
  known?: ProgramGuard,
): GitResult<MergedTree> {
  const guard = known ? ok(known) : await guardPrograms(repo.git, repo.commonDir)
  if (!guard.ok) return guard
  const folder = await mkdtemp(join(tmpdir(), "kagan-merge-"))
  try {
    const attributes = await attributesOf(repo, ours, theirs, folder)
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

/**
 * Git reads attributes from the work tree: here one that holds nothing else. Only what both sides changed is merged, so
 * those of the folders in which the other side changed something are enough.
 */
async function attributesOf(repo: Repository, ours: string, theirs: string, folder: string): GitResult<void> {
  const base = await mergeBase(repo, ours, theirs)
  if (!base.ok) return base
  const changes = await changedFiles(repo, base.value, theirs)
  if (!changes.ok) return changes
  const folders = [...new Set(["", ...changes.value.flatMap(({ path }) => foldersAbove(path))])]
  const names = folders.map((one) => (one === "" ? ".gitattributes" : `${one}/.gitattributes`))
  const found = await lookUp(
    repo,
    names.map((name) => `${ours}:${name}`),
  )
  if (!found.ok) return found
  for (const [i, object] of found.value.entries()) {
    if (object === undefined) continue
    const blob = await repo.git.run(["cat-file", "blob", object], { cwd: repo.commonDir })
    // A folder or a link of that name says nothing.
    if (!blob.ok) continue
    const file = pathIn(folder, names[i]!)
    if (folders[i] !== "") await mkdir(pathIn(folder, folders[i]!), { recursive: true })
    await writeFile(file, blob.value.bytes)
  }
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
