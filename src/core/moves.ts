import { messageID, partID } from "./ids.ts"
import { refusalText, type Refusal } from "./rules.ts"
import { NO_REVIEW } from "./stage.ts"
import { columnOf, type Run, type Status, type TaskMeta, type WakeIntent, type WakePurpose } from "./task.ts"

/** What an accepted or refused move makes of the metadata. Pure: the time and the seed of new ids come in. */
export type MoveContext = {
  readonly now: number
  readonly seed: string
  /** What is sent back is done by a new session in the same worktree. */
  readonly fresh?: boolean
}

/** `status` and `lastGatedStatus` change together, and with them what the new column starts from. */
export function acceptMove(meta: TaskMeta, to: Status, context: MoveContext, text: string): TaskMeta {
  const moved: TaskMeta = { ...meta, status: to, lastGatedStatus: to, denied: undefined, awaiting: undefined }
  switch (to) {
    case "in_progress":
      return meta.lastGatedStatus === "review"
        ? nextGeneration(moved, context, text)
        : {
            ...moved,
            startedAt: meta.startedAt ?? context.now,
            run: { ...goOn(meta), intent: intentOf("start", context, text) },
          }
    case "backlog":
      return { ...moved, run: meta.run && { ...meta.run, intent: undefined, stoppedAt: context.now } }
    case "review":
      return { ...moved, review: NO_REVIEW, approval: undefined, merge: undefined }
    case "done":
      return moved
  }
}

function nextGeneration(meta: TaskMeta, context: MoveContext, text: string): TaskMeta {
  return {
    ...meta,
    generation: meta.generation + 1,
    review: undefined,
    approval: undefined,
    merge: undefined,
    run: {
      ...goOn(meta),
      ...(context.fresh ? { fresh: true, workerID: undefined } : {}),
      intent: intentOf("send_back", context, text),
    },
  }
}

function goOn(meta: TaskMeta): Run {
  return { ...meta.run, stoppedAt: undefined, claim: undefined }
}

/** A turn that the person or an option wants beside any move. */
export function wakeAgain(meta: TaskMeta, purpose: "tell" | "resume", context: MoveContext, text: string): TaskMeta {
  return { ...meta, run: { ...goOn(meta), intent: intentOf(purpose, context, text) } }
}

/** The prompt that never reached the agent is sent again, as if for the first time: the same one, so never twice. */
export function sendAgain(meta: TaskMeta, owed: WakeIntent): TaskMeta {
  return { ...meta, run: { ...goOn(meta), intent: { ...owed, sent: undefined } } }
}

export function denyMove(meta: TaskMeta, wish: Status, refusal: Refusal, now: number): TaskMeta {
  const status = columnOf(meta)
  return {
    ...meta,
    status,
    awaiting: undefined,
    denied: { wish, kind: refusal.kind, text: refusalText(refusal), at: now },
  }
}

/** Queued: what stands is kept, the wish waits in its order. */
export function holdMove(
  meta: TaskMeta,
  wish: Status,
  text: string,
  context: Pick<MoveContext, "now" | "fresh">,
): TaskMeta {
  if (meta.awaiting?.wish === wish && meta.awaiting.text === text) return meta
  const since = meta.awaiting?.since ?? context.now
  const fresh = context.fresh ?? meta.awaiting?.fresh
  return {
    ...meta,
    status: wish,
    lastGatedStatus: columnOf(meta),
    denied: undefined,
    awaiting: { wish, text, since, ...(fresh ? { fresh } : {}) },
  }
}

/** A turn that is wanted: its ids are fixed here, before anything is sent. */
export function intentOf(purpose: WakePurpose, context: MoveContext, text: string): WakeIntent {
  return {
    id: context.seed,
    messageID: messageID(context.now, context.seed),
    partID: partID(context.now, context.seed),
    purpose,
    text,
    at: context.now,
  }
}
