import { messageID, partID } from "../core/ids.ts"
import { readModel } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import type {
  HelperPointer,
  HelperRole,
  IntakeMeta,
  IntakePointer,
  ModelRef,
  Task,
  TaskMeta,
  ValidatorMeta,
} from "../core/task.ts"
import type { Project } from "./project.ts"
import { deniedReads, helperRules } from "./permissions.ts"
import { HELPER_AGENT } from "./config.ts"

/*
 * The life of a helper, the same for both roles:
 *
 *   spawn: claim in the task (under the lock) ─► child session ─► pointer "running" ─► prompt, once
 *   collect: its report, stored in its own metadata, is counted into the pointer
 *
 * A claim of a dead process is taken over with the child that it may have left: it is found by its parent and role.
 */

export type HelperFailure = { readonly text: string }

/** What differs between the two roles. */
export type HelperSpec = {
  readonly role: HelperRole
  title(task: Task): string
  meta(task: Task): Omit<IntakeMeta, "sessionID"> | Omit<ValidatorMeta, "sessionID">
  models(): readonly string[]
  agent(): string | undefined
  /** The whole prompt; may fail where its material cannot be read. */
  prompt(task: Task): Promise<Result<string, HelperFailure>>
}

export function pointerOf(meta: TaskMeta, role: HelperRole): HelperPointer | undefined {
  return role === "intake" ? meta.intake : meta.review?.validator
}

/** The task with another pointer for this role. */
export function withPointer(meta: TaskMeta, role: HelperRole, pointer: HelperPointer): TaskMeta {
  if (role === "intake") {
    const intake: IntakePointer = {
      required: meta.intake?.required ?? 0,
      answered: meta.intake?.answered ?? 0,
      ...pointer,
    }
    return { ...meta, intake }
  }
  return { ...meta, review: { ...(meta.review ?? { findings: 0, ruled: 0, fix: 0 }), validator: pointer } }
}

/** Claims, makes the child and asks it. Somebody else's claim or running helper is left alone. */
export async function spawnHelper(
  project: Project,
  spec: HelperSpec,
  task: Task,
  attempt: number,
): Promise<Result<void, HelperFailure>> {
  const { tasks, clock } = project
  const { role } = spec
  const sessionID = task.meta.sessionID
  const before = pointerOf(task.meta, role)
  const claimed = await tasks.update(sessionID, (meta) => {
    const now = pointerOf(meta, role)
    const changed =
      now?.state !== before?.state || now?.attempt !== before?.attempt || now?.sessionID !== before?.sessionID
    if (changed || meta.generation !== task.meta.generation) return undefined
    return withPointer(meta, role, {
      state: "claimed",
      generation: meta.generation,
      attempt,
      claim: { ...tasks.self, at: clock.now() },
      at: clock.now(),
    })
  })
  if (!claimed.ok) return claimed
  if (!claimed.value.changed) return ok()

  const left = before?.state === "claimed" ? await findChild(project, sessionID, spec, task.meta.generation) : undefined
  const ensured = await project.ensureInstance(task.meta.worktree)
  if (!ensured.ok) return ensured
  const child = left ?? (await makeChild(project, spec, task, attempt))
  if (typeof child !== "string") return child
  const running = await tasks.update(sessionID, (meta) => {
    const now = pointerOf(meta, role)
    if (now?.state !== "claimed" || now.attempt !== attempt) return undefined
    return withPointer(meta, role, {
      state: "running",
      sessionID: child,
      generation: meta.generation,
      attempt,
      at: clock.now(),
    })
  })
  if (!running.ok) return running
  await project.remember(sessionID, {
    kind: "helper",
    text: `${role} started${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
    helper: child,
  })
  return promptHelper(project, spec, running.value.task)
}

/** Asks the running helper. Its message id follows from the pointer, so that asking twice asks once. */
export async function promptHelper(
  project: Project,
  spec: HelperSpec,
  task: Task,
): Promise<Result<void, HelperFailure>> {
  const pointer = pointerOf(task.meta, spec.role)
  if (pointer?.state !== "running" || !pointer.sessionID) return ok()
  const prompt = await spec.prompt(task)
  if (!prompt.ok) return prompt
  const models = spec.models()
  const chosen = models.length > 0 ? readModel(models[(pointer.attempt - 1) % models.length]!) : undefined
  const seed = `${spec.role}:${pointer.sessionID}`
  const sent = await project.wake({
    sessionID: pointer.sessionID,
    directory: task.meta.worktree,
    source: `${spec.role}:${task.meta.sessionID}`,
    intent: { id: seed, messageID: messageID(pointer.at, seed), partID: partID(pointer.at, seed) },
    text: prompt.value,
    contexts: [],
    agent: spec.agent() ?? HELPER_AGENT,
    ...modelOf(chosen ?? task.meta.model),
  })
  return sent.kind === "refused" ? err({ text: sent.text }) : ok()
}

/** The helper is at its end without a report: its pointer says why. It never opens a gate by that. */
export async function failHelper(
  project: Project,
  role: HelperRole,
  task: Task,
  reason: string,
): Promise<Result<void, HelperFailure>> {
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    const pointer = pointerOf(meta, role)
    if (!pointer || pointer.sessionID !== pointerOf(task.meta, role)?.sessionID || pointer.state === "done")
      return undefined
    return withPointer(meta, role, { ...pointer, state: "failed", reason, claim: undefined, at: project.clock.now() })
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    await project.remember(task.meta.sessionID, { kind: "helper", text: `${role} failed: ${reason}` })
    project.push({
      type: "notice",
      level: "error",
      text: `${role} failed: ${reason}`,
      taskNumber: task.meta.taskNumber,
    })
  }
  return ok()
}

async function makeChild(
  project: Project,
  spec: HelperSpec,
  task: Task,
  attempt: number,
): Promise<string | { readonly ok: false; readonly error: HelperFailure }> {
  const config = await project.host.config(task.meta.worktree)
  if (!config.ok) return err({ text: config.error.text })
  const made = await project.tasks.createChild(
    {
      directory: task.meta.worktree,
      parentID: task.meta.sessionID,
      title: attempt > 1 ? `${spec.title(task)} (${attempt})` : spec.title(task),
      permission: helperRules(spec.role, deniedReads(config.value.permission)),
    },
    spec.meta(task),
  )
  return made.ok ? made.value.id : made
}

/** A child that a dead process made for this role and generation and never wrote down. */
async function findChild(
  project: Project,
  parentID: string,
  spec: HelperSpec,
  generation: number,
): Promise<string | undefined> {
  const children = await project.host.children(parentID)
  if (!children.ok) return undefined
  return children.value.find((child) => {
    const kagan = child.metadata?.kagan as { role?: unknown; generation?: unknown } | undefined
    return kagan?.role === spec.role && kagan.generation === generation
  })?.id
}

export function modelOf(model: ModelRef | undefined): { readonly model?: ModelRef } {
  return model ? { model } : {}
}
