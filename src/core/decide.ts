import type { Activity, Ask, TaskFacts, TurnEnd } from "./board.ts"
import type { Options } from "./options.ts"
import { stageOf, type BacklogTask, type ReviewTask, type Stage, type WorkTask } from "./stage.ts"
import { columnOf, type HelperPointer, type HelperRole, type Sent, type Status, type TaskMeta } from "./task.ts"

/*
 * The one place that decides what a task needs next.
 *
 *   stored metadata ─┐
 *   facts of now ────┼─► decide ─► actions, in order; each is idempotent and claims before it acts
 *   options ─────────┘
 *
 * Any column:   an ask of a helper is refused ─ commands that outlived their reason are ended ─ a turn that a stop came too early for is stopped again
 * Not Done:     a worktree that was put back is set up first
 * Backlog:      seed ─ judge a foreign wish ─ setup ─ intake: spawn → collect | retry → fail
 * In Progress:  worker where wanted ─ wake (intent stored before) → deliver → finished? words unread: wake | enter review
 *               died? resume
 * Review:       snapshot → checks → validator: spawn → collect | retry → fail;  a claimed merge of a dead process: resume
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
  /** What it was answered when it called its tool and its report could not be taken. */
  readonly refused: readonly string[]
  /** What the host last said went wrong in it, where nothing of it is stored. */
  readonly error?: string
}

/** What `decide` needs beyond what the boards are shown. */
export type LookFacts = Pick<TaskFacts, "source" | "activity" | "end" | "worktree" | "elsewhere" | "readOnly"> & {
  readonly now: number
  /** The message of `run.intent` stands in the transcript; `undefined`: could not be asked. */
  readonly intentStored?: boolean
  /** The finished turn answers the intent's message or something later. */
  readonly endAfterIntent: boolean
  /** The person told something that the finished turn has not read any more. */
  readonly unheard: boolean
  /** When the running turn was asked for. */
  readonly askedAt?: number
  /** A command of a run whose process died still writes into the worktree. */
  readonly command?: boolean
  /** What its helpers ask; nobody sits before them. */
  readonly helperAsks?: readonly Ask[]
  readonly helpers: Partial<Record<HelperRole, HelperFacts>>
  /** Whether a claim's holder may still be at work. */
  readonly claimAlive: boolean
  readonly mergeClaimAlive: boolean
  readonly workerClaimAlive?: boolean
  readonly setupClaimAlive?: boolean
  readonly checksClaimAlive?: boolean
  /** A place in progress is free and its dependencies are done: a queued card may start. */
  readonly mayStart: boolean
  /** What this process runs of it already. */
  readonly occupied?: Occupation
  /** How many checks are written down for it; absent: as many as are configured. */
  readonly checks?: number
}

/** A long action of a task, of which there is one at a time. */
export type Occupation = "setup" | "checks" | "merge" | "update"

/** Where a turn was cut off by the death of its process, and when. */
export type Died = { readonly messageID: string; readonly at: number }

export type Action =
  | { readonly kind: "seed" }
  /** Somebody wrote `status`: judge it. */
  | { readonly kind: "judge"; readonly wish: Status }
  | { readonly kind: "run_setup" }
  | { readonly kind: "spawn_helper"; readonly role: HelperRole; readonly attempt: number }
  /** The child is there and was never asked, or its turn died with the process at that message: ask it. */
  | { readonly kind: "prompt_helper"; readonly role: HelperRole; readonly died?: Died }
  | { readonly kind: "collect_helper"; readonly role: HelperRole }
  | { readonly kind: "fail_helper"; readonly role: HelperRole; readonly reason: string }
  | { readonly kind: "refuse_ask"; readonly ask: Ask }
  /** A turn that began after the stop that was meant for it. */
  | { readonly kind: "abort" }
  | { readonly kind: "make_worker" }
  | { readonly kind: "wake" }
  | { readonly kind: "mark_delivered" }
  /** The turn that this message belonged to died with its process: go on, once. */
  | { readonly kind: "resume"; readonly died: Died }
  /** The turn that ended with this message has not read what the person told: go on, once. */
  | { readonly kind: "answer_words"; readonly ended: string }
  | { readonly kind: "enter_review" }
  | { readonly kind: "take_snapshot" }
  | { readonly kind: "run_checks" }
  /** The setup or checks that run are nobody's any more. */
  | { readonly kind: "end_commands" }
  | { readonly kind: "resume_merge" }

/** How long a prompt that the host has taken may stay unstored before it counts as lost (54 ms measured, 1.18.33). */
export const LOST_AFTER_MS = 10_000
const MAX_SENDS = 2

/** A prompt that the host has taken twice and stored never: it is not sent a third time. */
export function isLost(sent: Sent | undefined, now: number): boolean {
  return sent !== undefined && sent.count >= MAX_SENDS && isOver(sent.at, LOST_AFTER_MS, now)
}

