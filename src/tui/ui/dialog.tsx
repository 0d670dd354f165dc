import {
  decodePasteBytes,
  stripAnsiSequences,
  type EditBufferRenderable,
  type InputRenderable,
  type KeyEvent,
  type PasteEvent,
  type Renderable,
  type TextareaRenderable,
} from "@opentui/core"
import type { Binding } from "@opentui/keymap"
import { useTerminalDimensions } from "@opentui/solid"
import { createEffect, createMemo, createSignal, For, on, onCleanup, onMount, Show, type JSX } from "solid-js"
import { fuzzyFilter } from "../../core/fuzzy.ts"
import { displayable, displayableLines, wrap } from "../../core/text.ts"
import { useApp } from "../app.tsx"
import type { DialogCommandID, FormCommandID } from "../board/dialog-keys.ts"
import { bindableKeys } from "../board/rebinding.ts"
import { Line } from "./line.tsx"
import { fitHint, justify, type Segment } from "./segments.ts"

export type DialogSize = "medium" | "large" | "xlarge"
const WIDTHS: Readonly<Record<DialogSize, number>> = { medium: 60, large: 88, xlarge: 116 }
const PADDING = 2

/** The cells and rows that a dialog's content has; the host puts dialogs a quarter of the screen down. */
export function useDialogSpace(size: DialogSize = "medium") {
  const screen = useTerminalDimensions()
  /** Whether there is room for a blank line below the title and one above the hint. */
  const roomy = () => screen().height >= 20
  return {
    width: () => Math.max(8, Math.min(WIDTHS[size], screen().width - 2) - 2 * PADDING),
    /** Rows below the title, above the hint. */
    rows: () => Math.max(1, screen().height - Math.ceil(screen().height / 4) - (roomy() ? 6 : 4)),
    roomy,
  }
}

/** What the commands of the dialog that is open do; their keys win over the host's own, and only while it stands. */
export function useDialogCommands(
  commands: () => Readonly<Partial<Record<DialogCommandID | FormCommandID, (() => void) | false | undefined>>>,
) {
  const app = useApp()
  useDialogKeys(() =>
    Object.entries(commands()).flatMap(([id, cmd]) =>
      cmd ? bindableKeys(app.rebinding, id as DialogCommandID).map((key) => ({ key, cmd })) : [],
    ),
  )
}

/** Keys of the dialog that is open which are no commands: those of its choices. */
export function useDialogKeys(bindings: () => readonly Binding<Renderable, KeyEvent>[]) {
  const app = useApp()
  createEffect(() => {
    const off = app.host.keymap.registerLayer({ mode: "modal", priority: 10, bindings: bindings() })
    onCleanup(off)
  })
}

export function DialogFrame(props: {
  readonly title: string
  readonly size?: DialogSize
  readonly hint?: string
  readonly children: JSX.Element
}) {
  const app = useApp()
  const space = useDialogSpace(props.size)
  return (
    <box flexDirection="column" paddingLeft={PADDING} paddingRight={PADDING} flexShrink={1} overflow="hidden">
      <Line
        segments={justify([{ text: props.title, bold: true }], [{ text: "esc", tone: "muted" }], space.width())}
        width={space.width()}
        onMouseUp={() => app.host.ui.dialog.clear()}
      />
      <Show when={space.roomy()}>
        <box height={1} />
      </Show>
      {props.children}
      <Show when={props.hint && space.roomy()}>
        <box height={1} />
      </Show>
      <Show when={props.hint}>
        {(hint) => <Line segments={[{ text: fitHint(hint(), space.width()), tone: "muted" }]} width={space.width()} />}
      </Show>
      <box height={1} flexShrink={1} />
    </box>
  )
}

/** Wrapped foreign text in a dialog; more lines than `most` are cut with a mark. */
export function Paragraph(props: {
  readonly text: string
  readonly width: number
  readonly most?: number
  readonly tone?: Segment["tone"]
}) {
  const lines = createMemo(() => wrap(props.text, props.width, props.most))
  return (
    <For each={lines()}>
      {(line) => <Line segments={[{ text: line, tone: props.tone ?? "text" }]} width={props.width} />}
    </For>
  )
}

export type Choice = {
  readonly title: string
  readonly note?: string
  readonly key?: string
  /** Choices of one group stand under its name; they have to be next to each other. */
  readonly group?: string
  /** Why it cannot be chosen now; it is shown, greyed, with the reason. */
  readonly not?: string
  /** A sign before its title, in its own tone. */
  readonly sign?: Segment
  /** What there is to know about it, shown below the list while the cursor is on it. */
  readonly detail?: string
  readonly choose: () => void
}

type Entry = { readonly heading?: string; readonly choice?: Choice; readonly place?: number }

const besides = ({ not, note }: Choice) => (not !== undefined ? `  ${not}` : note !== undefined ? `  ${note}` : "")

