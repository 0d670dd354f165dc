import { historyPage } from "./history.ts"
import { cleaned } from "./secrets.ts"
import type { CheckResult } from "./checks.ts"
import type { Comment } from "./comments.ts"
import type { Cost } from "./stats.ts"
import {
  columnOf,
  type Finding,
  type IntakeMeta,
  type Merge,
  type ModelRef,
  type RepeatedFinding,
  type ReviewedMaterial,
  type Ruling,
  type Status,
  type Task,
  type ValidatorMeta,
} from "./task.ts"

/*
 * What was judged of a task, as somebody else may have to read it later: what was asked and agreed, what each review
 * found, what the person ruled and why, what was checked, and which tree came of it. Credentials are masked.
 */

export type RecordInput = {
  readonly task: Task
  readonly description: string
  readonly intake?: IntakeMeta
  /** Oldest first. */
  readonly reviews: readonly {
    readonly meta: ValidatorMeta
    readonly at: number
    readonly model?: ModelRef
    /** What the person wrote with the send back that began this iteration. */
    readonly note?: string
  }[]
  readonly comments: readonly Comment[]
  readonly checks: readonly CheckResult[]
  readonly history: readonly unknown[]
  readonly cost: Cost
  /** Whose rulings and answers these are. */
  readonly person: string
  readonly now: number
}

export type ReviewRecord = {
  readonly kagan: "review record"
  readonly version: 1
  readonly written: string
  readonly person: string
  readonly task: {
    readonly number: number
    readonly title: string
    readonly description: string
    readonly column: Status
    readonly branch: string
    readonly base: { readonly branch: string; readonly commit: string }
    readonly generation: number
    readonly model?: string
    readonly agent?: string
    readonly scope?: string
    readonly dependsOn?: readonly number[]
  }
  readonly intake?: {
    readonly state: string
    readonly waived?: string
    readonly understanding?: string
    readonly mode?: string
    readonly instruction?: { readonly text: string; readonly by: "the person" | "the intake" }
    readonly decisions: readonly {
      readonly question: string
      readonly assumption: string
      readonly required: boolean
      readonly answer?: string
      readonly answered?: string
    }[]
  }
  readonly reviews: readonly {
    readonly generation: number
    readonly snapshot: string
    readonly begun: string
    readonly model?: string
    readonly note?: string
    readonly summary?: string
    readonly reported: boolean
    readonly material?: ReviewedMaterial
    readonly findings: readonly (Finding & {
      readonly ruling?: Omit<Ruling, "finding" | "at"> & { readonly at: string }
    })[]
    readonly repeated: readonly RepeatedFinding[]
  }[]
  readonly waivedReview?: string
  /** The person's own words on the change. */
  readonly comments: readonly (Omit<Comment, "at" | "editedAt"> & { readonly at: string; readonly edited?: string })[]
  readonly checks: readonly Pick<CheckResult, "name" | "outcome" | "text">[]
  readonly snapshots: readonly { readonly at: string; readonly commit: string; readonly tree?: string }[]
  readonly merge?: Omit<Merge, "claim" | "at"> & { readonly at: string }
  /** In dollars, as the providers' prices say. */
  readonly cost: Cost
  readonly timeline: readonly { readonly at: string; readonly kind: string; readonly text: string }[]
}

/** How much of a long history is repeated. */
const PAGES = 20

