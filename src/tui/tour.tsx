import { createSignal, For, onCleanup, onMount, Show } from "solid-js"
import type { Status } from "../core/task.ts"
import { wrap } from "../core/text.ts"
import { BOARD_ROUTE, useApp, type App, type HostScreen } from "./app.tsx"
import type { DialogCommandID } from "./board/dialog-keys.ts"
import type { CommandID } from "./board/keys.ts"
import { bindableKeys, hintLine, spelledKey } from "./board/rebinding.ts"
import { Line } from "./ui/line.tsx"
import { justify } from "./ui/segments.ts"

const SEEN = "kagan.tour.seen"

type Step = {
  /** The column that it is about. */
  readonly column: Status
  readonly title: string
  /** Its words; `{kagan.new}` stands for the key of that command. */
  readonly text: string
}

const STEPS: readonly Step[] = [
  {
    column: "backlog",
    title: "Four columns, four states of trust",
    text: "A card is a task that an agent works on in a worktree of its own. It moves to the right as you come to trust it: not agreed yet, delegated, claimed to be done, judged.",
  },
  {
    column: "backlog",
    title: "Agree first",
    text: "{kagan.new} makes a task. A reader looks at the code and asks what the agent would otherwise assume in silence: {kagan.intake} answers, {kagan.waive} goes without, {kagan.forward} starts it.",
  },
  {
    column: "in_progress",
    title: "Let it work",
    text: "{kagan.preview} watches the agent, {kagan.tell} tells it something, {kagan.stop} stops it. What waits for you is marked and counted: {kagan.next} jumps there, {kagan.allow} and {kagan.reject} answer what it asks.",
  },
  {
    column: "review",
    title: "Judge what it claims",
    text: "Someone who did not write it has read the exact tree that would be merged. {kagan.review} shows the diff with the findings for you to rule on; {kagan.sendBack} sends it back with those to fix.",
  },
  {
    column: "done",
    title: "Merge what you approved",
    text: "{kagan.approve} approves exactly the reviewed tree and merges it; nothing else ever enters your branch. {kagan.menu} lists what a card can do, {kagan.help} all keys, and /kagan-tour comes back here.",
  },
]

/** Five steps over the real board: offered once, left at any step, shown again on demand. */
export function createTour(host: Pick<HostScreen, "kv">) {
  const [step, setStep] = createSignal<number>()
  const stop = () => void setStep(undefined)
  return {
    isOn: () => step() !== undefined,
    index: () => step() ?? 0,
    step: () => STEPS[step() ?? -1],
    start: () => void setStep(0),
    /** The first time that the board is seen, and never again. */
    offer() {
      if (!host.kv.ready || host.kv.get(SEEN) !== undefined) return
      host.kv.set(SEEN, true)
      setStep(0)
    },
    move(by: number) {
      const next = (step() ?? 0) + by
      if (next >= STEPS.length) stop()
      else setStep(Math.max(0, next))
    },
    stop,
  }
}

/** The present step, over the foot of the board; its keys win over the board's as long as it stands there. */
export function TourBox(props: { readonly width: number; readonly bottom: number }) {
  const app = useApp()
  return <Show when={app.tour.step()}>{(step) => <StepBox app={app} step={step()} {...props} />}</Show>
}

function StepBox(props: { readonly app: App; readonly step: Step; readonly width: number; readonly bottom: number }) {
  const { app } = props
  const { tour } = app
  const width = () => Math.max(16, Math.min(72, props.width - 2))
  const inner = () => width() - 4
  const bound = (id: DialogCommandID, cmd: () => void) => bindableKeys(app.rebinding, id).map((key) => ({ key, cmd }))
  onMount(() => {
    const off = app.host.keymap.registerLayer({
      mode: "base",
      priority: 10,
      enabled: () => app.host.route.current.name === BOARD_ROUTE && tour.isOn(),
      bindings: [
        ...bound("kagan.tour.next", () => tour.move(1)),
        ...bound("kagan.tour.back", () => tour.move(-1)),
        ...bound("kagan.tour.leave", () => tour.stop()),
      ],
    })
    onCleanup(off)
  })
  const lines = () => wrap(spelled(app, props.step.text), inner())
  const hint = () =>
    hintLine(app.rebinding, [
      ["kagan.tour.next", tour.index() === STEPS.length - 1 ? "ends it" : "goes on"],
      ["kagan.tour.back", "back"],
      ["kagan.tour.leave", "leaves it"],
    ])
  return (
    <box
      position="absolute"
      left={Math.max(0, Math.floor((props.width - width()) / 2))}
      bottom={props.bottom}
      width={width()}
      zIndex={90}
      border
      borderStyle="rounded"
      borderColor={app.theme().primary}
      backgroundColor={app.theme().backgroundPanel}
      paddingLeft={1}
      paddingRight={1}
      flexDirection="column"
      onMouseUp={() => tour.move(1)}
    >
      <Line
        width={inner()}
        segments={justify(
          [{ text: props.step.title, bold: true }],
          [{ text: `${tour.index() + 1}/${STEPS.length}`, tone: "muted" }],
          inner(),
        )}
      />
      <For each={lines()}>{(line) => <Line width={inner()} segments={[{ text: line }]} />}</For>
      <Line width={inner()} segments={[{ text: hint(), tone: "muted" }]} />
    </box>
  )
}

/** With the keys in force; a command without a key is in the menu. */
function spelled(app: App, text: string): string {
  return text.replace(/\{([\w.]+)\}/g, (_, id: string) => {
    return spelledKey(app.rebinding, id as CommandID) || "the menu"
  })
}
