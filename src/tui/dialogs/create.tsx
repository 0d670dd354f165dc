import type { InputRenderable, TextareaRenderable } from "@opentui/core"
import { createMemo, createSignal, Match, onMount, Show, Switch } from "solid-js"
import { createStore } from "solid-js/store"
import { readModel } from "../../core/options.ts"
import type { DraftReply, ReplyOf } from "../../core/protocol.ts"
import { isReason } from "../../core/rules.ts"
import { displayable, displayableLines, fit } from "../../core/text.ts"
import { openDialog, type App } from "../app.tsx"
import type { ModelChoice } from "../client.ts"
import { Choices, DialogFrame, fieldColours, useDialogKeys, useDialogSpace, type Choice } from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"
import type { Segment } from "../ui/segments.ts"

/** What was typed; kept over Esc, a crash and a restart until it became a task. */
type Form = { draftID: string; title: string; description: string; base: string; model: string }

const FIELDS = ["title", "description", "base", "model"] as const
type Field = (typeof FIELDS)[number]
const LABEL = 13
const STARTS = [
  "Small, self-contained change",
  "Already agreed in detail",
  "Repeats an earlier task",
  "An experiment to throw away",
]

const draftKey = (app: App) => `kagan.new.${app.directory()}`
const sentKey = (app: App) => `kagan.sent.${app.directory()}`

/** Sent by this board and not answered: what `n` opens meanwhile is another task. */
const inFlight = new WeakMap<App, Set<string>>()

function flying(app: App): Set<string> {
  const set = inFlight.get(app) ?? new Set()
  inFlight.set(app, set)
  return set
}

function readForm(value: unknown): Form | undefined {
  const kept = value as Partial<Form> | undefined
  if (!kept || typeof kept.title !== "string" || typeof kept.draftID !== "string") return undefined
  return {
    draftID: kept.draftID,
    title: kept.title,
    description: typeof kept.description === "string" ? kept.description : "",
    base: typeof kept.base === "string" ? kept.base : "",
    model: typeof kept.model === "string" ? kept.model : "",
  }
}

const keptForm = (app: App) => readForm(app.host.kv.get(draftKey(app)))

function sentForms(app: App): Form[] {
  const list = app.host.kv.get<unknown>(sentKey(app))
  return Array.isArray(list) ? list.flatMap((value) => readForm(value) ?? []) : []
}

/** What was being sent when a crash came is offered again. */
const lostForm = (app: App) => sentForms(app).find(({ draftID }) => !flying(app).has(draftID))

function startSending(app: App, form: Form) {
  flying(app).add(form.draftID)
  app.host.kv.set(sentKey(app), [...sentForms(app).filter(({ draftID }) => draftID !== form.draftID), form])
  if (keptForm(app)?.draftID === form.draftID) app.host.kv.set(draftKey(app), undefined)
}

function endSending(app: App, form: Form, created: boolean) {
  flying(app).delete(form.draftID)
  app.host.kv.set(
    sentKey(app),
    sentForms(app).filter(({ draftID }) => draftID !== form.draftID),
  )
  if (!created && !keptForm(app)) app.host.kv.set(draftKey(app), form)
}

/** The dialog for a new task; a `draft` that did not become one is taken up again under its id. */
export function openCreate(app: App, draft?: DraftReply) {
  if (draft && draft.tasks.length > 1)
    return app.tell({ level: "info", text: "several tasks: r creates all, d discards them", key: draft.id })
  const kept = draft?.tasks[0]
  const model = kept?.model ? `${kept.model.providerID}/${kept.model.modelID}` : ""
  const form: Form = draft
    ? { draftID: draft.id, title: draft.title, description: draft.description, base: kept?.baseBranch ?? "", model }
    : (keptForm(app) ??
      lostForm(app) ?? { draftID: crypto.randomUUID(), title: "", description: "", base: "", model: "" })
  openDialog(app, () => <Create app={app} initial={form} />, "large")
}