/** Lines that may be more than there is room for: PgUp and PgDn scroll, and what is hidden is counted. */
export function Scrolled(props: {
  readonly lines: readonly (readonly Segment[])[]
  readonly width: number
  readonly rows: number
  /** The line that has to be seen at first. */
  readonly from?: number
  /** Called when the last line is on the screen. */
  readonly onEnd?: () => void
  /** What they are about: while it stays the same, what is read stays in its place when the lines change. */
  readonly about?: unknown
}) {
  const app = useApp()
  const most = () => Math.max(0, props.lines.length - props.rows)
  const [top, setTop] = createSignal(0)
  createEffect(
    on([() => props.about ?? props.lines, most], ([about], before) => {
      const same = before !== undefined && props.about !== undefined && before[0] === about
      setTop((at) => Math.min(same ? at : (props.from ?? 0), most()))
    }),
  )
  createEffect(() => top() === most() && props.onEnd?.())
  const move = (by: number) => setTop((at) => Math.max(0, Math.min(at + by, most())))
  useDialogCommands(() => ({
    "kagan.text.down": () => void move(Math.max(1, props.rows - 1)),
    "kagan.text.up": () => void move(-Math.max(1, props.rows - 1)),
  }))
  const hidden = () => {
    const above = top()
    const below = most() - top()
    return `${above > 0 ? `${app.glyphs.up} ${above} ` : ""}${below > 0 ? `${app.glyphs.down} ${below}` : ""}`.trim()
  }
  return (
    <box
      flexDirection="column"
      flexShrink={0}
      onMouseScroll={(event) => void move(event.scroll?.direction === "up" ? -1 : 1)}
    >
      <For each={props.lines.slice(top(), top() + props.rows)}>
        {(line, index) => {
          const last = () => index() === Math.min(props.rows, props.lines.length) - 1
          const shown = () =>
            last() && hidden() !== "" ? justify(line, [{ text: hidden(), tone: "muted" }], props.width) : line
          return <Line segments={shown()} width={props.width} />
        }}
      </For>
    </box>
  )
}

/** A list to pick from: typed letters narrow it, arrows move, Enter or a click picks. */
export function Choices(props: {
  readonly choices: readonly Choice[]
  readonly width: number
  readonly rows: number
  readonly placeholder?: string
  /** Without it a key in `key` picks at once. */
  readonly filter?: boolean
  /** What the typed text itself stands for, below what it matches. */
  readonly free?: (text: string) => Choice
  /** Where the cursor stands at first. */
  readonly at?: number
}) {
  const app = useApp()
  const [typed, setTyped] = createSignal("")
  const [at, setAt] = createSignal(props.at ?? 0)
  let field: InputRenderable | undefined

  const found = createMemo(() => {
    const matching = fuzzyFilter(typed(), props.choices, ({ title, note, group }) =>
      [title, note, group].filter((part) => part !== undefined).join(" "),
    )
    // Under the names of their groups they stay in their order.
    const listed = props.choices.some(({ group }) => group !== undefined)
      ? props.choices.filter((choice) => matching.includes(choice))
      : matching
    return props.free && typed().trim() !== "" ? [...listed, props.free(typed().trim())] : listed
  })
  const index = () => Math.max(0, Math.min(at(), found().length - 1))
  /** Room for the words about a choice: the same for all, so that the list does not jump. */
  const about = createMemo(() => {
    const lines = props.choices.map(({ detail }) => (detail === undefined ? 0 : wrap(detail, props.width, 4).length))
    return Math.min(Math.max(0, ...lines), Math.max(0, props.rows - 5))
  })
  const rows = () => Math.max(1, props.rows - (props.filter === false ? 0 : 1) - (about() === 0 ? 0 : about() + 1))
  /** The choices with the names of their groups between them. */
  const entries = createMemo(() =>
    found().flatMap((choice, place, list): Entry[] => {
      const heads = choice.group !== undefined && choice.group !== list[place - 1]?.group
      return [...(heads ? [{ heading: choice.group! }] : []), { choice, place }]
    }),
  )
  const first = createMemo<number>((before) => {
    const row = Math.max(
      0,
      entries().findIndex((entry) => entry.place === index()),
    )
    const start = Math.max(0, Math.min(before, entries().length - rows()))
    // The name of a group is seen with its first choice.
    const top = entries()[row - 1]?.heading === undefined ? row : row - 1
    return top < start ? top : row >= start + rows() ? row - rows() + 1 : start
  }, 0)

  function pick(choice: Choice | undefined) {
    if (!choice || choice.not !== undefined) return
    choice.choose()
  }

  useDialogCommands(() => ({
    "kagan.list.up": () => void setAt(Math.max(0, index() - 1)),
    "kagan.list.down": () => void setAt(Math.min(found().length - 1, index() + 1)),
    "kagan.list.pick": () => pick(found()[index()]),
  }))
  useDialogKeys(() =>
    props.filter === false
      ? props.choices.flatMap((choice) => (choice.key ? [{ key: choice.key, cmd: () => pick(choice) }] : []))
      : [],
  )
  onMount(() => field?.focus())

  return (
    <box flexDirection="column" flexShrink={1}>
      <Show when={props.filter !== false}>
        <input
          ref={(it: InputRenderable) => (field = it)}
          width={props.width}
          placeholder={displayable(props.placeholder ?? "Type to narrow")}
          onInput={(value: string) => {
            setTyped(value)
            setAt(0)
          }}
          {...fieldProps(app)}
        />
      </Show>
      <For each={entries().slice(first(), first() + rows())}>
        {(entry) => (
          <Show
            when={entry.choice}
            fallback={<Line segments={[{ text: ` ${entry.heading}`, tone: "accent" }]} width={props.width} />}
          >
            {(choice) => {
              const here = () => entry.place === index()
              const segments = (): Segment[] =>
                justify(
                  [
                    { text: here() ? app.glyphs.bar : " ", tone: "primary" },
                    ...(choice().sign ? [choice().sign!, { text: " " }] : []),
                    { text: choice().title, tone: choice().not === undefined ? "text" : "muted", bold: here() },
                    { text: besides(choice()), tone: "muted" },
                  ],
                  choice().key ? [{ text: choice().key!, tone: "muted" }] : [],
                  props.width,
                )
              return (
                <box
                  width={props.width}
                  height={1}
                  flexShrink={0}
                  backgroundColor={here() ? app.theme().backgroundElement : app.theme().backgroundPanel}
                  onMouseUp={() => pick(choice())}
                >
                  <Line segments={segments()} width={props.width} />
                </box>
              )
            }}
          </Show>
        )}
      </For>
      <Show when={found().length === 0}>
        <Line segments={[{ text: " nothing matches", tone: "muted" }]} width={props.width} />
      </Show>
      <Show when={about() > 0}>
        <box flexDirection="column" flexShrink={0} height={about() + 1} paddingTop={1}>
          <Paragraph text={found()[index()]?.detail ?? ""} width={props.width} most={about()} tone="muted" />
        </box>
      </Show>
    </box>
  )
}

