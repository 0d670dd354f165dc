import type { BoxRenderable } from "@opentui/core"
import { useTerminalDimensions } from "@opentui/solid"
import { createEffect, createMemo, createSignal, For, Match, onCleanup, onMount, Show, Switch } from "solid-js"
import { partText } from "../../core/board.ts"
import { fitPath } from "../../core/text.ts"
import { useApp, type App } from "../app.tsx"
import type { Commands } from "../board/commands.tsx"
import { REVIEW_COMMANDS, spellKey, type ReviewCommandID } from "../board/keys.ts"
import { keysOf } from "../board/rebinding.ts"
import { NoticeOverlay } from "../notice-overlay.tsx"
import { Guarded } from "../ui/boundary.tsx"
import { Line } from "../ui/line.tsx"
import { cellsOf, justify, wholeParts, type Segment } from "../ui/segments.ts"
import type { Tone } from "../ui/signs.ts"
import { DiffPane } from "./diff-pane.tsx"
import { createReview, type Item, type Review } from "./model.tsx"
import { fileLabel } from "./rows.ts"

/** The review of one task: findings and files at the left, the diff with the findings on their lines at the right. */
export function ReviewScreen(props: { readonly commands: Commands; readonly sessionID: string }) {
  const app = useApp()
  const terminal = useTerminalDimensions()
  const [measured, setMeasured] = createSignal<{ width: number; height: number }>()
  const review = createReview(app, props.commands, props.sessionID)
  let root: BoxRenderable | undefined
  const size = () => measured() ?? terminal()

  onMount(() => app.opened())
  onCleanup(() => app.left())
  onCleanup(
    app.host.keymap.registerLayer({
      mode: "base",
      priority: 1,
      commands: REVIEW_COMMANDS.map(({ id, title }) => ({
        name: id,
        title,
        category: "Kagan",
        run: () => review.run(id),
      })),
      bindings: REVIEW_COMMANDS.flatMap(({ id, title }) =>
        keysOf(app.rebinding, id).map((key) => ({ key, cmd: id, desc: title, group: "Kagan" })),
      ),
    }),
  )

  const split = () => size().width >= 72
  const listWidth = () => (split() ? Math.max(24, Math.min(44, Math.floor(size().width * 0.28))) : size().width)
  const diffWidth = () => (split() ? size().width - listWidth() : size().width)
  const rows = () => Math.max(1, size().height - 2)
  createEffect(() => {
    review.setCells(diffWidth() - 4)
    review.setRowsShown(rows() - 2)
  })

  return (
    <box
      ref={(it: BoxRenderable) => (root = it)}
      flexGrow={1}
      flexDirection="column"
      overflow="hidden"
      backgroundColor={app.theme().background}
      onSizeChange={() => root && setMeasured({ width: root.width, height: root.height })}
    >
      <Switch>
        <Match when={size().width < 20 || size().height < 8}>
          <text fg={app.theme().textMuted}>Kagan needs 20×8 cells.</text>
        </Match>
        <Match when={review.card() === undefined}>
          <text fg={app.theme().textMuted}>This task is not on the board any more. q goes back.</text>
        </Match>
        <Match when={true}>
          <Guarded name="review">
            <Line segments={headOf(app, review, size().width)} width={size().width} />
            <box flexDirection="row" height={rows()}>
              <Show when={split() || review.pane() === "list"}>
                <List review={review} width={listWidth()} rows={rows()} />
              </Show>
              <Show when={split() || review.pane() === "diff"}>
                <DiffPane review={review} width={diffWidth()} rows={rows()} />
              </Show>
            </box>
            <Line segments={footOf(app, review, split(), size().width)} width={size().width} />
          </Guarded>
          <Guarded name="notices">
            <NoticeOverlay width={size().width} bottom={2} />
          </Guarded>
        </Match>
      </Switch>
    </box>
  )
}

function headOf(app: App, review: Review, width: number): Segment[] {
  const card = review.card()
  const snapshot = review.snapshot()
  if (!card) return []
  const total = review.judged().length
  const why = review.commands.when("kagan.approve", card)
  const seen = partText(card.entry.meta)
  const right: Segment[] = [
    { text: seen === "" ? "" : `${seen}  `, tone: "warning" },
    {
      text:
        total === 0
          ? "no findings"
          : `${total} ${total === 1 ? "finding" : "findings"}, ${total - review.open()} ruled`,
      tone: review.open() > 0 ? "warning" : "success",
    },
    { text: why === undefined ? `  a approve ` : " ", tone: "success" },
  ]
  const left: Segment[] = [
    { text: ` #${card.entry.meta.taskNumber} `, tone: "primary" },
    { text: card.entry.title, bold: true },
    {
      text: snapshot ? ` ${app.glyphs.dot} ${snapshot.commit.slice(0, 7)} against ${card.entry.meta.baseBranch}` : "",
      tone: "muted",
    },
  ]
  return justify(left, right, width)
}

