import { runState, type TaskFacts } from "../core/board.ts"
import { oneLine } from "../core/fence.ts"
import { columnOf } from "../core/task.ts"
import type { Siblings } from "../shared/tasks.ts"
import { metaOf } from "./queue.ts"
import { statusOf } from "./references.ts"

const MOST = 200

/** The board as the plan agent reads it: number, column, title, what the task is at, and what its agent said last. */
export function boardText(records: Siblings, facts: readonly TaskFacts[], now: number, stallAfter: number): string {
  const known = new Map(facts.map((one) => [one.sessionID, one]))
  const tasks = records.flatMap((record) => {
    const meta = metaOf(record)
    return meta && !meta.trashedAt ? [{ title: record.title, meta }] : []
  })
  if (tasks.length === 0) return "The board is empty."
  const shown = tasks.toSorted((a, b) => b.meta.taskNumber - a.meta.taskNumber).slice(0, MOST)
  const lines = shown.toReversed().flatMap((task) => {
    const own = known.get(task.meta.sessionID)
    const state = runState(task, own, now, stallAfter).text
    const at = columnOf(task.meta) === "done" ? "" : ` (${oneLine(state, 200)})`
    const report =
      own?.end?.kind === "finished" && own.end.text.trim() ? [`  report: ${oneLine(own.end.text, 500)}`] : []
    const waits = (task.meta.dependsOn ?? []).map((number) => `#${number}`).join(", ")
    return [
      `#${task.meta.taskNumber} ${statusOf(task.meta)}${at}: ${oneLine(task.title)}${waits ? ` [after ${waits}]` : ""}`,
      ...report,
    ]
  })
  const left = tasks.length - shown.length
  return [...(left > 0 ? [`(${left} older tasks are not listed)`] : []), ...lines].join("\n")
}
