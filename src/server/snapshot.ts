import { join } from "node:path"
import type { TaskFacts } from "../core/board.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf, type SnapshotRef, type Task, type TaskMeta } from "../core/task.ts"
import { changedSince, takeSnapshot, type TakeSnapshot } from "../shared/git/snapshot.ts"
import { forecast } from "../shared/git/merge.ts"
import type { Project } from "./project.ts"
import { diffOf } from "./review-diff.ts"

/** The private index that a task's snapshots are taken with, kept beside the task. */
export function indexFile(project: Project, meta: TaskMeta): string {
  return join(project.store.paths.session(meta.sessionID).dir, "index")
}

/** Everything that names a worktree's tree the same way each time. */
function request(project: Project, meta: TaskMeta): Omit<TakeSnapshot, "n" | "generation" | "message"> {
  return {
    repo: project.repository,
    worktree: meta.worktree,
    indexFile: indexFile(project, meta),
    base: meta.baseBranch,
  }
}

/** Takes the exact tree under review. What cannot be taken is said on the card and waits for the person. */
export async function snapshotTask(project: Project, task: Task): Promise<Result<void, { readonly text: string }>> {
  const { meta } = task
  const taken = await takeSnapshot({
    ...request(project, meta),
    n: meta.taskNumber,
    generation: meta.generation,
    message: `#${meta.taskNumber} ${task.title}`,
  })
  if (!taken.ok) return problem(project, task, taken.error.text)
  const diff = await diffOf(project, { base: taken.value.base, commit: taken.value.commit })
  if (!diff.ok) return problem(project, task, diff.error.text)
  const snapshot: SnapshotRef = {
    commit: taken.value.commit,
    tree: taken.value.tree,
    base: taken.value.base,
    generation: meta.generation,
    files: diff.value.files.length,
    insertions: diff.value.files.reduce((sum, file) => sum + file.insertions, 0),
    deletions: diff.value.files.reduce((sum, file) => sum + file.deletions, 0),
    at: project.clock.now(),
  }
  const updated = await project.tasks.update(meta.sessionID, (now) => {
    if (columnOf(now) !== "review" || now.generation !== meta.generation) return undefined
    return { ...now, review: { findings: 0, ruled: 0, fix: 0, snapshot }, approval: undefined }
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    const text = `snapshot ${snapshot.commit.slice(0, 7)}: ${snapshot.files} files, +${snapshot.insertions} −${snapshot.deletions}`
    await project.remember(meta.sessionID, { kind: "snapshot", text, commit: snapshot.commit, tree: snapshot.tree })
  }
  return ok()
}

/** What the worktree and the target say to the snapshot now. A question that git cannot answer is a problem on the card. */
export async function reviewFacts(
  project: Project,
  task: Task,
): Promise<Pick<TaskFacts, "changedSince" | "conflicts">> {
  const { meta } = task
  const snapshot = meta.review?.snapshot
  if (!snapshot) return {}
  const [changed, forecasted] = await Promise.all([
    changedInWorktree(project, meta),
    forecast({ repo: project.repository, target: meta.baseBranch, snapshot: snapshot.commit }),
  ])
  if (!changed.ok) project.host.log("warn", `#${meta.taskNumber}: ${changed.error.text}`)
  if (!forecasted.ok && forecasted.error.kind !== "base_gone") {
    project.host.log("warn", `#${meta.taskNumber}: ${forecasted.error.text}`)
  }
  return {
    ...(changed.ok && changed.value.length > 0 ? { changedSince: changed.value } : {}),
    ...(forecasted.ok ? { conflicts: forecasted.value.conflicts } : {}),
  }
}

/** Paths that differ between the worktree and the snapshot under review. */
export async function changedInWorktree(
  project: Project,
  meta: TaskMeta,
): Promise<Result<readonly string[], { readonly text: string }>> {
  const snapshot = meta.review?.snapshot
  if (!snapshot) return ok([])
  const changed = await changedSince({ ...request(project, meta), snapshot: snapshot.commit })
  return changed.ok ? ok(changed.value.map((file) => file.path)) : changed
}

async function problem(project: Project, task: Task, text: string): Promise<Result<void, { readonly text: string }>> {
  const noted = await project.tasks.update(task.meta.sessionID, (meta) => ({
    ...meta,
    review: { ...(meta.review ?? { findings: 0, ruled: 0, fix: 0 }), problem: text },
  }))
  project.push({ type: "notice", level: "error", text: `no snapshot: ${text}`, taskNumber: task.meta.taskNumber })
  await project.remember(task.meta.sessionID, { kind: "snapshot", text: `no snapshot: ${text}` })
  return noted.ok ? ok() : err({ text: noted.error.text })
}
