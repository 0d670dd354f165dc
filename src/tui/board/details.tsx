import { createMemo } from "solid-js"
import { wrap } from "../../core/text.ts"
import { columnOf, STATUS_TITLE } from "../../core/task.ts"
import { useApp, type App } from "../app.tsx"
import { LinePane } from "../ui/line-pane.tsx"
import { joined, type Segment } from "../ui/segments.ts"
import { RUN_SIGN } from "../ui/signs.ts"
import type { Commands } from "./commands.tsx"
import type { Card } from "./store.tsx"

/** Everything about the selected card, in one scrolled column. */
export function Details(props: { readonly commands: Commands; readonly width: number; readonly height: number }) {
  const app = useApp()
  // With an initial value a failure here is the only one: nothing reads an undefined after it.
  const lines = createMemo<Segment[][]>(() => {
    const card = props.commands.selected()
    return card ? detailLines(app, card, props.width - 4) : [[{ text: "No card is selected.", tone: "muted" }]]
  }, [])
  const title = () => {
    const card = props.commands.selected()
    return card ? `#${card.entry.meta.taskNumber}` : ""
  }
  return (
    <LinePane
      title={title()}
      lines={lines()}
      width={props.width}
      height={props.height}
      about={props.commands.selected()?.id}
    />
  )
}

function detailLines(app: App, card: Card, width: number): Segment[][] {
  const { meta, title, unreadable } = card.entry
  const out: Segment[][] = []
  /** A paragraph whose further lines are indented as far as its first one's mark. */
  const para = (text: string, tone: Segment["tone"] = "text", most?: number) => {
    const indent = /^(?:[✓◆○] | {2,}| *\w\d+ )?/.exec(text)?.[0].length ?? 0
    const [first = "", ...rest] = wrap(text.slice(indent), width - indent, most)
    out.push([{ text: text.slice(0, indent) + first, tone }])
    for (const line of rest) out.push([{ text: " ".repeat(indent) + line, tone }])
  }
  const head = (text: string) => {
    out.push([{ text: "" }])
    out.push([
      { text: `─ ${text} `, tone: "accent" },
      { text: "─".repeat(Math.max(0, width - text.length - 3)), tone: "border" },
    ])
  }
  const dot = ` ${app.glyphs.dot} `

  for (const [index, line] of wrap(title, width, 3).entries()) out.push([{ text: line, bold: index === 0 }])
  const run = card.run()
  const sign = RUN_SIGN[run.kind]
  for (const [index, line] of wrap(run.text, width - 2, 4).entries()) {
    out.push([
      { text: index === 0 ? `${app.glyphs.of(sign)} ` : "  ", tone: sign.tone },
      { text: line, tone: sign.tone },
    ])
  }
  out.push(
    joined(
      [
        { text: STATUS_TITLE[columnOf(meta)], tone: "muted" },
        meta.generation > 1 ? { text: `generation ${meta.generation}`, tone: "muted" } : undefined,
        { text: meta.branch, tone: "muted" },
        { text: `from ${meta.baseBranch}`, tone: "muted" },
        meta.model ? { text: meta.model.modelID, tone: "muted" } : undefined,
        card.cost() >= 0.005 ? { text: `$${card.cost().toFixed(2)}`, tone: "muted" } : undefined,
      ],
      dot,
    ),
  )
  if (card.pending()) para(`pending: ${card.pending()}`, "info")
  if (meta.denied && meta.status === columnOf(meta)) para(`last refused: ${meta.denied.text}`, "warning")
  for (const problem of unreadable) para(`unreadable: ${problem}`, "error")

  for (const ask of card.facts()?.asks ?? []) {
    head("Asks")
    if (ask.kind === "permission") para(`${ask.permission}: ${ask.text}`)
    else
      for (const question of ask.questions)
        para(`${question.question}${question.options.length > 0 ? ` (${question.options.join(" / ")})` : ""}`)
  }
  if (meta.description) {
    head("Description")
    para(meta.description, "text", 40)
  }
  const assessment = card.intake()?.assessment
  if (assessment) {
    head("Understanding")
    para(assessment.understanding)
    if (assessment.decisions.length > 0) head("Decisions")
    for (const [index, decision] of assessment.decisions.entries()) {
      const answer = card.intake()?.answers?.find((candidate) => candidate.decision === index)
      const mark = answer ? "✓" : decision.required ? "◆" : "○"
      para(`${mark} ${decision.question}`, answer ? "text" : decision.required ? "warning" : "muted")
      para(
        `  ${answer?.kind === "overridden" ? `yours: ${answer.text ?? ""}` : `${answer ? "approved" : "assumed"}: ${decision.assumption}`}`,
        "muted",
      )
    }
    head("Instruction")
    para(assessment.instruction, "muted", 20)
  } else if (meta.intake?.state === "waived") {
    head("Intake")
    para(`waived: ${meta.intake.reason ?? ""}`, "muted")
  }
  const findings = card.validator()?.findings ?? []
  if (findings.length > 0) {
    head("Findings")
    for (const finding of findings) {
      const ruling = card.validator()?.rulings?.find((candidate) => candidate.finding === finding.id)
      para(
        `${finding.id} ${finding.kind} · ${finding.severity} · ${finding.title}${ruling ? ` (${ruling.disposition})` : ""}`,
        ruling ? "muted" : "text",
      )
    }
  }
  const end = card.facts()?.end
  if (end?.kind === "finished" && end.text) {
    head("Last words")
    para(end.text, "muted", 12)
  }
  head("Place")
  para(meta.worktree, "muted")
  if (meta.merge?.commit)
    para(`merged as ${meta.merge.commit.slice(0, 10)} into ${meta.merge.target ?? meta.baseBranch}`, "muted")
  if (meta.merge?.state === "left") para(`left unmerged: ${meta.merge.reason ?? ""}`, "muted")
  return out
}
