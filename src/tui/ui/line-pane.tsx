import { createEffect, For, on } from "solid-js"
import { displayable } from "../../core/text.ts"
import { useApp } from "../app.tsx"
import { Line } from "./line.tsx"
import type { Segment } from "./segments.ts"

/** A frame with more lines than may fit: scrolled by the page keys and the wheel, with what is hidden counted. */
export function LinePane(props: {
  readonly title: string
  readonly lines: readonly (readonly Segment[])[]
  readonly width: number
  readonly height: number
  /** What it is about: another one is read from its beginning. */
  readonly about: string | undefined
  /** New lines come at the end, and the end is what is watched. */
  readonly follow?: boolean
  /** The last line is seen. */
  readonly onEnd?: () => void
}) {
  const app = useApp()
  const inner = () => props.width - 4
  const rows = () => props.height - 2
  const most = () => Math.max(0, props.lines.length - rows())
  const first = () => Math.max(0, Math.min(app.paneTop(), most()))
  const below = () => Math.max(0, props.lines.length - first() - rows())
  createEffect(
    on(
      () => props.about,
      () => app.setPaneTop(props.follow ? most() : 0),
    ),
  )
  createEffect(on(most, (now, before) => props.follow && app.paneTop() >= (before ?? 0) && app.setPaneTop(now)))
  createEffect(() => props.lines.length > 0 && below() === 0 && props.onEnd?.())
  // What was scrolled beyond the end would have to be scrolled back first.
  createEffect(() => app.paneTop() !== first() && app.setPaneTop(first()))
  return (
    <box
      width={props.width}
      height={props.height}
      border
      borderStyle="rounded"
      borderColor={app.theme().border}
      paddingLeft={1}
      paddingRight={1}
      title={` ${displayable(props.title)} `}
      bottomTitle={displayable(below() > 0 ? ` ${app.glyphs.down} ${below()} ` : "")}
      bottomTitleAlignment="right"
      flexDirection="column"
      overflow="hidden"
      onMouseScroll={(event) => {
        app.setPaneTop(first() + (event.scroll?.direction === "up" ? -1 : 1))
      }}
    >
      <For each={props.lines.slice(first(), first() + rows())}>
        {(line) => <Line segments={line} width={inner()} />}
      </For>
    </box>
  )
}
