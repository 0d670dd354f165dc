import { listOf, objectOf, textOf } from "./loose.ts"
import { readModel } from "./options.ts"
import { err, ok, type Result } from "./result.ts"
import type { ModelRef } from "./task.ts"

/** A task that the plan agent asks for. */
export type PlannedTask = {
  readonly title: string
  readonly description: string
  readonly baseBranch?: string
  readonly model?: ModelRef
  /** Numbers of tasks that are on the board. */
  readonly dependsOn: readonly number[]
  /** Positions in the same call; earlier ones only. */
  readonly dependsOnPlanned: readonly number[]
}

/** As many as are created at once. */
export const MAX_TASKS = 30
const EXAMPLE = `{"tasks": [{"title": "…", "description": "…", "dependsOn": [12]}]}`

/** Reads what is to be created: all of it, or a reason why none of it is. */
export function parsePlannedTasks(raw: unknown): Result<readonly PlannedTask[], string> {
  const items = listOf(objectOf(raw)?.["tasks"])
  if (!items || items.length === 0) return refuse("`tasks` must be a list with at least one task")
  if (items.length > MAX_TASKS) return refuse(`${items.length} tasks at once are too many, at most ${MAX_TASKS}`)
  const tasks: PlannedTask[] = []
  for (const [index, item] of items.entries()) {
    const entry = objectOf(item)
    const title = textOf(entry?.["title"], 200)?.replace(/\s+/g, " ")
    if (!entry || !title) return refuse(`task ${index + 1} needs a \`title\``)
    const dependencies = parseDependencies(entry["dependsOn"] ?? entry["depends_on"], index, tasks)
    if (!dependencies.ok) return dependencies
    const baseBranch = textOf(entry["baseBranch"] ?? entry["base_branch"], 250)
    const modelText = textOf(entry["model"], 250)
    const model = modelText === undefined ? undefined : readModel(modelText)
    if (modelText !== undefined && !model)
      return refuse(`the model of task ${index + 1} must be written provider/model`)
    tasks.push({
      title,
      description: textOf(entry["description"], 20_000) ?? "",
      ...(baseBranch ? { baseBranch } : {}),
      ...(model ? { model } : {}),
      ...dependencies.value,
    })
  }
  return ok(tasks)
}

function parseDependencies(
  raw: unknown,
  index: number,
  earlier: readonly PlannedTask[],
): Result<Pick<PlannedTask, "dependsOn" | "dependsOnPlanned">, string> {
  if (raw === undefined || raw === null || raw === "") return ok({ dependsOn: [], dependsOnPlanned: [] })
  const values = listOf(raw) ?? [raw]
  const numbers = new Set<number>()
  const planned = new Set<number>()
  for (const value of values) {
    const text = String(value).trim()
    const number = /^#?(\d{1,9})$/.exec(text)
    const position = earlier.findIndex((task) => task.title.toLowerCase() === text.toLowerCase())
    if (position >= 0) planned.add(position)
    else if (number && Number(number[1]) > 0) numbers.add(Number(number[1]))
    else {
      return refuse(
        `task ${index + 1} can depend on the number of a task on the board or on the title of an earlier task in the list, not on "${text.slice(0, 80)}"`,
      )
    }
  }
  return ok({ dependsOn: [...numbers], dependsOnPlanned: [...planned] })
}

function refuse(reason: string): Result<never, string> {
  return err(`Nothing was created: ${reason}. Call the tool again like this: ${EXAMPLE}`)
}
