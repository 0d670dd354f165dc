import { createMemo, createSignal } from "solid-js"
import type { DecisionAnswer } from "../../core/protocol.ts"
import { openDialog, type App } from "../app.tsx"
import { hintLine } from "../board/rebinding.ts"
import type { Card } from "../board/store.tsx"
import { displayableLines, wrap } from "../../core/text.ts"
import { DialogFrame, Scrolled, TextDialog, useDialogCommands, useDialogSpace } from "../ui/dialog.tsx"
import type { Segment } from "../ui/segments.ts"
import type { Tone } from "../ui/signs.ts"
import { openSplit } from "./split.tsx"

/** Walks through the decisions of a task's intake, the open ones first; each answer is sent when it is given. */
export function openIntake(app: App, card: Card, from?: number) {
  const assessment = card.intake()?.assessment
  if (!assessment) return
  const open = assessment.decisions.findIndex((_, index) => !answerOf(card, index))
  const start = from ?? (open < 0 ? 0 : open)
  openDialog(app, () => <Intake app={app} card={card} start={start} />, "large")
}

/** What the agent is told: the person's words, else the intake's. */
const instructionOf = (card: Card) => card.intake()?.instruction ?? card.intake()?.assessment?.instruction ?? ""

const answerOf = (card: Card, decision: number) =>
  (card.intake()?.answers ?? []).find((answer) => answer.decision === decision)

function Intake(props: { readonly app: App; readonly card: Card; readonly start: number }) {
  const { app, card } = props
  const space = useDialogSpace("large")
  const [at, setAt] = createSignal(props.start)
  const assessment = () => card.intake()!.assessment!
  const decisions = () => assessment().decisions
  const decision = () => decisions()[at()]
  const [sent, setSent] = createSignal<ReadonlySet<number>>(new Set())
  const isOpen = (index: number) => !answerOf(card, index) && !sent().has(index)

  async function answer(given: DecisionAnswer) {
    setSent((set) => new Set([...set, given.decision]))
    // The next open one stands there at once; an answer that is refused opens again.
    const next = decisions().findIndex((_, index) => isOpen(index))
    if (next >= 0) setAt(next)
    else app.host.ui.dialog.clear()
    const reply = await app.act(card, "answering", "intake.answer", { sessionID: card.id, answers: [given] })
    if (!reply.ok) setSent((set) => new Set([...set].filter((index) => index !== given.decision)))
  }

  function override() {
    const index = at()
    const asked = decision()
    if (!asked) return
    openDialog(app, () => (
      <TextDialog
        title={`#${card.entry.meta.taskNumber}: your answer`}
        about={`${asked.question}\nAssumed: ${asked.assumption}`}
        placeholder="What holds instead"
        submit={(text) => {
          if (text.trim() === "") return "an answer needs a word"
          app.host.ui.dialog.clear()
          const rest = decisions().findIndex((_, other) => other !== index && isOpen(other))
          void app.act(card, "answering", "intake.answer", {
            sessionID: card.id,
            answers: [{ decision: index, kind: "overridden", text: text.trim() }],
          })
          if (rest >= 0) openIntake(app, card, rest)
          return undefined
        }}
      />
    ))
  }

  function askAgain() {
    openDialog(app, () => (
      <TextDialog
        title={`#${card.entry.meta.taskNumber}: ask again`}
        about="The intake reads again with your remark; answers so far are dropped."
        placeholder="What it missed"
        submit={(text) => {
          app.host.ui.dialog.clear()
          const remark = text.trim()
          void app.act(card, "asking again", "helper.retry", {
            sessionID: card.id,
            role: "intake",
            ...(remark === "" ? {} : { remark }),
          })
          return undefined
        }}
      />
    ))
  }

  const back = () => openIntake(app, card, at())

  function edit() {
    const shown = instructionOf(card)
    openDialog(
      app,
      () => (
        <TextDialog
          title={`#${card.entry.meta.taskNumber}: what the agent is told`}
          about="Empty: the intake's own words again."
          initial={shown}
          submit={(text) => {
            back()
            if (text.trim() === displayableLines(shown).join("\n").trim()) return undefined
            void app.act(card, "saving", "intake.instruct", { sessionID: card.id, instruction: text })
            return undefined
          }}
        />
      ),
      "large",
    )
  }

  const parts = () => assessment().split?.length ?? 0
  const mayEdit = () => card.column() === "backlog"

  useDialogCommands(() => ({
    "kagan.answers.approve"() {
      if (decision()) void answer({ decision: at(), kind: "approved" })
      else app.host.ui.dialog.clear()
    },
    "kagan.answers.override": override,
    "kagan.answers.again": askAgain,
    "kagan.answers.edit": mayEdit() && edit,
    "kagan.answers.split": mayEdit() && parts() > 0 && (() => openSplit(app, card, back)),
    "kagan.answers.previous": () => void setAt(Math.max(0, at() - 1)),
    "kagan.answers.next": () => void setAt(Math.min(decisions().length - 1, at() + 1)),
  }))

  const title = () =>
    `#${card.entry.meta.taskNumber} ${card.entry.title}${decisions().length > 0 ? ` ${app.glyphs.dot} ${at() + 1} of ${decisions().length}` : ""}`
  const hint = () =>
    hintLine(app.rebinding, [
      ["kagan.answers.approve", decision() ? "approve" : "closes"],
      ...(decision()
        ? ([
            ["kagan.answers.override", "override"],
            ["kagan.answers.next", "others"],
          ] as const)
        : []),
      ...(mayEdit() ? ([["kagan.answers.edit", "edit"]] as const) : []),
      ...(mayEdit() && parts() > 0 ? ([["kagan.answers.split", "split"]] as const) : []),
      ["kagan.answers.again", mayEdit() && parts() > 0 ? "again" : "ask again"],
      mayEdit() && parts() > 0 ? "Esc" : "Esc later",
    ])
  const body = createMemo(() => intakeLines(card, at(), space.width()))
  // No further down than the decision needs: what was understood stands above it.
  const from = () => Math.max(0, Math.min(body().question, body().end - space.rows()))
  return (
    <DialogFrame title={title()} size="large" hint={hint()}>
      <Scrolled about={at()} lines={body().lines} from={from()} width={space.width()} rows={space.rows()} />
    </DialogFrame>
  )
}

