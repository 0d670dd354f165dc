import { draftTitle, type Draft, type NewTask, type Plan } from "../core/draft.ts"
import type { Options } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { isReason, refusalText } from "../core/rules.ts"
import { METADATA_VERSION, type Task, type TaskMeta } from "../core/task.ts"
import type { Clock } from "./clock.ts"
import { claimDraft, draftOf, dropDraft, keepDraft, listDrafts, type CreateFailure } from "./drafts.ts"
import type { Repository } from "./git/repository.ts"
import { createWorktree } from "./git/worktree.ts"
import { removeWorktree } from "./git/worktree-remove.ts"
import type { Host, PermissionRuleset } from "./host.ts"
import { madeBefore, type MadeBefore } from "./made-before.ts"
import { about, planTasks, titleOf } from "./plan-tasks.ts"
import type { Store } from "./store.ts"
import { keepCommands } from "./task-commands.ts"
import type { Tasks } from "./tasks.ts"

/*
 * Draft → worktrees → sessions, all or none.
 *
 *   draft on disk ─ numbers, branches, folders chosen and written down ─ per task: git worktree add, instance up
 *   ─ per task: a session, which is no task yet ─ per task: its metadata, and it is one ─ draft gone
 *
 * The same call with the same draft goes on where a crash left it. A failure undoes sessions, branches and folders of
 * all its tasks and keeps the draft with the reason; nothing that was asked for is lost.
 */

export type CreateParts = {
  readonly repository: Repository
  readonly host: Host
  readonly store: Store
  readonly tasks: Tasks
  readonly clock: Clock
  readonly repo: string
  options(): Options
  ensureInstance(directory: string): Promise<Result<void, { readonly text: string }>>
  permission(): PermissionRuleset
}

export type MadeTasks = {
  readonly tasks: readonly Task[]
  /** Somebody else asked for them before, under the same id, and sees to what comes next. */
  readonly already: boolean
}

type Created = Result<MadeTasks, CreateFailure>

/** What this process is making, so that the same draft asked for twice is made once. */
const making = new WeakMap<Tasks, Map<string, Promise<Created>>>()

/**
 * Makes all tasks of a draft, in its order, or says why not and which one it is about, leaves nothing of any of them,
 * and keeps the draft with that reason. Numbers that were given are not given again. What was made of the same draft
 * before is found and not made again, also by another process.
 */
export function createTasks(parts: CreateParts, typed: Draft): Promise<Created> {
  const mine = making.get(parts.tasks) ?? new Map<string, Promise<Created>>()
  making.set(parts.tasks, mine)
  const running = mine.get(typed.id)
  if (running) return running.then((made) => (made.ok ? ok({ ...made.value, already: true }) : made))
  const promise = claimAndMake(parts, typed).finally(() => mine.delete(typed.id))
  mine.set(typed.id, promise)
  return promise
}

const finishing = new WeakMap<Tasks, Promise<void>>()

/** Goes on with what a process that is gone left half made; asked for while it is at it, nothing is done twice. */
export function finishDrafts(parts: CreateParts, made: (draft: Draft, tasks: readonly Task[]) => void): Promise<void> {
  const running = finishing.get(parts.tasks)
  if (running) return running
  const promise = finishAll(parts, made).finally(() => finishing.delete(parts.tasks))
  finishing.set(parts.tasks, promise)
  return promise
}

async function finishAll(parts: CreateParts, made: (draft: Draft, tasks: readonly Task[]) => void): Promise<void> {
  const { pid, start } = parts.tasks.self
  for (const draft of await listDrafts(parts)) {
    if (draft.problem !== undefined || !draft.claim || making.get(parts.tasks)?.has(draft.id)) continue
    const mine = draft.claim.pid === pid && draft.claim.start === start
    if (!mine && parts.store.alive(draft.claim) !== false) continue
    // Somebody else may have been at it since the list was read.
    if ((await draftOf(parts, draft.id)) === undefined) continue
    const finished = await createTasks(parts, draft)
    if (finished.ok) made(draft, finished.value.tasks)
    else parts.host.log("warn", `the draft "${draftTitle(draft)}" is not made: ${finished.error.text}`)
  }
}

type Planned = {
  readonly before?: MadeBefore
  readonly claimed: Draft
  readonly plans: Result<readonly Plan[], CreateFailure>
  /** An earlier try may have come some way. */
  readonly resumed: boolean
}

const turns = new WeakMap<Tasks, Promise<unknown>>()

/** Numbers are given in the order of asking: one draft is claimed and planned before the next one's turn comes. */
function inTurn<T>(tasks: Tasks, work: () => Promise<T>): Promise<T> {
  const mine = (turns.get(tasks) ?? Promise.resolve()).then(work)
  turns.set(
    tasks,
    mine.catch(() => undefined),
  )
  return mine
}

