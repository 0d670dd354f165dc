import { readKagan } from "../core/codec.ts"
import { cleanTitle, type Draft, type NewTask } from "../core/draft.ts"
import type { Task } from "../core/task.ts"
import type { Store } from "./store.ts"
import { isRecord } from "./tasks.ts"

/** What was sent and not answered is sent again soon: so many of the newest tasks may have been made of it. */
const NEWEST = 200

export type MadeBefore = {
  readonly tasks: readonly Task[]
  /** They are what is asked for now; otherwise what was typed has changed since, or the tasks have. */
  readonly same: boolean
}

/** The tasks that were made of a draft of this id before; `undefined`: none stands. */
export async function madeBefore({ store }: { readonly store: Store }, draft: Draft): Promise<MadeBefore | undefined> {
  const numbers = (await store.recordNumbers()).toSorted((a, b) => b - a).slice(0, NEWEST)
  const tasks: Task[] = []
  for (const number of numbers) {
    const read = await store.readJson(store.paths.record(number))
    if (!read.ok || !isRecord(read.value) || read.value.discardedAt !== undefined) continue
    if (read.value.kagan.draft !== draft.id) continue
    const decoded = readKagan(read.value.sessionID, { kagan: read.value.kagan })
    if (decoded.kind === "task") tasks.unshift({ title: read.value.title, meta: decoded.meta })
  }
  if (tasks.length === 0) return undefined
  const said = await Promise.all(tasks.map((task) => describes(store, task)))
  const same = tasks.length === draft.tasks.length && draft.tasks.every((wanted, i) => said[i] === textOf(wanted))
  return { tasks, same }
}

async function describes(store: Store, { title, meta }: Task): Promise<string | undefined> {
  if (!meta.descriptionFile) return textOf({ title, description: meta.description ?? "" })
  const text = await store.readText(store.paths.session(meta.sessionID).description)
  return text.ok ? textOf({ title, description: text.value }) : undefined
}

function textOf({ title, description }: Pick<NewTask, "title" | "description">): string {
  return JSON.stringify([cleanTitle(title) ?? "", description.trim()])
}
