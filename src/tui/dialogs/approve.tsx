import type { InputRenderable } from "@opentui/core"
import { createMemo, createSignal, onCleanup, onMount } from "solid-js"
import { displayable, wrap } from "../../core/text.ts"
import { partText, plural } from "../../core/board.ts"
import { checksVerdict } from "../../core/checks.ts"
import type { ReplyOf } from "../../core/protocol.ts"
import type { MergeStrategy, TaskMeta } from "../../core/task.ts"
import { openDialog, type App } from "../app.tsx"
import { hintLine } from "../board/rebinding.ts"
import type { Card } from "../board/store.tsx"
import {
  Choices,
  DialogFrame,
  fieldProps,
  Paragraph,
  Scrolled,
  useDialogCommands,
  useDialogSpace,
} from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"
import type { Segment } from "../ui/segments.ts"
import type { Tone } from "../ui/signs.ts"
import { openLeave } from "./leave.ts"

/** What was chosen and typed before another branch was chosen. */
type Chosen = { readonly target?: string; readonly strategy?: MergeStrategy; readonly message?: string }

/** The trust boundary: exactly this tree goes into that branch, as it stood when the dialog said so. */
export function openApprove(app: App, card: Card, chosen: Chosen = {}) {
  openDialog(app, () => <Approve app={app} card={card} chosen={chosen} />, "large")
}

type Landing = ReplyOf<"merge.preview">

const LABEL = 10

function Approve(props: { readonly app: App; readonly card: Card; readonly chosen: Chosen }) {
  const { app, card, chosen } = props
  const { meta, title } = card.entry
  const space = useDialogSpace("large")
  const snapshot = meta.review!.snapshot!
  const [strategy, setStrategy] = createSignal<MergeStrategy>(chosen.strategy ?? app.options().merge.strategy)
  const [landing, setLanding] = createSignal<Landing>()
  const [problem, setProblem] = createSignal("")
  let message: InputRenderable | undefined
  let early = false
  let open = true
  onCleanup(() => (open = false))
  const outside = card.facts()?.outside ?? []
  const into = () => landing()?.target ?? chosen.target ?? card.facts()?.target ?? meta.baseBranch

  onMount(async () => {
    const request = { sessionID: card.id, ...(chosen.target === undefined ? {} : { target: chosen.target }) }
    const answer = await app.ask("merge.preview", request)
    if (!open) return
    if (!answer.ok) return void setProblem(answer.error.text)
    if (answer.value.target === undefined) return openTarget(app, card, answer.value, typed())
    setLanding(answer.value)
    // Enter came first: what it said yes to is what stands there now, unless there is news.
    const news = answer.value.behind > 0 || answer.value.conflicts.length > 0
    if (early && !news) approve()
  })

  const typed = (): Chosen => ({ ...chosen, strategy: strategy(), ...(message ? { message: message.value } : {}) })

  function approve() {
    const seen = landing()
    if (!seen) {
      early = true
      return
    }
    app.host.ui.dialog.clear()
    const text = message?.value.trim() ?? ""
    const request = {
      sessionID: card.id,
      snapshot: snapshot.commit,
      target: seen.target!,
      expected: seen.tip,
      strategy: strategy(),
      ...(text === "" || text === displayable(title) ? {} : { message: text }),
    }
    void app.act(card, "merging", "task.approve", request).then((answer) => answer.ok && app.backToBoard())
  }

  function elsewhere() {
    const seen = landing()
    if (seen) openTarget(app, card, seen, typed())
  }

  useDialogCommands(() => ({
    "kagan.merge.merge": approve,
    "kagan.merge.strategy": () => void setStrategy(strategy() === "squash" ? "merge" : "squash"),
    "kagan.merge.target": elsewhere,
    "kagan.merge.leave": () => openLeave(app, card),
  }))

  const lines = createMemo(() => [
    ...words(title, space.width(), 2),
    placeLine(app, card, into(), landing()),
    part("How", { text: strategy() === "squash" ? "squash: one commit" : "merge commit" }),
    ...forecastLines(landing(), problem(), into(), space.width()),
    ...judgedParts(meta).map((segment, index) => part(index === 0 ? "Review" : "", segment)),
    part("Checks", checksPart(meta)),
    ...outside.flatMap((line) => words(line, space.width(), 2, "warning")),
  ])
  return (
    <DialogFrame
      title={`Approve #${meta.taskNumber}`}
      size="large"
      hint={hintLine(app.rebinding, [
        ["kagan.merge.merge", "merges"],
        ["kagan.merge.strategy", "how"],
        ["kagan.merge.target", "branch"],
        ["kagan.merge.leave", "no merge"],
        "Esc cancels",
      ])}
    >
      <Scrolled
        about={card.id}
        lines={lines()}
        width={space.width()}
        rows={Math.max(1, Math.min(lines().length, space.rows() - 1))}
      />
      <box flexDirection="row" flexShrink={0}>
        <Line width={LABEL} segments={[{ text: "Message", tone: "muted" }]} />
        <input
          ref={(it: InputRenderable) => {
            message = it
            queueMicrotask(() => it.isDestroyed || it.focus())
          }}
          width={space.width() - LABEL}
          value={chosen.message ?? displayable(title)}
          {...fieldProps(app)}
        />
      </box>
    </DialogFrame>
  )
}

