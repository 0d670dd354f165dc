import { mergeKagan, rawKagan, readKagan, type Decoded } from "../core/codec.ts"
import type { Raw } from "../core/migrations.ts"
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
  /** The person gave it up after its session was gone; its number stays taken. */
  readonly discardedAt?: number
}

export type Siblings = readonly TaskRecord[]

/** Returns the new metadata, or `undefined` to leave it as it is. Called under the lock with a fresh read. */
export type Change = (
  meta: TaskMeta,
  context: {
    readonly title: string
    /** What every task is now: the records, and over them what sessions say that changed since this process began. */
    readonly siblings: () => Promise<Siblings>
  },
) => TaskMeta | undefined | Promise<TaskMeta | undefined>

export type HelperMeta = IntakeMeta | ValidatorMeta

export type Updated = { readonly task: Task; readonly changed: boolean }

/** `raw` is what a write starts from. */
export type ReadTask = {
  readonly task: Task
  readonly session: Session
  readonly unreadable: readonly string[]
  readonly readOnly: boolean
  readonly raw: Raw
}

export interface Tasks {
  /** The task as stored now. */
  read(sessionID: string): Promise<Result<ReadTask, TaskFailure>>
  update(sessionID: string, change: Change): Promise<Result<Updated, TaskFailure>>
  updateHelper<M extends HelperMeta>(
    sessionID: string,
    role: M["role"],
    change: (meta: M) => M | undefined,
  ): Promise<Result<M, TaskFailure>>
  readHelper<M extends HelperMeta>(sessionID: string, role: M["role"]): Promise<Result<M, TaskFailure>>
  /** Makes a session that bears the task's metadata without its own id, so that it is nobody's task before `adoptTask`. */
  prepareTask(
    session: Omit<NewSession, "metadata">,
    meta: Omit<TaskMeta, "sessionID">,
  ): Promise<Result<string, TaskFailure>>
  /** Makes a prepared session the task: its metadata gets its own id, and the record is written. */
  adoptTask(sessionID: string, meta: Omit<TaskMeta, "sessionID">): Promise<Result<Task, TaskFailure>>
  /** Gives a helper or worker session its own id where a crash came between making it and writing that down. */
  adoptChild(sessionID: string): Promise<Result<void, TaskFailure>>
  /** Makes a helper or worker session; its metadata carries its own id before this resolves. */
  createChild(
    session: Omit<NewSession, "metadata">,
    meta: Omit<IntakeMeta, "sessionID"> | Omit<ValidatorMeta, "sessionID"> | Omit<WorkerMeta, "sessionID">,
  ): Promise<Result<Session, TaskFailure>>
  /** All records, for counting under the lock and for cards whose session is gone. */
  records(): Promise<Siblings>
  recordOf(sessionID: string): Promise<TaskRecord | undefined>
  /** Whether this process wrote the record as it stands. */
  wroteRecord(record: TaskRecord): boolean
  /** Writes the record anew where it does not say what the session says: a crash came between the two. */
  repair(sessionID: string): Promise<Result<void, TaskFailure>>
  /**
   * Brings a task back whose session or metadata is gone: the record's metadata, changed by `change`, on its session
   * where that still is, else on a new one. Somebody else's restore before this one is a refusal.
   */
  restore(
    sessionID: string,
    session: Omit<NewSession, "metadata" | "title">,
    change: (meta: TaskMeta) => TaskMeta,
  ): Promise<Result<Task, TaskFailure>>
  /** Gives up the record of a task whose session is gone. Nothing else is deleted. */
  discard(sessionID: string, at: number): Promise<Result<void, TaskFailure>>
  readonly self: Claim
}

