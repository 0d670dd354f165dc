import { ok, err, type Result } from "./result.ts"
import { stageOf, type BacklogTask, type ReviewTask } from "./stage.ts"
import { STATUS_TITLE, toFix, type Status, type TaskMeta } from "./task.ts"

/** "Cannot now": told before the person tries where that is possible, and the same words everywhere. */
export type Refusal =
  | { readonly kind: "not_a_move"; readonly from: Status; readonly to: Status }
  | { readonly kind: "already_there"; readonly to: Status }
  | { readonly kind: "worktree_not_ready" }
  | { readonly kind: "setup_failed" }
  | { readonly kind: "intake_running" }
  | { readonly kind: "intake_failed"; readonly reason: string }
  | { readonly kind: "decisions_open"; readonly open: number }
  | { readonly kind: "model_not_usable"; readonly model: string }
  | { readonly kind: "turn_running" }
  | { readonly kind: "approval_needed" }
  | { readonly kind: "findings_open"; readonly open: number }
  | { readonly kind: "findings_to_fix"; readonly count: number; readonly comments?: number }
  | { readonly kind: "nothing_to_fix" }
  | { readonly kind: "review_running" }
  | { readonly kind: "review_failed"; readonly reason: string }
  | { readonly kind: "no_snapshot" }
  | { readonly kind: "changed_since_review"; readonly files: readonly string[] }
  | { readonly kind: "other_snapshot" }
  | { readonly kind: "reason_needed"; readonly what: string }
  | { readonly kind: "not_in_column"; readonly needed: Status }
  | { readonly kind: "merging" }
  | { readonly kind: "no_target"; readonly base: string }
  | { readonly kind: "base_gone"; readonly base: string }
  | { readonly kind: "read_only" }
  | { readonly kind: "gone" }
  | { readonly kind: "stop_first" }
  | { readonly kind: "nothing_runs" }
  | { readonly kind: "title_empty" }
  | { readonly kind: "made_already"; readonly taskNumber: number }
  | { readonly kind: "invalid"; readonly text: string }

export function refusalText(refusal: Refusal): string {
  switch (refusal.kind) {
    case "not_a_move":
      return `a card cannot go from ${STATUS_TITLE[refusal.from]} to ${STATUS_TITLE[refusal.to]}`
    case "already_there":
      return `it is already in ${STATUS_TITLE[refusal.to]}`
    case "worktree_not_ready":
      return "its worktree is not ready"
    case "setup_failed":
      return "its setup failed (r runs it again, w goes on without it)"
    case "intake_running":
      return "intake has not reported yet (w waives it)"
    case "intake_failed":
      return `intake failed: ${refusal.reason} (r runs it again, w waives it)`
    case "decisions_open":
      return `${refusal.open} required ${refusal.open === 1 ? "decision is" : "decisions are"} open (i answers)`
    case "model_not_usable":
      return `the model ${refusal.model} cannot be used here: connect its provider (c) or choose another`
    case "turn_running":
      return "the agent is working (X stops it first)"
    case "approval_needed":
      return "only an approval moves a card to Done (a approves)"
    case "findings_open":
      return `${refusal.open} ${refusal.open === 1 ? "finding has" : "findings have"} no ruling (v opens the review)`
    case "findings_to_fix":
      return `${toFixText(refusal.count, refusal.comments ?? 0)}: send it back (s)`
    case "nothing_to_fix":
      return 'no finding is ruled "fix" and nothing is commented: there is nothing to send back (v opens the review)'
    case "review_running":
      return "the reviewer is still reading"
    case "review_failed":
      return `the review failed: ${refusal.reason} (r runs it again)`
    case "no_snapshot":
      return "there is no snapshot to judge"
    case "changed_since_review":
      return `changed since review: ${refusal.files.slice(0, 3).join(", ")}${refusal.files.length > 3 ? ` and ${refusal.files.length - 3} more` : ""} (r reviews again)`
    case "other_snapshot":
      return "a newer snapshot is under review than the one you approved"
    case "reason_needed":
      return `${refusal.what} needs a reason`
    case "not_in_column":
      return `that is done in ${STATUS_TITLE[refusal.needed]}`
    case "base_gone":
      return `there is no branch ${refusal.base} any more (U gives the task another base)`
    case "no_target":
      return `${refusal.base} is a remote branch: choose the local branch to merge into`
    case "merging":
      return "it is being merged"
    case "read_only":
      return "a newer Kagan wrote this card: it is read-only here"
    case "gone":
      return "there is no such task any more"
    case "stop_first":
      return "it is running (X stops it)"
    case "nothing_runs":
      return "nothing of it runs"
    case "made_already":
      return `#${refusal.taskNumber} was created when this was sent before, with other words`
    case "title_empty":
      return "a title needs at least one visible character"
    case "invalid":
      return refusal.text
  }
}

