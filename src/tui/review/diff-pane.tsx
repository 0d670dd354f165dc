import type { RGBA, TextChunk } from "@opentui/core"
import { For, Match, Switch } from "solid-js"
import { displayable, fit, fitPath, pad, width } from "../../core/text.ts"
import { useApp, type App } from "../app.tsx"
import { chunk, Chunks, colour, Line } from "../ui/line.tsx"
import { codeChunks } from "./code-chunks.tsx"
import type { CodeLine } from "./lines.ts"
import type { Review } from "./model.tsx"
import { GUTTER, gutterOf, HALF_GUTTER, type Row } from "./rows.ts"

/** The diff of the selected file, only the rows that can be seen, findings and comments on their lines. */
export function DiffPane(props: { readonly review: Review; readonly width: number; readonly rows: number }) {
  const app = useApp()
  const { review } = props
  const inner = () => props.width - 2
  const rows = () => props.rows - 2
  const first = () => review.cursor.top()
  const below = () => Math.max(0, review.rows().length - first() - rows())
  const title = () => {
    const entry = review.entry()
    if (!entry) return review.rows().length > 0 ? " outside of the diff " : ""
    const name = entry.from && entry.from !== entry.path ? `${entry.from} → ${entry.path}` : entry.path
    const viewed = review.viewed().has(entry.path) ? `${app.glyphs.dot} viewed ` : ""
    return ` ${fitPath(name, Math.max(4, inner() - 6 - viewed.length))} ${displayable(viewed)}`
  }
  const note = (): { readonly text: string; readonly tone: "muted" | "warning" } | undefined => {
    const entry = review.entry()
    const read = review.file()
    const problem = review.reading.problem() ?? read?.problem
    if (problem !== undefined) return { text: problem, tone: "warning" }
    if (review.reading.loading() && review.reading.files().length === 0)
      return { text: "Reading the diff …", tone: "muted" }
    if (read?.reply?.folded !== undefined && read.reply.patch === "" && read.reply.dump === undefined)
      return {
        text: `${read.reply.folded}: Enter shows ${read.reply.folded === "binary" ? "its first bytes" : "it all the same"}.`,
        tone: "warning",
      }
    if (entry && !read) return { text: "Reading the file …", tone: "muted" }
    return !entry && review.rows().length === 0 ? { text: "There is no difference.", tone: "muted" } : undefined
  }
  const room = () => (note() ? rows() - 1 : rows())
  return (
    <box
      width={props.width}
      height={props.rows}
      border
      borderStyle="rounded"
      borderColor={review.pane() === "diff" ? app.theme().borderActive : app.theme().border}
      title={title()}
      bottomTitle={displayable(below() > 0 ? ` ${app.glyphs.down} ${below()} ` : "")}
      bottomTitleAlignment="right"
      flexDirection="column"
      overflow="hidden"
      onMouseScroll={(event) => review.cursor.scroll(event.scroll?.direction === "up" ? -3 : 3)}
    >
      <Switch>
        <Match when={note()}>
          {(said) => <Line segments={[{ text: ` ${said().text}`, tone: said().tone }]} width={inner()} />}
        </Match>
      </Switch>
      <For each={review.rows().slice(first(), first() + room())}>
        {(row, index) => (
          <RowLine
            app={app}
            row={row}
            cells={inner()}
            review={review}
            marked={() => {
              const [from, to] = review.cursor.marked()
              const at = first() + index()
              return at >= from && at <= to
            }}
            choose={() => {
              review.focus("diff")
              review.cursor.put(first() + index())
            }}
          />
        )}
      </For>
    </box>
  )
}

function RowLine(props: {
  readonly app: App
  readonly row: Row
  readonly cells: number
  readonly review: Review
  readonly marked: () => boolean
  readonly choose: () => void
}) {
  const { app } = props
  const isHere = () => props.marked() && props.review.pane() === "diff"
  const bar = (): TextChunk =>
    isHere() ? chunk(displayable(app.glyphs.bar), app.theme().primary) : chunk(" ", app.theme().text)
  const parts = () => rowParts(app, props.row, props.cells - 1, props.review)
  return (
    <box width={props.cells} height={1} flexDirection="row" onMouseUp={() => props.choose()}>
      <Chunks chunks={[bar()]} width={1} />
      <For each={parts()}>
        {(part) => (
          <box width={part.cells} height={1} backgroundColor={part.bg ?? app.theme().background}>
            <Chunks chunks={part.chunks} width={part.cells} />
          </box>
        )}
      </For>
    </box>
  )
}

type Part = { readonly chunks: TextChunk[]; readonly cells: number; readonly bg?: RGBA }

function rowParts(app: App, row: Row, cells: number, review: Review): Part[] {
  const theme = app.theme()
  switch (row.kind) {
    case "hunk":
      return [{ chunks: [chunk(fit(row.text, cells), theme.diffHunkHeader)], cells }]
    case "note":
      return [{ chunks: [chunk(fit(`${" ".repeat(GUTTER)}  ${row.text}`, cells), theme.textMuted)], cells }]
    case "code": {
      if (row.sides.length === 1) return [codePart(app, row.sides[0], cells, review)]
      const half = Math.floor((cells - 1) / 2)
      const between: Part = { chunks: [chunk("│", theme.borderSubtle)], cells: 1 }
      return [
        codePart(app, row.sides[0], half, review, "old"),
        between,
        codePart(app, row.sides[1], cells - half - 1, review, "new"),
      ]
    }
    case "finding":
      return [findingPart(app, row, cells, review)]
  }
}

function codePart(app: App, line: CodeLine | undefined, cells: number, review: Review, side?: "old" | "new"): Part {
  const theme = app.theme()
  if (!line) return { chunks: [chunk(pad("", cells), theme.textMuted)], cells, bg: theme.backgroundPanel }
  const gutter = side ? HALF_GUTTER : GUTTER
  const colours = review.file()?.colours.get(line) ?? []
  const room = cells - gutter - 2
  const sign: TextChunk =
    line.kind === "add"
      ? chunk("+ ", theme.diffHighlightAdded)
      : line.kind === "delete"
        ? chunk("- ", theme.diffHighlightRemoved)
        : chunk("  ", theme.text)
  return {
    chunks: [
      chunk(fit(gutterOf(line, side), gutter), theme.diffLineNumber),
      sign,
      ...codeChunks(theme, line, colours, room, review.cursor.shift()),
    ],
    cells,
    ...(line.kind === "add" ? { bg: theme.diffAddedBg } : {}),
    ...(line.kind === "delete" ? { bg: theme.diffRemovedBg } : {}),
  }
}

function findingPart(app: App, row: Extract<Row, { kind: "finding" }>, cells: number, review: Review): Part {
  const theme = app.theme()
  const judged = review.judged().find(({ finding }) => finding.id === row.finding)
  const isOwn = judged?.comment !== undefined
  const tone = isOwn ? "info" : judged?.ruling ? "muted" : judged?.finding.severity === "high" ? "error" : "warning"
  const edge = colour(theme, tone)
  const bg = theme.backgroundElement
  if (row.part === "head") {
    const head = fit(row.text, cells - 2)
    return {
      chunks: [
        chunk("┌ ", edge),
        chunk(head, edge, true),
        chunk("─".repeat(Math.max(0, cells - 2 - width(head))), edge),
      ],
      cells,
      bg,
    }
  }
  if (row.part === "foot")
    return { chunks: [chunk("└ ", edge), chunk(fit(row.text, cells - 2), theme.textMuted)], cells, bg }
  return { chunks: [chunk("│ ", edge), chunk(fit(row.text, cells - 2), theme.text)], cells, bg }
}