async function claimAndPlan(parts: CreateParts, typed: Draft): Promise<Result<Planned, CreateFailure>> {
  const before = (await draftOf(parts, typed.id)) === undefined ? await madeBefore(parts, typed) : undefined
  if (before) return ok({ claimed: typed, plans: ok([]), resumed: false, before })
  const held = await claimDraft(parts, typed)
  if (!held.ok) return held
  const claimed = held.value
  const resumed = claimed.made !== undefined
  return ok({ claimed, plans: claimed.made ? ok(claimed.made) : await planTasks(parts, claimed.tasks), resumed })
}

async function claimAndMake(parts: CreateParts, typed: Draft): Promise<Created> {
  const held = await inTurn(parts.tasks, () => claimAndPlan(parts, typed))
  if (!held.ok) return held
  const { claimed, plans, resumed, before } = held.value
  if (before?.same) return ok({ tasks: before.tasks, already: true })
  if (before) {
    const { taskNumber } = before.tasks[0]!.meta
    return err({ kind: "made_already", taskNumber, text: refusalText({ kind: "made_already", taskNumber }) })
  }
  const made = plans.ok ? await make(parts, claimed, plans.value, resumed) : plans
  if (made.ok) {
    const dropped = await dropDraft(parts, typed.id)
    if (!dropped.ok)
      parts.host.log("warn", `the draft of #${plans.ok && plans.value[0]?.taskNumber} stays: ${dropped.error.text}`)
    return ok({ tasks: made.value, already: false })
  }
  const noted = await keepDraft(parts, { ...claimed, made: undefined, claim: undefined, problem: made.error.text })
  if (!noted.ok) parts.host.log("error", noted.error.text)
  return made
}

/** What stands of one task so far, for the way back. */
type Standing = {
  readonly plan: Plan
  readonly task: NewTask
  readonly draftID: string
  readonly resumed: boolean
  /** It goes without intake from the first moment, so that no look begins one meanwhile. */
  readonly waiver?: string
  booted?: boolean
  sessionID?: string
}

async function make(
  parts: CreateParts,
  draft: Draft,
  plans: readonly Plan[],
  resumed: boolean,
): Promise<Result<readonly Task[], CreateFailure>> {
  const written = await keepDraft(parts, { ...draft, made: plans })
  if (!written.ok) return written
  const waiver = draft.start && isReason(draft.start.waiver) ? draft.start.waiver.trim() : undefined
  const all = draft.tasks.map((task, index): Standing => ({
    plan: plans[index]!,
    task,
    draftID: draft.id,
    resumed,
    ...(waiver === undefined ? {} : { waiver }),
  }))
  const numbers = plans.map(({ taskNumber }) => taskNumber)
  const made: Task[] = []
  for (const step of [putWorktree, putSession]) {
    for (const [index, standing] of all.entries()) {
      const done = await step(parts, standing, numbers)
      if (!done.ok) return undoAll(parts, all, index, done.error)
    }
  }
  for (const [index, standing] of all.entries()) {
    const adopted = await parts.tasks.adoptTask(standing.sessionID!, metaOf(parts, standing, numbers))
    if (!adopted.ok) return undoAll(parts, all, index, adopted.error)
    made.push(adopted.value)
  }
  return ok(made)
}

type Step = Promise<Result<void, { readonly text: string }>>

async function putWorktree(parts: CreateParts, standing: Standing): Step {
  const { branch, worktree, baseCommit } = standing.plan
  const created = await createWorktree({
    repo: parts.repository,
    branch,
    base: baseCommit,
    path: worktree,
    copy: parts.options().worktree.copy,
  })
  if (!created.ok) return created
  standing.booted = true
  return parts.ensureInstance(worktree)
}

/** A session of the task that is not on any board yet, and its description. */
async function putSession(parts: CreateParts, standing: Standing, numbers: readonly number[]): Step {
  const { store, tasks } = parts
  const { plan, task } = standing
  const meta = metaOf(parts, standing, numbers)
  const left = await leftSession(parts, standing)
  if (!left.ok) return left
  const { agent, model } = task
  const prepared = left.value
    ? ok(left.value)
    : await tasks.prepareTask(
        {
          directory: plan.worktree,
          title: titleOf(task),
          permission: parts.permission(),
          ...(agent ? { agent } : {}),
          ...(model ? { model } : {}),
        },
        meta,
      )
  if (!prepared.ok) return prepared
  standing.sessionID = prepared.value
  const kept = await keepCommands(parts, prepared.value, parts.options())
  if (!kept.ok) return kept
  if (!meta.descriptionFile) return ok()
  return store.writeText(store.paths.session(prepared.value).description, task.description)
}

