import { liveText, type Live } from "./live.ts"
import { stageOf, type BacklogTask, type ReviewTask, type Stage, type WorkTask } from "./stage.ts"
import { toFix, type Task, type TaskMeta } from "./task.ts"
import type { FailureClass, InterruptReason } from "./turn.ts"

/** What is true of a task now, found out by the server half at its last look and told to every board. */
export type TaskFacts = {
  readonly sessionID: string
  /** `record`: the session or its metadata is gone and the card is shown from its record. */
  readonly source: "session" | "record"
  /** With `record`: what the record holds, since no session tells it to the boards. */
  readonly record?: { readonly title: string; readonly meta: TaskMeta }
  /** What the session that carries the work is doing. */
  readonly activity: Activity
  /** How its last turn ended; absent when none ever ran in this generation. */
  readonly end?: TurnEnd
  readonly asks: readonly Ask[]
  readonly worktree: "present" | "missing" | "foreign" | "unknown"
  /** Another process on this host (or another host) runs a turn of it. */
  readonly elsewhere?: string
  /** Intake is switched off: a card without one may start. */
  readonly intakeOff?: boolean
  /** What the running helper is doing, when one is. */
  readonly helper?: Activity
  /** The worktree differs from the snapshot under review: what changed, bounded. */
  readonly changedSince?: readonly string[]
  /** Files in conflict with the target; absent when not known. */
  readonly conflicts?: readonly string[]
  /** The local branch that it would be merged into; absent where the person has to choose one. */
  readonly target?: string
  /** Commits of the target that the snapshot under review does not have. */
  readonly behind?: number
  /** Other cards in Review that change files which this one changes too, and how many. */
  readonly overlaps?: readonly { readonly taskNumber: number; readonly files: number }[]
  /** What changed outside of its worktree since its work started, one line each: the person's checkout, settings, hooks. */
  readonly outside?: readonly string[]
  readonly problem?: string
  /** Bad fields of the metadata, readable. */
  readonly unreadable: readonly string[]
  readonly readOnly: boolean
  /** Milliseconds since the epoch of the last sign of life of the running turn. */
  readonly lastSign?: number
  /** What the agent does at this moment, one line, when known. */
  readonly doing?: string
  /** The same of the running helper. */
  readonly helperSign?: number
  /** The worktree stands on another branch than the task's, or on none: in words, with the way back. */
  readonly branch?: string
  /** Where a missing worktree lies now, when it was only given another name. */
  readonly renamed?: string
  /** What the snapshot brings is in the base already. */
  readonly inBase?: boolean
  /** Commands of a run whose process died that still go on in the worktree. */
  readonly command?: string
  /** What its setup or its checks say at this moment. */
  readonly live?: Live
  /** The host took the prompt and never stored it: why, as far as it said. */
  readonly lost?: string
}

export type Activity =
  | { readonly kind: "unknown" }
  | { readonly kind: "idle" }
  | { readonly kind: "busy"; readonly since?: number }
  | { readonly kind: "retry"; readonly until: number; readonly attempt: number; readonly text: string }
  | { readonly kind: "blocked"; readonly text: string }
  | { readonly kind: "gone" }

export type TurnEnd =
  | { readonly kind: "finished"; readonly messageID: string; readonly at: number; readonly text: string }
  | {
      readonly kind: "interrupted"
      readonly reason: InterruptReason
      readonly at: number
      /** The message that was cut off. */
      readonly messageID?: string
    }
  | { readonly kind: "failed"; readonly errorClass: FailureClass; readonly text: string; readonly at: number }
  /** A turn is open: asked, streaming or with an open tool call. */
  | { readonly kind: "open" }

export type Ask =
  | {
      readonly kind: "permission"
      readonly id: string
      readonly sessionID: string
      readonly directory: string
      readonly permission: string
      readonly patterns: readonly string[]
      readonly text: string
    }
  | {
      readonly kind: "question"
      readonly id: string
      readonly sessionID: string
      readonly directory: string
      readonly questions: readonly {
        readonly question: string
        readonly options: readonly string[]
        readonly multiple: boolean
        readonly custom: boolean
      }[]
    }