function maySend(sent: Sent | undefined, now: number): boolean {
  return sent === undefined || (sent.count < MAX_SENDS && isOver(sent.at, LOST_AFTER_MS, now))
}

/** Whether `ms` are over since `at`. What lies in the future was stored before the clock was set back: it is over. */
function isOver(at: number, ms: number, now: number): boolean {
  return now < at || now - at >= ms
}

/** Pure: what to do now for this task, in order. Nothing for a task that is read-only, trashed or whose session is gone. */
export function decide(meta: TaskMeta, facts: LookFacts, options: Options): Action[] {
  if (facts.readOnly || facts.source === "record") return []
  const refusals: Action[] = (facts.helperAsks ?? []).map((ask) => ({ kind: "refuse_ask", ask }))
  if (refusals.length > 0) return refusals
  if (isOutlived(meta, facts.occupied)) return [{ kind: "end_commands" }]
  if (meta.trashedAt || meta.archivedAt) return []
  if (meta.lastGatedStatus === undefined) return [{ kind: "seed" }]
  if (facts.occupied === "merge" || facts.occupied === "update") return []
  const stage = stageOf(meta)
  if (outranStop(stage, facts)) return [{ kind: "abort" }]
  if (meta.status !== meta.lastGatedStatus) {
    if (!meta.awaiting || meta.awaiting.wish !== meta.status || facts.mayStart)
      return [{ kind: "judge", wish: meta.status }]
  }
  // Somebody wrote the old status back: the wish that waits is nobody's any more.
  else if (meta.awaiting) return [{ kind: "judge", wish: meta.status }]
  if (facts.occupied) return []
  if (stage.column !== "backlog" && isSettingUpAgain(meta)) return setUpAgain(meta, facts)
  switch (stage.column) {
    case "backlog":
      return backlog(stage, facts, options)
    case "in_progress":
      return inProgress(stage, facts, options)
    case "review":
      return review(stage, facts, options)
    case "done":
      return []
  }
}

/** The card went on, or was put away, while its commands ran. */
function isOutlived(meta: TaskMeta, running: Occupation | undefined): boolean {
  if (running !== "setup" && running !== "checks") return false
  if (meta.trashedAt || meta.archivedAt) return true
  if (running === "setup") return columnOf(meta) !== "backlog" && !isSettingUpAgain(meta)
  return columnOf(meta) !== "review" || meta.review?.snapshot?.generation !== meta.generation
}

/** Setup of a worktree that was put back outside of the backlog; a failed one holds the task until the person says how to go on. */
export function isSettingUpAgain(meta: TaskMeta): boolean {
  const { setup } = meta
  return columnOf(meta) !== "done" && setup?.again === true && (setup.state === "running" || setup.state === "failed")
}

function setUpAgain(meta: TaskMeta, facts: LookFacts): Action[] {
  const free = facts.worktree === "present" && facts.activity.kind === "idle" && !facts.elsewhere && !facts.command
  return meta.setup?.state === "running" && !facts.setupClaimAlive && free ? [{ kind: "run_setup" }] : []
}

/** A turn runs that was asked for before the stop: what the person asks afterwards is theirs. */
function outranStop(stage: Stage, facts: LookFacts): boolean {
  if (stage.column !== "backlog" && stage.column !== "in_progress") return false
  const { stoppedAt } = stage.run ?? {}
  if (stoppedAt === undefined || facts.askedAt === undefined || facts.elsewhere) return false
  return facts.activity.kind === "busy" && facts.askedAt <= stoppedAt
}

function backlog(task: BacklogTask, facts: LookFacts, options: Options): Action[] {
  if (facts.worktree !== "present") return []
  const actions: Action[] = []
  const { setup, intake } = task
  const toDo = setup ? setup.state === "running" && !facts.setupClaimAlive : options.worktree.setup.length > 0
  if (toDo && !facts.command) actions.push({ kind: "run_setup" })
  if (options.intake.enabled || intake) {
    actions.push(
      ...helper("intake", intake, facts, {
        enabled: options.intake.enabled,
        retries: options.intake.retries,
        generation: task.generation,
      }),
    )
  }
  return actions
}