function metaOf(
  parts: CreateParts,
  { plan, task, waiver, draftID }: Standing,
  numbers: readonly number[],
): Omit<TaskMeta, "sessionID"> {
  const at = parts.clock.now()
  const { taskNumber, branch, worktree, baseBranch, baseCommit } = plan
  const dependsOn = new Set([...(task.dependsOn ?? []), ...(task.after ?? []).map((index) => numbers[index]!)])
  return {
    v: METADATA_VERSION,
    boardTask: true,
    repo: parts.repo,
    taskNumber,
    status: "backlog",
    order: taskNumber,
    ...descriptionOf(task),
    baseBranch,
    baseCommit,
    branch,
    worktree,
    ...(task.model ? { model: task.model } : {}),
    ...(task.agent ? { agent: task.agent } : {}),
    ...(task.scope?.trim() ? { scope: task.scope.trim().slice(0, 500) } : {}),
    ...(dependsOn.size > 0 ? { dependsOn: [...dependsOn] } : {}),
    draft: draftID,
    generation: 1,
    // Running from the first moment, so that nothing is started before the first look has begun it.
    setup: { state: parts.options().worktree.setup.length === 0 ? "skipped" : "running", at },
    ...(waiver === undefined
      ? {}
      : {
          intake: { state: "waived" as const, generation: 1, attempt: 0, required: 0, answered: 0, reason: waiver, at },
        }),
  }
}

/** A longer description is a file: the task's events repeat its metadata each time. */
function descriptionOf({ description }: NewTask): Pick<TaskMeta, "description" | "descriptionFile"> {
  const text = description.trim()
  if (text === "") return {}
  return text.length <= 1_000 ? { description: text } : { description: text.slice(0, 300), descriptionFile: true }
}

/** A session that an earlier try made for this number in this folder. */
async function leftSession(
  { host, repo }: CreateParts,
  { plan, resumed }: Standing,
): Promise<Result<string | undefined, { readonly text: string }>> {
  if (!resumed) return ok(undefined)
  const { worktree, taskNumber } = plan
  const sessions = await host.sessions(worktree)
  if (!sessions.ok) return sessions
  const left = sessions.value.find((session) => {
    const kagan = session.metadata?.kagan as { taskNumber?: unknown; repo?: unknown } | undefined
    const here = session.directory === worktree && !session.parentID
    return here && kagan?.taskNumber === taskNumber && kagan.repo === repo
  })
  return ok(left?.id)
}

/** Takes everything back, the last first; what could not be taken back is named with the reason. */
async function undoAll(
  parts: CreateParts,
  all: readonly Standing[],
  failed: number,
  reason: { readonly text: string },
): Promise<Result<never, CreateFailure>> {
  const left: string[] = []
  for (const standing of all.toReversed()) left.push(...(await undo(parts, standing)))
  const wanted = all.map(({ task }) => task)
  const rest = left.length > 0 ? ` (and ${left.join("; ")})` : ""
  return err({ kind: "failed", text: `${about(wanted, wanted[failed]!, reason.text)}${rest}` })
}

async function undo(parts: CreateParts, standing: Standing): Promise<string[]> {
  const { host, store, repository } = parts
  const { worktree, taskNumber } = standing.plan
  const problems: string[] = []
  const found = standing.sessionID ? ok(standing.sessionID) : await leftSession(parts, standing)
  if (!found.ok) problems.push(`what an earlier try left could not be looked for: ${found.error.text}`)
  const id = found.ok ? found.value : undefined
  if (id !== undefined) {
    // A helper that began meanwhile goes on trying when only its session is deleted.
    const children = await host.children(id)
    for (const child of children.ok ? children.value : []) await host.abort(child.id, worktree)
    const deleted = await host.deleteSession(id)
    if (!deleted.ok && deleted.error.kind !== "not_found")
      problems.push(`its session could not be deleted: ${deleted.error.text}`)
    for (const path of [store.paths.record(taskNumber), store.paths.session(id).dir]) {
      const removed = await store.remove(path)
      if (!removed.ok) problems.push(removed.error.text)
    }
  }
  const removed = await removeWorktree({ repo: repository, path: worktree, deleteBranch: true })
  if (!removed.ok) problems.push(`${worktree} could not be removed: ${removed.error.text}`)
  if (standing.booted) {
    const disposed = await host.disposeInstance(worktree)
    if (!disposed.ok) host.log("warn", disposed.error.text)
  }
  return problems
}
