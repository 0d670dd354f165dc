import { join } from "node:path"
import { ok } from "../../core/result.ts"
import type { Borrowed } from "./borrow.ts"
import { KAGAN_IDENTITY } from "./commit.ts"
import type { GitResult } from "./failure.ts"
import { changedFiles } from "./history.ts"
import { mergeTrees } from "./merge-tree.ts"
import { readRecord } from "./ownership.ts"
import type { Repository } from "./repository.ts"
import { writeWorkingTree } from "./tree.ts"

/** What commit hooks did to the files of a borrowed worktree. */
export interface HookEdits {
  readonly files: readonly string[]
  /** The merged tree with the edits. */
  readonly tree: string
}

/** What differs from the merged tree once the hooks have run: in the commit, or left on disk. */
export async function hookEdits(repo: Repository, borrowed: Borrowed): GitResult<HookEdits | undefined> {
  const { worktree, tree, mergedTree, from } = borrowed
  const disk = await diskTree(repo, borrowed)
  if (!disk.ok) return disk
  // The merged files were never laid out.
  if (disk.value === tree && tree !== mergedTree) return ok(undefined)
  const ids = await repo.git.run(["rev-parse", "HEAD^{tree}", `${from}^{tree}`], { cwd: worktree })
  if (!ids.ok) return ids
  const [committed, before] = ids.value.stdout.trim().split("\n") as [string, string]
  const now = disk.value === mergedTree ? committed : disk.value
  if (now === mergedTree || now === before) return ok(undefined)
  const files = await changedFiles(repo, mergedTree, now)
  return files.ok ? ok({ files: files.value.map((file) => file.path), tree: now }) : files
}

/** The task's tree with a hook's edits carried over; `undefined` where they do not fit. */
export async function treeWithEdits(
  repo: Repository,
  mergedTree: string,
  tree: string,
  edited: string,
): GitResult<string | undefined> {
  const make = async (of: string, parents: readonly string[]): GitResult<string> => {
    const args = ["commit-tree", of, ...parents.flatMap((parent) => ["-p", parent]), "-m", "kagan"]
    const made = await repo.git.run(args, { cwd: repo.commonDir, env: KAGAN_IDENTITY })
    return made.ok ? ok(made.value.stdout.trim()) : made
  }
  const start = await make(mergedTree, [])
  if (!start.ok) return start
  const [ours, theirs] = [await make(tree, [start.value]), await make(edited, [start.value])]
  if (!ours.ok) return ours
  if (!theirs.ok) return theirs
  const merged = await mergeTrees(repo, ours.value, theirs.value)
  if (!merged.ok) return merged
  return ok(merged.value.conflicts.length === 0 ? merged.value.tree : undefined)
}

/** Keeps a tree under `refs/kagan/rescued/`, so that nothing that lay in the worktree is lost. */
export async function keepAside(repo: Repository, borrowed: Borrowed, tree: string): GitResult<void> {
  const message = `Kagan: what lay in ${borrowed.worktree} when a merge ended`
  const args = ["commit-tree", tree, "-p", borrowed.from, "-m", message]
  const made = await repo.git.run(args, { cwd: repo.commonDir, env: KAGAN_IDENTITY })
  if (!made.ok) return made
  const commit = made.value.stdout.trim()
  const kept = await repo.git.run(["update-ref", `refs/kagan/rescued/${commit.slice(0, 12)}`, commit], {
    cwd: repo.commonDir,
  })
  return kept.ok ? ok() : kept
}

/** What lies in a borrowed worktree, by the rules of a snapshot. */
export async function diskTree(repo: Repository, borrowed: Borrowed): GitResult<string> {
  const record = await readRecord(repo.commonDir, borrowed.worktree)
  if (!record.ok) return record
  const written = await writeWorkingTree({
    git: repo.git,
    worktree: borrowed.worktree,
    exclude: record.value?.copied ?? [],
    indexFile: join(borrowed.gitDir, "kagan-private"),
    base: borrowed.tree,
    allowLarge: true,
  })
  return written.ok ? ok(written.value.tree) : written
}