export const INTERRUPTION_TEXT: Readonly<Record<InterruptReason, string>> = {
  aborted: "stopped by you",
  question_dismissed: "question dismissed",
  permission_rejected: "permission rejected",
  host_died: "OpenCode ended in the middle",
  output_length: "the model's output limit was reached",
  no_finish: "the turn ended without finishing",
}

/** Every state that a card can be in; each that waits for the person has its way out in `ways-out.ts`. */
export const RUN_STATES = [
  "draft",
  "preparing",
  "setup_failed",
  "intake_running",
  "intake_failed",
  "needs_answers",
  "ready",
  "queued",
  "starting",
  "working",
  "retrying",
  "asks_permission",
  "asks_question",
  "asks_large",
  "checking",
  "session_blocked",
  "interrupted",
  "failed",
  "stalled",
  "command_running",
  "elsewhere",
  "reviewing",
  "review_failed",
  "no_changes",
  "needs_triage",
  "changed_since_review",
  "conflicts",
  "approvable",
  "merging",
  "merge_failed",
  "in_base",
  "done_merged",
  "done_left",
  "folder_missing",
  "branch_gone",
  "session_gone",
  "problem",
  "read_only",
] as const
export type RunStateKind = (typeof RUN_STATES)[number]

export type RunState = {
  readonly kind: RunStateKind
  /** The state in words, for a card's second line; without the icon. */
  readonly text: string
  /** The person has to do something before it goes on. */
  readonly needsYou: boolean
}

/** What a card says of itself that is not a task yet. */
export function draftState(draft: { readonly problem: string }): RunState {
  return state("draft", `not created: ${draft.problem}`, true)
}

/** What a card says of itself. Pure: `now` in milliseconds since the epoch, `stallAfter` in seconds. */
export function runState(task: Task, facts: TaskFacts | undefined, now: number, stallAfter = 600): RunState {
  const bad = facts?.unreadable[0]
  if (facts?.readOnly)
    return state("read_only", bad ? `unreadable field ${bad}: read-only` : "written by a newer Kagan: read-only")
  const own = stateOf(stageOf(task.meta), facts, now, stallAfter)
  return bad ? { ...own, text: `${own.text} · unreadable field ${bad}` } : own
}

function stateOf(stage: Stage, facts: TaskFacts | undefined, now: number, stallAfter: number): RunState {
  if (facts?.source === "record") return state("session_gone", "its session is gone", true)
  if (facts?.problem) return state("problem", facts.problem, true)
  if (stage.column === "done") {
    if (stage.merge?.state === "merged")
      return state("done_merged", `merged ${stage.merge.commit?.slice(0, 7) ?? ""}`.trim())
    return state("done_left", "left unmerged")
  }
  if (facts?.worktree === "missing") {
    const text = facts.renamed === undefined ? "its folder is missing" : `its folder is called ${facts.renamed} now`
    return state("folder_missing", text, true)
  }
  if (facts?.worktree === "foreign") return state("folder_missing", "its folder is not its own any more", true)
  const ask = facts?.asks[0]
  if (ask?.kind === "permission") return state("asks_permission", `asks: ${ask.text}`, true)
  if (ask?.kind === "question")
    return state("asks_question", `asks: ${ask.questions[0]?.question ?? "a question"}`, true)
  if (facts?.activity.kind === "blocked") return state("session_blocked", facts.activity.text, true)
  if (facts?.command) return state("command_running", `a command of a dead run goes on: ${facts.command}`, true)
  if (facts?.branch) return state("branch_gone", facts.branch, true)
  return columnState(stage, facts, now, stallAfter)
}

function columnState(
  stage: Exclude<Stage, { column: "done" }>,
  facts: TaskFacts | undefined,
  now: number,
  stallAfter: number,
): RunState {
  switch (stage.column) {
    case "backlog":
      return backlogState(stage, facts, now, stallAfter)
    case "in_progress":
      return workState(stage, facts, now, stallAfter)
    case "review":
      return reviewState(stage, facts, now, stallAfter)
  }
}