const part = (label: string, ...segments: Segment[]): Segment[] => [
  { text: label.padEnd(LABEL), tone: "muted" },
  ...segments,
]

const words = (text: string, cells: number, most: number, tone: Tone = "text"): Segment[][] =>
  wrap(text, cells, most).map((line) => [{ text: line, tone }])

/** Exactly what goes where. */
function placeLine(app: App, { entry }: Card, into: string, landing: Landing | undefined): Segment[] {
  const snapshot = entry.meta.review!.snapshot!
  return [
    { text: snapshot.commit.slice(0, 7), tone: "primary" },
    { text: ` (${plural(snapshot.files, "file")}, ` },
    { text: `+${snapshot.insertions}`, tone: "success" },
    { text: ` ${app.glyphs.minus}${snapshot.deletions}`, tone: "error" },
    { text: ") into " },
    { text: into, tone: "primary" },
    { text: landing ? ` at ${landing.tip.slice(0, 7)}` : "", tone: "muted" },
  ]
}

/** What a merge would meet now. */
function forecastLines(seen: Landing | undefined, problem: string, into: string, cells: number): Segment[][] {
  if (problem !== "")
    return [part("Forecast", { text: "unknown", tone: "error" }), ...words(problem, cells, 3, "error")]
  if (!seen) return [part("Forecast", { text: "looking …", tone: "muted" })]
  const { behind, conflicts } = seen
  const moved = `${into} moved on by ${plural(behind, "commit")} that the review did not see (U brings them in first)`
  const outcome: Segment =
    conflicts.length === 0
      ? { text: "merges without a conflict", tone: "success" }
      : { text: `conflicts in ${plural(conflicts.length, "file")}`, tone: "error" }
  return [
    part("Forecast", outcome),
    ...(conflicts.length > 0 ? words(conflicts.join(", "), cells, 3, "error") : []),
    ...(behind > 0 ? words(moved, cells, 2, "warning") : []),
  ]
}

/** How it was judged, and what was left out of that on the person's word. */
function judgedParts(meta: TaskMeta): readonly Segment[] {
  const { intake, review } = meta
  const parts: Segment[] = []
  const validator = review?.validator
  if (validator?.state === "waived") parts.push({ text: `waived: ${validator.reason ?? ""}`, tone: "warning" })
  else if (review)
    parts.push({ text: review.findings === 0 ? "no findings" : `${plural(review.findings, "finding")}, all ruled` })
  const part = partText(meta)
  if (part !== "") parts.push({ text: part, tone: "warning" })
  if (intake?.state === "waived") parts.push({ text: `intake waived: ${intake.reason ?? ""}`, tone: "warning" })
  return parts
}

function checksPart({ review }: TaskMeta): Segment {
  const verdict = checksVerdict(review?.checks)
  if (verdict !== undefined) return { text: verdict, tone: review?.checks?.failed ? "error" : "text" }
  return { text: review?.checks?.state === "running" ? "running" : "none ran", tone: "muted" }
}

/** Which branch it goes into: on the person's wish, or since its base is gone, or is a remote one that no local one follows. */
function openTarget(app: App, card: Card, { branches, gone, target }: Landing, chosen: Chosen) {
  const { meta } = card.entry
  openDialog(app, () => {
    const space = useDialogSpace()
    const why =
      gone !== undefined
        ? `It was to go into its base, but ${displayable(gone)}.`
        : target === undefined
          ? `Its base ${meta.baseBranch} is a remote branch that no local branch follows.`
          : `Its base is ${meta.baseBranch}.`
    return (
      <DialogFrame title={`Merge #${meta.taskNumber} into which branch?`} hint="Enter chooses · Esc cancels">
        <Paragraph text={why} width={space.width()} tone="muted" most={2} />
        <Choices
          choices={branches.map((branch) => ({
            title: branch,
            ...(branch === target ? { note: "as it stands" } : {}),
            choose: () => openApprove(app, card, { ...chosen, target: branch }),
          }))}
          width={space.width()}
          rows={space.rows() - 2}
        />
      </DialogFrame>
    )
  })
}
