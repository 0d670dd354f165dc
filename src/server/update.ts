import { conflictNote, updateNote } from "../core/prompts.ts"
import type { Done, RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { judgeUpdate } from "../core/rules.ts"
import { columnOf, workingSession, type Task } from "../core/task.ts"
import { keepCommands } from "../shared/task-commands.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import type { Desk, Handlers } from "./requests.ts"
import { storeSendBack } from "./send-back.ts"

/**
 * Brings the branch that a task will be merged into, into the task's own. What was reviewed is then another tree and is
 * reviewed again; a conflict touches nothing and goes back to the same agent as what it has to resolve.
 */
export async function updateTask(
  desk: Desk,
  task: Task,
  tell: Handlers["task.tell"],
  instead?: string,
): Promise<Result<Done, RequestFailure>> {
  const { project, supervisor } = desk
  const { sessionID, baseBranch } = task.meta
  const activity = supervisor.factsOf(sessionID)?.activity.kind
  const verdict = judgeUpdate(task.meta, { turnRunning: activity === "busy" || activity === "retry" })
  if (!verdict.ok) return refused(verdict.error)
  if (instead !== undefined) {
    const free = await mayReplace(project, baseBranch, instead)
    if (!free.ok) return free
  }
  const meta = { ...task.meta, baseBranch: instead ?? baseBranch }
  const updated = await supervisor.occupy(sessionID, "update", () => project.trees.update(meta))
  if (updated === false) return refused({ kind: "invalid", text: "something else of it still runs (X stops it)" })
  if (!updated.ok && updated.error.kind === "base_gone") return refused({ kind: "base_gone", base: meta.baseBranch })
  if (!updated.ok) return failed(updated.error.text)
  if (instead !== undefined) {
    const kept = await project.tasks.update(sessionID, (now) => ({ ...now, baseBranch: instead }))
    if (!kept.ok) return failed(kept.error.text)
    await project.remember(sessionID, { kind: "edit", text: `its base ${baseBranch} is gone: ${instead} from now on` })
  }
  const { base, commit, conflicts } = updated.value
  if (conflicts) return handBack(desk, task, tell, { base, files: conflicts })
  if (commit === undefined) {
    // What changed against the new base is another diff.
    const again = instead !== undefined && columnOf(task.meta) === "review" ? await reviewAgain(desk, task) : ok()
    return again.ok ? ok({ text: `it has all of ${base} already${instead ? ", which is its base now" : ""}` }) : again
  }
  await project.remember(sessionID, { kind: "merge", text: `brought ${base} in as ${commit.slice(0, 7)}`, commit })
  if (columnOf(task.meta) === "in_progress") {
    const told = project.tell(workingSession(task.meta), task.meta.worktree, {
      source: `base:${task.meta.taskNumber}`,
      kind: "base",
      text: updateNote(base),
    })
    const but = told.ok ? "" : `, but its agent was not told: ${told.error.text}`
    return ok({ text: `${base} is in its branch now${but}` })
  }
  const again = await reviewAgain(desk, task)
  return again.ok ? ok({ text: `${base} is in its branch now; it is reviewed again` }) : again
}

/** Only a base that is gone is replaced, and by a branch that is there and no task's own. */
async function mayReplace({ trees }: Project, gone: string, instead: string): Promise<Result<void, RequestFailure>> {
  const [tips, branches] = await Promise.all([trees.tips([gone, instead]), trees.branches()])
  if (!tips.ok) return failed(tips.error.text)
  if (!branches.ok) return failed(branches.error.text)
  const [local, remote, ...other] = tips.value
  if (local !== undefined || remote !== undefined)
    return refused({ kind: "invalid", text: `its base ${gone} is there: only one that is gone is replaced` })
  if (other[0] === undefined ? other[1] === undefined : !branches.value.includes(instead))
    return refused({ kind: "invalid", text: `there is no branch ${instead} to be its base` })
  return ok()
}

/** The review is of a tree that is no longer there: a new snapshot is taken and reviewed. */
export async function reviewAgain({ project, supervisor }: Desk, task: Task): Promise<Result<void, RequestFailure>> {
  const { sessionID, worktree } = task.meta
  const validator = task.meta.review?.validator
  const running = validator?.state === "running" ? validator.sessionID : undefined
  const updated = await project.tasks.update(sessionID, (meta) =>
    columnOf(meta) === "review" && meta.merge?.state !== "claimed"
      ? { ...meta, review: undefined, approval: undefined, merge: undefined }
      : undefined,
  )
  if (!updated.ok) return failed(updated.error.text)
  if (!updated.value.changed) return refused({ kind: "merging" })
  const kept = await keepCommands(project, sessionID, project.options())
  if (!kept.ok) return failed(kept.error.text)
  supervisor.interrupt(sessionID)
  if (running) await project.host.abort(running, worktree)
  return ok()
}

async function handBack(
  desk: Desk,
  task: Task,
  tell: Handlers["task.tell"],
  { base, files }: { readonly base: string; readonly files: readonly string[] },
): Promise<Result<Done, RequestFailure>> {
  const { project, supervisor } = desk
  const { sessionID } = task.meta
  const note = conflictNote(base, files)
  const what = `${base} conflicts in ${files.length} ${files.length === 1 ? "file" : "files"}`
  if (columnOf(task.meta) === "in_progress") {
    const told = await tell({ sessionID, text: note })
    return told.ok ? ok({ text: `${what}: its agent was told to resolve them` }) : told
  }
  const stored = await storeSendBack(project, task, { note })
  if (!stored.ok) return stored
  const moved = await supervisor.move(sessionID, "in_progress", { fresh: false, sent: true, note })
  if (!moved.ok) return moved
  if (moved.value.kind === "queued") return ok({ text: `${what}: it goes back to its agent, ${moved.value.text}` })
  // What is sent back is changed again: nothing that runs on it counts.
  supervisor.interrupt(sessionID)
  return ok({ text: `${what}: sent back to its agent` })
}
