import { For, Show } from "solid-js"
import { wrap } from "../core/text.ts"
import { useApp } from "./app.tsx"
import { colour, Line } from "./ui/line.tsx"
import { NOTICE_SIGN } from "./ui/signs.ts"
import { spoken, type Notice } from "./notices.tsx"

/** The board's notices, lower right, newest below. */
export function NoticeOverlay(props: { readonly width: number; readonly bottom: number }) {
  const app = useApp()
  const width = () => Math.max(16, Math.min(48, props.width - 2))
  return (
    <Show when={app.notices.shown().length > 0}>
      <box position="absolute" right={1} bottom={props.bottom} width={width()} zIndex={100} flexDirection="column">
        <For each={app.notices.shown()}>{(notice) => <NoticeBox notice={notice} width={width()} />}</For>
        <Show when={app.notices.waiting() > 0}>
          <Line
            segments={[{ text: ` ${app.notices.waiting()} more ${app.glyphs.dot} N shows all`, tone: "muted" }]}
            width={width()}
          />
        </Show>
      </box>
    </Show>
  )
}

function NoticeBox(props: { readonly notice: Notice; readonly width: number }) {
  const app = useApp()
  const sign = () => NOTICE_SIGN[props.notice.level]
  const lines = () => {
    const { notice } = props
    const times = notice.count > 1 ? ` (${notice.count} times)` : ""
    return wrap(`${spoken(notice)}${times}`, props.width - 6, 5)
  }
  return (
    <box
      border
      borderStyle="rounded"
      borderColor={colour(app.theme(), sign().tone)}
      backgroundColor={app.theme().backgroundPanel}
      width={props.width}
      paddingLeft={1}
      paddingRight={1}
      flexDirection="column"
      onMouseUp={() => app.notices.dismiss(props.notice.id)}
    >
      <For each={lines()}>
        {(line, index) => (
          <Line
            segments={[{ text: index() === 0 ? `${app.glyphs.of(sign())} ` : "  ", tone: sign().tone }, { text: line }]}
            width={props.width - 4}
          />
        )}
      </For>
    </box>
  )
}