const FOOT: readonly ReviewCommandID[] = [
  "kagan.review.fix",
  "kagan.review.intended",
  "kagan.review.ignore",
  "kagan.review.approve",
  "kagan.review.sendBack",
  "kagan.review.close",
  "kagan.review.help",
]

function footOf(app: App, review: Review, split: boolean, width: number): Segment[] {
  const hints = FOOT.filter((id) => review.judged().length > 0 || !/fix|intended|ignore/.test(id)).map(
    (id): Segment[] => {
      const row = REVIEW_COMMANDS.find((candidate) => candidate.id === id)
      const key = keysOf(app.rebinding, id)[0]
      if (!row || key === undefined) return []
      return [
        { text: spellKey(key), bold: true },
        { text: ` ${"hint" in row ? row.hint : ""}`, tone: "muted" },
      ]
    },
  )
  const moves: Segment = {
    text: split ? "j k item  J K hunk  n next open" : "Tab list/diff  n next open",
    tone: "muted",
  }
  return justify(
    [{ text: " " }, ...wholeParts(hints, "  ", width < 60 ? width - 1 : width - cellsOf([moves]) - 3)],
    width < 60 ? [] : [moves, { text: " " }],
    width,
  )
}

function List(props: { readonly review: Review; readonly width: number; readonly rows: number }) {
  const app = useApp()
  const inner = () => props.width - 2
  const rows = () => props.rows - 2
  const findings = () => props.review.judged().length

  type Entry = { readonly index?: number; readonly segments: readonly Segment[] }
  const entries = createMemo((): readonly Entry[] => {
    const list = props.review
      .items()
      .map((item, index): Entry => ({ index, segments: itemLine(app, item, inner() - 1) }))
    const left = props.review.diff()?.value?.left ?? []
    return [
      ...(findings() > 0 ? [{ segments: [{ text: "Findings", tone: "accent" as Tone }] }] : []),
      ...list.slice(0, findings()),
      { segments: [{ text: `Files ${list.length - findings()}`, tone: "accent" }] },
      ...list.slice(findings()),
      ...(left.length > 0 ? [{ segments: [{ text: `${left.length} more not shown`, tone: "warning" as Tone }] }] : []),
    ]
  })
  const first = createMemo<number>((before) => {
    const at = entries().findIndex(({ index }) => index === props.review.index())
    const start = Math.max(0, Math.min(before, entries().length - rows()))
    // The heading above the first item is worth its row.
    return at < start + 1 ? Math.max(0, at - 1) : at >= start + rows() ? at - rows() + 1 : start
  }, 0)
  return (
    <box
      width={props.width}
      height={props.rows}
      border
      borderStyle="rounded"
      borderColor={app.theme().border}
      flexDirection="column"
      overflow="hidden"
    >
      <For each={entries().slice(first(), first() + rows())}>
        {(entry) => {
          const here = () => entry.index !== undefined && entry.index === props.review.index()
          return (
            <box
              width={inner()}
              height={1}
              backgroundColor={here() ? app.theme().backgroundElement : app.theme().background}
              onMouseUp={() => entry.index !== undefined && props.review.select(entry.index)}
            >
              <Line
                width={inner()}
                segments={[{ text: here() ? app.glyphs.bar : " ", tone: "primary" }, ...entry.segments]}
              />
            </box>
          )
        }}
      </For>
    </box>
  )
}

function itemLine(app: App, item: Item, cells: number): Segment[] {
  if (item.kind === "finding") {
    const { finding, ruling } = item.judged
    const mark: Segment = !ruling
      ? { text: "▲", tone: finding.severity === "high" ? "error" : "warning" }
      : ruling.disposition === "fix"
        ? { text: "→", tone: "info" }
        : { text: "✓", tone: "success" }
    return [mark, { text: ` ${finding.id} `, tone: "muted" }, { text: finding.title, tone: ruling ? "muted" : "text" }]
  }
  const { file, findings } = item
  const open = findings.filter(({ ruling }) => !ruling).length
  const size: Segment[] = [
    { text: `+${file.insertions}`, tone: "success" },
    { text: ` ${app.glyphs.minus}${file.deletions}`, tone: "error" },
  ]
  const mark: Segment = open > 0 ? { text: "▲ ", tone: "warning" } : { text: "  " }
  const sizeCells = size.reduce((sum, { text }) => sum + text.length, 0)
  const name = fitPath(fileLabel(file), Math.max(4, cells - sizeCells - 3))
  return justify([mark, { text: name }], size, cells)
}
