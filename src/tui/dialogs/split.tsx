import { createMemo, createSignal, Show } from "solid-js"
import { refusalText } from "../../core/rules.ts"
import { wrap } from "../../core/text.ts"
import { openDialog, type App } from "../app.tsx"
import { hintLine } from "../board/rebinding.ts"
import type { Card } from "../board/store.tsx"
import { DialogFrame, Scrolled, useDialogCommands, useDialogSpace } from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"
import type { Segment } from "../ui/segments.ts"
import type { Tone } from "../ui/signs.ts"

/** The parts that the intake proposes, before they are created: all of them at once, in the place of the task. */
export function openSplit(app: App, card: Card, back: () => void) {
  if (!card.intake()?.assessment?.split?.length) return
  openDialog(app, () => <Split app={app} card={card} back={back} />, "large")
}

function Split(props: { readonly app: App; readonly card: Card; readonly back: () => void }) {
  const { app, card } = props
  const space = useDialogSpace("large")
  const { taskNumber } = card.entry.meta
  const [wrong, setWrong] = createSignal<string>()
  const count = card.intake()!.assessment!.split!.length
  const lines = createMemo(() => splitLines(card, space.width()))

  async function accept(start: boolean) {
    const { intake } = card.entry.meta
    const open = (intake?.required ?? 0) - (intake?.answered ?? 0)
    if (start && open > 0) return setWrong(refusalText({ kind: "decisions_open", open }))
    app.host.ui.dialog.clear()
    await app.act(card, "splitting", "intake.split", { sessionID: card.id, ...(start ? { start } : {}) })
  }

  useDialogCommands(() => ({
    "kagan.split.create": () => void accept(false),
    "kagan.split.start": () => void accept(true),
    "kagan.split.back": props.back,
  }))
  return (
    <DialogFrame
      title={`Split #${taskNumber} into ${count} tasks`}
      size="large"
      hint={hintLine(app.rebinding, [
        ["kagan.split.create", "creates"],
        ["kagan.split.start", "also starts, in order"],
        ["kagan.split.back", "back"],
      ])}
    >
      <Scrolled lines={lines()} width={space.width()} rows={space.rows() - (wrong() ? 1 : 0)} />
      <Show when={wrong()}>
        {(text) => <Line width={space.width()} segments={[{ text: text(), tone: "error" }]} />}
      </Show>
    </DialogFrame>
  )
}

function splitLines(card: Card, width: number): Segment[][] {
  const { meta } = card.entry
  const lines: Segment[][] = []
  const say = (text: string, tone: Tone, indent = 0, bold = false) => {
    for (const line of wrap(text, width - indent)) lines.push([{ text: " ".repeat(indent) + line, tone, bold }])
  }
  say(
    `They take the place of #${meta.taskNumber}, which is archived: A on it brings it back. What waits for it waits for them.`,
    "muted",
  )
  for (const [index, part] of (card.intake()?.assessment?.split ?? []).entries()) {
    lines.push([{ text: "" }])
    say(`${index + 1} ${part.title}`, "text", 0, true)
    const after = (part.dependsOn ?? []).map((position) => position + 1)
    if (after.length > 0) say(`after ${after.join(", ")}`, "info", 2)
    if (part.description) say(part.description, "muted", 2)
  }
  return lines
}