function inProgress(task: WorkTask, facts: LookFacts, options: Options): Action[] {
  if (facts.worktree !== "present" || facts.elsewhere) return []
  const { run } = task
  if (run?.fresh && !run.workerID) return facts.workerClaimAlive ? [] : [{ kind: "make_worker" }]
  const intent = run?.intent
  if (intent && intent.deliveredAt === undefined) {
    if (facts.intentStored === true) return [{ kind: "mark_delivered" }]
    return run?.stoppedAt || !maySend(intent.sent, facts.now) ? [] : [{ kind: "wake" }]
  }
  const { end } = facts
  if (facts.activity.kind !== "idle" || !end) return []
  if (end.kind === "finished") {
    if (!facts.endAfterIntent) return []
    return [facts.unheard ? { kind: "answer_words", ended: end.messageID } : { kind: "enter_review" }]
  }
  const died = diedAt(end)
  if (!died || !intent || run?.stoppedAt || facts.command) return []
  // Stored and never begun: the same again is what was wanted.
  if (died.messageID === intent.messageID) return (intent.sent?.count ?? 0) <= MAX_SENDS ? [{ kind: "wake" }] : []
  return options.resume === "auto" ? [{ kind: "resume", died }] : []
}

function diedAt(end: TurnEnd): Died | undefined {
  if (end.kind !== "interrupted" || end.reason !== "host_died" || end.messageID === undefined) return undefined
  return { messageID: end.messageID, at: end.at }
}

function review(task: ReviewTask, facts: LookFacts, options: Options): Action[] {
  const { merge, review, generation } = task
  if (merge?.state === "claimed") return facts.mergeClaimAlive ? [] : [{ kind: "resume_merge" }]
  const { snapshot, checks, validator } = review
  if (!snapshot || snapshot.generation !== generation) {
    const quiet = facts.activity.kind === "idle" && !facts.elsewhere && !facts.command
    return review.problem || facts.worktree !== "present" || !quiet ? [] : [{ kind: "take_snapshot" }]
  }
  if (snapshot.files === 0) return []
  const unjudged = validator?.generation !== generation
  const wanted = !checks && unjudged && (facts.checks ?? options.checks.length) > 0
  if (checks?.state === "running" ? !facts.checksClaimAlive : wanted)
    return facts.worktree !== "present" || facts.command ? [] : [{ kind: "run_checks" }]
  // The reviewer reads what came of them.
  if (checks?.state === "running") return []
  return helper("validator", validator, facts, { enabled: true, retries: options.validator.retries, generation })
}

function helper(
  role: HelperRole,
  pointer: HelperPointer | undefined,
  facts: LookFacts,
  rule: { readonly enabled: boolean; readonly retries: number; readonly generation: number },
): Action[] {
  if (facts.worktree !== "present") return []
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
      return running(role, pointer, facts.helpers[role], rule.retries, facts.now)
  }
}

/** So many reports of one helper that could not be taken end it. */
export const MAX_REFUSED = 5

/** How long to wait after a try that failed in a way that passes, by the number of that try. */
export function backoffMs(attempt: number): number {
  return Math.min(5_000 * 4 ** (attempt - 1), 5 * 60_000)
}

function running(
  role: HelperRole,
  pointer: HelperPointer,
  child: HelperFacts | undefined,
  retries: number,
  now: number,
): Action[] {
  if (!child) return []
  const fail = (reason: string): Action[] => [{ kind: "fail_helper", role, reason }]
  const again = (reason: string): Action[] =>
    pointer.attempt <= retries ? [{ kind: "spawn_helper", role, attempt: pointer.attempt + 1 }] : fail(reason)
  if (!child.exists) return again("its session was deleted")
  if (child.reported) return [{ kind: "collect_helper", role }]
  // What repeats itself costs and comes to nothing: another try would begin with the same habit.
  if (child.refused.length >= MAX_REFUSED)
    return fail(`its report could not be read ${child.refused.length} times: ${child.refused.at(-1)!.slice(0, 200)}`)
  if (child.activity.kind !== "idle") return []
  if (!child.prompted) {
    if (isLost(pointer.asked, now)) return fail(child.error ?? "OpenCode took its prompt and never stored it")
    return maySend(pointer.asked, now) ? [{ kind: "prompt_helper", role }] : []
  }
  const { end } = child
  if (!end || end.kind === "open") return []
  switch (end.kind) {
    case "finished":
      return again("it ended without a report")
    case "interrupted": {
      if (end.reason === "aborted") return fail("stopped by you")
      // The same child goes on where its process died: a second one would read everything again.
      const died = diedAt(end)
      const asked = pointer.asked?.count ?? 0
      return died && asked <= retries + MAX_SENDS
        ? [{ kind: "prompt_helper", role, died }]
        : again("it was interrupted")
    }
    case "failed": {
      const reason = `${end.errorClass.replaceAll("_", " ")}: ${end.text}`
      if (FINAL.has(end.errorClass)) return fail(reason)
      const waits = pointer.attempt <= retries && !isOver(end.at, backoffMs(pointer.attempt), now)
      return waits ? [] : again(reason)
    }
  }
}

/** What another try with the same session, model and login would meet again. */
const FINAL: ReadonlySet<string> = new Set(["auth", "quota", "model_not_found", "context_overflow"])
