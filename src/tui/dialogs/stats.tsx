import { createMemo } from "solid-js"
import type { ReplyOf } from "../../core/protocol.ts"
import { sparkSteps } from "../../core/stats.ts"
import { pad, padStart, width } from "../../core/text.ts"
import { openDialog, type App } from "../app.tsx"
import { DialogFrame, Scrolled, useDialogSpace } from "../ui/dialog.tsx"
import type { Segment } from "../ui/segments.ts"

type Stats = ReplyOf<"board.stats">

/** How judging goes: a few figures, each with its course over the last twelve weeks. */
export function openStats(app: App) {
  void app.ask("board.stats", {}).then((answer) => {
    if (!answer.ok) return app.tell({ level: "warning", text: answer.error.text, key: "stats" })
    openDialog(app, () => <Statistics app={app} stats={answer.value} />, "large")
  })
}

function Statistics(props: { readonly app: App; readonly stats: Stats }) {
  const space = useDialogSpace("large")
  const lines = createMemo(() => statLines(props.stats, space.width(), props.app.glyphs.spark))
  return (
    <DialogFrame title="Kagan: statistics" size="large" hint="A mark a week, twelve at most · Esc closes">
      <Scrolled lines={lines()} width={space.width()} rows={space.rows()} />
    </DialogFrame>
  )
}

function statLines({ rows, tasks, left }: Stats, cells: number, spark: string): Segment[][] {
  if (tasks === 0) return [[{ text: "There is no task yet: figures come with the first ones.", tone: "muted" }]]
  const widest = (of: (row: Stats["rows"][number]) => string) => Math.max(...rows.map((row) => width(of(row))))
  const label = widest((row) => row.label)
  const value = widest((row) => row.value)
  // Where there is no room for all weeks, the newest are shown.
  const room = Math.max(1, cells - label - value - 4)
  const lines = rows.map((row): Segment[] => [
    { text: pad(row.label, label) },
    { text: `  ${padStart(row.value, value)}  `, tone: "primary", bold: true },
    { text: sparkline(row.weeks.slice(-room), spark), tone: "info" },
    { text: room > row.weeks.length + 10 ? `  ${row.of}` : "", tone: "muted" },
  ])
  if (left > 0) lines.push([{ text: `of the newest ${tasks} tasks; ${left} older ones are left out`, tone: "muted" }])
  return lines
}

function sparkline(weeks: readonly (number | null)[], spark: string): string {
  const marks = Array.from(spark)
  return sparkSteps(weeks, marks.length)
    .map((step) => (step === null ? " " : marks[step]!))
    .join("")
}
