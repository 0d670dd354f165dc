import type { BoxRenderable } from "@opentui/core"
import { createMemo, createSelector, createSignal, For } from "solid-js"
import { STATUS_TITLE, type Status } from "../../core/task.ts"
import { width } from "../../core/text.ts"
import { useApp } from "../app.tsx"
import { Line } from "../ui/line.tsx"
import { cellsOf, fitSegments, type Segment } from "../ui/segments.ts"
import { CardView } from "./card.tsx"
import type { At, Hand } from "./hand.tsx"
import { visibleCards, type Density } from "./layout.ts"

/** One column: only the cards that can be seen are drawn, and what is above and below is counted. */
export function Column(props: {
  readonly status: Status
  readonly width: number
  readonly rows: number
  readonly density: Density
  readonly hand: Hand
}) {
  const app = useApp()
  const [isOver, setOver] = createSignal(false)
  const [scrolled, setScrolled] = createSignal<{ first: number; cursor?: string }>({ first: 0 })
  const inner = () => props.width - 2
  const ids = createMemo(() => app.board.columns()[props.status])
  const focused = () => app.selection.column() === props.status
  const cursor = () => (focused() ? app.selection.card() : undefined)

  // Only the card that the cursor leaves and the one that it reaches are drawn anew.
  const isCursor = createSelector(cursor)

  const shown = createMemo<{ first: number; count: number }>((before) => {
    const { first, cursor: scrolledAt } = scrolled()
    // A wheel leaves the cursor where it is until it moves again.
    const follows = focused() && cursor() !== scrolledAt
    return visibleCards({
      total: ids().length,
      rows: props.rows - 2,
      density: props.density,
      first: scrolledAt !== undefined && !follows ? first : (before?.first ?? 0),
      ...(follows ? { cursor: app.selection.index() } : {}),
    })
  })

  function scroll(step: number) {
    setScrolled({ first: shown().first + step, cursor: cursor() ?? "" })
  }

  const drawn = () => ids().slice(shown().first, shown().first + shown().count)
  const below = () => ids().length - shown().first - shown().count
  const isTarget = () => props.hand.dragging() && isOver()
  let box: BoxRenderable | undefined
  const edge = (): "accent" | "primary" | "border" => (isTarget() ? "accent" : focused() ? "primary" : "border")
  const withMouse =
    <E,>(act: (event: E) => void) =>
    (event: E) => {
      if (app.options().mouse) act(event)
    }

  const head = (): Segment[] => {
    const extra = columnExtra(app, props.status)
    const above = shown().first > 0 ? `${app.glyphs.up} ${shown().first}` : ""
    const name: Segment[] = [
      { text: `${STATUS_TITLE[props.status]} `, bold: focused(), tone: focused() ? "text" : "muted" },
      { text: ` ${columnCount(app, props.status)} `, tone: "muted" },
    ]
    // The number alone, where the word would be cut.
    const room = props.width - 4 - cellsOf(name) - width(above) - width(extra)
    const beside = room < 2 ? extra.replace(" queued", "") : extra
    if (beside !== "") name.push({ text: ` ${beside} `, tone: "muted" })
    return frame("╭ ", name, above, "╮")
  }
  const foot = (): Segment[] => frame("╰", [], below() > 0 ? `${app.glyphs.down} ${below()}` : "", "╯")

  function frame(open: string, title: Segment[], count: string, close: string): Segment[] {
    const tail: Segment[] = count === "" ? [] : [{ text: ` ${count} `, tone: "text" }]
    const kept = fitSegments(title, props.width - open.length - 1 - cellsOf(tail))
    const rule = props.width - open.length - 1 - cellsOf(kept) - cellsOf(tail)
    return [
      { text: open, tone: edge() },
      ...kept,
      { text: "─".repeat(Math.max(0, rule)), tone: edge() },
      ...tail,
      { text: close, tone: edge() },
    ]
  }

  return (
    <box
      ref={(it: BoxRenderable) => (box = it)}
      width={props.width}
      height={props.rows}
      flexDirection="column"
      flexShrink={0}
      onMouseScroll={(event) => {
        if (!app.options().mouse) return
        if (event.scroll?.direction === "up") scroll(-1)
        if (event.scroll?.direction === "down") scroll(1)
      }}
      onMouseDown={withMouse(() => ids().length === 0 && app.selection.goTo(props.status))}
      onMouseOver={() => setOver(true)}
      onMouseOut={() => setOver(false)}
      onMouseDrag={withMouse(() => props.hand.drag())}
      onMouseUp={withMouse((event: At) =>
        props.hand.releaseOver(props.status, (card) => app.board.card(card)?.column(), box, event),
      )}
    >
      <Line segments={head()} width={props.width} />
      <box
        height={props.rows - 2}
        width={props.width}
        overflow="hidden"
        flexDirection="column"
        border={["left", "right"]}
        borderColor={app.theme()[edge()]}
      >
        <For each={drawn()}>
          {(id) => (
            <CardView
              id={id}
              width={inner()}
              density={props.density}
              selected={isCursor(id)}
              onPress={() => app.options().mouse && props.hand.press(id)}
              onRelease={(card, at) => withMouse(() => props.hand.release(id, card, at))(at)}
            />
          )}
        </For>
      </box>
      <Line segments={foot()} width={props.width} />
    </box>
  )
}

type Counting = ReturnType<typeof useApp>

/** `3`, or `2/2` where a limit holds. */
export function columnCount(app: Counting, status: Status): string {
  const count = app.board.count(status)
  return status === "in_progress" ? `${count}/${app.options().inProgressLimit}` : `${count}`
}

/** What stands beside the count: who waits for a place. */
export function columnExtra(app: Counting, status: Status): string {
  const queued = status === "in_progress" ? app.board.queued() : 0
  return queued > 0 ? `+${queued} queued` : ""
}
