import { createHash } from "node:crypto"
import { draftTitle, type Draft, type NewTask } from "../core/draft.ts"
import type { PlannedTask } from "../core/planning.ts"
import type { DraftReply, RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import type { Task } from "../core/task.ts"
import { createTasks, finishDrafts, type CreateParts } from "../shared/create-task.ts"
import { listDrafts } from "../shared/drafts.ts"
import { waiveIntake } from "./intake.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { takePlaces } from "./split.ts"
import type { Supervisor } from "./supervisor.ts"

/** What stands around the one way in which tasks come to be, whoever asks: dialog, conversation, split, or a crash. */

export type Creating = { readonly project: Project; readonly supervisor: Supervisor; readonly create: CreateParts }

export type CreatedTasks = { readonly tasks: readonly Task[]; readonly text: string }

/** Makes the tasks of a draft, all or none, and starts them where it says so; the boards hear of what is kept. */
export async function createFrom(parts: Creating, draft: Draft): Promise<Result<CreatedTasks, RequestFailure>> {
  const made = await createTasks(parts.create, draft)
  await tellDrafts(parts)
  if (!made.ok) {
    if (made.error.kind === "made_already") return refused(made.error)
    const { kind, text } = made.error
    return kind === "refused" ? refused({ kind: "invalid", text }) : failed(text)
  }
  const { tasks, already } = made.value
  if (!already) return ok({ tasks, text: await settle(parts, draft, tasks) })
  const numbers = tasks.map(({ meta }) => `#${meta.taskNumber}`).join(", ")
  return ok({ tasks, text: `${numbers} ${tasks.length === 1 ? "was" : "were"} created already` })
}

/** Goes on with what a process that is gone left half made. */
export async function finishLeftDrafts(parts: Creating): Promise<void> {
  const settled: Promise<unknown>[] = []
  await finishDrafts(parts.create, (draft, tasks) => settled.push(settle(parts, draft, tasks)))
  if (settled.length === 0) return
  await Promise.all(settled)
  await tellDrafts(parts)
}

/** Says in their histories where they come from, has them looked at, and starts what is to be started, in order. */
async function settle({ project, supervisor }: Creating, draft: Draft, tasks: readonly Task[]): Promise<string> {
  const numbers = tasks.map(({ meta }) => `#${meta.taskNumber}`).join(", ")
  // Before any of them starts: what it stood for is theirs now.
  if (draft.splitOf) await takePlaces(project, draft, tasks)
  const outcomes: string[] = []
  for (const task of tasks) {
    const { sessionID, baseBranch, taskNumber } = task.meta
    await project.remember(sessionID, { kind: "edit", text: `created from ${baseBranch}` })
    if (!draft.start) {
      void supervisor.look(sessionID)
      continue
    }
    const waived = await waiveIntake(project, task, draft.start.waiver)
    await supervisor.look(sessionID)
    const moved = waived.ok ? await supervisor.move(sessionID, "in_progress") : waived
    const which = tasks.length > 1 ? `#${taskNumber} ` : ""
    const started = moved.ok && moved.value.kind === "queued" ? "queued" : "started"
    outcomes.push(moved.ok ? `${which}${started}` : `${which}not started: ${moved.error.text}`)
  }
  if (outcomes.length === 0) return `${numbers} created`
  return tasks.length === 1 && outcomes[0] !== "started"
    ? `${numbers} created but ${outcomes[0]}`
    : `${numbers} created and ${outcomes.join(", ")}`
}

/** What is kept, for the boards: what somebody is at will be a task, or come back with a reason. */
export async function keptDrafts(create: CreateParts): Promise<readonly DraftReply[]> {
  const kept = (await listDrafts(create)).filter(
    ({ claim, problem }) => !claim || problem || create.store.alive(claim) === false,
  )
  return kept.map((draft) => ({
    id: draft.id,
    title: draftTitle(draft),
    description: draft.tasks.length === 1 ? draft.tasks[0]!.description : "",
    tasks: draft.tasks,
    problem: draft.problem ?? (draft.claim ? "OpenCode ended while it was being created" : "not created yet"),
  }))
}

export async function tellDrafts({ project, create }: Creating): Promise<void> {
  project.push({ type: "drafts", drafts: await keptDrafts(create) })
}

/**
 * Tasks that were planned in a conversation, all or none. The same list of the same conversation is one draft: when it
 * is asked for again, corrected, the earlier one is replaced.
 */
export async function createPlanned(
  parts: Creating,
  sessionID: string,
  planned: readonly PlannedTask[],
): Promise<Result<string, string>> {
  const digest = createHash("sha256").update(JSON.stringify(planned.map(({ title }) => title)))
  const tasks = planned.map(({ dependsOnPlanned, dependsOn, ...task }): NewTask => ({
    ...task,
    ...(dependsOn.length > 0 ? { dependsOn } : {}),
    ...(dependsOnPlanned.length > 0 ? { after: dependsOnPlanned } : {}),
  }))
  const id = `plan-${sessionID}-${digest.digest("hex").slice(0, 12)}`.slice(-100)
  const made = await createFrom(parts, { id, tasks, at: parts.project.clock.now() })
  if (!made.ok) {
    const text = `Nothing was created: ${made.error.text}. What was asked for is kept as a draft on the board.`
    return { ok: false, error: text }
  }
  const lines = made.value.tasks.map(({ title, meta }) => `#${meta.taskNumber} ${title}`)
  return ok(`Created, all in Backlog: ${lines.join("; ")}.`)
}
