import { plural } from "../../core/board.ts"
import { repeats, type PriorRuling } from "../../core/carry.ts"
import { numberFindings, placeFindings } from "../../core/citations.ts"
import type { FindingsReport, ReportedFinding } from "../../core/findings.ts"
import type { RequestFailure } from "../../core/protocol.ts"
import type { FindingRuling } from "../../core/review-requests.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { isReason, rulingNeedsReason } from "../../core/rules.ts"
import {
  columnOf,
  type Citation,
  type Finding,
  type RepeatedFinding,
  type Ruling,
  type Task,
  type ValidatorMeta,
} from "../../core/task.ts"
import { notAwaited, type HelperFailure } from "../helper.ts"
import { failed, refused } from "../moves.ts"
import type { Project } from "../project.ts"
import { priorRulings } from "./prior.ts"

/** Stores what the recorded validator reported, its citations checked against the snapshot. Once; a later call changes nothing. */
export async function storeFindings(
  project: Project,
  sessionID: string,
  report: FindingsReport,
): Promise<Result<string, string>> {
  const before = await project.tasks.readHelper<ValidatorMeta>(sessionID, "validator")
  if (!before.ok) return err(before.error.text)
  if (before.value.findings) return err("the findings were already reported; there is nothing more to do")
  const task = await project.tasks.read(before.value.validatorParent)
  if (!task.ok) return err(`its task is not there any more: ${task.error.text}`)
  const over = notAwaited(task.value.task, "validator", sessionID)
  if (over) return err(over)
  const snapshot = task.value.task.meta.review?.snapshot
  if (!snapshot || snapshot.commit !== before.value.snapshot)
    return err("a newer snapshot is under review: this report comes too late")
  const diff = await project.trees.diff(snapshot)
  if (!diff.ok) return err(`the snapshot could not be read: ${diff.error.text}`)
  const placed = placeFindings(report, task.value.task.meta.worktree)
  const citations = await project.trees.cite(
    diff.value,
    placed.map((finding) => finding.location),
  )
  if (!citations.ok) return err(`the snapshot could not be read: ${citations.error.text}`)
  const priors = await priorRulings(project, task.value.task, snapshot.commit, sessionID)
  const sorted = withoutRepeats(placed, citations.value, priors)
  const findings = numberFindings(sorted.placed, sorted.citations)
  const { repeated } = sorted
  const stored = await project.tasks.updateHelper<ValidatorMeta>(sessionID, "validator", (meta) =>
    meta.findings
      ? undefined
      : { ...meta, summary: report.summary, findings, ...(repeated.length > 0 ? { repeated } : {}) },
  )
  if (!stored.ok) return err(stored.error.text)
  if (stored.value.findings !== findings) return err("the findings were already reported; there is nothing more to do")
  return ok("Reported. Nothing more is needed: end your turn with one short sentence.")
}

/** What only says again what the person set aside, on code that is unchanged, is kept apart and asked about no more. */
function withoutRepeats(
  placed: readonly ReportedFinding[],
  citations: readonly Citation[],
  priors: readonly PriorRuling[],
) {
  const kept: number[] = []
  const repeated: RepeatedFinding[] = []
  for (const [index, finding] of placed.entries()) {
    const prior = repeats(finding, priors)
    if (!prior) {
      kept.push(index)
      continue
    }
    const { title, location } = finding
    const { generation, ruling } = prior
    const { finding: id, disposition } = ruling
    repeated.push({ title, ...(location ? { location } : {}), finding: id, generation, disposition })
  }
  return { placed: kept.map((i) => placed[i]!), citations: kept.map((i) => citations[i] ?? "none"), repeated }
}

