import type { Done, RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import type { Task } from "../core/task.ts"
import { failed, refused } from "./moves.ts"
import { stopAll } from "./requests/agent.ts"
import type { Desk } from "./requests.ts"

/**
 * Deletes a task in the trash for good. The order is: stop everything, remove the worktree and its branch, dispose of the
 * instance, drop the snapshots, delete the conversation, give up the record. Each step can be repeated, so a purge that
 * a crash cut off is finished by the next one. The number is never used again.
 */
export async function purgeTask(desk: Desk, task: Task, shown: string): Promise<Result<Done, RequestFailure>> {
  const { project, supervisor } = desk
  const { tasks, host, trees } = project
  const { meta } = task
  if (meta.trashedAt === undefined)
    return refused({ kind: "invalid", text: "only what is in the trash is deleted (d)" })
  if (meta.merge?.state === "claimed") return refused({ kind: "merging" })
  const stopped = await stopAll(desk, task)
  if (!stopped.ok) return stopped
  const losing = await trees.loss(meta)
  if (!losing.ok) return failed(losing.error.text)
  if (losing.value !== shown) {
    const now = losing.value === "" ? "nothing" : losing.value
    return refused({ kind: "invalid", text: `nothing was deleted: it would lose ${now} now, ask again` })
  }
  const removed = await trees.remove(meta)
  if (!removed.ok) return failed(removed.error.text)
  if (project.isServed(meta.worktree)) {
    const disposed = await host.disposeInstance(meta.worktree)
    if (!disposed.ok) host.log("warn", `the instance of ${meta.worktree} goes on: ${disposed.error.text}`)
  }
  const forgotten = await trees.forget(meta)
  if (!forgotten.ok) return failed(forgotten.error.text)
  for (const id of [meta.run?.workerID, meta.sessionID]) {
    const gone = id === undefined ? ok() : await host.deleteSession(id)
    if (!gone.ok) return failed(`its conversation could not be deleted: ${gone.error.text}`)
  }
  const given = await tasks.discard(meta.sessionID, project.clock.now())
  if (!given.ok) return failed(given.error.text)
  supervisor.forget(meta.sessionID)
  project.push({ type: "changed", sessionIDs: [meta.sessionID] })
  return ok({ text: `#${meta.taskNumber} is deleted: worktree, branch and conversation` })
}