/** Everything as one value; nothing in it looks like a credential any more. */
export function reviewRecord(input: RecordInput): ReviewRecord {
  const { meta, title } = input.task
  const { intake, review, merge } = meta
  const known = input.intake
  const { claim: _, at: mergedAt, ...merged } = merge ?? { at: 0, state: "left" as const }
  const record: ReviewRecord = {
    kagan: "review record",
    version: 1,
    written: iso(input.now),
    person: input.person,
    task: {
      number: meta.taskNumber,
      title,
      description: input.description,
      column: columnOf(meta),
      branch: meta.branch,
      base: { branch: meta.baseBranch, commit: meta.baseCommit },
      generation: meta.generation,
      ...(meta.model ? { model: modelText(meta.model) } : {}),
      ...(meta.agent ? { agent: meta.agent } : {}),
      ...(meta.scope ? { scope: meta.scope } : {}),
      ...(meta.dependsOn ? { dependsOn: meta.dependsOn } : {}),
    },
    ...(intake
      ? {
          intake: {
            state: intake.state,
            ...(intake.state === "waived" ? { waived: intake.reason ?? "" } : {}),
            ...intakePart(known),
          },
        }
      : {}),
    reviews: input.reviews.map((one) => reviewPart(one)),
    ...(review?.validator?.state === "waived" ? { waivedReview: review.validator.reason ?? "" } : {}),
    comments: input.comments.map(({ at, editedAt, ...comment }) => ({
      ...comment,
      at: iso(at),
      ...(editedAt === undefined ? {} : { edited: iso(editedAt) }),
    })),
    checks: input.checks.map(({ name, outcome, text }) => ({ name, outcome, text })),
    snapshots: snapshotsIn(input.history),
    ...(merge ? { merge: { ...merged, at: iso(mergedAt) } } : {}),
    cost: input.cost,
    timeline: timelineOf(input.history),
  }
  return cleaned(record, 12) as ReviewRecord
}

function intakePart(known: IntakeMeta | undefined): Omit<NonNullable<ReviewRecord["intake"]>, "state" | "waived"> {
  const assessment = known?.assessment
  if (!assessment) return { decisions: [] }
  const own = known.instruction
  return {
    understanding: assessment.understanding,
    mode: `${assessment.mode}: ${assessment.modeReason}`,
    instruction: { text: own ?? assessment.instruction, by: own ? "the person" : "the intake" },
    decisions: assessment.decisions.map((decision, index) => {
      const answer = known.answers?.find((one) => one.decision === index)
      if (!answer) return decision
      const said = answer.kind === "overridden" ? (answer.text ?? "") : "approved as assumed"
      return { ...decision, answer: said, answered: iso(answer.at) }
    }),
  }
}

function reviewPart({ meta, at, model, note }: RecordInput["reviews"][number]): ReviewRecord["reviews"][number] {
  return {
    generation: meta.generation,
    snapshot: meta.snapshot,
    begun: iso(at),
    ...(model ? { model: modelText(model) } : {}),
    ...(note ? { note } : {}),
    ...(meta.summary ? { summary: meta.summary } : {}),
    reported: meta.findings !== undefined,
    ...(meta.material ? { material: meta.material } : {}),
    findings: (meta.findings ?? []).map((finding) => {
      const found = meta.rulings?.find((ruling) => ruling.finding === finding.id)
      if (!found) return finding
      const { finding: _, at: ruled, ...ruling } = found
      return { ...finding, ruling: { ...ruling, at: iso(ruled) } }
    }),
    repeated: meta.repeated ?? [],
  }
}

function snapshotsIn(history: readonly unknown[]): ReviewRecord["snapshots"] {
  return history.flatMap((raw) => {
    const { at, kind, commit, tree } = (raw ?? {}) as Record<string, unknown>
    if (kind !== "snapshot" || typeof commit !== "string" || typeof at !== "number") return []
    return [{ at: iso(at), commit, ...(typeof tree === "string" ? { tree } : {}) }]
  })
}

/** Oldest first. */
function timelineOf(history: readonly unknown[]): ReviewRecord["timeline"] {
  const lines = []
  let before: number | undefined = history.length
  for (let page = 0; page < PAGES && before; page++) {
    const read = historyPage(history, { before })
    lines.push(...read.lines)
    before = read.earlier
  }
  return lines.toReversed().map(({ at, kind, text }) => ({ at: iso(at), kind, text }))
}

function modelText({ providerID, modelID, variant }: ModelRef): string {
  return `${providerID}/${modelID}${variant ? ` (${variant})` : ""}`
}

function iso(at: number): string {
  return Number.isFinite(at) && Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : "unknown"
}
