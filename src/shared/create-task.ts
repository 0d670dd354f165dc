import { stat } from "node:fs/promises"
import { join } from "node:path"
import { cleanTitle, readDraft, type Draft } from "../core/draft.ts"
import type { Options } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { branchName, folderName } from "../core/slug.ts"
import { METADATA_VERSION, type Task, type TaskMeta } from "../core/task.ts"
import type { Clock } from "./clock.ts"
import { worktreeRootOf, type Repository } from "./git/repository.ts"
import { resolveBase } from "./git/history.ts"
import { createWorktree } from "./git/worktree.ts"
import { removeWorktree } from "./git/worktree-remove.ts"
import type { Host, PermissionRuleset } from "./host.ts"
import type { Store } from "./store.ts"
import type { Tasks } from "./tasks.ts"

/*
 * Draft → worktree → session.
 *
 *   draft on disk ─ number, branch, folder chosen and written down ─ git worktree add ─ instance up ─ session with
 *   metadata ─ draft gone
 *
 * The same call with the same draft goes on where a crash left it. A failure undoes branch and folder and keeps the
 * draft with the reason; nothing that was typed is lost.
 */

export type CreateFailure = { readonly kind: "refused" | "failed"; readonly text: string }

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

/** Keeps what was typed, before anything is tried. */
export async function keepDraft(parts: Pick<CreateParts, "store">, draft: Draft): Promise<Result<void, CreateFailure>> {
  const written = await parts.store.writeJson(parts.store.paths.draft(draft.id), draft)
  return written.ok ? ok() : err({ kind: "failed", text: `what you typed could not be kept: ${written.error.text}` })
}

/** All drafts, oldest first; one that cannot be read is named, never removed. */
export async function listDrafts(parts: Pick<CreateParts, "store" | "host">): Promise<readonly Draft[]> {
  const { store, host } = parts
  const names = await store.names(store.paths.drafts)
  if (!names.ok) return []
  const drafts: Draft[] = []
  for (const name of names.value.filter((candidate) => candidate.endsWith(".json"))) {
    const read = await store.readJson(join(store.paths.drafts, name))
    const draft = read.ok ? readDraft(read.value) : undefined
    if (draft) drafts.push(draft)
    else host.log("error", `the draft ${name} cannot be read: ${read.ok ? "another shape" : read.error.text}`)
  }
  return drafts.toSorted((a, b) => a.at - b.at)
}

export async function dropDraft(parts: Pick<CreateParts, "store">, id: string): Promise<Result<void, CreateFailure>> {
  const removed = await parts.store.remove(parts.store.paths.draft(id))
  return removed.ok ? ok() : err({ kind: "failed", text: removed.error.text })
}

/** What this process is making, so that the same draft asked for twice is made once. */
const making = new WeakMap<Tasks, Map<string, Promise<Result<Task, CreateFailure>>>>()

/** Makes the task of a draft, or says why not and leaves the draft with that reason. */
export function createTask(parts: CreateParts, typed: Draft): Promise<Result<Task, CreateFailure>> {
  const mine = making.get(parts.tasks) ?? new Map<string, Promise<Result<Task, CreateFailure>>>()
  making.set(parts.tasks, mine)
  const running = mine.get(typed.id)
  if (running) return running
  const promise = claimAndMake(parts, typed).finally(() => mine.delete(typed.id))
  mine.set(typed.id, promise)
  return promise
}

/** Goes on with what a process that is gone left half made. */
export async function finishDrafts(parts: CreateParts, made: (task: Task) => void): Promise<void> {
  for (const draft of await listDrafts(parts)) {
    if (draft.problem !== undefined || !draft.claim || parts.store.alive(draft.claim) !== false) continue
    const finished = await createTask(parts, draft)
    if (finished.ok) made(finished.value)
    else parts.host.log("warn", `the draft "${draft.title}" is not a task: ${finished.error.text}`)
  }
}

