import type { RGBA, TextChunk } from "@opentui/core"
import { For, Match, Show, Switch } from "solid-js"
import { displayable, fit, fitPath, width } from "../../core/text.ts"
import { useApp, type App } from "../app.tsx"
import { chunk, Chunks, colour, Line } from "../ui/line.tsx"
import type { Review } from "./model.tsx"
import { fileLabel, GUTTER, type Row } from "./rows.ts"

/** The diff of the selected file, only the rows that can be seen, findings on their lines. */
export function DiffPane(props: { readonly review: Review; readonly width: number; readonly rows: number }) {
  const app = useApp()
  const inner = () => props.width - 2
  const rows = () => props.rows - 2
  const shown = () => props.review.shown()
  const first = () => props.review.top()
  const below = () => Math.max(0, shown().rows.length - first() - rows())
  const title = () => {
    const { file } = shown()
    return file ? ` ${fitPath(fileLabel(file), Math.max(4, inner() - 6))} ` : ""
  }
  const problem = () => props.review.diff()?.problem
  return (
    <box
      width={props.width}
      height={props.rows}
      border
      borderStyle="rounded"
      borderColor={app.theme().border}
      title={title()}
      bottomTitle={displayable(below() > 0 ? ` ${app.glyphs.down} ${below()} ` : "")}
      bottomTitleAlignment="right"
      flexDirection="column"
      overflow="hidden"
      onMouseScroll={(event) => props.review.scrollTo(first() + (event.scroll?.direction === "up" ? -3 : 3))}
    >
      <Switch>
        <Match when={shown().rows.length > 0}>
          <For each={shown().rows.slice(first(), first() + rows())}>
            {(row) => <RowLine app={app} row={row} cells={inner()} review={props.review} />}
          </For>
        </Match>
        <Match when={props.review.loading()}>
          <Line segments={[{ text: " Reading the diff …", tone: "muted" }]} width={inner()} />
        </Match>
        <Match when={problem()}>
          {(text) => <Line segments={[{ text: ` ${text()}`, tone: "warning" }]} width={inner()} />}
        </Match>
        <Match when={true}>
          <Line segments={[{ text: " There is no difference.", tone: "muted" }]} width={inner()} />
        </Match>
      </Switch>
      <Show when={problem() !== undefined && shown().rows.length > 0}>
        <Line segments={[{ text: ` ${problem() ?? ""}`, tone: "warning" }]} width={inner()} />
      </Show>
    </box>
  )
}

function RowLine(props: { readonly app: App; readonly row: Row; readonly cells: number; readonly review: Review }) {
  const { app } = props
  const look = () => rowLook(app, props.row, props.cells, props.review)
  return (
    <box width={props.cells} height={1} backgroundColor={look().bg ?? app.theme().background}>
      <Chunks chunks={look().chunks} width={props.cells} />
    </box>
  )
}

type Look = { readonly chunks: TextChunk[]; readonly bg?: RGBA }

function rowLook(app: App, row: Row, cells: number, review: Review): Look {
  const theme = app.theme()
  switch (row.kind) {
    case "hunk":
      return { chunks: [chunk(fit(row.text, cells), theme.diffHunkHeader)] }
    case "note":
      return { chunks: [chunk(fit(`${" ".repeat(GUTTER)}  ${row.text}`, cells), theme.textMuted)] }
    case "context":
      return {
        chunks: [
          chunk(fit(row.gutter, GUTTER), theme.diffLineNumber),
          chunk(fit(`  ${row.text}`, cells - GUTTER), theme.text),
        ],
      }
    case "add":
    case "delete": {
      const added = row.kind === "add"
      return {
        chunks: [
          chunk(fit(row.gutter, GUTTER), theme.diffLineNumber),
          chunk(added ? "+ " : "- ", added ? theme.diffHighlightAdded : theme.diffHighlightRemoved),
          chunk(fit(row.text, cells - GUTTER - 2), theme.text),
        ],
        bg: added ? theme.diffAddedBg : theme.diffRemovedBg,
      }
    }
    case "finding": {
      const judged = review.judged().find(({ finding }) => finding.id === row.finding)
      const tone = judged?.ruling ? "muted" : judged?.finding.severity === "high" ? "error" : "warning"
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
          bg,
        }
      }
      if (row.part === "foot")
        return { chunks: [chunk("└ ", edge), chunk(fit(row.text, cells - 2), theme.textMuted)], bg }
      return { chunks: [chunk("│ ", edge), chunk(fit(row.text, cells - 2), theme.text)], bg }
    }
  }
}
