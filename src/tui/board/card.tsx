import type { BoxRenderable } from "@opentui/core"
import { createMemo, Show } from "solid-js"
import { duration } from "../../core/board.ts"
import { useApp, type App } from "../app.tsx"
import { Line } from "../ui/line.tsx"
import type { Segment } from "../ui/segments.ts"
import { cardLines } from "./card-lines.ts"
import type { At } from "./hand.tsx"
import type { Density } from "./layout.ts"
import { isDraftCard, isMakingCard, makingCard } from "./store.tsx"

/** One card; `width` is what stands between the column's borders. */
export function CardView(props: {
  readonly id: string
  readonly width: number
  readonly density: Density
  readonly selected: boolean
  readonly onPress?: () => unknown
  readonly onRelease?: (card: BoxRenderable, at: At) => void
}) {
  const app = useApp()
  let box: BoxRenderable | undefined
  const card = createMemo(() => app.board.card(props.id))

  /** Told by the minute, so that the passing of time draws nothing anew. */
  const age = createMemo(() => {
    const merge = card()?.entry.meta.merge
    const done = merge?.state === "merged" || merge?.state === "left"
    return done && app.now() - merge.at >= 60_000 ? duration(app.now() - merge.at) : undefined
  })

  function taskLines(): Segment[][] {
    const it = card()
    if (!it) return []
    const { entry } = it
    const after = (entry.meta.dependsOn ?? []).filter((number) => {
      const other = app.board.byNumber(number)
      return other !== undefined && (other.meta.lastGatedStatus ?? other.meta.status) !== "done"
    })
    const [title, state, facts] = cardLines({
      title: entry.title,
      meta: entry.meta,
      run: it.run(),
      facts: it.facts(),
      progress: it.progress(),
      cost: it.cost(),
      pending: it.pending(),
      ...(age() === undefined ? {} : { age: age()! }),
      selected: props.selected,
      glyphs: app.glyphs,
      after,
      query: app.filter.query(),
    })
    return [title, state, facts]
  }

  function draftLines(): Segment[][] {
    const draft = app.board.draft(props.id)
    if (!draft) return []
    return [
      [
        { text: "draft ", tone: props.selected ? "primary" : "muted" },
        { text: draft.title, bold: props.selected },
      ],
      [{ text: `${app.glyphs.of({ icon: "✗", ascii: "x", tone: "error" })} ${draft.problem}`, tone: "error" }],
      [],
    ]
  }

  function makingLines(): Segment[][] {
    const found = app.board.making().find(({ id }) => makingCard(id) === props.id)
    return found ? [[{ text: found.titles.join(", "), bold: props.selected }], [makingState(app)], []] : []
  }

  /** Put into words once for the three of them. */
  const lines = createMemo((): readonly Segment[][] =>
    isMakingCard(props.id) ? makingLines() : isDraftCard(props.id) ? draftLines() : taskLines(),
  )

  const line = (index: number): Segment[] => [
    props.selected ? { text: app.glyphs.bar, tone: "primary" } : { text: " " },
    { text: index === 0 ? "" : "  " },
    ...(lines()[index] ?? []),
  ]
  return (
    <box
      flexDirection="column"
      flexShrink={0}
      ref={(it: BoxRenderable) => (box = it)}
      onMouseDown={() => props.onPress?.()}
      onMouseUp={(event) => box && props.onRelease?.(box, event)}
    >
      <box
        width={props.width}
        flexDirection="column"
        // Set either way: a property that goes away is not taken back.
        backgroundColor={props.selected ? app.theme().backgroundElement : app.theme().background}
      >
        <Line segments={line(0)} width={props.width} />
        <Line segments={line(1)} width={props.width} />
        <Show when={props.density === "full"}>
          <Line segments={line(2)} width={props.width} />
        </Show>
      </box>
      <Show when={props.density === "full"}>
        <box height={1} />
      </Show>
    </box>
  )
}

/** What is said of a task that is being made, for as long as it takes. */
export function makingState(app: App): Segment {
  const sign = app.glyphs.of({ icon: "◔", ascii: "~", tone: "info" })
  return { text: `${sign} ${app.link().kind === "up" ? "creating" : "waiting to be created"}`, tone: "info" }
}
