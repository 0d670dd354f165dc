import type { Activity, TaskFacts, TurnEnd } from "./board.ts"
import type { Options } from "./options.ts"
import { columnOf, type HelperPointer, type HelperRole, type Status, type TaskMeta } from "./task.ts"

/*
 * The one place that decides what a task needs next.
 *
 *   stored metadata ─┐
 *   facts of now ────┼─► decide ─► actions, in order; each is idempotent and claims before it acts
 *   options ─────────┘
 *
 * Backlog:      seed ─ judge a foreign wish ─ setup ─ intake: spawn → collect | retry → fail
 * In Progress:  wake (intent stored before) → deliver → finished? enter review
 * Review:       snapshot → validator: spawn → collect | retry → fail;  a claimed merge of a dead process: resume
 * Done:         nothing
 */

/** What is known of a helper child at this look. */
export type HelperFacts = {
  readonly exists: boolean
  readonly activity: Activity
  readonly end?: TurnEnd
  /** It has reported through its tool. */
  readonly reported: boolean
  /** Its prompt stands in its transcript. */
  readonly prompted: boolean
}

/** What `decide` needs beyond what the boards are shown. */
export type LookFacts = Pick<TaskFacts, "source" | "activity" | "end" | "worktree" | "elsewhere" | "readOnly"> & {
  readonly now: number
  /** The message of `run.intent` stands in the transcript; `undefined`: could not be asked. */
  readonly intentStored?: boolean
  /** The finished turn answers the intent's message or something later. */
  readonly endAfterIntent: boolean
  readonly helpers: Partial<Record<HelperRole, HelperFacts>>
  /** Whether a claim's holder may still be at work. */
  readonly claimAlive: boolean
  readonly mergeClaimAlive: boolean
  /** A place in progress is free and its dependencies are done: a queued card may start. */
  readonly mayStart: boolean
  /** This process runs a setup, snapshot or merge of it already. */
  readonly occupied: boolean
}

export type Action =
  | { readonly kind: "seed" }
  /** Somebody wrote `status`: judge it. */
  | { readonly kind: "judge"; readonly wish: Status }
  | { readonly kind: "run_setup" }
  | { readonly kind: "spawn_helper"; readonly role: HelperRole; readonly attempt: number }
  /** The child is there and was never asked: ask it. */
  | { readonly kind: "prompt_helper"; readonly role: HelperRole }
  | { readonly kind: "collect_helper"; readonly role: HelperRole }
  | { readonly kind: "fail_helper"; readonly role: HelperRole; readonly reason: string }
  | { readonly kind: "wake" }
  | { readonly kind: "mark_delivered" }
  | { readonly kind: "enter_review" }
  | { readonly kind: "take_snapshot" }
  | { readonly kind: "resume_merge" }

/** Pure: what to do now for this task, in order. Nothing for a task that is read-only, trashed or whose session is gone. */
export function decide(meta: TaskMeta, facts: LookFacts, options: Options): Action[] {
  if (facts.readOnly || facts.source === "record" || meta.trashedAt || meta.archivedAt) return []
  if (meta.lastGatedStatus === undefined) return [{ kind: "seed" }]
  if (facts.occupied) return []
  if (meta.status !== meta.lastGatedStatus) {
    if (!meta.awaiting || meta.awaiting.wish !== meta.status || facts.mayStart)
      return [{ kind: "judge", wish: meta.status }]
  }
  switch (columnOf(meta)) {
    case "backlog":
      return backlog(meta, facts, options)
    case "in_progress":
      return inProgress(meta, facts)
    case "review":
      return review(meta, facts, options)
    case "done":
      return []
  }
}

function backlog(meta: TaskMeta, facts: LookFacts, options: Options): Action[] {
  if (facts.worktree !== "present") return []
  const actions: Action[] = []
  if (!meta.setup && options.worktree.setup.length > 0) actions.push({ kind: "run_setup" })
  if (options.intake.enabled || meta.intake) {
    actions.push(
      ...helper("intake", meta.intake, facts, {
        enabled: options.intake.enabled,
        retries: options.intake.retries,
        generation: meta.generation,
      }),
    )
  }
  return actions
}

function inProgress(meta: TaskMeta, facts: LookFacts): Action[] {
  if (facts.worktree !== "present" || facts.elsewhere) return []
  const intent = meta.run?.intent
  if (intent && intent.deliveredAt === undefined) {
    if (facts.intentStored === true) return [{ kind: "mark_delivered" }]
    return meta.run?.stoppedAt ? [] : [{ kind: "wake" }]
  }
  const over = facts.activity.kind === "idle" && facts.end?.kind === "finished"
  return over && facts.endAfterIntent ? [{ kind: "enter_review" }] : []
}

function review(meta: TaskMeta, facts: LookFacts, options: Options): Action[] {
  if (meta.merge?.state === "claimed") return facts.mergeClaimAlive ? [] : [{ kind: "resume_merge" }]
  const snapshot = meta.review?.snapshot
  if (!snapshot || snapshot.generation !== meta.generation) {
    if (meta.review?.problem || facts.worktree !== "present" || facts.activity.kind !== "idle") return []
    return [{ kind: "take_snapshot" }]
  }
  if (snapshot.files === 0) return []
  return helper("validator", meta.review?.validator, facts, {
    enabled: true,
    retries: options.validator.retries,
    generation: meta.generation,
  })
}

function helper(
  role: HelperRole,
  pointer: HelperPointer | undefined,
  facts: LookFacts,
  rule: { readonly enabled: boolean; readonly retries: number; readonly generation: number },
): Action[] {
  if (!pointer || (role === "validator" && pointer.generation !== rule.generation)) {
    return rule.enabled ? [{ kind: "spawn_helper", role, attempt: 1 }] : []
  }
  switch (pointer.state) {
    case "done":
    case "waived":
    case "failed":
      return []
    case "claimed":
      return facts.claimAlive ? [] : [{ kind: "spawn_helper", role, attempt: pointer.attempt }]
    case "running":
      return running(role, pointer, facts.helpers[role], rule.retries)
  }
}

function running(role: HelperRole, pointer: HelperPointer, child: HelperFacts | undefined, retries: number): Action[] {
  if (!child) return []
  const again = (reason: string): Action[] =>
    pointer.attempt <= retries
      ? [{ kind: "spawn_helper", role, attempt: pointer.attempt + 1 }]
      : [{ kind: "fail_helper", role, reason }]
  if (!child.exists) return again("its session was deleted")
  if (child.reported) return [{ kind: "collect_helper", role }]
  if (child.activity.kind !== "idle") return []
  if (!child.prompted) return [{ kind: "prompt_helper", role }]
  const end = child.end
  if (!end || end.kind === "open") return []
  switch (end.kind) {
    case "finished":
      return again("it ended without a report")
    case "interrupted":
      return end.reason === "aborted"
        ? [{ kind: "fail_helper", role, reason: "stopped by you" }]
        : again("it was interrupted")
    case "failed":
      return end.errorClass === "auth" || end.errorClass === "quota" || end.errorClass === "model_not_found"
        ? [{ kind: "fail_helper", role, reason: `${end.errorClass.replaceAll("_", " ")}: ${end.text}` }]
        : again(`${end.errorClass.replaceAll("_", " ")}: ${end.text}`)
  }
}
