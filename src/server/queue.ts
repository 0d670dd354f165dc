import { columnOf, type Task, type TaskMeta } from "../core/task.ts"
import { readKagan } from "../core/codec.ts"
import type { Siblings, TaskRecord } from "../shared/tasks.ts"

/** Tasks that hold a place in progress; helpers and workers have no record and count for nothing. */
export function countInProgress(records: Siblings, except: string): number {
  let count = 0
  for (const record of records) {
    if (record.sessionID === except) continue
    const meta = metaOf(record)
    if (meta && columnOf(meta) === "in_progress" && !meta.trashedAt && !meta.archivedAt) count++
  }
  return count
}

/** Numbers of the tasks that this one waits for and that are not done. */
export function openDependencies(meta: TaskMeta, records: Siblings): number[] {
  const wanted = new Set(meta.dependsOn)
  if (wanted.size === 0) return []
  for (const record of records) {
    const other = metaOf(record)
    if (other && columnOf(other) === "done") wanted.delete(other.taskNumber)
  }
  return [...wanted]
}

/** Why a task cannot wait for these; `undefined`: it can. */
export function waitProblem(number: number, wanted: readonly number[], records: Siblings): string | undefined {
  const board = records.flatMap((record) => metaOf(record) ?? [])
  const waits = new Map(board.map(({ taskNumber, dependsOn }) => [taskNumber, dependsOn ?? []]))
  const unknown = wanted.find((other) => other !== number && !waits.has(other))
  if (unknown !== undefined) return `it is to wait for #${unknown}, which is not on the board`
  const seen = new Set<number>()
  const open = [...wanted]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === number) return `#${number} would wait for itself`
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...(waits.get(next) ?? []))
  }
  return undefined
}

/** Whether a queued card may be judged again: a place is free for it, in the order in which cards were queued. */
export function mayStart({ meta }: Task, records: Siblings, limit: number): boolean {
  if (!meta.awaiting) return false
  const waits = (other: TaskMeta) =>
    columnOf(other) === "backlog" && (isSettingUp(other) || openDependencies(other, records).length > 0)
  if (waits(meta) || countInProgress(records, meta.sessionID) >= limit) return false
  const { since } = meta.awaiting
  return !records.some((record) => {
    const other = metaOf(record)
    if (!other?.awaiting || other.sessionID === meta.sessionID || other.trashedAt || other.archivedAt) return false
    if (waits(other)) return false
    return other.awaiting.since < since || (other.awaiting.since === since && other.taskNumber < meta.taskNumber)
  })
}

/** What others in the queue go by in a task: where this changes, `mayStart` may answer otherwise for them. */
export function countsAs(meta: TaskMeta): string {
  const away = Boolean(meta.trashedAt || meta.archivedAt)
  return [columnOf(meta), away, Boolean(meta.awaiting), isSettingUp(meta)].join(" ")
}

/** Nothing starts in a worktree whose setup runs, or failed and was not waived. */
function isSettingUp({ setup }: TaskMeta): boolean {
  return setup?.state === "running" || setup?.state === "failed"
}

/** What a record says of its task. Counting reads each one several times; a record is never changed in place. */
export function metaOf(record: TaskRecord): TaskMeta | undefined {
  if (!read.has(record)) {
    const decoded = readKagan(record.sessionID, { kagan: record.kagan })
    read.set(record, decoded.kind === "task" ? decoded.meta : undefined)
  }
  return read.get(record)
}

const read = new WeakMap<TaskRecord, TaskMeta | undefined>()
