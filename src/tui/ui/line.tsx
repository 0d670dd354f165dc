import { StyledText, TextAttributes, type RGBA, type TextChunk, type TextRenderable } from "@opentui/core"
import type { TuiThemeCurrent } from "@opencode-ai/plugin/tui"
import { createMemo, createRenderEffect } from "solid-js"
import { useApp } from "../app.tsx"
import type { AnyCommandID } from "../board/rebinding.ts"
import { commandAt, fitSegments, sameSegments, type Segment } from "./segments.ts"
import type { Tone } from "./signs.ts"

export function colour(theme: TuiThemeCurrent, tone: Tone): RGBA {
  return tone === "muted" ? theme.textMuted : theme[tone]
}

/** A piece of a line in a colour; its text has to be displayable and to fit. */
export function chunk(text: string, fg: RGBA, bold = false): TextChunk {
  return { __isChunk: true, text, fg, attributes: bold ? TextAttributes.BOLD : 0 }
}

/** One line of foreign text, cut to `width` cells, in the tones of the host's theme. */
export function Line(props: {
  readonly segments: readonly Segment[]
  readonly width: number
  readonly onMouseUp?: () => void
  /** Does the command of what was clicked, where it has one. */
  readonly run?: (command: AnyCommandID) => void
}) {
  const app = useApp()
  const click = (cell: number) => {
    props.onMouseUp?.()
    const command = props.run && app.options().mouse ? commandAt(shown(), cell) : undefined
    if (command !== undefined) props.run?.(command)
  }
  // A line that says what it said is not drawn anew.
  const segments = createMemo(() => props.segments, undefined, { equals: sameSegments })
  const shown = () => fitSegments(segments(), props.width)
  const chunks = () => {
    const theme = app.theme()
    return shown().map(({ text, tone, bold }) => chunk(text, colour(theme, tone ?? "text"), bold))
  }
  return <Chunks chunks={chunks()} width={props.width} onMouseUp={click} />
}

/** One line of pieces that are displayable and fit already. */
export function Chunks(props: {
  readonly chunks: TextChunk[]
  readonly width: number
  /** Told the cell of the line, from 0. */
  readonly onMouseUp?: (cell: number) => void
}) {
  let line: TextRenderable | undefined
  return (
    <text
      // The JSX property takes strings only (measured on 0.4.5); the renderable itself takes styled text.
      ref={(it: TextRenderable) => {
        line = it
        createRenderEffect(() => (it.content = new StyledText(props.chunks)))
      }}
      width={props.width}
      height={1}
      flexShrink={0}
      wrapMode="none"
      selectable={false}
      onMouseUp={(event: { readonly x: number }) => line && props.onMouseUp?.(event.x - line.x)}
    />
  )
}
