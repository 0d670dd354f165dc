import { readKagan } from "../core/codec.ts"
import { acceptMove, denyMove, holdMove } from "../core/moves.ts"
import { workText } from "../core/prompts.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { readModel } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { judgeMove, refusalText, type MoveFacts, type Refusal, type Verdict } from "../core/rules.ts"
import { columnOf, STATUS_TITLE, workingSession, type Status, type Task, type TaskMeta } from "../core/task.ts"
import type { Siblings } from "../shared/tasks.ts"
import type { Project } from "./project.ts"

export type Judged = { readonly verdict: Verdict; readonly task: Task }

/** Refuses with the words that the board shows everywhere. */
export function refused(refusal: Refusal): { readonly ok: false; readonly error: RequestFailure } {
  return err({ kind: "refused", refusal, text: refusalText(refusal) })
}

export function failed(text: string): { readonly ok: false; readonly error: RequestFailure } {
  return err({ kind: "failed", text })
}

/** Judges the wish that stands in `status` and stores the verdict. Counts of other tasks are taken under the lock. */
export async function judgeWish(
  project: Project,
  task: Task,
  wish: Status,
  facts: { readonly turnRunning: boolean; readonly worktreeReady: boolean },
): Promise<Result<Judged, RequestFailure>> {
  const { tasks, clock } = project
  const options = project.options()
  const modelUsable = wish === "in_progress" ? await usableModel(project, task.meta) : undefined
  let outcome: Result<Verdict, Refusal> = ok({ kind: "accepted" })
  const from = columnOf(task.meta)
  const updated = await tasks.update(task.meta.sessionID, async (meta, { title, siblings }) => {
    if (columnOf(meta) === wish) return undefined
    if (meta.status !== wish) {
      // Another window judged the same wish first: its verdict is the verdict.
      if (meta.denied?.wish === wish) outcome = err({ kind: "invalid", text: meta.denied.text })
      return undefined
    }
    const others = await siblings()
    const moveFacts: MoveFacts = {
      ...facts,
      ...(modelUsable ? { modelUsable } : {}),
      inProgress: countInProgress(others, meta.sessionID),
      limit: options.inProgressLimit,
      openDependencies: openDependencies(meta, others),
      intakeEnabled: options.intake.enabled,
    }
    outcome = judgeMove(meta, wish, moveFacts)
    if (!outcome.ok) return denyMove(meta, wish, outcome.error, clock.now())
    if (outcome.value.kind === "queued") return holdMove(meta, wish, outcome.value.text, clock.now())
    const purpose = columnOf(meta) === "review" ? "send_back" : "start"
    return acceptMove(
      meta,
      wish,
      { now: clock.now(), seed: project.seed() },
      workText(purpose, { title, taskNumber: meta.taskNumber }),
    )
  })
  if (!updated.ok) return failed(updated.error.text)
  const now = updated.value.task
  if (!outcome.ok) {
    await project.remember(now.meta.sessionID, {
      kind: "verdict",
      text: `${STATUS_TITLE[wish]} refused: ${refusalText(outcome.error)}`,
      wish,
    })
    return refused(outcome.error)
  }
  if (updated.value.changed) {
    const text =
      outcome.value.kind === "queued" ? outcome.value.text : `${STATUS_TITLE[from]} → ${STATUS_TITLE[wish]}, accepted`
    await project.remember(now.meta.sessionID, {
      kind: outcome.value.kind === "queued" ? "verdict" : "move",
      text,
      from,
      to: wish,
    })
    if (outcome.value.kind === "accepted" && wish === "backlog") {
      const stopped = await project.host.abort(workingSession(now.meta), now.meta.worktree)
      if (!stopped.ok) return failed(`moved, but its turn could not be stopped: ${stopped.error.text}`)
    }
  }
  return ok({ verdict: outcome.value, task: now })
}

/** Tasks that hold a place in progress; helpers and workers have no record and count for nothing. */
export function countInProgress(records: Siblings, except: string): number {
  let count = 0
  for (const record of records) {
    if (record.sessionID === except) continue
    const meta = metaOf(record)
    if (meta && columnOf(meta) === "in_progress" && !meta.trashedAt && !meta.archivedAt) count++
  }
  return count
}

export function openDependencies(meta: TaskMeta, records: Siblings): number[] {
  const wanted = new Set(meta.dependsOn)
  if (wanted.size === 0) return []
  for (const record of records) {
    const other = metaOf(record)
    if (other && columnOf(other) === "done") wanted.delete(other.taskNumber)
  }
  return [...wanted]
}

export function metaOf(record: { readonly sessionID: string; readonly kagan: object }): TaskMeta | undefined {
  const decoded = readKagan(record.sessionID, { kagan: record.kagan })
  return decoded.kind === "task" ? decoded.meta : undefined
}

/** Whether the model that a start would use is offered by a connected provider in the task's directory. */
async function usableModel(project: Project, meta: TaskMeta): Promise<MoveFacts["modelUsable"]> {
  const ensured = await project.ensureInstance(meta.worktree)
  if (!ensured.ok) return undefined
  const [providers, config] = await Promise.all([
    project.host.providers(meta.worktree),
    project.host.config(meta.worktree),
  ])
  if (!providers.ok) return undefined
  const wanted = meta.model ?? (config.ok && config.value.model ? readModel(config.value.model) : undefined)
  if (!wanted) {
    const any = providers.value.providers.some((provider) => Object.keys(provider.models).length > 0)
    return { usable: any, model: "(none is set)" }
  }
  const provider = providers.value.providers.find((candidate) => candidate.id === wanted.providerID)
  return { usable: provider?.models[wanted.modelID] !== undefined, model: `${wanted.providerID}/${wanted.modelID}` }
}
