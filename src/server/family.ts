import type { Host, Session } from "../shared/host.ts"

/** Which session stands below which: subagents, helpers and workers of a task, as far as they were seen or asked for. */
export interface Family {
  /** A session with what its row says of its place. */
  saw(session: Pick<Session, "id" | "parentID" | "metadata">): void
  /** The topmost session above it, itself when nothing is known above it. */
  rootOf(sessionID: string): string
  /** The session and everything below it, at any depth. */
  members(root: string): readonly string[]
  /** Whether a session is, or stands below, a helper of a task. */
  isHelper(sessionID: string): boolean
  /** Asks the host for sessions that no event has told of. */
  learn(sessionIDs: readonly string[]): Promise<void>
}

const MAX_DEPTH = 20

export function makeFamily(host: Pick<Host, "session">): Family {
  const parents = new Map<string, string>()
  const children = new Map<string, Set<string>>()
  const helpers = new Set<string>()
  const seen = new Set<string>()

  function saw({ id, parentID, metadata }: Pick<Session, "id" | "parentID" | "metadata">) {
    seen.add(id)
    const raw = metadata?.kagan as { role?: unknown; workerParent?: unknown; sessionID?: unknown } | undefined
    // A fork carries its origin's metadata: what names another session says nothing of this one.
    const kagan = raw?.sessionID === undefined || raw.sessionID === id ? raw : undefined
    const worker = kagan?.role === "worker" && typeof kagan.workerParent === "string" ? kagan.workerParent : undefined
    const parent = parentID ?? worker
    // Only a child can be a helper: a copy of a helper's metadata is not.
    if (parentID && (kagan?.role === "intake" || kagan?.role === "validator")) helpers.add(id)
    if (!parent || parents.get(id) === parent) return
    children.get(parents.get(id) ?? "")?.delete(id)
    parents.set(id, parent)
    children.set(parent, (children.get(parent) ?? new Set()).add(id))
  }

  return {
    saw,
    rootOf(sessionID) {
      let id = sessionID
      for (let depth = 0; depth < MAX_DEPTH; depth++) {
        const parent = parents.get(id)
        if (parent === undefined) break
        id = parent
      }
      return id
    },
    members(root) {
      const all = [root]
      for (const id of all) {
        if (all.length > 1_000) break
        for (const child of children.get(id) ?? []) if (!all.includes(child)) all.push(child)
      }
      return all
    },
    isHelper(sessionID) {
      for (let id: string | undefined = sessionID, depth = 0; id && depth < MAX_DEPTH; id = parents.get(id), depth++) {
        if (helpers.has(id)) return true
      }
      return false
    },
    async learn(sessionIDs) {
      for (const id of sessionIDs) {
        for (let next: string | undefined = id, depth = 0; next && !seen.has(next) && depth < MAX_DEPTH; depth++) {
          const session = await host.session(next)
          if (!session.ok) break
          saw(session.value)
          next = session.value.parentID
        }
      }
    },
  }
}
