import type { Session } from "../shared/host.ts"
import { isSameRow } from "./events.ts"
import type { Family } from "./family.ts"
import type { Project } from "./project.ts"
import { metaOf } from "./queue.ts"

/** Who is there: at start-up, and when a board comes to the fore. */
export interface RollCall {
  /** Repairs the records that a crash left behind, then calls `repaired`, and then looks at every task. */
  start(): Promise<void>
  /** Looks at whatever changed without an event. */
  refresh(): Promise<void>
  /** What of a task's session a look has seen. */
  saw(session: Session): void
  forget(sessionID: string): void
}

export function makeRollCall(parts: {
  readonly project: Project
  readonly family: Family
  /** Every task that was seen; what is found is added. */
  readonly known: Set<string>
  /** The worktree of each; what is found is added. */
  readonly places: Map<string, string>
  look(sessionID: string): Promise<void>
  repaired(): void
}): RollCall {
  const { project, family, known, look } = parts
  const { tasks, host } = project
  const seenRows = new Map<string, Session>()

  /** Learns every session's place and answers those that are tasks of this repository. */
  async function listTasks(): Promise<readonly Session[] | undefined> {
    const listed = await host.sessions(project.root)
    if (!listed.ok) {
      host.log("error", `the sessions of the project cannot be listed: ${listed.error.text}`)
      return undefined
    }
    for (const session of listed.value) family.saw(session)
    return listed.value.filter(({ id, parentID, metadata }) => {
      const kagan = metadata?.kagan as { sessionID?: unknown; repo?: unknown } | undefined
      return !parentID && kagan?.sessionID === id && kagan.repo === project.repo
    })
  }

  async function start() {
    const [listed, records] = await Promise.all([listTasks(), tasks.records()])
    const written = new Map(records.map((record) => [record.sessionID, JSON.stringify(record)]))
    for (const { id, title, metadata } of listed ?? []) {
      known.add(id)
      const worktree = (metadata?.kagan as { worktree?: unknown } | undefined)?.worktree
      if (typeof worktree === "string") parts.places.set(id, worktree)
      if (written.get(id) === JSON.stringify({ title, sessionID: id, kagan: metadata?.kagan })) continue
      const safe = typeof worktree === "string" ? await project.protect(worktree) : undefined
      if (safe && !safe.ok) {
        host.log("warn", `${id}: ${safe.error.text}`)
        continue
      }
      const mended = await tasks.repair(id)
      if (!mended.ok && mended.error.kind !== "not_ours") host.log("warn", `${id}: ${mended.error.text}`)
    }
    parts.repaired()
    for (const record of records) {
      known.add(record.sessionID)
      const worktree = metaOf(record)?.worktree
      if (worktree !== undefined && !parts.places.has(record.sessionID)) parts.places.set(record.sessionID, worktree)
    }
    await lookAt([...known])
  }

  async function refresh() {
    const listed = await listTasks()
    if (!listed) return
    const rows = new Map(listed.map((session) => [session.id, session]))
    const changed = [...new Set([...known, ...rows.keys()])].filter((id) => !isSameRow(rows.get(id), seenRows.get(id)))
    await lookAt(changed)
  }

  /** A few at a time: each asks the host and git. */
  async function lookAt(ids: readonly string[]) {
    const queue = [...ids]
    const lookers = Array.from({ length: 4 }, async () => {
      for (let id = queue.shift(); id !== undefined; id = queue.shift()) await look(id)
    })
    await Promise.all(lookers)
  }

  return {
    start,
    refresh,
    saw: (session) => void seenRows.set(session.id, session),
    forget: (sessionID) => void seenRows.delete(sessionID),
  }
}
