import type { BoxRenderable } from "@opentui/core"
import { useTerminalDimensions } from "@opentui/solid"
import { createSignal, Show, type JSX } from "solid-js"
import { useApp } from "../app.tsx"
import { isTiny, type Size } from "../board/layout.ts"

/** The cells that a screen of ours has: the terminal's, until its own box has been laid out. */
export interface Room {
  size(): Size
  /** For `WholeRoom`: what its box came out as. */
  measured(size: Size): void
}

/** Called while a component is set up. */
export function createRoom(): Room {
  const terminal = useTerminalDimensions()
  const [measured, setMeasured] = createSignal<Size>()
  return { size: () => measured() ?? terminal(), measured: setMeasured }
}

/** A screen that fills its room, or says that the room is too small for anything. */
export function WholeRoom(props: { readonly room: Room; readonly children: JSX.Element }) {
  const app = useApp()
  let root: BoxRenderable | undefined
  return (
    <box
      ref={(it: BoxRenderable) => (root = it)}
      flexGrow={1}
      flexDirection="column"
      overflow="hidden"
      backgroundColor={app.theme().background}
      onSizeChange={() => root && props.room.measured({ width: root.width, height: root.height })}
    >
      <Show
        when={!isTiny(props.room.size())}
        fallback={
          <text fg={app.theme().textMuted} wrapMode="word">
            Kagan needs 20×8 cells.
          </text>
        }
      >
        {props.children}
      </Show>
    </box>
  )
}
