import { createEffect, createMemo, For, onCleanup, onMount, Show, untrack } from "solid-js"
import { displayable } from "../../core/text.ts"
import { STATUS_TITLE, STATUSES } from "../../core/task.ts"
import { useApp } from "../app.tsx"
import { NoticeOverlay } from "../notice-overlay.tsx"
import { TourBox } from "../tour.tsx"
import { Guarded } from "../ui/boundary.tsx"
import { Line } from "../ui/line.tsx"
import { createRoom, WholeRoom } from "../ui/room.tsx"
import { joined, justify, type Segment } from "../ui/segments.ts"
import { makingState } from "./card.tsx"
import { Column, columnCount, columnExtra } from "./column.tsx"
import { makeHand, type Hand } from "./hand.tsx"
import type { Commands } from "./commands.tsx"
import type { CommandID } from "./keys.ts"
import { spelledKey } from "./rebinding.ts"
import { Details } from "./details.tsx"
import { Preview } from "./preview.tsx"
import { Footer } from "./footer.tsx"
import { layoutOf, visibleColumns, type Layout } from "./layout.ts"

/** The board's screen. */
export function BoardScreen(props: { readonly commands: Commands }) {
  const app = useApp()
  const room = createRoom()
  const size = room.size
  const layout = createMemo(() => layoutOf(size(), app.pane() !== undefined))

  onMount(() => app.opened())
  createEffect(() => app.board.state.phase === "ready" && untrack(() => app.tour.offer()))
  createEffect(() => {
    const step = app.tour.step()
    if (step) untrack(() => app.selection.goTo(step.column))
  })
  onCleanup(() => app.left())

  const hand = makeHand({
    click(card) {
      if (app.selection.card() === card) props.commands.run("kagan.menu")
      else app.selection.select(card)
    },
    drop: (card, status) => props.commands.drop(card, status),
  })

  return (
    <WholeRoom room={room}>
      <Guarded name="board">
        <Head commands={props.commands} width={size().width} layout={layout() as BoardLayout} />
        <Body commands={props.commands} layout={layout() as BoardLayout} hand={hand} width={size().width} />
      </Guarded>
      <Guarded name="footer" line>
        <Footer commands={props.commands} width={size().width} />
      </Guarded>
      <Guarded name="tour">
        <TourBox width={size().width} bottom={1} />
      </Guarded>
      <Guarded name="notices">
        <NoticeOverlay width={size().width} bottom={2} />
      </Guarded>
    </WholeRoom>
  )
}

type BoardLayout = Extract<Layout, { kind: "board" }>

function Body(props: {
  readonly commands: Commands
  readonly layout: BoardLayout
  readonly width: number
  readonly hand: Hand
}) {
  const app = useApp()
  const window = createMemo<{ first: number; statuses: readonly (typeof STATUSES)[number][] }>(
    (before) => visibleColumns(props.layout.columns, app.selection.column(), before.first),
    { first: 0, statuses: [] },
  )
  // The tour is about the columns, also while they are empty.
  const says = () => (app.tour.isOn() && app.board.state.phase === "ready" ? undefined : sentence(app))
  return (
    <Show when={says() === undefined} fallback={<Sentences lines={says()!} width={props.width} />}>
      <box flexDirection={props.layout.details?.side === "right" ? "row" : "column"} flexGrow={1}>
        <Show when={props.layout.rows > 0}>
          <box flexDirection="row" height={props.layout.rows}>
            <For each={window().statuses}>
              {(status, index) => (
                <Column
                  status={status}
                  width={props.layout.widths[index()] ?? 1}
                  rows={props.layout.rows}
                  density={props.layout.density}
                  hand={props.hand}
                />
              )}
            </For>
          </box>
        </Show>
        <Show when={props.layout.details}>
          {(pane) => (
            <Guarded name="details">
              <Show
                when={app.pane() === "preview"}
                fallback={<Details commands={props.commands} width={pane().width} height={pane().height} />}
              >
                <Preview commands={props.commands} width={pane().width} height={pane().height} />
              </Show>
            </Guarded>
          )}
        </Show>
      </box>
    </Show>
  )
}