function Create(props: { readonly app: App; readonly initial: Form }) {
  const { app } = props
  const space = useDialogSpace("large")
  const [form, setForm] = createStore<Form>({ ...props.initial })
  const [field, setField] = createSignal<Field>("title")
  const [picking, setPicking] = createSignal<"base" | "model" | "start">()
  const [wrong, setWrong] = createSignal("")
  const [bases, setBases] = createSignal<ReplyOf<"base.list">>()
  const [models, setModels] = createSignal<readonly ModelChoice[]>([])
  let title: InputRenderable | undefined
  let description: TextareaRenderable | undefined

  onMount(() => {
    focus("title")
    void app.ask("base.list", {}).then((answer) => answer.ok && setBases(answer.value))
    void app.reader.models().then((answer) => answer.ok && setModels(answer.value))
  })

  /** The fields tell of a change a moment later, also when the dialog has sent what it had: that is kept no more. */
  let isSent = false
  function keep(change: Partial<Form>) {
    if (isSent) return
    setForm(change)
    setWrong("")
    app.host.kv.set(draftKey(app), { ...form })
  }

  /** What stands in the fields, which may be more than they have told of it so far. */
  function takeFields() {
    if (picking() || !title || !description) return
    keep({ title: title.value, description: description.plainText })
  }

  function choose(what: "base" | "model" | "start") {
    takeFields()
    setPicking(what)
  }

  function focus(next: Field) {
    setField(next)
    if (next === "title") title?.focus()
    else title?.blur()
    if (next === "description") description?.focus()
    else description?.blur()
  }

  function step(by: number) {
    focus(FIELDS[(FIELDS.indexOf(field()) + by + FIELDS.length) % FIELDS.length]!)
  }

  function backToForm() {
    setPicking(undefined)
    queueMicrotask(() => focus(field()))
  }

  async function create(waiver?: string) {
    takeFields()
    const text = displayable(form.title).trim()
    if (text === "" || /^[\s\p{P}]*$/u.test(text)) {
      backToForm()
      focus("title")
      return setWrong("a title needs at least one letter, digit or symbol")
    }
    const model = readModel(form.model)
    app.host.ui.dialog.clear()
    app.tell({ level: "info", text: `creating: ${form.title.trim()}`, key: form.draftID })
    isSent = true
    const sent = { ...form }
    startSending(app, sent)
    const answer = await app.ask("task.create", {
      draftID: form.draftID,
      title: form.title.trim(),
      description: form.description.trim(),
      ...(form.base === "" ? {} : { baseBranch: form.base }),
      ...(model ? { model } : {}),
      ...(waiver === undefined ? {} : { start: { waiver } }),
    })
    endSending(app, sent, answer.ok)
    if (!answer.ok) {
      return app.tell({
        level: "error",
        text: `not created: ${answer.error.text} (n has what you typed)`,
        key: form.draftID,
      })
    }
    app.selection.expect(answer.value.sessionID)
    app.tell({ level: "success", text: answer.value.text, taskNumber: answer.value.taskNumber, key: form.draftID })
  }

  useDialogKeys(() =>
    picking()
      ? [{ key: "escape", cmd: backToForm }]
      : [
          { key: "return", cmd: () => void create() },
          { key: "ctrl+return,ctrl+s", cmd: () => choose("start") },
          { key: "tab", cmd: () => step(1) },
          { key: "shift+tab", cmd: () => step(-1) },
          ...(field() === "base" || field() === "model"
            ? [
                { key: "space,right", cmd: () => choose(field() as "base" | "model") },
                { key: "up", cmd: () => step(-1) },
                { key: "down", cmd: () => step(1) },
              ]
            : field() === "title"
              ? [{ key: "down", cmd: () => step(1) }]
              : []),
        ],
  )

  const choices = createMemo((): readonly Choice[] => {
    switch (picking()) {
      case "base":
        return (bases()?.branches ?? []).map((branch) =>
          pick(branch, branch === bases()?.proposed ? "where you stand" : "", { base: branch }),
        )
      case "model":
        return [
          pick("OpenCode's own default", "", { model: "" }),
          ...models().map((model) =>
            pick(`${model.name}`, model.provider, { model: `${model.providerID}/${model.modelID}` }),
          ),
        ]
      case "start":
        return STARTS.map((reason) => ({ title: reason, choose: () => void create(reason) }))
      default:
        return []
    }
  })

  function pick(name: string, note: string, change: Partial<Form>): Choice {
    return {
      title: name,
      ...(note === "" ? {} : { note }),
      choose() {
        keep(change)
        backToForm()
      },
    }
  }

  const ownReason = (text: string): Choice => ({
    title: text,
    note: "your own reason",
    ...(isReason(text) ? {} : { not: "a few more words" }),
    choose: () => void create(text),
  })

  const fieldWidth = () => space.width() - LABEL
  const label = (name: Field, text: string) => (
    <Line
      width={LABEL}
      segments={[
        { text: field() === name ? `${app.glyphs.bar}` : " ", tone: "primary" },
        { text, tone: field() === name ? "text" : "muted" },
      ]}
    />
  )
  const baseText = (): Segment[] => {
    const list = bases()
    const dirty = list?.dirtyCount ?? 0
    return [
      { text: form.base || list?.proposed || "the branch you stand on" },
      {
        text: dirty > 0 ? `  (${dirty} uncommitted ${dirty === 1 ? "file stays" : "files stay"} out)` : "",
        tone: "warning",
      },
    ]
  }
  const hint = () =>
    field() === "base" || field() === "model"
      ? "Space chooses · Enter create · Tab next · Esc keeps it"
      : "Enter create · ctrl+enter create and start · Tab next · Esc keeps it"
  return (
    <Switch>
      <Match when={picking()}>
        {(what) => (
          <DialogFrame
            size="large"
            title={what() === "start" ? "Start without intake: why?" : what() === "base" ? "Base branch" : "Model"}
            hint={
              what() === "start"
                ? "Enter creates and starts · type a reason of your own · Esc back"
                : "Enter chooses · Esc back"
            }
          >
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
        <DialogFrame title="New task" size="large" hint={hint()}>
          <box flexDirection="row">
            {label("title", "Title")}
            <input
              ref={(it: InputRenderable) => (title = it)}
              width={fieldWidth()}
              value={form.title}
              placeholder="What should be different afterwards"
              onInput={(value: string) => keep({ title: value })}
              onMouseUp={() => focus("title")}
              {...fieldColours(app)}
            />
          </box>
          <box flexDirection="row">
            {label("description", "Description")}
            <textarea
              ref={(it: TextareaRenderable) => (description = it)}
              width={fieldWidth()}
              minHeight={space.rows() < 8 ? 1 : 3}
              maxHeight={Math.max(1, Math.min(10, space.rows() - 5))}
              initialValue={displayableLines(form.description).join("\n")}
              placeholder="How you will know that it is right (shift+enter or ctrl+j: new line)"
              onContentChange={() => {
                if (description && description.plainText !== form.description)
                  keep({ description: description.plainText })
              }}
              onMouseUp={() => focus("description")}
              {...fieldColours(app)}
            />
          </box>
          <box flexDirection="row" onMouseUp={() => focus("base")}>
            {label("base", "Base")}
            <Line width={fieldWidth()} segments={baseText()} />
          </box>
          <box flexDirection="row" onMouseUp={() => focus("model")}>
            {label("model", "Model")}
            <Line
              width={fieldWidth()}
              segments={[{ text: form.model || "OpenCode's own default", tone: form.model ? "text" : "muted" }]}
            />
          </box>
          <Show when={wrong()}>
            <Line width={space.width()} segments={[{ text: fit(wrong(), space.width()), tone: "error" }]} />
          </Show>
        </DialogFrame>
      </Match>
    </Switch>
  )
}
