import { messageID, partID } from "./ids.ts"
import { refusalText, type Refusal } from "./rules.ts"
import type { Status, TaskMeta, WakeIntent, WakePurpose } from "./task.ts"

/** What an accepted or refused move makes of the metadata. Pure: the time and the seed of new ids come in. */
export type MoveContext = { readonly now: number; readonly seed: string }

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
            run: { ...meta.run, stoppedAt: undefined, intent: intentOf("start", context, text) },
          }
    case "backlog":
      return { ...moved, run: meta.run && { ...meta.run, intent: undefined, stoppedAt: context.now } }
    case "review":
      return { ...moved, review: { findings: 0, ruled: 0, fix: 0 } }
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
    run: { ...meta.run, stoppedAt: undefined, intent: intentOf("send_back", context, text) },
  }
}

export function denyMove(meta: TaskMeta, wish: Status, refusal: Refusal, now: number): TaskMeta {
  const status = meta.lastGatedStatus ?? meta.status
  return {
    ...meta,
    status,
    awaiting: undefined,
    denied: { wish, kind: refusal.kind, text: refusalText(refusal), at: now },
  }
}

export function holdMove(meta: TaskMeta, wish: Status, text: string, now: number): TaskMeta {
  if (meta.awaiting?.wish === wish && meta.awaiting.text === text) return meta
  return { ...meta, status: wish, denied: undefined, awaiting: { wish, text, since: meta.awaiting?.since ?? now } }
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
