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

const draftKey = (app: App) => `kagan.new.${app.directory()}`
const asideKey = (app: App) => `kagan.aside.${app.directory()}`
const sentKey = (app: App) => `kagan.sent.${app.directory()}`

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

const keptForm = (app: App) => readForm(app.host.kv.get(draftKey(app)))

function sentForms(app: App): DraftForm[] {
  const list = app.host.kv.get<unknown>(sentKey(app))
  return Array.isArray(list) ? list.flatMap((value) => readForm(value) ?? []) : []
}

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
  app.host.kv.set(draftKey(app), { ...form, after: [...form.after] })
}

export function startSending(app: App, form: DraftForm, from?: string) {
  if (from !== undefined) keepAside(app, from, undefined)
  flying(app).add(form.draftID)
  app.host.kv.set(sentKey(app), [...sentForms(app).filter(({ draftID }) => draftID !== form.draftID), form])
  if (keptForm(app)?.draftID === form.draftID) app.host.kv.set(draftKey(app), undefined)
}

export function endSending(app: App, form: DraftForm, created: boolean, from?: string) {
  flying(app).delete(form.draftID)
  app.host.kv.set(
    sentKey(app),
    sentForms(app).filter(({ draftID }) => draftID !== form.draftID),
  )
  if (created) return
  if (from !== undefined) keepAside(app, from, form)
  else if (!keptForm(app)) keepForm(app, form)
}
