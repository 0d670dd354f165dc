import { acceptMove, denyMove, holdMove } from "../core/moves.ts"
import { workText } from "../core/prompts.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { readModel } from "../core/options.ts"
import { err, ok, type Result } from "../core/result.ts"
import { judgeMove, refusalText, type MoveFacts, type Refusal, type Verdict } from "../core/rules.ts"
import { columnOf, STATUS_TITLE, toFix, workingSession, type Status, type Task, type TaskMeta } from "../core/task.ts"
import type { Project } from "./project.ts"
import { countInProgress, openDependencies } from "./queue.ts"
import { dropSentText } from "./sent-text.ts"

export type Judged = { readonly verdict: Verdict; readonly task: Task }

/** Refuses with the words that the board shows everywhere. */
export function refused(refusal: Refusal): { readonly ok: false; readonly error: RequestFailure } {
  return err({ kind: "refused", refusal, text: refusalText(refusal) })
}

export function failed(text: string): { readonly ok: false; readonly error: RequestFailure } {
  return err({ kind: "failed", text })
}

/**
 * How a wish came: over the channel it is judged with what was said there; else it stands in `status` already. `sent`:
 * what the next iteration begins with was stored for this wish.
 */
export type Asking =
  | { readonly by: "status" }
  | { readonly by: "channel"; readonly note?: string; readonly fresh?: boolean; readonly sent?: true }

/**
 * Judges a wish and stores the verdict, in one write under the lock: `lastGatedStatus` never runs ahead of it. Counts of
 * other tasks are taken there too.
 */
export async function judgeWish(
  project: Project,
  task: Task,
  wish: Status,
  facts: { readonly turnRunning: boolean; readonly worktreeReady: boolean },
  asking: Asking,
): Promise<Result<Judged, RequestFailure>> {
  const { tasks, clock } = project
  const options = project.options()
  const channel = asking.by === "channel" ? asking : undefined
  const modelUsable = wish === "in_progress" ? await usableModel(project, task.meta) : undefined
  let outcome: Result<Verdict, Refusal> = ok({ kind: "accepted" })
  let from = columnOf(task.meta)
  /** Under the lock of the move; answers what is written instead where it cannot. */
  const drop = async (meta: TaskMeta) => {
    const dropped = await dropSentText(project, meta)
    if (dropped.ok) return undefined
    const refusal: Refusal = { kind: "invalid", text: `what was to be sent back stays: ${dropped.error.text}` }
    outcome = err(refusal)
    return denyMove(meta, wish, refusal, clock.now())
  }
  const updated = await tasks.update(task.meta.sessionID, async (meta, { title, siblings }) => {
    from = columnOf(meta)
    if (from === wish) {
      if (meta.status === wish && !meta.awaiting) {
        if (channel) outcome = err({ kind: "already_there", to: wish })
        return undefined
      }
      // A queued wish is taken back.
      const back = channel || meta.status === wish
      const undropped = back && from === "review" ? await drop(meta) : undefined
      if (undropped) return undropped
      return back ? { ...meta, status: wish, awaiting: undefined, denied: undefined } : undefined
    }
    if (!channel && meta.status !== wish) {
      // Another window judged the same wish first: its verdict is the verdict.
      if (meta.denied?.wish === wish) outcome = err({ kind: "invalid", text: meta.denied.text })
      return undefined
    }
    // Nothing was sent for this one: what lies there belongs to one that was not sent in the end.
    const again = from === "review" && wish === "in_progress"
    const undropped = again && !channel?.sent && !meta.awaiting ? await drop(meta) : undefined
    if (undropped) return undropped
    const others = wish === "in_progress" ? await siblings() : []
    const fresh = channel?.fresh ?? meta.awaiting?.fresh ?? options.sendBack.mode === "fresh"
    const moveFacts: MoveFacts = {
      ...facts,
      ...(modelUsable ? { modelUsable } : {}),
      ...(channel?.note ? { note: channel.note } : {}),
      inProgress: countInProgress(others, meta.sessionID),
      limit: options.inProgressLimit,
      openDependencies: openDependencies(meta, others),
      intakeEnabled: options.intake.enabled,
    }
    // Another window has asked for a turn since the facts were taken.
    const woken = wish === "review" && meta.run?.intent?.id !== task.meta.run?.intent?.id
    outcome = woken ? err({ kind: "turn_running" }) : judgeMove(meta, wish, moveFacts)
    const now = clock.now()
    if (!outcome.ok) return denyMove(meta, wish, outcome.error, now)
    if (outcome.value.kind === "queued") return holdMove(meta, wish, outcome.value.text, { now, fresh })
    const purpose = from === "review" ? "send_back" : "start"
    const { findings, comments } = toFix(meta)
    const text = workText(purpose, { title, taskNumber: meta.taskNumber, found: findings + comments })
    return acceptMove(meta, wish, { now, seed: project.seed(), fresh }, text)
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
  if (updated.value.changed) await moved(project, now, from, wish, outcome.value)
  const reviewer = task.meta.review?.validator
  if (
    updated.value.changed &&
    outcome.value.kind === "accepted" &&
    from === "review" &&
    reviewer?.state === "running"
  ) {
    // What it would report is nobody's any more.
    await project.host.abort(reviewer.sessionID!, now.meta.worktree)
  }
  if (updated.value.changed && outcome.value.kind === "accepted" && wish === "backlog" && from === "in_progress") {
    const stopped = await project.host.abort(workingSession(now.meta), now.meta.worktree)
    if (!stopped.ok) return failed(`moved, but its turn could not be stopped: ${stopped.error.text}`)
  }
  return ok({ verdict: outcome.value, task: now })
}

async function moved(project: Project, task: Task, from: Status, to: Status, verdict: Verdict) {
  const queued = verdict.kind === "queued"
  const text = queued
    ? verdict.text
    : from === to
      ? "the wish is taken back"
      : `${STATUS_TITLE[from]} → ${STATUS_TITLE[to]}, accepted`
  await project.remember(task.meta.sessionID, { kind: queued ? "verdict" : "move", text, from, to })
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
