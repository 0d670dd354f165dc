import { numberFindings, placeFindings } from "../../core/citations.ts"
import type { FindingsReport } from "../../core/findings.ts"
import type { FindingRuling, RequestFailure } from "../../core/protocol.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { isReason, rulingNeedsReason } from "../../core/rules.ts"
import { columnOf, type Finding, type Ruling, type Task, type ValidatorMeta } from "../../core/task.ts"
import type { HelperFailure } from "../helper.ts"
import { failed, refused } from "../moves.ts"
import type { Project } from "../project.ts"

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
  if (!task.ok) return err(task.error.text)
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
  const findings = numberFindings(placed, citations.value)
  const stored = await project.tasks.updateHelper<ValidatorMeta>(sessionID, "validator", (meta) =>
    meta.findings ? undefined : { ...meta, summary: report.summary, findings },
  )
  if (!stored.ok) return err(stored.error.text)
  return ok("Reported. Nothing more is needed: end your turn with one short sentence.")
}

/** Counts the report into the task. */
export async function collectFindings(project: Project, task: Task): Promise<Result<void, HelperFailure>> {
  const pointer = task.meta.review?.validator
  if (!pointer?.sessionID) return ok()
  const helper = await project.tasks.readHelper<ValidatorMeta>(pointer.sessionID, "validator")
  if (!helper.ok) return helper
  const { findings, rulings } = helper.value
  if (!findings) return ok()
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    const now = meta.review?.validator
    if (!meta.review || now?.sessionID !== pointer.sessionID || now?.state !== "running") return undefined
    return {
      ...meta,
      review: {
        ...meta.review,
        ...countRulings(findings, rulings ?? []),
        validator: { ...now, state: "done", at: project.clock.now() },
      },
    }
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    const text = `reviewer reported ${findings.length} ${findings.length === 1 ? "finding" : "findings"}`
    await project.remember(task.meta.sessionID, { kind: "helper", text, helper: pointer.sessionID })
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