/** Counts the report into the task. */
export async function collectFindings(project: Project, task: Task): Promise<Result<void, HelperFailure>> {
  const pointer = task.meta.review?.validator
  if (!pointer?.sessionID) return ok()
  const helper = await project.tasks.readHelper<ValidatorMeta>(pointer.sessionID, "validator")
  if (!helper.ok) return helper
  const { findings, rulings, material, repeated = [] } = helper.value
  if (!findings) return ok()
  const partial = material && material.shown < material.total ? material : undefined
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    const now = meta.review?.validator
    if (!meta.review || now?.sessionID !== pointer.sessionID || now?.state !== "running") return undefined
    return {
      ...meta,
      review: {
        ...meta.review,
        ...countRulings(findings, rulings ?? []),
        partial: partial && { shown: partial.shown, total: partial.total },
        validator: { ...now, state: "done", at: project.clock.now() },
      },
    }
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    const text = [
      `reviewer reported ${plural(findings.length, "finding")}`,
      ...(repeated.length > 0 ? [`${repeated.length} more only repeated what you had ruled on`] : []),
      ...(partial ? [`it was shown ${partial.shown} of ${partial.total} files`] : []),
    ].join("; ")
    await project.remember(task.meta.sessionID, {
      kind: "helper",
      text,
      helper: pointer.sessionID,
      findings: findings.length,
    })
    project.push({ type: "notice", level: "info", text, taskNumber: task.meta.taskNumber })
  }
  return ok()
}

/** The person's rulings; ruling again replaces the earlier one. */
export async function ruleFindings(
  project: Project,
  task: Task,
  rulings: readonly FindingRuling[],
): Promise<Result<string, RequestFailure>> {
  if (columnOf(task.meta) !== "review") return refused({ kind: "not_in_column", needed: "review" })
  const pointer = task.meta.review?.validator
  if (pointer?.state !== "done" || !pointer.sessionID) return refused({ kind: "review_running" })
  let problem: { readonly ok: false; readonly error: RequestFailure } | undefined
  const helper = await project.tasks.updateHelper<ValidatorMeta>(pointer.sessionID, "validator", (meta) => {
    const made: Ruling[] = []
    for (const ruling of rulings) {
      const finding = meta.findings?.find((candidate) => candidate.id === ruling.finding)
      if (!finding) {
        problem = refused({ kind: "invalid", text: `there is no finding ${ruling.finding}` })
        return undefined
      }
      if (rulingNeedsReason(finding, ruling.disposition) && !isReason(ruling.reason ?? "")) {
        problem = refused({
          kind: "reason_needed",
          what: `setting aside ${finding.id} (${finding.severity} ${finding.kind})`,
        })
        return undefined
      }
      made.push({
        finding: ruling.finding,
        disposition: ruling.disposition,
        ...(ruling.reason?.trim() ? { reason: ruling.reason.trim() } : {}),
        snapshot: meta.snapshot,
        at: project.clock.now(),
      })
    }
    const kept = (meta.rulings ?? []).filter((old) => !made.some((ruling) => ruling.finding === old.finding))
    return { ...meta, rulings: [...kept, ...made] }
  })
  if (problem) return problem
  if (!helper.ok) return failed(helper.error.text)
  const findings = helper.value.findings ?? []
  const counts = countRulings(findings, helper.value.rulings ?? [])
  const updated = await project.tasks.update(task.meta.sessionID, (meta) =>
    meta.review?.validator?.sessionID === pointer.sessionID
      ? { ...meta, review: { ...meta.review, ...counts } }
      : undefined,
  )
  if (!updated.ok) return failed(updated.error.text)
  for (const ruling of rulings) {
    const text = `${ruling.finding} ruled ${ruling.disposition}${ruling.reason ? `: ${ruling.reason}` : ""}`
    await project.remember(task.meta.sessionID, {
      kind: "ruling",
      text,
      finding: ruling.finding,
      disposition: ruling.disposition,
    })
  }
  return ok(`${counts.ruled} of ${counts.findings} ruled`)
}

function countRulings(findings: readonly Finding[], rulings: readonly Ruling[]) {
  const byFinding = new Map(rulings.map((ruling) => [ruling.finding, ruling]))
  const ruled = findings.filter((finding) => byFinding.has(finding.id))
  return {
    findings: findings.length,
    ruled: ruled.length,
    fix: ruled.filter((finding) => byFinding.get(finding.id)?.disposition === "fix").length,
  }
}
