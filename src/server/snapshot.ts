import { plural, type TaskFacts } from "../core/board.ts"
import { err, ok, type Result } from "../core/result.ts"
import { refusalText } from "../core/rules.ts"
import { NO_REVIEW } from "../core/stage.ts"
import { columnOf, type SnapshotRef, type Task, type TaskMeta } from "../core/task.ts"
import type { Project } from "./project.ts"
import { metaOf } from "./queue.ts"

/** As many as are kept in the metadata. */
const NESTED = 5

/** Takes the exact tree under review. What cannot be taken is said on the card and waits for the person. */
export async function snapshotTask(project: Project, task: Task): Promise<Result<void, { readonly text: string }>> {
  const { meta } = task
  const taken = await project.trees.take(task)
  if (!taken.ok) return problem(project, task, taken.error)
  const diff = await project.trees.diff(taken.value)
  if (!diff.ok) return problem(project, task, diff.error)
  const { commit, tree, base, nested = [] } = taken.value
  const snapshot: SnapshotRef = {
    commit,
    tree,
    base,
    generation: meta.generation,
    files: diff.value.files.length,
    insertions: diff.value.files.reduce((sum, file) => sum + file.insertions, 0),
    deletions: diff.value.files.reduce((sum, file) => sum + file.deletions, 0),
    ...(nested.length > 0 ? { nested: nested.slice(0, NESTED).map((path) => path.slice(0, 300)) } : {}),
    at: project.clock.now(),
  }
  const updated = await project.tasks.update(meta.sessionID, (now) => {
    if (columnOf(now) !== "review" || now.generation !== meta.generation) return undefined
    // Another window was faster: what it took is under review.
    if (now.review?.snapshot?.generation === meta.generation) return undefined
    return { ...now, review: { findings: 0, ruled: 0, fix: 0, snapshot }, approval: undefined }
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    for (const line of await project.outside(meta)) {
      project.push({ type: "notice", level: "warning", text: line, taskNumber: meta.taskNumber })
      await project.remember(meta.sessionID, { kind: "snapshot", text: line })
    }
    if (nested.length > 0) {
      const text = `not in the snapshot, a repository of its own: ${nested.join(", ").slice(0, 500)}`
      project.push({ type: "notice", level: "warning", text, taskNumber: meta.taskNumber })
      await project.remember(meta.sessionID, { kind: "snapshot", text })
    }
    const text = `snapshot ${snapshot.commit.slice(0, 7)}: ${plural(snapshot.files, "file")}, +${snapshot.insertions} −${snapshot.deletions}`
    await project.remember(meta.sessionID, { kind: "snapshot", text, commit: snapshot.commit, tree: snapshot.tree })
  }
  return ok()
}

/** What the worktree and the target say to the snapshot now. A question that git cannot answer is logged. */
export async function reviewFacts(project: Project, task: Task): Promise<ReviewFacts> {
  const { meta } = task
  const snapshot = meta.review?.snapshot
  if (!snapshot) return {}
  const [changed, landing, outside, overlaps] = await Promise.all([
    project.trees.changed(meta),
    project.trees.landing(meta, snapshot.commit),
    project.outside(meta),
    overlapsOf(project, task, snapshot),
  ])
  if (!changed.ok) project.host.log("warn", `#${meta.taskNumber}: ${changed.error.text}`)
  if (!landing.ok && landing.error.kind !== "base_gone") {
    project.host.log("warn", `#${meta.taskNumber}: ${landing.error.text}`)
  }
  return {
    ...(changed.ok && changed.value.length > 0 ? { changedSince: changed.value } : {}),
    ...(landing.ok ? { conflicts: landing.value.conflicts, behind: landing.value.behind } : {}),
    ...(landing.ok && landing.value.target !== undefined ? { target: landing.value.target } : {}),
    ...(outside.length > 0 ? { outside } : {}),
    ...(overlaps.length > 0 ? { overlaps } : {}),
    ...(landing.ok && landing.value.contained ? { inBase: true } : {}),
  }
}

export type ReviewFacts = Pick<
  TaskFacts,
  "changedSince" | "conflicts" | "behind" | "target" | "inBase" | "outside" | "overlaps"
>

/** The other cards in Review whose snapshots change a file that this one changes too. */
async function overlapsOf(
  project: Project,
  { meta }: Task,
  snapshot: SnapshotRef,
): Promise<NonNullable<TaskFacts["overlaps"]>> {
  const own = await project.trees.files(snapshot)
  if (!own.ok || own.value.length === 0) return []
  const mine = new Set(own.value)
  const found: { taskNumber: number; files: number }[] = []
  for (const record of await project.tasks.records()) {
    const other = metaOf(record)
    const theirs = other?.review?.snapshot
    if (!other || !theirs || other.sessionID === meta.sessionID || !isOnReview(other)) continue
    const files = await project.trees.files(theirs)
    const same = files.ok ? files.value.filter((path) => mine.has(path)).length : 0
    if (same > 0) found.push({ taskNumber: other.taskNumber, files: same })
  }
  return found.toSorted((a, b) => a.taskNumber - b.taskNumber)
}

/** In Review and on the board. */
export function isOnReview(meta: TaskMeta): boolean {
  return columnOf(meta) === "review" && meta.trashedAt === undefined && meta.archivedAt === undefined
}

async function problem(
  project: Project,
  task: Task,
  { kind, text: said }: { readonly kind: string; readonly text: string },
): Promise<Result<void, { readonly text: string }>> {
  const text = kind === "base_gone" ? refusalText({ kind: "base_gone", base: task.meta.baseBranch }) : said
  const large = kind === "untracked_too_much" ? ({ large: "asked" } as const) : {}
  const noted = await project.tasks.update(task.meta.sessionID, (meta) => {
    if (columnOf(meta) !== "review" || meta.generation !== task.meta.generation) return undefined
    return { ...meta, review: { ...(meta.review ?? NO_REVIEW), problem: text, ...large } }
  })
  const level = "large" in large ? "warning" : "error"
  project.push({ type: "notice", level, text: `no snapshot: ${text}`, taskNumber: task.meta.taskNumber })
  await project.remember(task.meta.sessionID, { kind: "snapshot", text: `no snapshot: ${text}` })
  return noted.ok ? ok() : err({ text: noted.error.text })
}
