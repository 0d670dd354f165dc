import { readKagan } from "../../core/codec.ts"
import { isObject } from "../../core/loose.ts"
import { columnOf } from "../../core/task.ts"
import { err, ok, type Result } from "../../core/result.ts"
import type { Host } from "../../shared/host.ts"
import type { Store } from "../../shared/store.ts"
import type { Tasks } from "../../shared/tasks.ts"

export type ReadRecord = {
  readonly taskNumber: number
  /** Why it cannot be read at all. */
  readonly problem?: string
  readonly worktree?: string
  /** Neither done nor put away: somebody may still work on it. */
  readonly open: boolean
  readonly unreadable: readonly string[]
  readonly readOnly: boolean
  readonly kagan?: Readonly<Record<string, unknown>>
}

/** Every record of a task, those that are damaged too. */
export async function readRecords(store: Store): Promise<readonly ReadRecord[]> {
  const numbers = await store.recordNumbers()
  return Promise.all(numbers.map((taskNumber) => readOne(store, taskNumber)))
}

async function readOne(store: Store, taskNumber: number): Promise<ReadRecord> {
  const blank = { taskNumber, open: false, unreadable: [], readOnly: false }
  const read = await store.readJson(store.paths.record(taskNumber))
  if (!read.ok) return { ...blank, problem: read.error.text }
  const { value } = read
  const kagan = isObject(value) ? value["kagan"] : undefined
  if (!isObject(value) || !isObject(kagan)) return { ...blank, problem: "it has another shape" }
  const decoded = readKagan(String(value["sessionID"]), { kagan })
  if (decoded.kind !== "task") return { ...blank, kagan, problem: "it is no task" }
  const { meta, unreadable, readOnly } = decoded
  const away = value["discardedAt"] !== undefined || meta.archivedAt !== undefined || meta.trashedAt !== undefined
  return {
    taskNumber,
    worktree: meta.worktree,
    open: !away && columnOf(meta) !== "done",
    unreadable,
    readOnly,
    kagan,
  }
}

/** Writes a task's record anew from its session, which is found by the task's number. */
export async function rewriteRecord(
  host: Pick<Host, "sessions">,
  tasks: Pick<Tasks, "repair">,
  wanted: { readonly root: string; readonly repo: string; readonly taskNumber: number },
): Promise<Result<void, string>> {
  const sessions = await host.sessions(wanted.root)
  if (!sessions.ok) return err(sessions.error.text)
  const found = sessions.value.find((session) => {
    const decoded = readKagan(session.id, session.metadata)
    return decoded.kind === "task" && decoded.meta.repo === wanted.repo && decoded.meta.taskNumber === wanted.taskNumber
  })
  if (!found) return err(`no session of #${wanted.taskNumber} is left`)
  const repaired = await tasks.repair(found.id)
  return repaired.ok ? ok() : err(repaired.error.text)
}
