/**
 * The stored shapes: `session.metadata.kagan` of a task, of its helper children and of its workers.
 * This is the public contract (docs/metadata.md); the codec alone turns unknown values into these types.
 */

export const STATUSES = ["backlog", "in_progress", "review", "done"] as const
export type Status = (typeof STATUSES)[number]

export const STATUS_TITLE: Readonly<Record<Status, string>> = {
  backlog: "Backlog",
  in_progress: "In Progress",
  review: "Review",
  done: "Done",
}

/** The version of the metadata that this code writes; a newer one is shown read-only. */
export const METADATA_VERSION = 1

export type ModelRef = { readonly providerID: string; readonly modelID: string; readonly variant?: string }

/** Who holds a long action: a claim of a dead process is taken over, one of another host is respected. */
export type Claim = { readonly pid: number; readonly start: string; readonly host: string; readonly at: number }

export type HelperRole = "intake" | "validator"
export type HelperState = "claimed" | "running" | "done" | "failed" | "waived"
export type Mode = "autonomous" | "assisted" | "manual"

/** What the task keeps of its helper; the bulky result lives in the helper's own metadata. */
export type HelperPointer = {
  readonly state: HelperState
  /** Absent while claimed and when waived. */
  readonly sessionID?: string
  readonly generation: number
  /** From 1; a retry counts up. */
  readonly attempt: number
  /** Why it failed or was waived. */
  readonly reason?: string
  readonly claim?: Claim
  /** How often the host has taken its prompt. */
  readonly asked?: Sent
  /** Milliseconds since the epoch. */
  readonly at: number
}

export type IntakePointer = HelperPointer & {
  /** Required decisions, and how many of them the person has answered. */
  readonly required: number
  readonly answered: number
  readonly mode?: Mode
}

/** The exact tree under review: a commit under `refs/kagan/<n>/<generation>`. */
export type SnapshotRef = {
  readonly commit: string
  readonly tree: string
  /** The merge base that the diff starts from. */
  readonly base: string
  readonly generation: number
  readonly files: number
  readonly insertions: number
  readonly deletions: number
  /** Repositories inside the worktree, the first few: what is in them is not in the snapshot. */
  readonly nested?: readonly string[]
  readonly at: number
}

/** What came of the checks on the snapshot; the results themselves are a file beside the task. */
export type ChecksSummary = {
  readonly state: "running" | "done"
  readonly passed: number
  readonly failed: number
  /** Could not be run, or was and does not count: the tree was not the snapshot's. */
  readonly notRun: number
  /** Names of the first few that failed. */
  readonly failing?: readonly string[]
  /** Who runs them. */
  readonly claim?: Claim
  readonly at: number
}

export type Review = {
  readonly snapshot?: SnapshotRef
  readonly checks?: ChecksSummary
  readonly validator?: HelperPointer
  /** How much of the change the reviewer was shown, where that was not all of it. */
  readonly partial?: { readonly shown: number; readonly total: number }
  readonly findings: number
  readonly ruled: number
  /** How many are ruled "fix". */
  readonly fix: number
  /** Why the snapshot could not be taken or the work is not reviewable. */
  readonly problem?: string
  /** Much that is untracked would go in: asked whether it belongs to the task, or allowed by the person. */
  readonly large?: "asked" | "allowed"
}

export type CommentCounts = {
  readonly total: number
  /** How many go back to the agent, when `generation` is the present one. */
  readonly fix: number
  readonly generation: number
  /** When one was last written, changed or deleted. */
  readonly at: number
}

export type WakePurpose = "start" | "send_back" | "resume" | "tell"

export type Sent = { readonly count: number; readonly at: number }

/** One intended turn. Its ids are stored before anything is sent, so that a crash never sends it twice. */
export type WakeIntent = {
  readonly id: string
  readonly messageID: string
  readonly partID: string
  readonly purpose: WakePurpose
  /** The prompt, short: contexts travel by injection. */
  readonly text: string
  readonly at: number
  /** Set once the transcript is known to hold the message. */
  readonly deliveredAt?: number
  /** How often the host has taken it, and when last: one that it took and never stored is sent again once. */
  readonly sent?: Sent
}

