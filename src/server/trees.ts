import { stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import type { Options } from "../core/options.ts"
import type { TaskFacts } from "../core/board.ts"
import type { Citation, Location, SnapshotRef, Task, TaskMeta } from "../core/task.ts"
import { ok, type Result } from "../core/result.ts"
import { displayable } from "../core/text.ts"
import { returnBorrowed } from "../shared/git/borrow.ts"
import { verifyLocations } from "../shared/git/diff.ts"
import { changedFiles, lookUp } from "../shared/git/history.ts"
import { forecast, type Forecast } from "../shared/git/forecast.ts"
import { findMerge, localTarget, mergeSnapshot, movedOn } from "../shared/git/merge.ts"
import { readRecord } from "../shared/git/ownership.ts"
import { relink, renamedTo } from "../shared/git/relink.ts"
import type { Repository } from "../shared/git/repository.ts"
import { changedSince, dropSnapshots, takeSnapshot, type TakeSnapshot } from "../shared/git/snapshot.ts"
import { updateFromBase } from "../shared/git/update-base.ts"
import { restoreWorktree } from "../shared/git/worktree.ts"
import { lossOf, removeWorktree } from "../shared/git/worktree-remove.ts"
import { worktreeState } from "../shared/git/worktree-state.ts"
import type { Store } from "../shared/store.ts"
import { gitReading, type Reading } from "./review-reading.ts"
import { readDiff, type ReviewDiff } from "./review-diff.ts"

type Answer<T> = Promise<Result<T, { readonly kind: string; readonly text: string }>>

/** Where a merge of a snapshot would land now, and what it would meet there. */
export type Landing = {
  /** The local branch it goes into; absent where the base is a remote branch and only the person can choose. */
  readonly target?: string
  /** The commit that it was looked at against: the target's, else the base's. */
  readonly tip: string
  /** Commits of the target that the snapshot does not have. */
  readonly behind: number
  readonly conflicts: readonly string[]
  /** The target has everything already. */
  readonly contained: boolean
}

/** `branch`: it stands on another branch or none, in words. */
export type WorktreeSeen = Pick<TaskFacts, "branch"> & {
  readonly state: TaskFacts["worktree"]
  readonly problem?: string
  /** Where a missing one lies now, when it was only given another name. */
  readonly renamed?: string
}

/**
 * A task's worktree and snapshots, as supervision needs them: the one place of the server half where a task's metadata
 * meets git. Nothing here writes metadata.
 */
export interface Trees {
  worktree(meta: TaskMeta): Promise<WorktreeSeen>
  /** Puts a missing worktree back at the tip of its branch, with the untracked files that are brought along. */
  restore(meta: TaskMeta): Answer<void>
  /** Takes the exact tree of the worktree. */
  take(task: Task): Answer<Pick<SnapshotRef, "commit" | "tree" | "base" | "nested">>
  /** What differs between the worktree and the snapshot under review. */
  changed(meta: TaskMeta): Answer<readonly string[]>
  /** `chosen`: the local branch that the person wants it merged into. */
  landing(meta: TaskMeta, snapshot: string, chosen?: string): Answer<Landing>
  /** In words by how much a branch is no longer what the person was shown. */
  moved(target: string, expected: string, actual: string): Promise<string>
  /** Where the person would push to: `origin`, or the one remote that there is. */
  remote(): Promise<string | undefined>
  /** The local branches that are not those of tasks. */
  branches(): Answer<readonly string[]>
  /** The files that a snapshot changes. */
  files(snapshot: Pick<SnapshotRef, "base" | "commit">): Answer<readonly string[]>
  /** What these branches are at, local ones and remote ones. */
  tips(branches: readonly string[]): Answer<readonly (string | undefined)[]>
  /** Calls back when one of these branches may have moved. */
  watch(branches: readonly string[], changed: () => void): Answer<() => void>
  /** Brings the branch that the task will be merged into, into the task's own. Conflicts are an answer, not a failure. */
  update(meta: TaskMeta): Answer<Updated>
  /** What only its worktree, its branch and its snapshots hold, in words; empty: nothing. */
  loss(meta: TaskMeta): Answer<string>
  /** Removes worktree and branch; what is lost was named to the person. */
  remove(meta: TaskMeta): Answer<void>
  /** Lets git clean up what the task's snapshots alone hold. */
  forget(meta: TaskMeta): Answer<void>
  diff(snapshot: Pick<SnapshotRef, "base" | "commit">): Answer<ReviewDiff>
  readonly reading: Reading
  /** What git calls the person here; "you" where it has no name for them. */
  person(): Promise<string>
  cite(diff: ReviewDiff, locations: readonly (Location | undefined)[]): Answer<readonly Citation[]>
  /** Merges what `meta.merge` claims; `expected`: the target's commit that the person was shown. */
  merge(meta: TaskMeta, message: string, expected?: string): Answer<{ readonly commit: string }>
  /** The commit by which the claimed target has the claimed snapshot; puts back what a merge had borrowed. */
  findMerge(meta: TaskMeta): Answer<string | undefined>
}

/** `base`: what was brought in. Without a commit the task has all of it already; with conflicts nothing was touched. */
export type Updated = { readonly base: string; readonly commit?: string; readonly conflicts?: readonly string[] }

/** As many answers about commits, which never change, as a full board asks for again and again. */
const KEPT = 200

export function gitTrees(
  repository: Repository,
  store: Pick<Store, "paths" | "watch">,
  options: () => Pick<Options["worktree"], "branchPrefix" | "copy">,
): Trees {
  const forecasts = keep<Forecast>()
  const changes = keep<readonly string[]>()

  async function landing(meta: TaskMeta, snapshot: string, chosen?: string): Answer<Landing> {
    const local = chosen === undefined ? await localTarget(repository, meta.baseBranch) : ok(chosen)
    if (!local.ok) return local
    const into = local.value === undefined ? meta.baseBranch : `refs/heads/${local.value}`
    const tip = await lookUp(repository, [`${into}^{commit}`])
    if (!tip.ok) return tip
    const known = tip.value[0] === undefined ? undefined : forecasts.get(`${tip.value[0]} ${snapshot}`)
    const seen = known ? ok(known) : await forecast({ repo: repository, target: tip.value[0] ?? into, snapshot })
    if (!seen.ok) return seen
    const { target: at, ...found } = seen.value
    forecasts.set(`${at} ${snapshot}`, seen.value)
    return ok({ ...(local.value === undefined ? {} : { target: local.value }), tip: at, ...found })
  }

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
      const restored = await restoreWorktree({ repo: repository, path, branch, from, copy: options().copy })
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
    landing,
    async moved(target, expected, actual) {
      const { error } = await movedOn(repository, target, expected, actual)
      return error.text
    },
    async remote() {
      const listed = await repository.git.run(["remote"], { cwd: repository.commonDir })
      const names = listed.ok ? listed.value.stdout.split("\n").filter((name) => name !== "") : []
      return names.includes("origin") ? "origin" : names[0]
    },
    async branches() {
      const all = await repository.branches()
      if (!all.ok) return all
      const own = `${options().branchPrefix}/`
      return ok(all.value.flatMap(({ name, remote }) => (remote || name.startsWith(own) ? [] : [name])))
    },
    async files({ base, commit }) {
      const key = `${base} ${commit}`
      const known = changes.get(key)
      if (known) return ok(known)
      const changed = await changedFiles(repository, base, commit)
      return changed.ok
        ? ok(
            changes.set(
              key,
              changed.value.map(({ path }) => path),
            ),
          )
        : changed
    },
    tips: (branches) =>
      lookUp(
        repository,
        branches.flatMap((name) => [`refs/heads/${name}^{commit}`, `refs/remotes/${name}^{commit}`]),
      ),
    async watch(branches, changed) {
      const files = ["refs/heads", "refs/remotes"].flatMap((kind) =>
        branches.map((name) => join(repository.commonDir, kind, name)),
      )
      const stops: (() => void)[] = []
      for (const folder of new Set(await Promise.all(files.map(folderOf)))) {
        const watching = store.watch(folder, changed)
        if (!watching.ok) return watching
        stops.push(watching.value)
      }
      return ok(() => stops.forEach((stop) => stop()))
    },
    async update(meta) {
      const local = await localTarget(repository, meta.baseBranch)
      if (!local.ok) return local
      const base = local.value ?? meta.baseBranch
      const { worktree, branch } = meta
      const updated = await updateFromBase({ repo: repository, worktree, branch, base })
      if (updated.ok) return ok({ base, ...updated.value })
      if (updated.error.kind !== "conflicts") return updated
      return ok({ base, conflicts: updated.error.data.files })
    },
    loss({ worktree: path, taskNumber, merge }) {
      const merged = merge?.state === "merged" ? merge.snapshot : undefined
      return lossOf({
        repo: repository,
        path,
        deleteBranch: true,
        without: `refs/kagan/${taskNumber}/*`,
        ...(merged === undefined ? {} : { merged }),
      })
    },
    async remove({ worktree: path }) {
      const removed = await removeWorktree({ repo: repository, path, deleteBranch: true, discard: true })
      return removed.ok ? ok() : removed
    },
    forget: ({ taskNumber }) => dropSnapshots(repository, taskNumber),
    diff: (snapshot) => readDiff(repository, snapshot),
    reading: gitReading(repository),
    async person() {
      const name = await repository.git.run(["config", "user.name"], { cwd: repository.root })
      return (name.ok && displayable(name.value.bytes.toString()).trim()) || "you"
    },
    cite: (diff, locations) => verifyLocations(repository, diff.diff, locations),
    async merge(meta, message, expected) {
      const { snapshot, target, strategy } = meta.merge!
      return mergeSnapshot({
        repo: repository,
        target: target!,
        snapshot: snapshot!,
        strategy: strategy!,
        message,
        worktree: meta.worktree,
        branch: meta.branch,
        ...(expected === undefined ? {} : { expected }),
      })
    },
    async findMerge(meta) {
      const { target, snapshot } = meta.merge!
      const back = await returnBorrowed(repository, meta.worktree)
      return back.ok ? findMerge({ repo: repository, target: target!, snapshot: snapshot! }) : back
    },
  }
}