/** A worktree that is not ready for anything: a fresh one, or one that was put back. */
function setupState({ setup }: Pick<TaskMeta, "setup">, facts: TaskFacts | undefined): RunState | undefined {
  if (setup?.state === "running") return state("preparing", facts?.live ? liveText(facts.live) : "setting up")
  if (setup?.state === "failed") return state("setup_failed", `setup failed: ${setup.text ?? "see its output"}`, true)
  return undefined
}

function backlogState(task: BacklogTask, facts: TaskFacts | undefined, now: number, stallAfter: number): RunState {
  const setup = setupState(task, facts)
  if (setup) return setup
  if (task.awaiting) return state("queued", task.awaiting.text)
  const intake = task.intake
  if (intake?.state === "claimed" || intake?.state === "running")
    return helperState("intake_running", "intake", facts, now, stallAfter)
  if (intake?.state === "failed")
    return state("intake_failed", `intake failed: ${intake.reason ?? "no reason given"}`, true)
  if (intake?.state === "done" && intake.answered < intake.required) {
    const open = intake.required - intake.answered
    return state("needs_answers", `${open} ${open === 1 ? "answer" : "answers"} needed`, true)
  }
  if (!intake)
    return facts?.intakeOff ? state("ready", "ready (no intake)", true) : state("preparing", "waiting for intake")
  return state("ready", intake.state === "waived" ? "ready (intake waived)" : "ready", true)
}

/** A helper that reads, waits for its provider, or gives no sign. */
function helperState(
  kind: "intake_running" | "reviewing",
  name: string,
  facts: TaskFacts | undefined,
  now: number,
  stallAfter: number,
): RunState {
  const activity = facts?.helper
  if (activity?.kind === "retry")
    return state("retrying", `${name} retries at ${clockTime(activity.until)}: ${activity.text}`)
  const sign = facts?.helperSign
  if (activity?.kind === "busy" && sign !== undefined && now - sign > stallAfter * 1000)
    return state("stalled", `${name}: no sign of life for ${duration(now - sign)}`, true)
  return state(kind, `${name} is reading`)
}

function workState(task: WorkTask, facts: TaskFacts | undefined, now: number, stallAfter: number): RunState {
  if (facts?.elsewhere) return state("elsewhere", `running in ${facts.elsewhere}`)
  const activity = facts?.activity
  if (activity?.kind === "retry")
    return state("retrying", `retrying until ${clockTime(activity.until)}: ${activity.text}`)
  if (activity?.kind === "busy") {
    const sign = facts?.lastSign ?? activity.since
    if (sign !== undefined && now - sign > stallAfter * 1000) {
      return state("stalled", `no sign of life for ${duration(now - sign)}`, true)
    }
    const since = task.run?.intent?.at ?? task.startedAt
    const parts = [`working${since === undefined ? "" : ` ${duration(now - since)}`}`, facts?.doing].filter(Boolean)
    return state("working", parts.join(" · "))
  }
  const waits = task.run?.intent !== undefined && task.run.intent.deliveredAt === undefined
  if (facts?.lost !== undefined && waits) return state("failed", `the prompt was lost: ${facts.lost}`, true)
  const setup = task.setup?.again && setupState(task, facts)
  if (setup) return setup
  if (waits && !task.run?.stoppedAt) return state("starting", "starting")
  if (activity?.kind === "unknown") return state("checking", "asking OpenCode what it does")
  const end = facts?.end
  if (end?.kind === "failed") return state("failed", `${end.errorClass.replaceAll("_", " ")}: ${end.text}`, true)
  if (end?.kind === "interrupted") return state("interrupted", INTERRUPTION_TEXT[end.reason], true)
  if (task.run?.stoppedAt) return state("interrupted", INTERRUPTION_TEXT.aborted, true)
  if (facts && (end === undefined || !task.run?.intent)) return state("interrupted", "nobody works on it", true)
  return state("working", "finishing")
}

