import type { InputRenderable, TextareaRenderable } from "@opentui/core"
import { createMemo, createSignal, For, Match, onCleanup, onMount, Show, Switch } from "solid-js"
import { createStore } from "solid-js/store"
import { plural } from "../../core/board.ts"
import { isReason } from "../../core/rules.ts"
import { displayable, displayableLines, fit } from "../../core/text.ts"
import type { App } from "../app.tsx"
import { hintLine } from "../board/rebinding.ts"
import { openFile } from "../editor.ts"
import {
  Choices,
  DialogFrame,
  fieldProps,
  useDialogCommands,
  useDialogKeys,
  useDialogSpace,
  type Choice,
} from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"
import type { Segment } from "../ui/segments.ts"
import { INTAKE_WAIVERS } from "./reason.tsx"
import { choicesOf, emptyText, PICKED_TITLE, type Known, type Picked } from "./task-choices.ts"
import { titleProblem, type TaskForm } from "./task-form.ts"

const ROWS = [["title"], ["description"], ["base"], ["model", "agent"], ["after", "scope"]] as const
type Field = (typeof ROWS)[number][number]
type TextField = "title" | "description" | "scope"

const LABELS: Readonly<Record<Field, string>> = {
  title: "Title",
  description: "Description",
  base: "Base",
  model: "Model",
  agent: "Agent",
  after: "After",
  scope: "Scope",
}
const LABEL = 13
const SHORT_LABEL = 8
const isText = (field: Field): field is TextField => field === "title" || field === "description" || field === "scope"