/** Where a file appears when it is written: its folder, or what is there of the way to it. */
async function folderOf(file: string): Promise<string> {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    const there = await stat(folder).catch(() => undefined)
    if (there?.isDirectory() || folder === dirname(folder)) return folder
  }
}

/** The last answers by their question; the oldest is forgotten. */
function keep<T>() {
  const answers = new Map<string, T>()
  return {
    get: (key: string) => answers.get(key),
    set(key: string, value: T): T {
      answers.set(key, value)
      if (answers.size > KEPT) answers.delete(answers.keys().next().value!)
      return value
    },
  }
}

/** What stands where the worktree belongs. Only what we made ourselves counts as the task's own. */
async function seen(
  repository: Repository,
  { worktree, branch }: Pick<TaskMeta, "worktree" | "branch">,
  again = false,
): Promise<WorktreeSeen> {
  const [state, record] = await Promise.all([
    worktreeState(repository, worktree, branch),
    readRecord(repository.commonDir, worktree),
  ])
  if (!state.ok) return { state: "unknown", problem: state.error.text }
  if (!record.ok) return { state: "unknown", problem: record.error.text }
  const { value } = state
  if (value.kind === "missing") {
    const renamed = await renamedTo(repository.commonDir, worktree)
    if (!renamed.ok || renamed.value === undefined) return { state: "missing" }
    return { state: "missing", renamed: renamed.value }
  }
  if (value.kind === "foreign" || record.value === undefined) return { state: "foreign" }
  switch (value.kind) {
    case "broken": {
      const mended = again ? ok(false) : await relink(repository, worktree)
      if (mended.ok && mended.value) return seen(repository, { worktree, branch }, true)
      return { state: "foreign", problem: `git has lost its folder: ${value.command}` }
    }
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
