import { createRoot, createSignal, ErrorBoundary, getOwner, onCleanup, type JSX } from "solid-js"
import { displayable, fit, wrap } from "../../core/text.ts"
import { useApp } from "../app.tsx"

/**
 * Keeps a view's failure to itself: a throw under the route would take the whole TUI down. Its box says what happened,
 * `R` draws it again, and the rest goes on.
 */
export function Guarded(props: {
  readonly name: string
  /** There is room for one line only. */
  readonly line?: boolean
  readonly children: JSX.Element
}) {
  const owner = getOwner()
  const [first, setFirst] = createSignal<unknown>()
  let failed: { readonly element: JSX.Element; readonly dispose: () => void } | undefined

  /** One failure makes what depends on it fail as well: the box is drawn once and tells the first. */
  function fail(error: unknown, reset: () => void): JSX.Element {
    if (!failed) {
      setFirst(() => error)
      const again = () => {
        clear()
        reset()
      }
      failed = createRoot(
        (dispose) => ({
          dispose,
          element: <Failed name={props.name} line={props.line === true} error={first()} again={again} />,
        }),
        owner,
      )
    }
    return failed.element
  }

  function clear() {
    failed?.dispose()
    failed = undefined
  }
  onCleanup(clear)
  return <ErrorBoundary fallback={fail}>{props.children}</ErrorBoundary>
}

function Failed(props: {
  readonly name: string
  readonly line: boolean
  readonly error: unknown
  readonly again: () => void
}) {
  const app = useApp()
  const bindings = [{ key: "shift+r", cmd: () => props.again(), desc: `Draw the ${props.name} again` }]
  for (const mode of ["base", "modal"]) onCleanup(app.host.keymap.registerLayer({ mode, priority: 20, bindings }))
  const message = props.error instanceof Error ? props.error.message : String(props.error)
  if (props.line) {
    const text = fit(`The ${props.name} could not be drawn (R again): ${message}`, app.host.renderer.width)
    return (
      <text fg={app.theme().error} height={1} wrapMode="none">
        {text}
      </text>
    )
  }
  return (
    <box flexDirection="column" flexGrow={1} padding={1} overflow="hidden">
      <text fg={app.theme().error}>{`The ${displayable(props.name)} could not be drawn.`}</text>
      <text fg={app.theme().textMuted}>{wrap(message, 60, 4).join("\n")}</text>
      <text fg={app.theme().text}>R draws it again; everything else goes on.</text>
    </box>
  )
}