/** One form for a task that is to be and for one that is: what is typed is kept at every letter, never sent by a paste. */
export function TaskDialog(props: {
  readonly app: App
  readonly name: string
  readonly initial: TaskForm
  /** Told of every change. */
  readonly keep?: (form: TaskForm) => void
  readonly send: (form: TaskForm, waiver?: string) => void
  /** It can be started as well, without intake and with a reason. */
  readonly starts?: boolean
  /** What cannot be changed any more. */
  readonly without?: readonly Field[]
  /** The task's own number: it does not wait for itself. */
  readonly number?: number
}) {
  const { app } = props
  const space = useDialogSpace("large")
  const [form, setForm] = createStore<TaskForm>({ ...props.initial, after: [...props.initial.after] })
  const [field, setField] = createSignal<Field>("title")
  const [picking, setPicking] = createSignal<Picked | "start">()
  const [wrong, setWrong] = createSignal("")
  const [known, setKnown] = createStore<Known>({ models: [], agents: [] })
  const inputs: { title?: InputRenderable; scope?: InputRenderable; description?: TextareaRenderable } = {}
  /** As long as it is drawn. */
  function hold<K extends TextField>(name: K, it: NonNullable<(typeof inputs)[K]>) {
    inputs[name] = it as (typeof inputs)[K]
    onCleanup(() => {
      if (inputs[name] === it) delete inputs[name]
    })
  }
  const fields = ROWS.flat().filter((name) => !props.without?.includes(name))

  onMount(() => {
    focus("title")
    void app.ask("base.list", {}).then((answer) => answer.ok && setKnown({ bases: answer.value }))
    void app.reader.models().then((answer) => answer.ok && setKnown({ models: answer.value }))
    void app.reader.agents().then((answer) => answer.ok && setKnown({ agents: answer.value }))
  })

  /** The fields tell of a change a moment later, also when the dialog has sent what it had: that is kept no more. */
  let isSent = false
  function change(next: Partial<TaskForm>) {
    if (isSent) return
    setForm(next)
    setWrong("")
    props.keep?.({ ...form, after: [...form.after] })
  }

  /** What stands in the fields, which may be more than they have told of it so far. */
  function takeFields() {
    if (picking() || !inputs.title || !inputs.description) return
    const scope = inputs.scope?.value ?? form.scope
    const next = { title: inputs.title.value, description: inputs.description.plainText, scope }
    if (next.title !== form.title || next.description !== form.description || scope !== form.scope) change(next)
  }

  function choose(what: Picked | "start") {
    takeFields()
    if (what === "template") {
      void app
        .ask("template.list", {})
        .then((answer) =>
          setKnown({ templates: answer.ok ? answer.value : { folder: "", templates: [], problem: answer.error.text } }),
        )
    }
    setPicking(what)
  }

  function focus(next: Field) {
    takeFields()
    setField(next)
    // At once, because the next key may stand in the same piece of input; a field that is not drawn yet has it later.
    give(next)
    if (isText(next) && !inputs[next]) queueMicrotask(() => give(next))
  }

  function give(next: Field) {
    for (const name of ["title", "description", "scope"] as const) {
      if (name === next) inputs[name]?.focus()
      else inputs[name]?.blur()
    }
  }

  const step = (by: number) => focus(fields[(fields.indexOf(field()) + by + fields.length) % fields.length]!)

  function backToForm() {
    setPicking(undefined)
    // The list that was left held the focus of a field that is not the one of before.
    queueMicrotask(() => give(field()))
  }

  function send(waiver?: string) {
    takeFields()
    const problem = titleProblem(form.title)
    if (problem !== undefined) {
      setField("title")
      backToForm()
      return setWrong(problem)
    }
    isSent = true
    app.host.ui.dialog.clear()
    props.send({ ...form, after: [...form.after] }, waiver)
  }

  async function editOutside() {
    takeFields()
    const file = await app.ask("text.open", { text: `${form.title}\n${form.description}` })
    if (!file.ok) return setWrong(file.error.text)
    const ended = await openFile(app.host.renderer, file.value, app.env)
    const edited = await app.ask("text.close", { id: file.value.id })
    if (!ended.ok) return setWrong(ended.error)
    if (!edited.ok) return setWrong(edited.error.text)
    const [first = "", ...rest] = edited.value.text.split("\n")
    const next = { title: first.trim(), description: rest.join("\n").trim() }
    change(next)
    if (inputs.title) inputs.title.value = next.title
    inputs.description?.setText(next.description)
  }

  useDialogKeys(() => {
    if (picking()) return [{ key: "escape", cmd: backToForm }]
    // Of a text of several lines they are its own.
    return field() === "description"
      ? []
      : [
          { key: "up", cmd: () => step(-1) },
          { key: "down", cmd: () => step(1) },
        ]
  })
  useDialogCommands(() => {
    const here = field()
    if (picking()) return {}
    return {
      "kagan.form.send": () => send(),
      "kagan.form.start": props.starts && (() => choose("start")),
      "kagan.form.next": () => step(1),
      "kagan.form.previous": () => step(-1),
      "kagan.form.editor": () => void editOutside(),
      "kagan.form.template": () => choose("template"),
      "kagan.form.choose": !isText(here) && (() => choose(here)),
    }
  })

  const choices = createMemo((): readonly Choice[] => {
    const what = picking()
    if (!what) return []
    if (what === "start") return INTAKE_WAIVERS.map((reason) => ({ title: reason, choose: () => send(reason) }))
    return choicesOf(what, form, known, app, props.number, (next, stays) => {
      change(next)
      if (!stays) backToForm()
    })
  })
  const ownReason = (text: string): Choice => ({
    title: text,
    note: "your own reason",
    ...(isReason(text) ? {} : { not: "a few more words" }),
    choose: () => send(text),
  })

  const says = (name: Exclude<Field, TextField>): Segment[] => {
    const dirty = known.bases?.dirtyCount ?? 0
    switch (name) {
      case "base":
        return [
          { text: form.base || known.bases?.proposed || "the branch you stand on" },
          {
            text: dirty > 0 ? `  (${plural(dirty, "uncommitted file")} ${dirty === 1 ? "stays" : "stay"} out)` : "",
            tone: "warning",
          },
        ]
      case "model":
      case "agent":
        return [{ text: form[name] || "OpenCode's own default", tone: form[name] ? "text" : "muted" }]
      case "after":
        return form.after.length === 0
          ? [{ text: "nothing", tone: "muted" }]
          : [{ text: form.after.map((number) => `#${number}`).join(", ") }]
    }
  }

  // A row that stays keeps its place in memory: another one would be drawn anew, and what is typed into it lost.
  const wide = ROWS.map((row): Field[] => row.filter((name) => fields.includes(name))).filter((row) => row.length > 0)
  const narrow = wide.flatMap((row) => (row.length === 1 ? [row] : row.map((name) => [name])))
  /** Beside each other where there is room for both. */
  const rows = createMemo((): Field[][] => {
    const all = space.width() >= 70 ? wide : narrow
    // Where there is little room, those around the field that is filled in are shown.
    const room = Math.max(1, space.rows() - 3)
    const options = all.slice(2)
    const at = Math.max(
      0,
      options.findIndex((row) => row.includes(field())),
    )
    const first = Math.max(0, Math.min(at, options.length - room))
    return [...all.slice(0, 2), ...options.slice(first, first + room)]
  }, [])
  const hidden = () => fields.length - rows().flat().length

  const hint = () =>
    hintLine(app.rebinding, [
      isText(field()) ? "" : (["kagan.form.choose", "chooses"] as const),
      ["kagan.form.send", props.starts ? "create" : "saves"],
      props.starts ? (["kagan.form.start", "and start"] as const) : "",
      ["kagan.form.next", "next"],
      hidden() > 0 ? plural(hidden(), "more field") : "",
      ["kagan.form.template", "template"],
      ["kagan.form.editor", "editor"],
      props.keep ? "Esc keeps it" : "Esc cancels",
    ])

  return (
    <Switch>
      <Match when={picking()}>
        {(what) => (
          <DialogFrame
            size="large"
            title={what() === "start" ? "Start without intake: why?" : PICKED_TITLE[what() as Picked]}
            hint={
              what() === "start"
                ? "Enter creates and starts · type a reason of your own · Esc back"
                : what() === "after"
                  ? "Enter takes or leaves · Esc done"
                  : "Enter chooses · Esc back"
            }
          >
            <Show when={what() !== "start" && choices().length === 0}>
              <Line width={space.width()} segments={[{ text: emptyText(what() as Picked, known), tone: "muted" }]} />
            </Show>
            <Choices
              choices={choices()}
              width={space.width()}
              rows={space.rows()}
              {...(what() === "start" ? { free: ownReason } : {})}
            />
          </DialogFrame>
        )}
      </Match>
      <Match when={true}>
        <DialogFrame title={props.name} size="large" hint={hint()}>
          <For each={rows()}>
            {(row) => (
              <box flexDirection="row">
                <For each={row}>
                  {(name, index) => {
                    const label = () => (index() === 0 ? LABEL : SHORT_LABEL)
                    const width = () => {
                      const half = Math.floor(space.width() / 2)
                      return (row.length === 1 ? space.width() : index() === 0 ? half : space.width() - half) - label()
                    }
                    return (
                      <box
                        flexDirection="row"
                        onMouseUp={() => (field() === name && !isText(name) ? choose(name) : focus(name))}
                      >
                        <Line
                          width={label()}
                          segments={[
                            { text: field() === name ? app.glyphs.bar : " ", tone: "primary" },
                            { text: LABELS[name], tone: field() === name ? "text" : "muted" },
                          ]}
                        />
                        <Switch fallback={<Line width={width()} segments={says(name as Exclude<Field, TextField>)} />}>
                          <Match when={name === "title"}>
                            <input
                              ref={(it: InputRenderable) => hold("title", it)}
                              width={width()}
                              value={displayable(form.title)}
                              placeholder="What should be different afterwards"
                              onInput={(value: string) => change({ title: value })}
                              {...fieldProps(app)}
                            />
                          </Match>
                          <Match when={name === "scope"}>
                            <input
                              ref={(it: InputRenderable) => hold("scope", it)}
                              width={width()}
                              value={displayable(form.scope)}
                              placeholder="everything"
                              onInput={(value: string) => change({ scope: value })}
                              {...fieldProps(app)}
                            />
                          </Match>
                          <Match when={name === "description"}>
                            <textarea
                              ref={(it: TextareaRenderable) => {
                                hold("description", it)
                                queueMicrotask(() => it.isDestroyed || it.gotoBufferEnd())
                              }}
                              width={width()}
                              minHeight={space.rows() < 8 ? 1 : 3}
                              maxHeight={Math.max(1, Math.min(10, space.rows() - rows().length))}
                              initialValue={displayableLines(form.description).join("\n")}
                              placeholder="How you will know that it is right (shift+enter or ctrl+j: new line)"
                              onContentChange={() => {
                                const text = inputs.description?.plainText
                                if (text !== undefined && text !== form.description) change({ description: text })
                              }}
                              {...fieldProps(app)}
                            />
                          </Match>
                        </Switch>
                      </box>
                    )
                  }}
                </For>
              </box>
            )}
          </For>
          <Show when={wrong()}>
            <Line width={space.width()} segments={[{ text: fit(wrong(), space.width()), tone: "error" }]} />
          </Show>
        </DialogFrame>
      </Match>
    </Switch>
  )
}
