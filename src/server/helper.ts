import type { Activity } from "../core/board.ts"
import type { Died } from "../core/decide.ts"
import { messageID, partID } from "../core/ids.ts"
import { readModel } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { NO_REVIEW } from "../core/stage.ts"
import {
  columnOf,
  type HelperPointer,
  type HelperRole,
  type IntakeMeta,
  type IntakePointer,
  type ModelRef,
  type Task,
  type TaskMeta,
  type ValidatorMeta,
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
 * A claim of a dead process is taken over with the child that it may have left: it is found by its parent and its try.
 */

export type HelperFailure = { readonly text: string }

const GO_ON = "OpenCode was ended while you were at it. Please go on where you were, and report through your tool."

/** What differs between the two roles. */
export type HelperSpec = {
  readonly role: HelperRole
  title(task: Task): string
  meta(task: Task): Omit<IntakeMeta, "sessionID"> | Omit<ValidatorMeta, "sessionID">
  /** Those to try, in turn with each attempt; none: the task's own. */
  models(task: Task): Promise<readonly string[]>
  agent(): string | undefined
  /** The whole prompt; may fail where its material cannot be read. */
  prompt(task: Task): Promise<Result<string, HelperFailure>>
}

/** Where the words stand that the person gave along when they asked a helper again. */
export function remarkPath(project: Project, { meta }: Task, role: HelperRole): string {
  return `${project.store.paths.session(meta.sessionID).dir}/remark-${role}-${meta.generation}.md`
}

/** Those words, for the helper's prompt; none where there are none. */
export async function remarkOf(project: Project, task: Task, role: HelperRole): Promise<string | undefined> {
  const read = await project.store.readText(remarkPath(project, task, role))
  return read.ok && read.value.trim() !== "" ? read.value.trim() : undefined
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
  return { ...meta, review: { ...(meta.review ?? NO_REVIEW), validator: pointer } }
}

/**
 * The helpers of a card that is put away, as they are when it comes back: one that was under way is owed again, one that
 * has reported and was not counted yet stays to be counted.
 */
export async function putHelpersAway(project: Project, task: Task): Promise<(meta: TaskMeta) => TaskMeta> {
  const kept = new Set<string | undefined>()
  for (const role of ["intake", "validator"] as const) {
    const child = pointerOf(task.meta, role)?.sessionID
    if (child && (await hasReport(project, child, role))) kept.add(child)
  }
  const isOwed = (pointer: HelperPointer | undefined) =>
    pointer?.state === "claimed" || (pointer?.state === "running" && !kept.has(pointer.sessionID))
  return (meta) => ({
    ...meta,
    ...(isOwed(meta.intake) ? { intake: undefined } : {}),
    ...(meta.review && isOwed(meta.review.validator) ? { review: { ...meta.review, validator: undefined } } : {}),
  })
}

async function hasReport(project: Project, child: string, role: HelperRole): Promise<boolean> {
  if (role === "intake") {
    const intake = await project.tasks.readHelper<IntakeMeta>(child, role)
    return intake.ok && intake.value.assessment !== undefined
  }
  const validator = await project.tasks.readHelper<ValidatorMeta>(child, role)
  return validator.ok && validator.value.findings !== undefined
}

/**
 * Claims, makes the child and asks it. Somebody else's claim or running helper is left alone. A claim that is taken over
 * keeps its time, which names the child that the dead process may have made.
 */
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
  const takesOver = before?.state === "claimed" && before.attempt === attempt
  const at = takesOver ? before.at : clock.now()
  const claim = { ...tasks.self, at: clock.now() }
  const claimed = await tasks.update(sessionID, (meta) => {
    const now = pointerOf(meta, role)
    if (!isSame(now, before) || !isAbout(meta, task.meta)) return undefined
    return withPointer(meta, role, { state: "claimed", generation: meta.generation, attempt, claim, at })
  })
  if (!claimed.ok) return claimed
  if (!claimed.value.changed) return ok()

  const ensured = await project.ensureInstance(task.meta.worktree)
  if (!ensured.ok) return ensured
  const found = takesOver ? await findChild(project, sessionID, spec, { attempt, claimedAt: at }) : ok(undefined)
  if (!found.ok) return found
  const child = found.value ?? (await makeChild(project, spec, task, { attempt, claimedAt: at }))
  if (typeof child !== "string") return child
  const running = await tasks.update(sessionID, (meta) => {
    const now = pointerOf(meta, role)
    if (now?.state !== "claimed" || now.attempt !== attempt || now.at !== at) return undefined
    if (now.claim?.pid !== claim.pid || now.claim.start !== claim.start || now.claim.at !== claim.at) return undefined
    const { generation } = meta
    return withPointer(meta, role, { state: "running", sessionID: child, generation, attempt, at: clock.now() })
  })
  if (!running.ok) return running
  if (!running.value.changed) return ok()
  await project.remember(sessionID, {
    kind: "helper",
    text: `${role === "validator" ? "reviewer" : role} started${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
    helper: child,
  })
  return promptHelper(project, spec, running.value.task)
}

/** Whether the task still stands as it did when this helper was decided on: a review that begins anew has no snapshot yet. */
function isAbout(now: TaskMeta, then: TaskMeta): boolean {
  return (
    now.generation === then.generation &&
    columnOf(now) === columnOf(then) &&
    now.review?.snapshot?.commit === then.review?.snapshot?.commit
  )
}

function isSame(one: HelperPointer | undefined, other: HelperPointer | undefined): boolean {
  return (
    one?.state === other?.state &&
    one?.attempt === other?.attempt &&
    one?.sessionID === other?.sessionID &&
    one?.at === other?.at &&
    one?.claim?.at === other?.claim?.at &&
    one?.claim?.pid === other?.claim?.pid
  )
}

/**
 * Asks the running helper. Its message id follows from the pointer, so that asking twice asks once; where a turn of it
 * died with its process, from the message at which that was.
 */
export async function promptHelper(
  project: Project,
  spec: HelperSpec,
  task: Task,
  died?: Died,
): Promise<Result<void, HelperFailure>> {
  const pointer = pointerOf(task.meta, spec.role)
  if (pointer?.state !== "running" || !pointer.sessionID) return ok()
  const first = `${spec.role}:${pointer.sessionID}`
  // A prompt that was stored and never answered is the same prompt still.
  const again = died && died.messageID !== messageID(pointer.at, first) ? died : undefined
  const prompt = again ? ok(GO_ON) : await spec.prompt(task)
  if (!prompt.ok) return prompt
  const models = await spec.models(task)
  const chosen = models.length > 0 ? readModel(models[(pointer.attempt - 1) % models.length]!) : undefined
  const seed = again ? `${first}:${again.messageID}` : first
  const at = again ? again.at + 1 : pointer.at
  const sent = await project.wake({
    sessionID: pointer.sessionID,
    directory: task.meta.worktree,
    source: `${spec.role}:${task.meta.sessionID}`,
    intent: { id: seed, messageID: messageID(at, seed), partID: partID(at, seed) },
    text: prompt.value,
    contexts: [],
    agent: spec.agent() ?? HELPER_AGENT,
    ...modelOf(chosen ?? task.meta.model),
  })
  if (sent.kind === "refused") return err({ text: sent.text })
  if (sent.kind === "held") return ok()
  const counted = await project.tasks.update(task.meta.sessionID, (meta) => {
    const now = pointerOf(meta, spec.role)
    if (now?.state !== "running" || now.sessionID !== pointer.sessionID) return undefined
    const asked = { count: (now.asked?.count ?? 0) + 1, at: project.clock.now() }
    return withPointer(meta, spec.role, { ...now, asked })
  })
  return counted.ok ? ok() : counted
}

/**
 * The helper is at its end without a report: its pointer says why. It never opens a gate by that. One that is still
 * `doing` something is stopped.
 */
export async function failHelper(
  project: Project,
  role: HelperRole,
  task: Task,
  reason: string,
  doing?: Activity,
): Promise<Result<void, HelperFailure>> {
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    const pointer = pointerOf(meta, role)
    if (pointer?.state !== "running" || pointer.sessionID !== pointerOf(task.meta, role)?.sessionID) return undefined
    return withPointer(meta, role, { ...pointer, state: "failed", reason, claim: undefined, at: project.clock.now() })
  })
  if (!updated.ok) return updated
  const child = pointerOf(task.meta, role)?.sessionID
  if (child && (doing?.kind === "busy" || doing?.kind === "retry")) {
    const stopped = await project.host.abort(child, task.meta.worktree)
    if (!stopped.ok) return err({ text: `the ${role} could not be stopped: ${stopped.error.text}` })
  }
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

/** Why this session may not report for its task now, in words for a model; undefined: it is the one that is waited for. */
export function notAwaited(task: Task, role: HelperRole, sessionID: string): string | undefined {
  const pointer = pointerOf(task.meta, role)
  const what = role === "intake" ? "intake" : "review"
  if (task.meta.trashedAt) return `its task was thrown away: this ${what} is over, end your turn`
  if (pointer?.sessionID !== sessionID) return `another ${what} has taken its place: this one is over, end your turn`
  if (pointer.state === "done") return "it was already reported; there is nothing more to do, end your turn"
  return pointer.state === "running" ? undefined : `nobody waits for this ${what} any more: end your turn`
}

/** One try of a helper: what the claim says, and the child repeats. */
type Try = { readonly attempt: number; readonly claimedAt: number }

async function makeChild(
  project: Project,
  spec: HelperSpec,
  task: Task,
  of: Try,
): Promise<string | { readonly ok: false; readonly error: HelperFailure }> {
  const config = await project.host.config(task.meta.worktree)
  if (!config.ok) return err({ text: config.error.text })
  const made = await project.tasks.createChild(
    {
      directory: task.meta.worktree,
      parentID: task.meta.sessionID,
      title: of.attempt > 1 ? `${spec.title(task)} (${of.attempt})` : spec.title(task),
      permission: helperRules(spec.role, deniedReads(config.value.permission)),
    },
    { ...spec.meta(task), ...of },
  )
  return made.ok ? made.value.id : made
}

/** The child that a dead process made for this very try and never wrote down. */
async function findChild(
  project: Project,
  parentID: string,
  spec: HelperSpec,
  of: Try,
): Promise<Result<string | undefined, HelperFailure>> {
  const children = await project.host.children(parentID)
  if (!children.ok) return err({ text: children.error.text })
  const found = children.value.find((child) => {
    const kagan = child.metadata?.kagan as { role?: unknown; attempt?: unknown; claimedAt?: unknown } | undefined
    return kagan?.role === spec.role && kagan.attempt === of.attempt && kagan.claimedAt === of.claimedAt
  })
  if (!found) return ok(undefined)
  const adopted = await project.tasks.adoptChild(found.id)
  return adopted.ok ? ok(found.id) : adopted
}

export function modelOf(model: ModelRef | undefined): { readonly model?: ModelRef } {
  return model ? { model } : {}
}
