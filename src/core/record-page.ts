import { findingText } from "./prompts.ts"
import type { ReviewRecord } from "./record.ts"
import { STATUS_TITLE } from "./task.ts"

/** The record as a page to read. What others wrote stands in blocks, so that it cannot pass for a heading of ours. */
export function recordMarkdown(record: ReviewRecord): string {
  const { task, intake, merge, cost } = record
  const out: string[] = [`# Review record of #${task.number}: ${inline(task.title)}`, ""]
  const facts: readonly (readonly [string, string | undefined])[] = [
    ["Stands in", STATUS_TITLE[task.column]],
    ["Branch", `\`${task.branch}\` from \`${task.base.branch}\` at \`${task.base.commit}\``],
    ["Iterations", String(task.generation)],
    ["Model", task.model],
    ["Agent", task.agent],
    ["Scope", task.scope],
    ["After", task.dependsOn?.map((number) => `#${number}`).join(", ")],
    ["Result", merge ? mergeText(merge) : "not merged"],
    ["Cost", `$${cost.work.toFixed(2)} work, $${cost.intake.toFixed(2)} intake, $${cost.validator.toFixed(2)} review`],
    ["Judged by", record.person],
    ["Written", record.written],
  ]
  for (const [name, value] of facts) if (value) out.push(`- ${name}: ${name === "Branch" ? value : inline(value)}`)
  out.push("", "## Asked for", "", quoted(task.description || "(nothing beyond the title)"))
  if (intake) {
    out.push("", "## Agreed", "")
    if (intake.waived !== undefined) out.push(`Intake was waived: ${inline(intake.waived)}`)
    if (intake.understanding) out.push(quoted(intake.understanding))
    for (const { question, assumption, required, answer, answered } of intake.decisions) {
      out.push("", `- ${inline(question)}${required ? " (required)" : ""}`, `  - assumed: ${inline(assumption)}`)
      out.push(answer ? `  - decided: ${inline(answer)} (${answered})` : "  - left open: the assumption holds")
    }
    if (intake.instruction)
      out.push("", `Instruction, by ${intake.instruction.by}:`, "", quoted(intake.instruction.text))
  }
  for (const review of record.reviews) {
    out.push("", `## Review of iteration ${review.generation}`, "")
    out.push(`- Snapshot: \`${review.snapshot}\``, `- Begun: ${review.begun}`)
    if (review.model) out.push(`- Model: ${inline(review.model)}`)
    if (review.material) out.push(`- Shown to the reviewer: ${review.material.shown} of ${review.material.total} files`)
    if (review.note) out.push("", "Sent back with:", "", quoted(review.note))
    if (!review.reported) out.push("", "It ended without a report.")
    if (review.summary) out.push("", quoted(review.summary))
    if (review.reported && review.findings.length === 0) out.push("", "No findings.")
    for (const finding of review.findings) {
      const { ruling } = finding
      out.push("", `### ${finding.id} ${inline(finding.title)}`, "", quoted(findingText(finding)))
      out.push(
        "",
        ruling
          ? `Ruled **${ruling.disposition}** at ${ruling.at}, on \`${ruling.snapshot}\`${ruling.reason ? `: ${inline(ruling.reason)}` : ""}`
          : "Not ruled.",
      )
    }
    for (const one of review.repeated)
      out.push(
        "",
        `- Only repeated ${one.finding} of iteration ${one.generation} (${one.disposition}): ${inline(one.title)}`,
      )
  }
  if (record.waivedReview !== undefined) out.push("", `The review was waived: ${inline(record.waivedReview)}`)
  if (record.comments.length > 0) out.push("", "## Comments", "")
  for (const { id, text, by, at, location, generation, disposition, reason } of record.comments) {
    const line = location?.line === undefined ? "" : `:${location.line}`
    const place = location ? `, on ${inline(location.path)}${line}` : ""
    out.push("", `${id} by ${inline(by)} at ${at}, iteration ${generation}${place} (${disposition})`, "", quoted(text))
    if (reason) out.push("", `Reason: ${inline(reason)}`)
  }
  if (record.checks.length > 0) out.push("", "## Checks", "")
  for (const check of record.checks)
    out.push(
      `- ${inline(check.name)}: ${check.outcome.replace("_", " ")}${check.text ? `, ${inline(check.text)}` : ""}`,
    )
  if (record.snapshots.length > 0) out.push("", "## Snapshots", "")
  for (const { at, commit, tree } of record.snapshots)
    out.push(`- ${at} \`${commit}\`${tree ? ` (tree \`${tree}\`)` : ""}`)
  out.push("", "## Timeline", "")
  for (const { at, kind, text } of record.timeline) out.push(`- ${at} ${kind}: ${inline(text)}`)
  return `${out.join("\n")}\n`
}

function mergeText(merge: NonNullable<ReviewRecord["merge"]>): string {
  if (merge.state === "merged")
    return `merged into ${merge.target ?? "its target"} as ${merge.commit ?? "?"} (${merge.strategy ?? "squash"}) at ${merge.at}`
  if (merge.state === "left") return `left unmerged: ${merge.reason ?? ""}`
  return `${merge.state}${merge.reason ? `: ${merge.reason}` : ""}`
}

/** Foreign text within a line of ours: one line, and none of it is markup. */
function inline(text: string): string {
  return text
    .replace(/\s+/g, " ")
    .trim()
    .replace(/[\\`*_[\]<>#|!]/g, "\\$&")
}

/** Foreign text as a block, whatever stands in it. */
function quoted(text: string): string {
  const fence = "`".repeat(Math.max(3, ...[...text.matchAll(/`+/g)].map(([run]) => run.length + 1)))
  return `${fence}text\n${text.replace(/\s+$/, "")}\n${fence}`
}