function reviewState(task: ReviewTask, facts: TaskFacts | undefined, now: number, stallAfter: number): RunState {
  if (task.merge?.state === "claimed") return state("merging", "merging")
  if (task.merge?.state === "failed") return state("merge_failed", task.merge.reason ?? "the merge failed", true)
  const setup = task.setup?.again && setupState(task, facts)
  if (setup) return setup
  if (task.awaiting) return state("queued", task.awaiting.text)
  const { review } = task
  if (facts?.activity.kind === "busy" || facts?.activity.kind === "retry")
    return state("changed_since_review", "the agent is at work again")
  if (review.large === "asked") return state("asks_large", review.problem ?? "much is untracked", true)
  if (review.problem) return state("problem", review.problem, true)
  if (facts?.inBase && review.snapshot && review.snapshot.files > 0)
    return state("in_base", `already in ${task.baseBranch}`, true)
  if (facts?.changedSince?.length) {
    return state("changed_since_review", `changed since review: ${listed(facts.changedSince)}`, true)
  }
  const validator = review.validator
  const outside = facts?.outside?.length ? " · something outside of it changed" : ""
  const nested = review.snapshot?.nested
  const aside = `${nested ? ` · without ${listed(nested)} (a repository of its own)` : ""}${outside}`
  if (review.snapshot && review.snapshot.generation === task.generation && review.snapshot.files === 0)
    return state("no_changes", `no changes${aside}`, true)
  if (review.checks?.state === "running")
    return state("reviewing", facts?.live ? liveText(facts.live) : "checks are running")
  if (!review.snapshot || !validator || validator.state === "claimed" || validator.state === "running") {
    return helperState("reviewing", "reviewer", facts, now, stallAfter)
  }
  if (validator.state === "failed")
    return state("review_failed", `review failed: ${validator.reason ?? "no reason given"}`, true)
  const seen = partText(task)
  if (review.ruled < review.findings) {
    const also = seen === "" ? "" : ` · ${seen}`
    return state("needs_triage", `${plural(review.findings, "finding")} · ${review.ruled} ruled${also}`, true)
  }
  if (facts?.conflicts?.length) {
    return state("conflicts", conflictText(task.baseBranch, facts)!, true)
  }
  const fix = toFix(task)
  if (fix.findings + fix.comments > 0) {
    const parts = [
      ...(fix.findings > 0 ? [plural(fix.findings, "finding")] : []),
      ...(fix.comments > 0 ? [plural(fix.comments, "comment")] : []),
    ]
    return state("needs_triage", `${parts.join(", ")} to fix: send back`, true)
  }
  const read = seen === "" ? "" : ` (${seen})`
  return state("approvable", `${review.findings === 0 ? "no findings" : "all ruled"}${read}: approve${aside}`, true)
}

/** What a review that saw only part of the change says of itself; empty for one that saw everything. */
export function partText({ review }: Pick<TaskMeta, "review">): string {
  return review?.partial ? `reviewed ${review.partial.shown} of ${plural(review.partial.total, "file")}` : ""
}

/** What a merge would meet: the same words on the card's state, its facts, and in the dialog. */
export function conflictText(baseBranch: string, facts: TaskFacts | undefined): string | undefined {
  const files = facts?.conflicts?.length ?? 0
  return files === 0 ? undefined : `conflicts with ${facts?.target ?? baseBranch}: ${plural(files, "file")}`
}

/** `4m`, `2h 5m`, `3d`: whole units, never negative. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes}m`
  const hours = Math.floor(minutes / 60)
  if (hours < 24) return minutes % 60 ? `${hours}h ${minutes % 60}m` : `${hours}h`
  return `${Math.floor(hours / 24)}d`
}

export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`
}

/** `14:05`, in the person's own time zone. */
export function clockTime(at: number): string {
  const date = new Date(at)
  return `${String(date.getHours()).padStart(2, "0")}:${String(date.getMinutes()).padStart(2, "0")}`
}

/** `14:05` on the day of `now`, `29 Nov 14:05` on any other. */
export function dayTime(at: number, now: number): string {
  const [date, today] = [new Date(at), new Date(now)]
  if (date.toDateString() === today.toDateString()) return clockTime(at)
  const year = date.getFullYear() === today.getFullYear() ? "" : ` ${date.getFullYear()}`
  return `${date.getDate()} ${MONTHS[date.getMonth()]}${year} ${clockTime(at)}`
}

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

function listed(names: readonly string[]): string {
  return names.length <= 2 ? names.join(", ") : `${names[0]} and ${names.length - 1} more`
}

function state(kind: RunStateKind, text: string, needsYou = false): RunState {
  return { kind, text, needsYou }
}