export function makeTasks(parts: {
  readonly host: Host
  readonly metadata: MetadataDoor
  readonly store: Store
  readonly repo: string
  /** Where the sessions of the project are listed, and since when they may have changed without their record. */
  readonly project?: { readonly root: string; since(): number }
}): Tasks {
  const { host, metadata, store, repo } = parts
  /** What this process last wrote as the record of a number. */
  const wrote = new Map<number, string>()

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
    replaces?: string,
  ): Promise<Result<void, TaskFailure>> {
    const path = store.paths.record(meta.taskNumber)
    const owned = await ownRecord(path, meta, session.id, replaces)
    if (!owned.ok) return owned
    const value: TaskRecord = { title: session.title, sessionID: session.id, kagan }
    const written = await store.writeJson(path, value)
    if (!written.ok) return err({ kind: "store", text: written.error.text })
    wrote.set(meta.taskNumber, JSON.stringify(value))
    return ok()
  }

  /** A number belongs to one session; a record that cannot be read is kept beside the new one. */
  async function ownRecord(
    path: string,
    meta: TaskMeta,
    sessionID: string,
    replaces: string | undefined,
  ): Promise<Result<void, TaskFailure>> {
    const found = await store.readJson(path)
    if (!found.ok && found.error.kind === "missing") return ok()
    if (!found.ok && found.error.kind === "io") return err({ kind: "store", text: found.error.text })
    if (!found.ok || !isRecord(found.value)) {
      const damaged = await store.readText(path)
      const kept = damaged.ok ? await store.writeText(`${path}.damaged`, damaged.value) : damaged
      return kept.ok ? ok() : err({ kind: "store", text: kept.error.text })
    }
    const other = found.value.sessionID
    if (other === sessionID || other === replaces) return ok()
    const loaded = await load(other)
    const taken = loaded.ok && loaded.value.decoded.kind === "task" && loaded.value.decoded.meta.repo === repo
    if (loaded.ok ? !taken : loaded.error.kind === "gone") return ok()
    return err({ kind: "not_ours", text: `the number #${meta.taskNumber} belongs to another session` })
  }

  async function allRecords(): Promise<TaskRecord[]> {
    const all: TaskRecord[] = []
    for (const number of await store.recordNumbers()) {
      const read = await store.readJson(store.paths.record(number))
      if (read.ok && isRecord(read.value)) all.push(read.value)
      else host.log("error", `the record of #${number} cannot be read: ${read.ok ? "another shape" : read.error.text}`)
    }
    return all
  }

  async function records(): Promise<Siblings> {
    return (await allRecords()).filter((one) => one.discardedAt === undefined)
  }

  /** A process that died between session and record left them apart: the session is right. */
  async function siblings(): Promise<Siblings> {
    const known = await records()
    if (!parts.project) return known
    const listed = await host.sessions(parts.project.root, parts.project.since())
    if (!listed.ok) throw new SiblingsUnknown(listed.error)
    const fresh = listed.value.flatMap((session): TaskRecord[] => {
      const decoded = session.parentID ? undefined : readKagan(session.id, session.metadata)
      if (decoded?.kind !== "task" || decoded.meta.repo !== repo) return []
      return [{ title: session.title, sessionID: session.id, kagan: rawKagan(session.metadata)! }]
    })
    const changed = new Set(fresh.map((one) => one.sessionID))
    return [...known.filter((one) => !changed.has(one.sessionID)), ...fresh]
  }

  async function settle(
    session: Session,
    meta: TaskMeta,
    kagan: Record<string, unknown>,
    changed: boolean,
    replaces?: string,
  ): Promise<Result<Updated, TaskFailure>> {
    const recorded = await record(session, meta, kagan, replaces)
    if (!recorded.ok) return recorded
    return ok({ task: { title: session.title, meta }, changed })
  }

  async function helper<M extends HelperMeta>(
    sessionID: string,
    role: M["role"],
  ): Promise<Result<{ session: Session; meta: M; readOnly: boolean; raw: Raw }, TaskFailure>> {
    const loaded = await load(sessionID)
    if (!loaded.ok) return loaded
    const { session, decoded } = loaded.value
    if (decoded.kind !== role || decoded.meta.repo !== repo) {
      return err({ kind: "not_ours", text: `that session is not an ${role} helper of this repository` })
    }
    return ok({ session, meta: decoded.meta as M, readOnly: decoded.readOnly, raw: decoded.raw })
  }

  async function createSession(input: NewSession): Promise<Result<Session, TaskFailure>> {
    const answer = await metadata.create(input)
    return answer.ok ? answer : err({ kind: "host", text: answer.error.text, cause: answer.error })
  }

  /** The session that a restore made before its process died, with its own id already written or not yet. */
  async function half(taskNumber: number): Promise<Result<Session | undefined, TaskFailure>> {
    if (!parts.project) return ok(undefined)
    const listed = await host.sessions(parts.project.root)
    if (!listed.ok) return err({ kind: "host", text: listed.error.text, cause: listed.error })
    const found = listed.value.filter((session) => {
      const raw = rawKagan(session.metadata)
      if (session.parentID || raw?.boardTask !== true || raw.repo !== repo || raw.taskNumber !== taskNumber)
        return false
      return raw.sessionID === session.id || raw.sessionID === ""
    })
    return ok(found.find((session) => rawKagan(session.metadata)?.sessionID === session.id) ?? found[0])
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
        raw: decoded.raw,
      })
    },

    update: (sessionID, change) =>
      locked(async () => {
        // Notices a clock that was set back.
        parts.project?.since()
        const current = await tasks.read(sessionID)
        if (!current.ok) return current
        const { task, session, readOnly, raw } = current.value
        if (readOnly) return err({ kind: "read_only", text: "a newer Kagan wrote this card, or it is not readable" })
        let next: TaskMeta | undefined
        try {
          next = await change(task.meta, { title: task.title, siblings })
        } catch (cause) {
          if (cause instanceof SiblingsUnknown) return err({ kind: "host", text: cause.message, cause: cause.failure })
          throw cause
        }
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
        const { session, meta, readOnly, raw } = loaded.value
        if (readOnly) return err({ kind: "read_only", text: "a newer Kagan wrote this helper, or it is not readable" })
        const next = change(meta)
        if (!next || next === meta) return ok(meta)
        const written = await write(session, mergeKagan(raw, next, meta))
        return written.ok ? ok(next) : written
      }),

    async prepareTask(input, meta) {
      const created = await createSession({ ...input, metadata: { kagan: meta } })
      return created.ok ? ok(created.value.id) : created
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

    async recordOf(sessionID) {
      return (await records()).find((one) => one.sessionID === sessionID)
    },

    wroteRecord(one) {
      return wrote.get(Number(one.kagan.taskNumber)) === JSON.stringify(one)
    },

    repair: (sessionID) =>
      locked(async () => {
        const current = await tasks.read(sessionID)
        if (!current.ok) return current
        const { task, session } = current.value
        const kagan = rawKagan(session.metadata)!
        const found = await store.readJson(store.paths.record(task.meta.taskNumber))
        const value: TaskRecord = { title: session.title, sessionID, kagan }
        if (found.ok && JSON.stringify(found.value) === JSON.stringify(value)) return ok()
        return record(session, task.meta, kagan)
      }),

    restore: (sessionID, input, change) =>
      locked(async () => {
        const kept = await tasks.recordOf(sessionID)
        const decoded = kept && readKagan(sessionID, { kagan: kept.kagan })
        if (!kept || decoded?.kind !== "task" || decoded.readOnly || decoded.meta.repo !== repo)
          return err({ kind: "gone", text: "there is no record to bring it back from" })
        const current = await tasks.read(sessionID)
        if (current.ok) return err({ kind: "not_ours", text: "its session is there already" })
        if (current.error.kind === "host") return current
        const before = await half(decoded.meta.taskNumber)
        if (!before.ok) return before
        const back = before.value && readKagan(before.value.id, before.value.metadata)
        if (before.value && back?.kind === "task") {
          const settled = await settle(before.value, back.meta, { ...back.raw }, true, sessionID)
          return settled.ok ? ok(settled.value.task) : settled
        }
        const meta = change(decoded.meta)
        const there = await load(sessionID)
        const session = there.ok
          ? ok(there.value.session)
          : before.value
            ? ok(before.value)
            : await createSession({ ...input, title: kept.title, metadata: { kagan: { ...meta, sessionID: "" } } })
        if (!session.ok) return session
        const full: TaskMeta = { ...meta, sessionID: session.value.id }
        const kagan = mergeKagan(decoded.raw, full, decoded.meta)
        const written = await write(session.value, kagan)
        if (!written.ok) return written
        const settled = await settle(written.value, full, kagan, true, sessionID)
        return settled.ok ? ok(settled.value.task) : settled
      }),

    discard: (sessionID, at) =>
      locked(async () => {
        const kept = await tasks.recordOf(sessionID)
        if (!kept) return err({ kind: "gone", text: "there is no record of it" })
        const current = await tasks.read(sessionID)
        if (current.ok) return err({ kind: "not_ours", text: "its session is there: move it to the trash instead" })
        if (current.error.kind === "host") return current
        const path = store.paths.record(Number(kept.kagan.taskNumber))
        const written = await store.writeJson(path, { ...kept, discardedAt: at })
        return written.ok ? ok() : err({ kind: "store", text: written.error.text })
      }),

    adoptChild: (sessionID) =>
      locked(async () => {
        const loaded = await load(sessionID)
        if (!loaded.ok) return loaded
        const raw = rawKagan(loaded.value.session.metadata)
        if (!raw || raw.sessionID === sessionID) return ok()
        const written = await write(loaded.value.session, { ...raw, sessionID })
        return written.ok ? ok() : written
      }),

    async createChild(input, meta) {
      const created = await createSession({ ...input, metadata: { kagan: meta } })
      if (!created.ok) return created
      return write(created.value, { ...meta, sessionID: created.value.id })
    },
  }
  return tasks
}

/** What the other tasks are could not be asked: nothing that depends on it may be decided. */
class SiblingsUnknown extends Error {
  readonly failure: HostFailure

  constructor(failure: HostFailure) {
    super(`the other tasks could not be counted: ${failure.text}`)
    this.failure = failure
  }
}

/** A stored record of the shape that `update` writes. */
export function isRecord(value: unknown): value is TaskRecord {
  if (typeof value !== "object" || value === null) return false
  const { title, sessionID, kagan } = value as Record<string, unknown>
  return typeof title === "string" && typeof sessionID === "string" && typeof kagan === "object" && kagan !== null
}
