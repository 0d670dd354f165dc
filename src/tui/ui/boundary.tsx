import { ErrorBoundary, onCleanup, type JSX } from "solid-js"
import { wrap } from "../../core/text.ts"
import { useApp } from "../app.tsx"

/**
 * Keeps a view's failure to itself: a throw under the route would take the whole TUI down. Its box says what happened,
 * `R` draws it again, and the rest goes on.
 */
export function Guarded(props: { readonly name: string; readonly width?: number; readonly children: JSX.Element }) {
  return (
    <ErrorBoundary fallback={(error: unknown, reset) => <Failed name={props.name} error={error} reset={reset} />}>
      {props.children}
    </ErrorBoundary>
  )
}

function Failed(props: { readonly name: string; readonly error: unknown; readonly reset: () => void }) {
  const app = useApp()
  const { keymap } = app.host
  const bindings = [{ key: "R", cmd: () => props.reset(), desc: `Draw ${props.name} again` }]
  const offs = ["base", "modal"].map((mode) => keymap.registerLayer({ mode, priority: 2, bindings }))
  onCleanup(() => offs.forEach((off) => off()))
  const message = props.error instanceof Error ? props.error.message : String(props.error)
  return (
    <box flexDirection="column" flexGrow={1} padding={1} overflow="hidden">
      <text fg={app.theme().error}>{`The ${props.name} could not be drawn.`}</text>
      <text fg={app.theme().textMuted}>{wrap(message, 60, 4).join("\n")}</text>
      <text fg={app.theme().text}>R draws it again; everything else goes on.</text>
    </box>
  )
}
