import { join } from "node:path"
import type { TaskFacts } from "../core/board.ts"
import type { Citation, Location, SnapshotRef, Task, TaskMeta } from "../core/task.ts"
import { ok, type Result } from "../core/result.ts"
import { returnBorrowed } from "../shared/git/borrow.ts"
import { verifyLocations } from "../shared/git/diff.ts"
import { findMerge, forecast, mergeSnapshot } from "../shared/git/merge.ts"
import { readRecord } from "../shared/git/ownership.ts"
import type { Repository } from "../shared/git/repository.ts"
import { changedSince, takeSnapshot, type TakeSnapshot } from "../shared/git/snapshot.ts"
import { restoreWorktree } from "../shared/git/worktree.ts"
import { worktreeState } from "../shared/git/worktree-state.ts"
import type { Store } from "../shared/store.ts"
import { readDiff, type ReviewDiff } from "./review-diff.ts"

type Answer<T> = Promise<Result<T, { readonly kind: string; readonly text: string }>>

/** `branch`: it stands on another branch or none, in words. */
export type WorktreeSeen = Pick<TaskFacts, "branch"> & {
  readonly state: TaskFacts["worktree"]
  readonly problem?: string
}

/**
 * A task's worktree and snapshots, as supervision needs them: the one place of the server half where a task's metadata
 * meets git. Nothing here writes metadata.
 */
export interface Trees {
  worktree(meta: TaskMeta): Promise<WorktreeSeen>
  /** Puts a missing worktree back at the tip of its branch. */
  restore(meta: TaskMeta): Answer<void>
  /** Takes the exact tree of the worktree. */
  take(task: Task): Answer<Pick<SnapshotRef, "commit" | "tree" | "base" | "nested">>
  /** What differs between the worktree and the snapshot under review. */
  changed(meta: TaskMeta): Answer<readonly string[]>
  /** What a merge would meet; `contained`: the base has everything already, `target` is its commit. */
  forecast(
    meta: TaskMeta,
    snapshot: string,
  ): Answer<{
    readonly conflicts: readonly string[]
    readonly contained: boolean
    readonly target: string
  }>
  diff(snapshot: Pick<SnapshotRef, "base" | "commit">): Answer<ReviewDiff>
  cite(diff: ReviewDiff, locations: readonly (Location | undefined)[]): Answer<readonly Citation[]>
  /** Merges what `meta.merge` claims. */
  merge(meta: TaskMeta, message: string): Answer<{ readonly commit: string }>
  /** The commit by which the claimed target has the claimed snapshot; puts back what a merge had borrowed. */
  findMerge(meta: TaskMeta): Answer<string | undefined>
}

export function gitTrees(repository: Repository, store: Pick<Store, "paths">): Trees {
  /** Everything that names a worktree's tree the same way each time. */
  const request = (meta: TaskMeta): Omit<TakeSnapshot, "n" | "generation" | "message"> => ({
    repo: repository,
    worktree: meta.worktree,
    // A private index, kept beside the task.
    indexFile: join(store.paths.session(meta.sessionID).dir, "index"),
    base: meta.baseBranch,
  })

  return {
    worktree: (meta) => seen(repository, meta),
    async restore(meta) {
      const { worktree: path, branch, baseCommit: from } = meta
      const restored = await restoreWorktree({ repo: repository, path, branch, from })
      return restored.ok ? ok() : restored
    },
    take: ({ meta, title }) =>
      takeSnapshot({
        ...request(meta),
        allowLarge: meta.review?.large === "allowed",
        n: meta.taskNumber,
        generation: meta.generation,
        message: `#${meta.taskNumber} ${title}`,
      }),
    async changed(meta) {
      const snapshot = meta.review?.snapshot
      if (!snapshot) return ok([])
      const changed = await changedSince({ ...request(meta), snapshot: snapshot.commit })
      return changed.ok ? ok(changed.value.map((file) => file.path)) : changed
    },
    forecast: (meta, snapshot) => forecast({ repo: repository, target: meta.baseBranch, snapshot }),
    diff: (snapshot) => readDiff(repository, snapshot),
    cite: (diff, locations) => verifyLocations(repository, diff.diff, locations),
    async merge(meta, message) {
      const { snapshot, target, strategy } = meta.merge!
      return mergeSnapshot({
        repo: repository,
        target: target!,
        snapshot: snapshot!,
        strategy: strategy!,
        message,
        worktree: meta.worktree,
        branch: meta.branch,
      })
    },
    async findMerge(meta) {
      const { target, snapshot } = meta.merge!
      const back = await returnBorrowed(repository, meta.worktree)
      return back.ok ? findMerge({ repo: repository, target: target!, snapshot: snapshot! }) : back
    },
  }
}

/** What stands where the worktree belongs. Only what we made ourselves counts as the task's own. */
async function seen(repository: Repository, { worktree, branch }: TaskMeta): Promise<WorktreeSeen> {
  const [state, record] = await Promise.all([
    worktreeState(repository, worktree, branch),
    readRecord(repository.commonDir, worktree),
  ])
  if (!state.ok) return { state: "unknown", problem: state.error.text }
  if (!record.ok) return { state: "unknown", problem: record.error.text }
  const { value } = state
  if (value.kind === "missing") return { state: "missing" }
  if (value.kind === "foreign" || record.value === undefined) return { state: "foreign" }
  switch (value.kind) {
    case "broken":
      return { state: "foreign", problem: `git has lost its folder: ${value.command}` }
    case "ready":
      return { state: "present" }
    case "detached":
      return { state: "present", branch: `its worktree stands on no branch: git switch ${branch}` }
    case "switched":
      return { state: "present", branch: `its worktree stands on ${value.branch}: git switch ${branch}` }
    case "renamed":
      return { state: "present", branch: `its branch is called ${value.branch} now: git branch -m ${branch}` }
    case "branch_gone":
      return {
        state: "present",
        branch: `its branch is gone${value.last ? `: git branch ${branch} ${value.last.slice(0, 12)}` : ""}`,
      }
  }
}