/** Keeps the draft with our claim on it, unless another living process has it. What is made already stays known. */
async function claimDraft(parts: CreateParts, typed: Draft): Promise<Result<Draft, CreateFailure>> {
  const { store, tasks, clock } = parts
  const held = await store.withLock(async (): Promise<Result<Draft, CreateFailure>> => {
    const read = await store.readJson(store.paths.draft(typed.id))
    const before = read.ok ? readDraft(read.value) : undefined
    const mine = before?.claim?.pid === tasks.self.pid && before.claim.start === tasks.self.start
    if (before?.claim && !mine && store.alive(before.claim) !== false)
      return err({ kind: "refused", text: "another window is creating it" })
    const made = before?.made ?? typed.made
    const claim = { ...tasks.self, at: clock.now() }
    const claimed: Draft = { ...typed, ...(made ? { made } : {}), problem: undefined, claim }
    const kept = await keepDraft(parts, claimed)
    return kept.ok ? ok(claimed) : kept
  })
  return held.ok ? held.value : err({ kind: "failed", text: `what you typed could not be kept: ${held.error.text}` })
}

type Plan = NonNullable<Draft["made"]>
type Planned = { readonly claimed: Draft; readonly plan: Result<Plan, CreateFailure> }

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

async function claimAndPlan(
  parts: CreateParts,
  typed: Draft,
  title: string | undefined,
): Promise<Result<Planned, CreateFailure>> {
  const held = await claimDraft(parts, typed)
  if (!held.ok) return held
  const claimed = held.value
  if (!title) {
    const plan = err<CreateFailure>({ kind: "refused", text: "a title needs at least one visible character" })
    return ok({ claimed, plan })
  }
  return ok({ claimed, plan: claimed.made ? ok(claimed.made) : await choose(parts, claimed, title) })
}

async function claimAndMake(parts: CreateParts, typed: Draft): Promise<Result<Task, CreateFailure>> {
  const title = cleanTitle(typed.title)
  const held = await inTurn(parts.tasks, () => claimAndPlan(parts, typed, title))
  if (!held.ok) return held
  const { claimed, plan } = held.value
  const made = plan.ok ? await make(parts, claimed, title ?? "", plan.value) : plan
  if (made.ok) {
    const dropped = await dropDraft(parts, typed.id)
    if (!dropped.ok)
      parts.host.log("warn", `the draft of #${made.value.meta.taskNumber} stays behind: ${dropped.error.text}`)
    return made
  }
  const noted = await keepDraft(parts, { ...claimed, made: undefined, claim: undefined, problem: made.error.text })
  if (!noted.ok) parts.host.log("error", noted.error.text)
  return made
}

async function make(parts: CreateParts, draft: Draft, title: string, plan: Plan): Promise<Result<Task, CreateFailure>> {
  const { repository, store, tasks, clock } = parts
  const { taskNumber, branch, worktree, baseBranch, baseCommit } = plan
  const written = await keepDraft(parts, { ...draft, made: plan })
  if (!written.ok) return written

  const created = await createWorktree({
    repo: repository,
    branch,
    base: baseCommit,
    path: worktree,
    copy: parts.options().worktree.copy,
  })
  if (!created.ok) return err({ kind: "failed", text: created.error.text })
  const ensured = await parts.ensureInstance(worktree)
  if (!ensured.ok) return undo(parts, plan, ensured.error.text)

  const meta: Omit<TaskMeta, "sessionID"> = {
    v: METADATA_VERSION,
    boardTask: true,
    repo: parts.repo,
    taskNumber,
    status: "backlog",
    order: taskNumber,
    ...descriptionOf(draft),
    baseBranch,
    baseCommit,
    branch,
    worktree,
    ...(draft.model ? { model: draft.model } : {}),
    ...(draft.agent ? { agent: draft.agent } : {}),
    ...(draft.scope?.trim() ? { scope: draft.scope.trim().slice(0, 500) } : {}),
    ...(draft.dependsOn?.length ? { dependsOn: [...new Set(draft.dependsOn)] } : {}),
    generation: 1,
    ...(parts.options().worktree.setup.length === 0 ? { setup: { state: "skipped" as const, at: clock.now() } } : {}),
  }
  const left = await leftSession(parts, worktree, taskNumber)
  const task = left
    ? await tasks.adoptTask(left, meta)
    : await tasks.createTask(
        {
          directory: worktree,
          title,
          permission: parts.permission(),
          ...(draft.agent ? { agent: draft.agent } : {}),
          ...(draft.model ? { model: draft.model } : {}),
        },
        meta,
      )
  if (!task.ok) return undo(parts, plan, task.error.text)
  if (meta.descriptionFile) {
    const file = await store.writeText(store.paths.session(task.value.meta.sessionID).description, draft.description)
    if (!file.ok) parts.host.log("error", `the description of #${taskNumber} could not be written: ${file.error.text}`)
  }
  return task
}

