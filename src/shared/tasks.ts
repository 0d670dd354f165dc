import { mergeKagan, rawKagan, readKagan, type Decoded } from "../core/codec.ts"
import { err, ok, type Result } from "../core/result.ts"
import type { Claim, IntakeMeta, Task, TaskMeta, ValidatorMeta, WorkerMeta } from "../core/task.ts"
import type { Host, HostFailure, MetadataDoor, NewSession, Session } from "./host.ts"
import type { Store } from "./store.ts"

/*
 * The only writer of `metadata.kagan`.
 *
 *   update(id, change):  lock ─ fresh read ─ change ─ write back, foreign keys kept ─ read back ─ record ─ unlock
 *
 * The lock is one per repository and is held for tens of milliseconds: never across git, a hook or a model.
 */

export type TaskFailure =
  | { readonly kind: "gone"; readonly text: string }
  | { readonly kind: "not_ours"; readonly text: string }
  | { readonly kind: "read_only"; readonly text: string }
  | { readonly kind: "lost_write"; readonly text: string }
  | { readonly kind: "host"; readonly text: string; readonly cause: HostFailure }
  | { readonly kind: "store"; readonly text: string }

/** The copy of a task beside the repository: what other windows watch, and what is shown when the session is gone. */
export type TaskRecord = {
  readonly title: string
  readonly sessionID: string
  readonly kagan: Readonly<Record<string, unknown>>
}

export type Siblings = readonly TaskRecord[]

/** Returns the new metadata, or `undefined` to leave it as it is. Called under the lock with a fresh read. */
export type Change = (
  meta: TaskMeta,
  context: { readonly title: string; readonly siblings: () => Promise<Siblings> },
) => TaskMeta | undefined | Promise<TaskMeta | undefined>

export type HelperMeta = IntakeMeta | ValidatorMeta

export type Updated = { readonly task: Task; readonly changed: boolean }

export interface Tasks {
  /** The task as stored now. */
  read(
    sessionID: string,
  ): Promise<Result<{ task: Task; session: Session; unreadable: readonly string[]; readOnly: boolean }, TaskFailure>>
  update(sessionID: string, change: Change): Promise<Result<Updated, TaskFailure>>
  updateHelper<M extends HelperMeta>(
    sessionID: string,
    role: M["role"],
    change: (meta: M) => M | undefined,
  ): Promise<Result<M, TaskFailure>>
  readHelper<M extends HelperMeta>(sessionID: string, role: M["role"]): Promise<Result<M, TaskFailure>>
  /** Makes the task's session and stores its metadata with the session's own id. */
  createTask(
    session: Omit<NewSession, "metadata">,
    meta: Omit<TaskMeta, "sessionID">,
  ): Promise<Result<Task, TaskFailure>>
  /** Stores a task's metadata on a session that exists: the resumed half of a creation. */
  adoptTask(sessionID: string, meta: Omit<TaskMeta, "sessionID">): Promise<Result<Task, TaskFailure>>
  /** Makes a helper or worker session; its metadata carries its own id before this resolves. */
  createChild(
    session: Omit<NewSession, "metadata">,
    meta: Omit<IntakeMeta, "sessionID"> | Omit<ValidatorMeta, "sessionID"> | Omit<WorkerMeta, "sessionID">,
  ): Promise<Result<Session, TaskFailure>>
  /** All records, for counting under the lock and for cards whose session is gone. */
  records(): Promise<Siblings>
  readonly self: Claim
}