function toFixText(findings: number, comments: number): string {
  const ruled = findings === 0 ? [] : [`${findings} ${findings === 1 ? "finding is" : "findings are"} ruled "fix"`]
  const said = comments === 0 ? [] : [`${comments} ${comments === 1 ? "comment stands" : "comments stand"}`]
  return [...ruled, ...said].join(", ")
}

/** What the judgement of a move needs to know beyond the metadata. */
export type MoveFacts = {
  readonly turnRunning: boolean
  readonly worktreeReady: boolean
  /** Undefined: not known here, which the server half never leaves so. */
  readonly modelUsable?: { readonly usable: boolean; readonly model: string }
  readonly inProgress: number
  readonly limit: number
  /** Numbers of the tasks it waits for that are not done. */
  readonly openDependencies: readonly number[]
  readonly intakeEnabled: boolean
  /** What the person wants done when it is sent back, beside the findings. */
  readonly note?: string
}

export type Verdict = { readonly kind: "accepted" } | { readonly kind: "queued"; readonly text: string }

/**
 * The move gate: whether a card may leave its column for `to`. Both halves ask it; only the server half acts on it.
 * Moves to Done are judged by `judgeApproval` and `judgeLeave`, and a send back by `judgeSendBack`.
 */
export function judgeMove(meta: TaskMeta, to: Status, facts: MoveFacts): Result<Verdict, Refusal> {
  const stage = stageOf(meta)
  const from = stage.column
  if (stage.column === "review" && stage.merge?.state === "claimed") return err({ kind: "merging" })
  if (from === to) return err({ kind: "already_there", to })
  switch (stage.column) {
    case "backlog":
      return to === "in_progress" ? judgeStart(stage, facts) : err({ kind: "not_a_move", from, to })
    case "in_progress":
      if (to === "done") return err({ kind: "not_a_move", from, to })
      return to === "review" && facts.turnRunning ? err({ kind: "turn_running" }) : ok({ kind: "accepted" })
    case "review":
      if (to === "done") return err({ kind: "approval_needed" })
      return to === "in_progress" ? judgeAgain(stage, facts) : ok({ kind: "accepted" })
    case "done":
      return err({ kind: "not_a_move", from, to })
  }
}

