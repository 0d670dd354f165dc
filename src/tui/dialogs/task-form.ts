import { readModel } from "../../core/options.ts"
import type { NewTask } from "../../core/draft.ts"
import { displayable } from "../../core/text.ts"
import type { App } from "../app.tsx"

/** What is typed and chosen for a task; empty stands for the default. */
export type TaskForm = {
  title: string
  description: string
  base: string
  model: string
  agent: string
  scope: string
  /** Numbers of the tasks that it waits for. */
  after: number[]
}

/** What was typed for a new task; kept over Esc, a crash and a restart until it became one. */
export type DraftForm = TaskForm & { draftID: string }

export const newForm = (): DraftForm => ({
  draftID: crypto.randomUUID(),
  title: "",
  description: "",
  base: "",
  model: "",
  agent: "",
  scope: "",
  after: [],
})

export function formOf(task: NewTask): TaskForm {
  return {
    title: task.title,
    description: task.description,
    base: task.baseBranch ?? "",
    model: task.model ? `${task.model.providerID}/${task.model.modelID}` : "",
    agent: task.agent ?? "",
    scope: task.scope ?? "",
    after: [...(task.dependsOn ?? [])],
  }
}

/** The form as it is asked for. */
export function taskOf(form: TaskForm): Omit<NewTask, "after"> {
  const model = readModel(form.model)
  return {
    title: form.title.trim(),
    description: form.description.trim(),
    ...(form.base === "" ? {} : { baseBranch: form.base }),
    ...(model ? { model } : {}),
    ...(form.agent === "" ? {} : { agent: form.agent }),
    ...(form.scope.trim() === "" ? {} : { scope: form.scope.trim() }),
    ...(form.after.length > 0 ? { dependsOn: [...form.after] } : {}),
  }
}

/** Why this is no title; `undefined`: it is one. */
export function titleProblem(title: string): string | undefined {
  const text = displayable(title).trim()
  return text === "" || /^[\s\p{P}]*$/u.test(text) ? "a title needs at least one letter, digit or symbol" : undefined
}

/** The host may know the directory late; what is typed until then is kept under none, and taken over afterwards. */
const draftKey = (app: App, directory = app.directory()) => `kagan.new.${directory}`
const asideKey = (app: App) => `kagan.aside.${app.directory()}`
const sentKey = (app: App, directory = app.directory()) => `kagan.sent.${directory}`

/** Sent by this board and not answered: what `n` opens meanwhile is another task. */
const inFlight = new WeakMap<App, Set<string>>()

function flying(app: App): Set<string> {
  const set = inFlight.get(app) ?? new Set()
  inFlight.set(app, set)
  return set
}

function readForm(value: unknown): DraftForm | undefined {
  const kept = value as Partial<Record<keyof DraftForm, unknown>> | undefined
  if (!kept || typeof kept.title !== "string" || typeof kept.draftID !== "string") return undefined
  const text = (field: unknown) => (typeof field === "string" ? field : "")
  return {
    draftID: kept.draftID,
    title: kept.title,
    description: text(kept.description),
    base: text(kept.base),
    model: text(kept.model),
    agent: text(kept.agent),
    scope: text(kept.scope),
    after: Array.isArray(kept.after) ? kept.after.filter((number) => Number.isInteger(number)) : [],
  }
}

function keptForm(app: App): DraftForm | undefined {
  takeOver(app)
  return readForm(app.host.kv.get(draftKey(app)))
}

function sentForms(app: App): DraftForm[] {
  takeOver(app)
  return readForms(app.host.kv.get(sentKey(app)))
}

const readForms = (list: unknown): DraftForm[] =>
  Array.isArray(list) ? list.flatMap((value) => readForm(value) ?? []) : []

/** What was kept before the host knew the directory is kept under it from now on, beside what is there. */
function takeOver(app: App) {
  const { kv } = app.host
  if (app.directory() === "") return
  const typed = readForm(kv.get(draftKey(app, "")))
  const sent = readForms(kv.get(sentKey(app, "")))
  if (!typed && sent.length === 0) return
  kv.set(draftKey(app, ""), undefined)
  kv.set(sentKey(app, ""), undefined)
  for (const form of typed ? [...sent, typed] : sent) putAside(app, form)
}

/** Among what was sent it is offered again, once nothing else is. */
function putAside(app: App, form: DraftForm) {
  const { kv } = app.host
  const others = readForms(kv.get(sentKey(app))).filter(({ draftID }) => draftID !== form.draftID)
  kv.set(sentKey(app), [...others, form])
}

const isBlank = (form: TaskForm) => `${form.title}${form.description}${form.scope}`.trim() === ""

/** What `n` offers: what was typed and not sent, or was being sent when a crash came, or nothing yet. */
export function startingForm(app: App): DraftForm {
  return keptForm(app) ?? sentForms(app).find(({ draftID }) => !flying(app).has(draftID)) ?? newForm()
}

function asideForms(app: App): Record<string, unknown> {
  const kept = app.host.kv.get<unknown>(asideKey(app))
  return typeof kept === "object" && kept !== null ? { ...kept } : {}
}

/** What was typed where a task begins from something else (`from` names it) and was not sent; `n` keeps its own. */
export const asideForm = (app: App, from: string) => readForm(asideForms(app)[from])

export function keepAside(app: App, from: string, form: DraftForm | undefined) {
  const { [from]: _, ...others } = asideForms(app)
  app.host.kv.set(asideKey(app), form ? { ...others, [from]: { ...form, after: [...form.after] } } : others)
}

export function keepForm(app: App, form: DraftForm) {
  const other = keptForm(app)
  if (other && other.draftID !== form.draftID && !isBlank(other)) putAside(app, other)
  app.host.kv.set(draftKey(app), { ...form, after: [...form.after] })
}

export function startSending(app: App, form: DraftForm, from?: string) {
  if (from !== undefined) keepAside(app, from, undefined)
  flying(app).add(form.draftID)
  takeOver(app)
  putAside(app, form)
  if (keptForm(app)?.draftID === form.draftID) app.host.kv.set(draftKey(app), undefined)
}

/** What was not created is offered again where it was begun: by `n` at once, or after what was typed meanwhile. */
export function endSending(app: App, sent: DraftForm, created: boolean, from?: string, anew = false) {
  flying(app).delete(sent.draftID)
  // Its id stands for another task: sent again, it is one of its own.
  const form = anew ? { ...sent, draftID: crypto.randomUUID() } : sent
  const other = from === undefined ? keptForm(app) : undefined
  app.host.kv.set(
    sentKey(app),
    sentForms(app).filter(({ draftID }) => draftID !== sent.draftID),
  )
  if (created) return
  if (other && other.draftID !== form.draftID && !isBlank(other)) return putAside(app, form)
  if (from !== undefined) keepAside(app, from, form)
  else keepForm(app, form)
}
