import { dayTime, duration, plural } from "../../core/board.ts"
import type { HistoryKind } from "../../core/history.ts"
import { columnOf, STATUS_TITLE } from "../../core/task.ts"
import { wrap } from "../../core/text.ts"
import type { Segment } from "../ui/segments.ts"
import { RUN_SIGN, type Glyphs, type Sign, type Tone } from "../ui/signs.ts"
import { checkLines } from "./check-lines.ts"
import type { LiveOutput } from "./live-output.tsx"
import type { Card } from "./store.tsx"
import type { Story } from "./story.tsx"

type Input = {
  readonly card: Card
  readonly story: Story | undefined
  readonly output: LiveOutput | undefined
  readonly glyphs: Glyphs
  readonly now: number
  readonly width: number
}

type Page = ReturnType<typeof newPage>

/** Everything about a card, as lines of at most `width` cells: what it waits for first, what happened last. */
export function detailLines(input: Input): Segment[][] {
  const page = newPage(input)
  aboutIt(page, input)
  whatItAsks(page, input)
  whatWasAgreed(page, input)
  whatWasChecked(page, input)
  whatHappened(page, input)
  return page.lines
}

function newPage({ width }: Input) {
  const lines: Segment[][] = []
  return {
    lines,
    width,
    /** A paragraph; further lines are indented as far as the mark of the first one. */
    para(text: string, tone: Tone = "text", more: { most?: number; mark?: string; markTone?: Tone } = {}) {
      const { most, mark = "", markTone = tone } = more
      const [first = "", ...rest] = wrap(text, width - mark.length, most)
      lines.push([...(mark === "" ? [] : [{ text: mark, tone: markTone }]), { text: first, tone }])
      for (const line of rest) lines.push([{ text: " ".repeat(mark.length) + line, tone }])
    },
    head(text: string) {
      lines.push([{ text: "" }])
      lines.push([
        { text: `─ ${text} `, tone: "accent" },
        { text: "─".repeat(Math.max(0, width - text.length - 3)), tone: "border" },
      ])
    },
  }
}

