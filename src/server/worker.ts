import { err, ok, type Result } from "../core/result.ts"
import { METADATA_VERSION, type Task, type TaskMeta, type WorkerMeta } from "../core/task.ts"
import type { PermissionRuleset } from "../shared/host.ts"
import type { Project } from "./project.ts"

/**
 * The worker of a generation: a root session in the task's worktree, so that the person can talk to it, that carries on
 * in fresh context. Claimed before it is made; one that a dead process left is found by its generation.
 */
export async function makeWorker(
  project: Project,
  task: Task,
  permission: PermissionRuleset,
): Promise<Result<void, { readonly text: string }>> {
  const { tasks, clock } = project
  const { sessionID, generation, worktree } = task.meta
  const before = task.meta.run?.claim
  const claim = { ...tasks.self, at: clock.now() }
  const wanted = (meta: TaskMeta) => meta.generation === generation && meta.run?.fresh && !meta.run.workerID
  const claimed = await tasks.update(sessionID, (meta) =>
    wanted(meta) && meta.run?.claim?.at === before?.at && meta.run?.claim?.pid === before?.pid
      ? { ...meta, run: { ...meta.run, claim } }
      : undefined,
  )
  if (!claimed.ok) return claimed
  if (!claimed.value.changed) return ok()
  const ensured = await project.ensureInstance(worktree)
  if (!ensured.ok) return ensured
  const found = before ? await leftWorker(project, task.meta) : ok(undefined)
  if (!found.ok) return found
  const made = found.value ? ok({ id: found.value }) : await create(project, task, permission)
  if (!made.ok) return made
  const { id } = made.value
  const stored = await tasks.update(sessionID, (meta) =>
    wanted(meta) && meta.run?.claim?.pid === claim.pid && meta.run.claim.at === claim.at
      ? { ...meta, run: { ...meta.run, claim: undefined, workerID: id } }
      : undefined,
  )
  if (!stored.ok) return stored
  if (stored.value.changed)
    await project.remember(sessionID, { kind: "edit", text: `a fresh session takes over`, worker: id })
  return ok()
}

async function create(project: Project, { title, meta }: Task, permission: PermissionRuleset) {
  const worker: Omit<WorkerMeta, "sessionID"> = {
    v: METADATA_VERSION,
    role: "worker",
    repo: project.repo,
    workerParent: meta.sessionID,
    generation: meta.generation,
  }
  return project.tasks.createChild(
    {
      directory: meta.worktree,
      title: `${title} (${meta.generation})`,
      permission,
      ...(meta.agent ? { agent: meta.agent } : {}),
      ...(meta.model ? { model: meta.model } : {}),
    },
    worker,
  )
}

async function leftWorker(
  project: Project,
  meta: TaskMeta,
): Promise<Result<string | undefined, { readonly text: string }>> {
  const sessions = await project.host.sessions(meta.worktree)
  if (!sessions.ok) return err({ text: sessions.error.text })
  const found = sessions.value.find((session) => {
    const kagan = session.metadata?.kagan as Partial<WorkerMeta> | undefined
    return (
      !session.parentID &&
      session.directory === meta.worktree &&
      kagan?.role === "worker" &&
      (kagan.sessionID === undefined || kagan.sessionID === session.id) &&
      kagan.workerParent === meta.sessionID &&
      kagan.generation === meta.generation
    )
  })
  if (!found) return ok(undefined)
  const adopted = await project.tasks.adoptChild(found.id)
  return adopted.ok ? ok(found.id) : adopted
}
