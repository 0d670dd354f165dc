import type { TaskMeta } from "../../src/core/task.ts"
import { tail } from "./failures.ts"
import type { HostServer } from "./host.ts"

/** The tasks of a host as anybody sees them: by the metadata of its sessions. */
export interface SeenTasks {
  read(sessionID: string): Promise<TaskMeta>
  all(): Promise<TaskMeta[]>
  helper<M>(sessionID: string): Promise<M>
  /** The first state of the task that `is` true of; the last one seen is in the error. */
  until(sessionID: string, what: string, is: (meta: TaskMeta) => boolean): Promise<TaskMeta>
  /** Writes fields into a task's metadata as a script or another plugin would: read, change, write. */
  write(sessionID: string, change: Partial<TaskMeta>): Promise<void>
  /** Makes a session that carries a task's metadata without having gone through any gate. */
  plant(change: Partial<TaskMeta> & { taskNumber: number }, when?: "create" | "update"): Promise<string>
}

const DEADLINE_MS = 90_000

export function openTasks(host: HostServer, repo: string): SeenTasks {
  const session = async (sessionID: string) => {
    const answer = await host.client.session.get({ sessionID })
    if (!answer.data) throw new Error(`no session ${sessionID}`)
    return answer.data
  }
  const kagan = async (sessionID: string) => (await session(sessionID)).metadata?.kagan as any
  const tasks: SeenTasks = {
    read: kagan,
    helper: kagan,
    async all() {
      const listed = (await host.client.session.list({ scope: "project", limit: 10_000 })).data ?? []
      return listed
        .map((one) => ({ id: one.id, meta: one.metadata?.kagan as TaskMeta | undefined }))
        .flatMap(({ id, meta }) => (meta?.boardTask && meta.repo === repo && meta.sessionID === id ? [meta] : []))
        .toSorted((a, b) => a.taskNumber - b.taskNumber)
    },
    async until(sessionID, what, is) {
      const end = Date.now() + DEADLINE_MS
      for (;;) {
        const meta = await kagan(sessionID)
        if (meta && is(meta)) return meta
        if (Date.now() > end) throw new Error(`never ${what}:\n${JSON.stringify(meta, null, 1)}\n${tail(host.logs())}`)
        await Bun.sleep(50)
      }
    },
    async write(sessionID, change) {
      const { metadata } = await session(sessionID)
      await host.client.session.update({
        sessionID,
        metadata: { ...metadata, kagan: { ...(metadata?.kagan as object), ...change } },
      })
    },
    async plant(change, when = "create") {
      const meta = {
        v: 1,
        boardTask: true,
        repo,
        status: "backlog",
        order: change.taskNumber,
        baseBranch: "main",
        baseCommit: "0".repeat(40),
        branch: `kagan/${change.taskNumber}-planted`,
        worktree: `/nowhere/${change.taskNumber}`,
        generation: 1,
        ...change,
      }
      const made = (await host.client.session.create({
        title: `Planted ${change.taskNumber}`,
        ...(when === "create" ? { metadata: { kagan: meta } } : {}),
      }))!.data!
      await host.client.session.update({ sessionID: made.id, metadata: { kagan: { ...meta, sessionID: made.id } } })
      return made.id
    },
  }
  return tasks
}