/** Asks for text in one dialog: `submit` answers with what is wrong with it, or takes it. */
export function TextDialog(props: {
  readonly title: string
  readonly size?: DialogSize
  readonly about?: string
  readonly placeholder?: string
  readonly initial?: string
  readonly hint?: string
  readonly submit: (text: string) => string | undefined
  readonly onChange?: (text: string) => void
}) {
  const app = useApp()
  const space = useDialogSpace(props.size)
  const [wrong, setWrong] = createSignal<string>()
  let area: TextareaRenderable | undefined
  /** The area tells of a change a moment later, also when that text was judged already. */
  let judged: string | undefined
  function submit() {
    judged = area?.plainText ?? ""
    setWrong(props.submit(judged))
  }
  useDialogCommands(() => ({ "kagan.text.send": submit }))
  onMount(() => {
    area?.focus()
    area?.gotoBufferEnd()
  })
  return (
    <DialogFrame
      title={props.title}
      {...(props.size ? { size: props.size } : {})}
      hint={props.hint ?? "Enter sends · shift+enter or ctrl+j new line · Esc cancels"}
    >
      <Show when={props.about}>
        {(about) => <Paragraph text={about()} width={space.width()} most={6} tone="muted" />}
      </Show>
      <textarea
        ref={(it: TextareaRenderable) => (area = it)}
        width={space.width()}
        minHeight={1}
        maxHeight={Math.max(1, Math.min(8, space.rows() - 3))}
        initialValue={displayableLines(props.initial ?? "").join("\n")}
        placeholder={displayable(props.placeholder ?? "")}
        onContentChange={() => {
          if (area?.plainText !== judged) setWrong(undefined)
          props.onChange?.(area?.plainText ?? "")
        }}
        {...fieldProps(app)}
      />
      <Show when={wrong()}>{(text) => <Paragraph text={text()} width={space.width()} most={2} tone="error" />}</Show>
    </DialogFrame>
  )
}

/** The host's colours for a field that is typed into, and how it takes a paste. */
export function fieldProps(app: ReturnType<typeof useApp>) {
  const theme = app.theme()
  return {
    textColor: theme.text,
    focusedTextColor: theme.text,
    backgroundColor: theme.backgroundElement,
    focusedBackgroundColor: theme.backgroundElement,
    placeholderColor: theme.textMuted,
    cursorColor: theme.primary,
    onPaste: pasteVisibly,
  }
}

/** A clipboard may hold anything: what would act on the terminal is pasted in its visible form. */
function pasteVisibly(this: EditBufferRenderable, event: PasteEvent) {
  event.preventDefault()
  this.insertText(displayableLines(stripAnsiSequences(decodePasteBytes(event.bytes))).join("\n"))
}
