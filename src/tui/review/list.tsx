import { createMemo, For } from "solid-js"
import { displayable, fitPath } from "../../core/text.ts"
import { useApp, type App } from "../app.tsx"
import { Line } from "../ui/line.tsx"
import { cellsOf, justify, type Segment } from "../ui/segments.ts"
import type { Review } from "./model.tsx"
import type { Judged } from "./rows.ts"
import { isItem, nameOf, type Entry } from "./tree.ts"

/** Files by folder with their sizes and marks, each with its findings. */
export function FileList(props: { readonly review: Review; readonly width: number; readonly rows: number }) {
  const app = useApp()
  const { review } = props
  const inner = () => props.width - 2
  const rows = () => props.rows - 2
  const places = createMemo(
    () => new Map(review.entries().flatMap((entry, place) => (isItem(entry) ? [[entry.key, place] as const] : []))),
  )
  const at = () => places().get(review.item()?.key ?? "") ?? -1
  const first = createMemo<number>((before) => {
    const start = Math.max(0, Math.min(before, review.entries().length - rows()))
    // The heading above the first item is worth its row.
    return at() < start + 1 ? Math.max(0, at() - 1) : at() >= start + rows() ? at() - rows() + 1 : start
  }, 0)
  const title = () => {
    const total = review.reading.total()
    return displayable(total ? ` +${total[0]} ${app.glyphs.minus}${total[1]} ` : "")
  }
  return (
    <box
      width={props.width}
      height={props.rows}
      border
      borderStyle="rounded"
      borderColor={review.pane() === "list" ? app.theme().borderActive : app.theme().border}
      title={title()}
      flexDirection="column"
      overflow="hidden"
    >
      <For each={review.entries().slice(first(), first() + rows())}>
        {(entry) => {
          const isHere = () => isItem(entry) && entry.key === review.item()?.key
          return (
            <box
              width={inner()}
              height={1}
              backgroundColor={isHere() ? app.theme().backgroundElement : app.theme().background}
              onMouseUp={() => isItem(entry) && review.select(review.items().findIndex(({ key }) => key === entry.key))}
            >
              <Line
                width={inner()}
                segments={[
                  { text: isHere() ? app.glyphs.bar : " ", tone: review.pane() === "list" ? "primary" : "muted" },
                  ...entryLine(app, review, entry, inner() - 1),
                ]}
              />
            </box>
          )
        }}
      </For>
    </box>
  )
}

function entryLine(app: App, review: Review, entry: Entry, cells: number): Segment[] {
  if (!isItem(entry)) return [{ text: fitPath(entry.heading, cells), tone: "accent" }]
  switch (entry.kind) {
    case "finding":
      return findingLine(entry.judged, entry.path !== undefined, review.generation())
    case "folder": {
      const count = ` ${entry.files.length}`
      return justify(
        [{ text: `${app.glyphs.right} `, tone: "muted" }, { text: fitPath(entry.folder, cells - 3 - count.length) }],
        [{ text: count, tone: "muted" }],
        cells,
      )
    }
    case "file": {
      const { file, findings } = entry
      const open = findings.some(({ ruling }) => !ruling)
      const viewed = review.viewed().has(file.path)
      const size = sizeOf(app, review, file.path, file.kind)
      const mark: Segment = open
        ? { text: "▲ ", tone: "warning" }
        : viewed
          ? { text: "✓ ", tone: "success" }
          : { text: "  " }
      const name = fitPath(nameOf(file), Math.max(4, cells - cellsOf(size) - 3))
      return justify([mark, { text: name, tone: viewed ? "muted" : "text" }], size, cells)
    }
  }
}

function sizeOf(app: App, review: Review, path: string, kind: string): Segment[] {
  const size = review.reading.size(path)
  if (size === undefined) return kind === "modified" ? [] : [{ text: kind, tone: "muted" }]
  if (size === null) return [{ text: "binary", tone: "muted" }]
  const [insertions, deletions] = size
  if (insertions === 0 && deletions === 0) return [{ text: kind, tone: "muted" }]
  return [
    ...(insertions > 0 ? [{ text: `+${insertions}`, tone: "success" as const }] : []),
    ...(deletions > 0
      ? [{ text: `${insertions > 0 ? " " : ""}${app.glyphs.minus}${deletions}`, tone: "error" as const }]
      : []),
  ]
}

function findingLine({ finding, ruling, comment }: Judged, inFile: boolean, generation: number): Segment[] {
  const old = comment !== undefined && comment.generation < generation
  const mark: Segment = !ruling
    ? { text: "▲", tone: finding.severity === "high" ? "error" : "warning" }
    : old
      ? { text: "○", tone: "muted" }
      : ruling.disposition === "fix"
        ? { text: "→", tone: "info" }
        : { text: "✓", tone: "success" }
  return [
    { text: inFile ? "  " : "" },
    mark,
    { text: ` ${finding.id} `, tone: "muted" },
    { text: finding.title, tone: ruling ? "muted" : "text" },
  ]
}
