import { StyledText, TextAttributes, type RGBA, type TextChunk } from "@opentui/core"
import type { TuiThemeCurrent } from "@opencode-ai/plugin/tui"
import { useApp } from "../app.tsx"
import { fitSegments, type Segment } from "./segments.ts"
import type { Tone } from "./signs.ts"

export function colour(theme: TuiThemeCurrent, tone: Tone): RGBA {
  return tone === "muted" ? theme.textMuted : theme[tone]
}

/** One line of foreign text, cut to `width` cells, in the tones of the host's theme. */
export function Line(props: {
  readonly segments: readonly Segment[]
  readonly width: number
  readonly bg?: RGBA
  readonly onMouseUp?: () => void
}) {
  const app = useApp()
  const content = () => {
    const theme = app.theme()
    const chunks = fitSegments(props.segments, props.width).map(({ text, tone, bold }): TextChunk => ({
      __isChunk: true,
      text,
      fg: colour(theme, tone ?? "text"),
      attributes: bold ? TextAttributes.BOLD : 0,
    }))
    return new StyledText(chunks)
  }
  return (
    <text
      content={content()}
      width={props.width}
      height={1}
      wrapMode="none"
      selectable={false}
      {...(props.bg ? { bg: props.bg } : {})}
      onMouseUp={() => props.onMouseUp?.()}
    />
  )
}