export function makeTasks(parts: {
  readonly host: Host
  readonly metadata: MetadataDoor
  readonly store: Store
  readonly repo: string
}): Tasks {
  const { host, metadata, store, repo } = parts

  async function load(sessionID: string): Promise<Result<{ session: Session; decoded: Decoded }, TaskFailure>> {
    const answer = await host.session(sessionID)
    if (!answer.ok) {
      if (answer.error.kind === "not_found") return err({ kind: "gone", text: "its session is gone" })
      return err({ kind: "host", text: answer.error.text, cause: answer.error })
    }
    return ok({ session: answer.value, decoded: readKagan(sessionID, answer.value.metadata) })
  }

  /** Writes and reads back: the host's answer is the row as it is now. */
  async function write(session: Session, kagan: Record<string, unknown>): Promise<Result<Session, TaskFailure>> {
    const answer = await metadata.write(session.id, { ...session.metadata, kagan })
    if (!answer.ok) {
      if (answer.error.kind === "not_found") return err({ kind: "gone", text: "its session is gone" })
      return err({ kind: "host", text: answer.error.text, cause: answer.error })
    }
    const stored = rawKagan(answer.value.metadata)
    if (!stored || JSON.stringify(stored) !== JSON.stringify(kagan)) {
      return err({ kind: "lost_write", text: "the host did not keep what was written" })
    }
    return ok(answer.value)
  }

  async function locked<T>(work: () => Promise<Result<T, TaskFailure>>): Promise<Result<T, TaskFailure>> {
    const held = await store.withLock(work)
    return held.ok ? held.value : err({ kind: "store", text: held.error.text })
  }

  async function record(
    session: Session,
    meta: TaskMeta,
    kagan: Record<string, unknown>,
  ): Promise<Result<void, TaskFailure>> {
    const value: TaskRecord = { title: session.title, sessionID: session.id, kagan }
    const written = await store.writeJson(store.paths.record(meta.taskNumber), value)
    return written.ok ? ok() : err({ kind: "store", text: written.error.text })
  }

  async function records(): Promise<Siblings> {
    const all: TaskRecord[] = []
    for (const number of await store.recordNumbers()) {
      const read = await store.readJson(store.paths.record(number))
      if (read.ok && isRecord(read.value)) all.push(read.value)
    }
    return all
  }

  async function settle(
    session: Session,
    meta: TaskMeta,
    kagan: Record<string, unknown>,
    changed: boolean,
  ): Promise<Result<Updated, TaskFailure>> {
    const recorded = await record(session, meta, kagan)
    if (!recorded.ok) return recorded
    return ok({ task: { title: session.title, meta }, changed })
  }

  async function helper<M extends HelperMeta>(
    sessionID: string,
    role: M["role"],
  ): Promise<Result<{ session: Session; meta: M; readOnly: boolean }, TaskFailure>> {
    const loaded = await load(sessionID)
    if (!loaded.ok) return loaded
    const { session, decoded } = loaded.value
    if (decoded.kind !== role || decoded.meta.repo !== repo) {
      return err({ kind: "not_ours", text: `that session is not an ${role} helper of this repository` })
    }
    return ok({ session, meta: decoded.meta as M, readOnly: decoded.readOnly })
  }

  async function createSession(input: NewSession): Promise<Result<Session, TaskFailure>> {
    const answer = await metadata.create(input)
    return answer.ok ? answer : err({ kind: "host", text: answer.error.text, cause: answer.error })
  }

  const tasks: Tasks = {
    self: store.self,
    records,

    async read(sessionID) {
      const loaded = await load(sessionID)
      if (!loaded.ok) return loaded
      const { session, decoded } = loaded.value
      if (decoded.kind !== "task" || decoded.meta.repo !== repo || session.parentID) {
        return err({ kind: "not_ours", text: "that session is not a task of this repository" })
      }
      return ok({
        task: { title: session.title, meta: decoded.meta },
        session,
        unreadable: decoded.unreadable,
        readOnly: decoded.readOnly,
      })
    },

    update: (sessionID, change) =>
      locked(async () => {
        const current = await tasks.read(sessionID)
        if (!current.ok) return current
        const { task, session, readOnly } = current.value
        if (readOnly) return err({ kind: "read_only", text: "a newer Kagan wrote this card, or it is not readable" })
        const next = await change(task.meta, { title: task.title, siblings: records })
        const raw = rawKagan(session.metadata) ?? {}
        if (!next || next === task.meta) return ok({ task, changed: false })
        const kagan = mergeKagan(raw, next, task.meta)
        const written = await write(session, kagan)
        if (!written.ok) return written
        return settle(written.value, next, kagan, true)
      }),

    async readHelper<M extends HelperMeta>(sessionID: string, role: M["role"]) {
      const loaded = await helper<M>(sessionID, role)
      return loaded.ok ? ok(loaded.value.meta) : loaded
    },

    updateHelper: <M extends HelperMeta>(sessionID: string, role: M["role"], change: (meta: M) => M | undefined) =>
      locked(async (): Promise<Result<M, TaskFailure>> => {
        const loaded = await helper<M>(sessionID, role)
        if (!loaded.ok) return loaded
        const { session, meta, readOnly } = loaded.value
        if (readOnly) return err({ kind: "read_only", text: "a newer Kagan wrote this helper, or it is not readable" })
        const next = change(meta)
        if (!next || next === meta) return ok(meta)
        const written = await write(session, mergeKagan(rawKagan(session.metadata), next, meta))
        return written.ok ? ok(next) : written
      }),

    async createTask(input, meta) {
      const created = await createSession({ ...input, metadata: { kagan: meta } })
      return created.ok ? tasks.adoptTask(created.value.id, meta) : created
    },

    adoptTask: (sessionID, meta) =>
      locked(async () => {
        const loaded = await load(sessionID)
        if (!loaded.ok) return loaded
        const { session, decoded } = loaded.value
        if (decoded.kind === "task" && decoded.meta.repo === repo)
          return ok({ title: session.title, meta: decoded.meta })
        const full: TaskMeta = { ...meta, sessionID }
        const kagan: Record<string, unknown> = { ...rawKagan(session.metadata), ...full }
        const written = await write(session, kagan)
        if (!written.ok) return written
        const settled = await settle(written.value, full, kagan, true)
        return settled.ok ? ok(settled.value.task) : settled
      }),

    async createChild(input, meta) {
      const created = await createSession({ ...input, metadata: { kagan: meta } })
      if (!created.ok) return created
      return write(created.value, { ...meta, sessionID: created.value.id })
    },
  }
  return tasks
}

/** A stored record of the shape that `update` writes. */
export function isRecord(value: unknown): value is TaskRecord {
  if (typeof value !== "object" || value === null) return false
  const { title, sessionID, kagan } = value as Record<string, unknown>
  return typeof title === "string" && typeof sessionID === "string" && typeof kagan === "object" && kagan !== null
}