function judgeStart(task: BacklogTask, facts: MoveFacts): Result<Verdict, Refusal> {
  if (!facts.worktreeReady) return err({ kind: "worktree_not_ready" })
  const { setup, intake } = task
  if (setup?.state === "failed") return err({ kind: "setup_failed" })
  if (facts.intakeEnabled || intake) {
    if (!intake || intake.state === "claimed" || intake.state === "running") return err({ kind: "intake_running" })
    if (intake.state === "failed") return err({ kind: "intake_failed", reason: intake.reason ?? "no reason given" })
    if (intake.state === "done" && intake.answered < intake.required) {
      return err({ kind: "decisions_open", open: intake.required - intake.answered })
    }
  }
  if (facts.modelUsable && !facts.modelUsable.usable)
    return err({ kind: "model_not_usable", model: facts.modelUsable.model })
  if (facts.openDependencies.length > 0) {
    return ok({ kind: "queued", text: `queued after ${facts.openDependencies.map((n) => `#${n}`).join(", ")}` })
  }
  if (setup?.state === "running") return ok({ kind: "queued", text: "starts once its setup is done" })
  return place(facts)
}

/** A send back takes a place in progress like a start; what was queued was judged when it was queued. */
function judgeAgain(task: ReviewTask, facts: MoveFacts): Result<Verdict, Refusal> {
  if (!facts.worktreeReady) return err({ kind: "worktree_not_ready" })
  if (task.awaiting?.wish !== "in_progress") {
    const verdict = worthSendingBack(task, facts.note)
    if (!verdict.ok) return verdict
  }
  if (facts.modelUsable && !facts.modelUsable.usable)
    return err({ kind: "model_not_usable", model: facts.modelUsable.model })
  return place(facts)
}

function place(facts: MoveFacts): Result<Verdict, Refusal> {
  if (facts.inProgress < facts.limit) return ok({ kind: "accepted" })
  return ok({ kind: "queued", text: `queued (${facts.inProgress}/${facts.limit} in progress)` })
}

/** Whether there is something to send back; a note of the person's own counts. */
export function judgeSendBack(meta: TaskMeta, note?: string): Result<Verdict, Refusal> {
  const task = inReview(meta)
  return task.ok ? worthSendingBack(task.value, note) : task
}

function worthSendingBack(task: ReviewTask, note: string | undefined): Result<Verdict, Refusal> {
  const { findings, comments } = toFix(task)
  return findings + comments === 0 && !note?.trim() ? err({ kind: "nothing_to_fix" }) : ok({ kind: "accepted" })
}

/** What is judged in Review and nowhere else, and not while it is being merged. */
function inReview(meta: TaskMeta): Result<ReviewTask, Refusal> {
  const stage = stageOf(meta)
  if (stage.column !== "review") return err({ kind: "not_in_column", needed: "review" })
  return stage.merge?.state === "claimed" ? err({ kind: "merging" }) : ok(stage)
}

/**
 * Whether exactly this snapshot may be merged. `changed` names what differs between snapshot and worktree now; `inBase`:
 * the target has everything that it brings already.
 */
export function judgeApproval(
  meta: TaskMeta,
  request: { readonly snapshot: string; readonly waiver?: string },
  changed: readonly string[],
  inBase = false,
): Result<Verdict, Refusal> {
  const task = inReview(meta)
  if (!task.ok) return task
  const { review } = task.value
  if (!review.snapshot) return err({ kind: "no_snapshot" })
  if (review.snapshot.commit !== request.snapshot) return err({ kind: "other_snapshot" })
  // It was merged outside: there is nothing left to judge, only to close.
  if (inBase) return ok({ kind: "accepted" })
  if (changed.length > 0) return err({ kind: "changed_since_review", files: changed })
  const validator = review.validator
  if (validator?.state !== "done" && !request.waiver?.trim()) {
    if (validator?.state === "failed")
      return err({ kind: "review_failed", reason: validator.reason ?? "no reason given" })
    if (validator?.state !== "waived") return err({ kind: "review_running" })
  }
  if (review.ruled < review.findings) return err({ kind: "findings_open", open: review.findings - review.ruled })
  const fix = toFix(meta)
  if (fix.findings + fix.comments > 0) {
    return err({ kind: "findings_to_fix", count: fix.findings, comments: fix.comments })
  }
  return ok({ kind: "accepted" })
}

/** Done without merge: a reason is needed, and nothing may be running. */
export function judgeLeave(meta: TaskMeta, reason: string): Result<Verdict, Refusal> {
  const task = inReview(meta)
  if (!task.ok) return task
  if (!isReason(reason)) return err({ kind: "reason_needed", what: "done without merge" })
  return ok({ kind: "accepted" })
}

/** Whether the base may be brought into the task's branch: its files change under whoever works on them. */
export function judgeUpdate(meta: TaskMeta, facts: { readonly turnRunning: boolean }): Result<Verdict, Refusal> {
  const stage = stageOf(meta)
  if (stage.column === "backlog") return err({ kind: "not_in_column", needed: "in_progress" })
  if (stage.column === "done") return err({ kind: "not_in_column", needed: "review" })
  if (stage.column === "review" && stage.merge?.state === "claimed") return err({ kind: "merging" })
  if (facts.turnRunning) return err({ kind: "turn_running" })
  if (stage.column === "review" && stage.review.checks?.state === "running")
    return err({ kind: "invalid", text: "its checks still run (X stops them)" })
  return ok({ kind: "accepted" })
}

/** A reason is more than a placeholder: it has a word that says something. */
export function isReason(text: string): boolean {
  const words = text
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s]/gu, "")
  if (words.length < 3) return false
  return !/^(ok|okay|lgtm|fine|yes|no|none|na|n a|todo|tbd|asdf|test|good|sure|nothing|because)$/.test(words)
}

/** Whether a ruling must say why: setting aside what weighs, or what nobody asked for. */
export function rulingNeedsReason(finding: { severity: string; kind: string }, disposition: string): boolean {
  if (disposition === "fix") return false
  return finding.severity === "high" || finding.kind === "misalignment"
}

/** The column that `m` leads to, when one does. */
export function forwardOf(status: Status): Status | undefined {
  return status === "backlog" ? "in_progress" : status === "in_progress" ? "review" : undefined
}

/** The column that `b` leads to. */
export function backOf(status: Status): Status | undefined {
  return status === "in_progress" ? "backlog" : status === "review" ? "in_progress" : undefined
}