export type Run = {
  readonly intent?: WakeIntent
  /** The session that carries the present generation when it is not the task's own. */
  readonly workerID?: string
  /** The present generation is to be done in a fresh session; the worker is made before the first wake. */
  readonly fresh?: boolean
  /** Who is making the worker. */
  readonly claim?: Claim
  /** The person stopped it; only a resume, a tell or a move starts it again. */
  readonly stoppedAt?: number
}

export type Approval = { readonly snapshot: string; readonly at: number; readonly waiver?: string }

export type MergeStrategy = "squash" | "merge"

export type Merge = {
  readonly state: "claimed" | "merged" | "left" | "failed"
  readonly snapshot?: string
  readonly target?: string
  readonly strategy?: MergeStrategy
  readonly commit?: string
  /** Why it was left unmerged, or why the merge failed. */
  readonly reason?: string
  readonly claim?: Claim
  readonly at: number
}

/** The last refused wish. */
export type Denied = { readonly wish: Status; readonly kind: string; readonly text: string; readonly at: number }

/** A wish that is held, not refused. */
export type Awaiting = {
  readonly wish: Status
  readonly text: string
  readonly since: number
  /** It was asked to go on in a fresh session. */
  readonly fresh?: boolean
}

export type TaskMeta = {
  readonly v: number
  readonly boardTask: true
  readonly sessionID: string
  readonly repo: string
  readonly taskNumber: number
  /** What is wanted. */
  readonly status: Status
  /** What was accepted; `undefined`: never gated. */
  readonly lastGatedStatus?: Status
  /** Position in its column, the person's own; lower stands higher. */
  readonly order: number
  /** Absent when empty; a long one is a file beside the record and `descriptionFile` is true. */
  readonly description?: string
  readonly descriptionFile?: boolean
  readonly baseBranch: string
  readonly baseCommit: string
  readonly branch: string
  readonly worktree: string
  readonly model?: ModelRef
  readonly agent?: string
  readonly scope?: string
  readonly dependsOn?: readonly number[]
  /** Under which id it was asked for: the same asked for again finds it. */
  readonly draft?: string
  /** Iteration, from 1. */
  readonly generation: number
  readonly setup?: {
    readonly state: "running" | "done" | "failed" | "skipped"
    readonly text?: string
    /** The worktree was lost and put back: whatever its column, the task waits for it. */
    readonly again?: true
    /** Who runs it. */
    readonly claim?: Claim
    readonly at: number
  }
  readonly intake?: IntakePointer
  readonly run?: Run
  readonly review?: Review
  /** The person's own comments; they themselves are a file beside the task. */
  readonly comments?: CommentCounts
  readonly approval?: Approval
  readonly merge?: Merge
  readonly denied?: Denied
  readonly awaiting?: Awaiting
  readonly startedAt?: number
  readonly archivedAt?: number
  readonly trashedAt?: number
}

export type Decision = { readonly question: string; readonly assumption: string; readonly required: boolean }
export type SplitTask = { readonly title: string; readonly description: string; readonly dependsOn?: readonly number[] }

/** What the intake helper reports through `kagan_intake`. */
export type Assessment = {
  readonly understanding: string
  readonly decisions: readonly Decision[]
  readonly instruction: string
  readonly mode: Mode
  readonly modeReason: string
  readonly split?: readonly SplitTask[]
}

export type Answer = {
  /** Index into `assessment.decisions`. */
  readonly decision: number
  readonly kind: "approved" | "overridden"
  /** The person's own answer when overridden. */
  readonly text?: string
  readonly at: number
}

export const FINDING_KINDS = ["misalignment", "bug", "uncertainty", "comment"] as const
export type FindingKind = (typeof FINDING_KINDS)[number]
export const SEVERITIES = ["low", "medium", "high"] as const
export type Severity = (typeof SEVERITIES)[number]

