import { createMemo } from "solid-js"
import { useApp } from "../app.tsx"
import { LinePane } from "../ui/line-pane.tsx"
import type { Segment } from "../ui/segments.ts"
import type { Commands } from "./commands.tsx"
import { detailLines } from "./detail-lines.ts"
import { createLiveOutput } from "./live-output.tsx"
import { createStory } from "./story.tsx"

/** Everything about the selected card, in one scrolled column. */
export function Details(props: { readonly commands: Commands; readonly width: number; readonly height: number }) {
  const app = useApp()
  const card = () => props.commands.selected()
  const { story, more } = createStory(app, card)
  const output = createLiveOutput(app, card)
  // With an initial value a failure here is the only one: nothing reads an undefined after it.
  const lines = createMemo<Segment[][]>(() => {
    const shown = card()
    if (!shown) return [[{ text: "No card is selected.", tone: "muted" }]]
    return detailLines({
      card: shown,
      story: story(),
      output: output(),
      glyphs: app.glyphs,
      now: app.now(),
      width: props.width - 4,
    })
  }, [])
  return (
    <LinePane
      title={card() ? `#${card()!.entry.meta.taskNumber}` : ""}
      lines={lines()}
      width={props.width}
      height={props.height}
      about={card()?.id}
      onEnd={() => void more()}
    />
  )
}