/** What was understood, one decision, which stands from line `question` to `end`, and the advice. */
function intakeLines(
  card: Card,
  at: number,
  width: number,
): { readonly lines: Segment[][]; readonly question: number; readonly end: number } {
  const assessment = card.intake()?.assessment
  const lines: Segment[][] = []
  if (!assessment) return { lines, question: 0, end: 0 }
  const say = (text: string, tone: Tone = "text") => {
    for (const line of wrap(text, width)) lines.push([{ text: line, tone }])
  }
  say(`Understood: ${assessment.understanding}`, "muted")
  const decision = assessment.decisions[at]
  lines.push([{ text: "" }])
  const question = lines.length
  if (decision) {
    const answer = answerOf(card, at)
    say(decision.question)
    say(`Assumed: ${decision.assumption}`, "info")
    if (answer) say(answer.kind === "approved" ? "✓ approved" : `✓ yours: ${answer.text ?? ""}`, "success")
    else if (!decision.required) say("It may stay open: the assumption then holds.", "muted")
    lines.push([{ text: "" }])
  } else {
    say("Nothing is left to decide.", "success")
    lines.push([{ text: "" }])
  }
  const end = lines.length
  say(`Mode: ${assessment.mode} · ${assessment.modeReason}`, "muted")
  const parts = assessment.split ?? []
  if (parts.length > 0) {
    say(`Too big for one change: it proposes ${parts.length} tasks (s shows them)`, "warning")
    for (const [index, part] of parts.entries()) say(`  ${index + 1} ${part.title}`, "muted")
  }
  lines.push([{ text: "" }])
  say(card.intake()?.instruction ? "What the agent is told, in your words:" : "What the agent is told:", "muted")
  say(instructionOf(card))
  return { lines, question, end }
}