/** Everything that is chosen once per task: its number is never given again, whatever happens next. */
async function choose(
  parts: CreateParts,
  draft: Draft,
  title: string,
): Promise<Result<NonNullable<Draft["made"]>, CreateFailure>> {
  const { repository, store } = parts
  if (!repository.hasCommit)
    return err({ kind: "refused", text: "this repository has no commit yet: make a first one, then create the task" })
  const branches = await repository.branches()
  if (!branches.ok) return err({ kind: "failed", text: branches.error.text })
  const base = draft.baseBranch ? ok({ branch: draft.baseBranch }) : await repository.defaultBase()
  if (!base.ok) return err({ kind: "failed", text: base.error.text })
  if (!base.value)
    return err({ kind: "refused", text: "nothing says which branch is the main one: choose a base branch" })
  const baseCommit = await resolveBase(repository, base.value.branch)
  if (!baseCommit.ok) return err({ kind: "refused", text: baseCommit.error.text })
  const number = await store.nextTaskNumber()
  if (!number.ok) return err({ kind: "failed", text: number.error.text })
  const options = parts.options()
  const root = options.worktree.root ?? worktreeRootOf(repository)
  const taken = branches.value.map((branch) => branch.name)
  let folder = folderName(number.value, title)
  while (await exists(join(root, folder))) folder = folderName(number.value, title, [folder])
  return ok({
    taskNumber: number.value,
    branch: branchName(options.worktree.branchPrefix, number.value, title, taken),
    worktree: join(root, folder),
    baseBranch: base.value.branch,
    baseCommit: baseCommit.value,
  })
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

/** A longer description is a file: the task's events repeat its metadata each time. */
function descriptionOf(draft: Draft): Pick<TaskMeta, "description" | "descriptionFile"> {
  const text = draft.description.trim()
  if (text === "") return {}
  return text.length <= 1_000 ? { description: text } : { description: text.slice(0, 300), descriptionFile: true }
}

/** A session that an earlier try made for this number in this folder. */
async function leftSession(parts: CreateParts, worktree: string, taskNumber: number): Promise<string | undefined> {
  const sessions = await parts.host.sessions(worktree)
  if (!sessions.ok) return undefined
  return sessions.value.find((session) => {
    const kagan = session.metadata?.kagan as { taskNumber?: unknown; repo?: unknown } | undefined
    return (
      session.directory === worktree &&
      !session.parentID &&
      kagan?.taskNumber === taskNumber &&
      kagan.repo === parts.repo
    )
  })?.id
}

async function undo(
  parts: CreateParts,
  made: NonNullable<Draft["made"]>,
  reason: string,
): Promise<Result<never, CreateFailure>> {
  const removed = await removeWorktree({
    repo: parts.repository,
    path: made.worktree,
    deleteBranch: true,
  })
  const left = removed.ok ? "" : ` (and ${made.worktree} could not be removed: ${removed.error.text})`
  return err({ kind: "failed", text: `${reason}${left}` })
}