function aboutIt({ lines, para }: Page, { card, glyphs, width }: Input) {
  const { meta, title, unreadable } = card.entry
  for (const [index, line] of wrap(title, width, 3).entries()) lines.push([{ text: line, bold: index === 0 }])
  const run = card.run()
  const sign = RUN_SIGN[run.kind]
  para(run.text, sign.tone, { most: 4, mark: `${glyphs.of(sign)} ` })
  const facts = [
    `${STATUS_TITLE[columnOf(meta)]}${meta.generation > 1 ? `, generation ${meta.generation}` : ""}`,
    meta.branch,
    `from ${meta.baseBranch}`,
    ...(meta.model ? [meta.model.modelID] : []),
    ...(meta.agent ? [`agent ${meta.agent}`] : []),
    ...(meta.scope ? [`in ${meta.scope}`] : []),
    ...(meta.dependsOn?.length ? [`after ${meta.dependsOn.map((number) => `#${number}`).join(", ")}`] : []),
    ...(card.cost() >= 0.005 ? [`$${card.cost().toFixed(2)}`] : []),
  ]
  para(facts.join(` ${glyphs.dot} `), "muted")
  if (card.pending()) para(`pending: ${card.pending()}`, "info")
  if (meta.denied && meta.status === columnOf(meta)) para(`last refused: ${meta.denied.text}`, "warning")
  for (const problem of unreadable) para(`unreadable: ${problem}`, "error")
}

function whatItAsks({ head, para }: Page, { card }: Input) {
  for (const ask of card.facts()?.asks ?? []) {
    head("Asks")
    if (ask.kind === "permission") para(ask.text)
    else
      for (const { question, options } of ask.questions)
        para(`${question}${options.length > 0 ? ` (${options.join(" / ")})` : ""}`)
  }
}

function whatWasAgreed({ head, para }: Page, { card, story, now, glyphs }: Input) {
  const { meta } = card.entry
  const description = story?.description ?? meta.description
  if (description) {
    head("Description")
    para(description)
  }
  const helper = card.intake()
  const assessment = helper?.assessment
  if (meta.intake?.state === "waived") {
    head("Intake")
    para(`waived: ${meta.intake.reason ?? ""}`, "muted")
  }
  if (!assessment) return
  head("Understanding")
  para(assessment.understanding)
  if (assessment.decisions.length > 0) head("Decisions")
  for (const [index, decision] of assessment.decisions.entries()) {
    const answer = helper.answers?.find((candidate) => candidate.decision === index)
    const sign: Sign = answer
      ? { icon: "✓", ascii: "+", tone: "success" }
      : decision.required
        ? { icon: "◆", ascii: "*", tone: "warning" }
        : { icon: "○", ascii: "o", tone: "muted" }
    para(decision.question, answer || !decision.required ? "text" : "warning", {
      mark: `${glyphs.of(sign)} `,
      markTone: sign.tone,
    })
    const own = answer?.kind === "overridden"
    const said = own ? `yours: ${answer.text ?? ""}` : `${answer ? "approved" : "assumed"}: ${decision.assumption}`
    para(`${said}${answer ? ` (${dayTime(answer.at, now)})` : ""}`, "muted", { mark: "  " })
  }
  head("Instruction")
  para(card.intake()?.instruction ?? assessment.instruction, "muted")
  para(`Advice: ${assessment.mode} ${glyphs.dot} ${assessment.modeReason}`, "muted")
}

function whatWasChecked(page: Page, { card, output, glyphs }: Input) {
  const { head, para } = page
  if (output) {
    head(output.what === "setup" ? "Setup" : "Checks")
    page.lines.push(...checkLines(output, glyphs, page.width))
  }

  const validator = card.validator()
  const findings = validator?.findings ?? []
  if (validator?.summary) {
    head("Reviewer's report")
    para(validator.summary)
  }
  if (findings.length > 0) head("Findings")
  for (const finding of findings) {
    const ruling = validator?.rulings?.find((candidate) => candidate.finding === finding.id)
    const ruled = ruling ? ` (${ruling.disposition}${ruling.reason ? `: ${ruling.reason}` : ""})` : ""
    para(`${finding.kind} · ${finding.severity} · ${finding.title}${ruled}`, ruling ? "muted" : "text", {
      mark: `${finding.id} `,
      markTone: ruling ? "muted" : "warning",
    })
  }
  const end = card.facts()?.end
  if (end?.kind === "finished" && end.text) {
    head("The agent's last words")
    para(end.text, "muted")
  }
}

function whatHappened({ head, lines, para }: Page, { card, story, now }: Input) {
  const { meta } = card.entry
  head("Timeline")
  if (!story) para("Asking Kagan's server half …", "muted")
  if (story?.problem !== undefined) para(story.problem, "warning")
  for (const { at, kind, text } of story?.lines ?? []) {
    para(text, TIMELINE_TONE[kind] ?? "text", { mark: `${dayTime(at, now)} `, markTone: "muted" })
  }
  if (story && story.lines.length === 0 && story.problem === undefined) para("Nothing is written down yet.", "muted")
  if (story && story.earlier > 0) para(`${plural(story.earlier, "earlier line")}: scroll on`, "muted")
  if (story && story.unreadable > 0)
    para(`${plural(story.unreadable, "line")} of its history cannot be read`, "warning")
  if (meta.startedAt !== undefined && lines.length > 0) {
    const since = meta.merge?.state === "merged" ? meta.merge.at - meta.startedAt : undefined
    if (since !== undefined) para(`${duration(since)} from start to merge`, "muted")
  }
  head("Place")
  para(meta.worktree, "muted")
  if (meta.merge?.commit)
    para(`merged as ${meta.merge.commit.slice(0, 10)} into ${meta.merge.target ?? meta.baseBranch}`, "muted")
  if (meta.merge?.state === "left") para(`left unmerged: ${meta.merge.reason ?? ""}`, "muted")
}

/** What stands out of the run of things: a no, a merge. */
const TIMELINE_TONE: Partial<Readonly<Record<HistoryKind, Tone>>> = {
  verdict: "warning",
  merge: "success",
  edit: "muted",
}