export type Location = { readonly path: string; readonly line?: number; readonly endLine?: number }

/** Whether the cited place was found in the snapshot's hunks. */
export type Citation = "verified" | "file" | "unchanged_line" | "no_line" | "no_file" | "none"

export type Finding = {
  /** `F1`, `F2`, … within one generation. */
  readonly id: string
  readonly kind: FindingKind
  readonly severity: Severity
  /** 0–10; `null`: the helper gave nothing usable, which never hides a finding. */
  readonly confidence: number | null
  readonly title: string
  readonly detail: string
  readonly location?: Location
  readonly citation: Citation
  /** How many equal ones were folded into it, when more than one. */
  readonly count?: number
}

export type Disposition = "fix" | "intended" | "ignored"

export type Ruling = {
  readonly finding: string
  readonly disposition: Disposition
  readonly reason?: string
  readonly snapshot: string
  readonly at: number
}

/** What of a change a reviewer was shown: whole files, of how many, and the first of those that were left out or cut. */
export type ReviewedMaterial = { readonly shown: number; readonly total: number; readonly left: readonly string[] }

/** A finding that only says again what was ruled on in an earlier review. */
export type RepeatedFinding = {
  readonly title: string
  readonly location?: Location
  /** The finding that it repeats, and the iteration of that. */
  readonly finding: string
  readonly generation: number
  readonly disposition: Disposition
}

export type IntakeMeta = {
  readonly v: number
  readonly role: "intake"
  readonly sessionID: string
  readonly repo: string
  readonly intakeParent: string
  readonly generation: number
  /** Which try of the task's pointer made it, and when that was claimed; together they name the one child of a try. */
  readonly attempt?: number
  readonly claimedAt?: number
  readonly assessment?: Assessment
  readonly answers?: readonly Answer[]
  /** The instruction in the person's words, in place of the assessment's. */
  readonly instruction?: string
}

export type ValidatorMeta = {
  readonly v: number
  readonly role: "validator"
  readonly sessionID: string
  readonly repo: string
  readonly validatorParent: string
  readonly generation: number
  /** Which try of the task's pointer made it, and when that was claimed; together they name the one child of a try. */
  readonly attempt?: number
  readonly claimedAt?: number
  readonly snapshot: string
  /** How much of the change it was shown. */
  readonly material?: ReviewedMaterial
  readonly summary?: string
  readonly findings?: readonly Finding[]
  /** What it reported although the person had set it aside on code that is unchanged. */
  readonly repeated?: readonly RepeatedFinding[]
  readonly rulings?: readonly Ruling[]
}

export type WorkerMeta = {
  readonly v: number
  readonly role: "worker"
  readonly sessionID: string
  readonly repo: string
  readonly workerParent: string
  readonly generation: number
}

export type KaganMeta =
  | { readonly kind: "task"; readonly meta: TaskMeta }
  | { readonly kind: "intake"; readonly meta: IntakeMeta }
  | { readonly kind: "validator"; readonly meta: ValidatorMeta }
  | { readonly kind: "worker"; readonly meta: WorkerMeta }

/** A task with what its session adds. */
export type Task = { readonly title: string; readonly meta: TaskMeta }

/** The column in which the card stands: the last accepted status. */
export function columnOf(meta: TaskMeta): Status {
  return meta.lastGatedStatus ?? meta.status
}

/** What would be sent back now: findings ruled "fix" and the person's own comments. */
export function toFix(meta: Pick<TaskMeta, "review" | "comments" | "generation">): {
  readonly findings: number
  readonly comments: number
} {
  const { comments } = meta
  return {
    findings: meta.review?.fix ?? 0,
    comments: comments?.generation === meta.generation ? comments.fix : 0,
  }
}

/** The session whose turns carry the present generation. */
export function workingSession(meta: TaskMeta): string {
  return meta.run?.workerID ?? meta.sessionID
}