/** What stands instead of the columns while there is nothing to show in them. */
function sentence(app: ReturnType<typeof useApp>): Segment[][] | undefined {
  const { board } = app
  const muted = (text: string): Segment => ({ text, tone: "muted" })
  const key = (text: string): Segment => ({ text, tone: "primary", bold: true })
  const made = board.making().map(({ titles }): Segment[] => [makingState(app), { text: `: ${titles.join(", ")}` }])
  if (board.state.phase === "loading") return [[muted("Reading the sessions of this project …")], ...made]
  if (board.state.phase === "failed") {
    return [
      [{ text: "The sessions of this project could not be read: ", tone: "error" }, { text: board.state.problem }],
      [muted("Close the board (q) and open it again to retry.")],
      ...made,
    ]
  }
  if (board.total() > 0 || board.state.drafts.length > 0 || made.length > 0) return undefined
  const why = app.blocked()
  if (why !== undefined && app.link().kind !== "connecting") return [[{ text: why, tone: "warning" }]]
  return [
    [{ text: "Nothing is on the board yet: every card is a task that an agent works on in a worktree of its own." }],
    [key("n"), muted(" makes the first task, "), key("?"), muted(" shows all keys.")],
  ]
}

function Sentences(props: { readonly lines: readonly Segment[][]; readonly width: number }) {
  return (
    <box flexGrow={1} flexDirection="column" justifyContent="center" paddingLeft={2} paddingRight={2}>
      <For each={props.lines}>{(line) => <Wrapped segments={line} />}</For>
    </box>
  )
}

/** A sentence over as many lines as it needs. */
function Wrapped(props: { readonly segments: readonly Segment[] }) {
  const app = useApp()
  return (
    <text wrapMode="word" fg={app.theme().text}>
      <For each={props.segments}>
        {(segment) => (
          <span
            style={{
              fg: segment.tone === undefined || segment.tone === "text" ? app.theme().text : toneOf(app, segment),
              bold: segment.bold === true,
            }}
          >
            {displayable(segment.text)}
          </span>
        )}
      </For>
    </text>
  )
}

function toneOf(app: ReturnType<typeof useApp>, segment: Segment) {
  const theme = app.theme()
  return segment.tone === "muted" ? theme.textMuted : theme[segment.tone ?? "text"]
}

function Head(props: { readonly commands: Commands; readonly width: number; readonly layout: BoardLayout }) {
  const app = useApp()
  const needing = () => app.board.needing().length
  const project = () => baseName(app.host.state.path.worktree || app.directory())
  const jump = () => {
    const key = spelledKey(app.rebinding, "kagan.next")
    return key === "" ? "" : ` ${app.glyphs.dot} ${key} to jump`
  }
  const needs = (): Segment[] =>
    needing() === 0
      ? []
      : [
          { text: `${needing()} ${needing() === 1 ? "needs" : "need"} you`, tone: "warning", command: "kagan.next" },
          { text: props.width >= 100 ? jump() : "", tone: "muted", command: "kagan.next" },
          { text: " " },
        ]
  const left = (): Segment[] => {
    if (props.layout.columns === 4) {
      return [
        { text: " " },
        ...joined(
          [
            { text: "Kagan", tone: "primary", bold: true },
            { text: project() },
            { text: app.host.state.vcs?.branch ?? "", tone: "muted" },
          ],
          ` ${app.glyphs.dot} `,
        ),
        ...linkWords(),
      ]
    }
    return names(props.layout.columns)
  }
  const linkWords = (): Segment[] => {
    const why = app.blocked()
    return why === undefined ? [] : [{ text: `  ${why}`, tone: "warning" }]
  }
  /** All four columns by name, those that are shown bright, so that the hidden ones are not forgotten. */
  const names = (columns: number): Segment[] => {
    const short = columns === 1
    const current = app.selection.column()
    const parts = STATUSES.map((status, index): Segment => {
      const name = short && status !== current ? STATUS_TITLE[status].slice(0, 1) : STATUS_TITLE[status]
      const needsHere = app.board.columns()[status].some((id) => app.board.card(id)?.run().needsYou)
      const extra = short ? "" : columnExtra(app, status).replace(" queued", "")
      const text = `${name} ${columnCount(app, status)}${extra === "" ? "" : ` ${extra}`}${needsHere ? " ▲" : ""}`
      const command = `kagan.column.${index + 1}` as CommandID
      return { text, tone: status === current ? "text" : "muted", bold: status === current, command }
    })
    return [
      { text: ` ${app.glyphs.left} `, tone: "muted" },
      ...joined(parts, short ? "  " : "   "),
      { text: ` ${app.glyphs.right}`, tone: "muted" },
    ]
  }
  const right = () => (props.layout.columns === 1 ? [] : needs())
  return (
    <Line
      segments={justify(left(), right(), props.width)}
      width={props.width}
      run={(id) => props.commands.run(id as CommandID)}
    />
  )
}

function baseName(path: string): string {
  return path.split(/[\\/]/).findLast((part) => part !== "") ?? ""
}
