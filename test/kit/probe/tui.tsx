import type { TuiPlugin, TuiPluginApi } from "@opencode-ai/plugin/tui"
import type { JSX } from "@opentui/solid"
import { ErrorBoundary } from "solid-js"
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
      },
    }
    api.lifecycle.onDispose(() => {
      p.record("dispose")
      control.stop()
    })
    await control.setUp(probe.setup, p)
  }
}
