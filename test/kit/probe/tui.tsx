import type { TuiPlugin, TuiPluginApi } from "@opencode-ai/plugin/tui"
import type { TextareaRenderable } from "@opentui/core"
import { useTerminalDimensions, type JSX } from "@opentui/solid"
import { ErrorBoundary, onMount } from "solid-js"
import { openControl, type InHost } from "./control.ts"

/** A probe's TUI half, as a function that a test sends into it sees it. */
export interface InTui extends InHost {
  readonly api: TuiPluginApi
  readonly options: unknown
  readonly view: {
    /** One line of text. */
    line(text: string): JSX.Element
    /** What `inner` draws, or, when that throws, a line that begins with `caught:`. */
    guarded(inner: () => JSX.Element): JSX.Element
    /** The terminal's size as the host's hook tells it, such as `size 100x30`. */
    size(): JSX.Element
    /** A line that tells where it was pressed, in cells from 0. */
    target(text: string, press: (col: number, row: number) => void): JSX.Element
    /** A field of several lines that has the focus. */
    area(submit: (text: string) => void): JSX.Element
  }
}

/** Makes the TUI half of a probe; `setup` is the source of `(p: InTui) => void`, run, and awaited, while the plugin loads. */
export function probeTui(probe: { name: string; log: string; setup?: string }): TuiPlugin {
  return async (api, options) => {
    const control = openControl({ half: "tui", directory: "", log: probe.log }, () => ({ ...p }))
    const p: InTui = {
      ...control.base,
      api,
      options,
      view: {
        line: (text) => <text>{text}</text>,
        guarded: (inner) => (
          <ErrorBoundary fallback={(error) => <text>{`caught: ${error.message}`}</text>}>
            {(() => {
              const Inner = inner
              return <Inner />
            })()}
          </ErrorBoundary>
        ),
        size() {
          const size = useTerminalDimensions()
          return <text>{`size ${size().width}x${size().height}`}</text>
        },
        target: (text, press) => <text onMouseDown={(event) => press(event.x, event.y)}>{text}</text>,
        area(submit) {
          let field: TextareaRenderable | undefined
          onMount(() => field?.focus())
          return (
            <textarea
              ref={(it: TextareaRenderable) => (field = it)}
              minHeight={2}
              onSubmit={() => submit(field?.plainText ?? "")}
            />
          )
        },
      },
    }
    api.lifecycle.onDispose(() => {
      p.record("dispose")
      control.stop()
    })
    await control.setUp(probe.setup, p)
  }
}
