import type { Tail } from "../core/turn.ts"
import type { Clock } from "./clock.ts"
import type { Host, MessageWithParts, Session } from "./host.ts"
import { makeAsk } from "./session-ask.ts"
import { readEvent, type HostEvent, type SessionInfo } from "./session-event.ts"
import type { Leases } from "./store.ts"

/**
 * What each session is doing: the one tracker, read by gate, injection and supervisor.
 *
 *   unknown ─┬─ busy/retry ──► step ◄──────── busy/retry ─────────┐
 *            │                 │  ▲ enterTool / leaveTool         │
 *            │                 ▼  │                               │
 *            │               window                               │
 *            │                 │ idle, quiet for 150 ms           │
 *            └── idle ────►   idle ── foreign chat.message ──► admitting
 *
 *   over all of them: blocked (an undo is open, archived), dead (deleted), fenced (its instance is being disposed)
 *
 * Events are fed by the one subscriber. A turn's end is one edge, however many idle events it sends: an abort sends two
 * pairs, the first before the aborted message is finalised (1.18.33). Events can be lost; `ask` puts the phase right.
 */
export type Phase = "unknown" | "idle" | "admitting" | "step" | "window" | "blocked" | "dead" | "fenced"

export type Change =
  | { readonly kind: "busy"; readonly sessionID: string }
  /** The end of a turn, settled; also when a session that nothing was known of turns out to be idle. */
  | { readonly kind: "idle"; readonly sessionID: string }
  /** A prompt that is not ours is being admitted. */
  | { readonly kind: "foreign_prompt"; readonly sessionID: string }
  /** An assistant message that answers `parentID` exists. */
  | { readonly kind: "answer"; readonly sessionID: string; readonly parentID: string }
  | { readonly kind: "error"; readonly sessionID: string; readonly error: unknown }
  | { readonly kind: "dead"; readonly sessionID: string }
  /** An undo is closed, or it came back from the archive. */
  | { readonly kind: "unblocked"; readonly sessionID: string }
  | { readonly kind: "fenced"; readonly directory: string }
  | { readonly kind: "unfenced"; readonly directory: string }

/** What the host answers when asked about one session in its own directory. */
export type Asked =
  | { readonly kind: "gone" }
  /** No usable answer: to be treated as busy. */
  | { readonly kind: "unknown"; readonly text: string }
  | { readonly kind: "busy"; readonly session: Session; readonly retryUntil?: number }
  /** A living process, perhaps on another host, holds the session's lease. */
  | { readonly kind: "elsewhere"; readonly session: Session; readonly text: string }
  | { readonly kind: "blocked"; readonly session: Session; readonly reason: "reverted" | "archived" }
  /** Nobody runs it as far as can be told; the tail says whether something is still owed. */
  | { readonly kind: "quiet"; readonly session: Session; readonly tail: Tail; readonly transcript: Transcript }

/** Newest last. `whole`: there is nothing older, so what is not in it does not exist. */
export type Transcript = { readonly messages: readonly MessageWithParts[]; readonly whole: boolean }

export interface SessionState {
  phase(sessionID: string): Phase
  /** Until when the host waits before it retries, while it does. */
  retryUntil(sessionID: string): number | undefined
  /** Changes whenever something happened in the session. */
  version(sessionID: string): number
  /** Names a session that is ours to supervise: it is kept in mind until `untrack`. */
  track(sessionID: string, directory: string): void
  untrack(sessionID: string): void
  tracked(sessionID: string): boolean
  directoryOf(sessionID: string): string | undefined
  observe(event: HostEvent): void
  /** Whether that tool call's hook is awaited right now. */
  inTool(sessionID: string, callID: string): boolean
  /** Around an awaited tool hook of this session; calls run in parallel and are counted. */
  enterTool(sessionID: string, callID: string): void
  leaveTool(sessionID: string, callID: string): void
  /** Marks a message id as our own, before it is sent. */
  expectOwn(messageID: string): void
  isOwn(messageID: string | undefined): boolean
  /** From `chat.message`; `false` when the message is one of ours and nothing changed. */
  foreignPrompt(sessionID: string, messageID: string | undefined): boolean
  /** Status, session and tail from the host, in the session's own directory; also corrects a phase that lost an event. */
  ask(sessionID: string, directory?: string): Promise<Asked>
  /** From now on nothing of this directory may call the host: its instance is going away. */
  fence(directory: string): void
  unfence(directory: string): void
  isFenced(directory: string | undefined): boolean
  subscribe(listener: (change: Change) => void): () => void
  /** How many sessions are kept in mind. */
  size(): number
  dispose(): void
}

export const IDLE_SETTLE_MS = 150
const ADMITTING_LIMIT_MS = 10_000
const TOMBSTONE_MS = 10 * 60_000
const MAX_SESSIONS = 2_000
const MAX_OWN_IDS = 4_096

export type Entry = {
  phase: "unknown" | "idle" | "admitting" | "step" | "dead"
  since: number
  version: number
  directory?: string
  tracked: boolean
  retryUntil?: number
  blocked?: "reverted" | "archived"
  /** The open end of the transcript, and since when it is known. */
  openTail?: { readonly messageID: string; readonly since: number }
  readonly tools: Set<string>
  cancelSettle?: () => void
}

export function makeSessionState(parts: {
  readonly host: Pick<Host, "session" | "statuses" | "messages">
  readonly clock: Clock
  readonly leases?: Pick<Leases, "holder">
  /** When this process started, in the clock's time: what is older and unended died with its process. */
  readonly startedAt?: number
}): SessionState {
  const { clock } = parts
  const entries = new Map<string, Entry>()
  const ownIDs = new Set<string>()
  const fences = new Set<string>()
  const listeners = new Set<(change: Change) => void>()

  function entryOf(sessionID: string): Entry {
    const found = entries.get(sessionID)
    if (found) return found
    if (entries.size >= MAX_SESSIONS) forgetOldest()
    const made: Entry = { phase: "unknown", since: clock.monotonic(), version: 0, tracked: false, tools: new Set() }
    entries.set(sessionID, made)
    return made
  }

  function forgetOldest() {
    for (const [sessionID, entry] of entries) {
      if (entry.tracked || entry.cancelSettle || entry.phase === "step" || entry.phase === "admitting") continue
      entries.delete(sessionID)
      return
    }
  }

  function emit(change: Change) {
    for (const listener of listeners) listener(change)
  }

  function enter(entry: Entry, next: Entry["phase"]) {
    entry.phase = next
    entry.since = clock.monotonic()
    entry.version++
    entry.cancelSettle?.()
    delete entry.cancelSettle
    if (next !== "step") delete entry.retryUntil
    if (next === "idle" || next === "dead") entry.tools.clear()
  }

  function phase(sessionID: string): Phase {
    const entry = entries.get(sessionID)
    if (!entry) return "unknown"
    const age = clock.monotonic() - entry.since
    if (entry.phase === "dead") return age < TOMBSTONE_MS ? "dead" : "unknown"
    if (isFenced(entry.directory)) return "fenced"
    if (entry.phase === "admitting") return age < ADMITTING_LIMIT_MS ? "admitting" : "unknown"
    if (entry.phase === "step") return entry.tools.size > 0 ? "window" : "step"
    return entry.blocked ? "blocked" : entry.phase
  }

  function busy(sessionID: string, retryUntil: number | undefined) {
    const entry = entryOf(sessionID)
    if (entry.phase === "dead") return
    const edge = entry.phase !== "step"
    if (edge || entry.cancelSettle) enter(entry, "step")
    entry.version++
    if (retryUntil === undefined) delete entry.retryUntil
    else entry.retryUntil = retryUntil
    if (edge) emit({ kind: "busy", sessionID })
  }

  function idle(sessionID: string) {
    const entry = entryOf(sessionID)
    if (entry.phase === "dead" || entry.phase === "idle") return
    entry.version++
    entry.cancelSettle?.()
    entry.cancelSettle = clock.setTimer(IDLE_SETTLE_MS, () => settled(sessionID, entry))
  }

  function settled(sessionID: string, entry: Entry) {
    enter(entry, "idle")
    if (!isFenced(entry.directory)) emit({ kind: "idle", sessionID })
  }

  function isFenced(directory: string | undefined): boolean {
    return directory !== undefined && fences.has(directory)
  }

  function fence(directory: string) {
    if (fences.has(directory)) return
    fences.add(directory)
    for (const entry of entries.values()) {
      if (entry.directory !== directory || !entry.cancelSettle) continue
      entry.cancelSettle()
      delete entry.cancelSettle
      entry.phase = "unknown"
    }
    emit({ kind: "fenced", directory })
  }

  function session(sessionID: string, info: SessionInfo) {
    const entry = entryOf(sessionID)
    if (entry.phase === "dead") return
    entry.version++
    if (info.directory !== undefined) entry.directory = info.directory
    const was = entry.blocked
    if (info.blocked) entry.blocked = info.blocked
    else delete entry.blocked
    if (was && !info.blocked) emit({ kind: "unblocked", sessionID })
  }

  function observe(event: HostEvent) {
    const read = readEvent(event)
    if (!read) return
    switch (read.kind) {
      case "busy":
        return busy(read.sessionID, read.retryUntil)
      case "idle":
        return idle(read.sessionID)
      case "session":
        return session(read.sessionID, read.info)
      case "dead": {
        const entry = entryOf(read.sessionID)
        enter(entry, "dead")
        entry.tracked = false
        return emit({ kind: "dead", sessionID: read.sessionID })
      }
      case "disposed":
        return fence(read.directory)
      case "answer":
      case "error": {
        entryOf(read.sessionID).version++
        return emit(read)
      }
    }
  }

  const ask = makeAsk(parts, { phase, isFenced, entryOf, peek: (sessionID) => entries.get(sessionID), busy, settled })

  return {
    phase,
    retryUntil: (sessionID) => entries.get(sessionID)?.retryUntil,
    version: (sessionID) => entries.get(sessionID)?.version ?? 0,
    track(sessionID, directory) {
      const entry = entryOf(sessionID)
      entry.tracked = true
      entry.directory ??= directory
    },
    untrack(sessionID) {
      const entry = entries.get(sessionID)
      if (entry) entry.tracked = false
    },
    tracked: (sessionID) => entries.get(sessionID)?.tracked ?? false,
    directoryOf: (sessionID) => entries.get(sessionID)?.directory,
    observe,
    enterTool(sessionID, callID) {
      const entry = entryOf(sessionID)
      // A hook of this session runs, so its turn does, even if the busy event was missed.
      if (entry.phase !== "step") busy(sessionID, undefined)
      entry.tools.add(callID)
      entry.version++
    },
    leaveTool(sessionID, callID) {
      const entry = entries.get(sessionID)
      if (entry?.tools.delete(callID)) entry.version++
    },
    inTool: (sessionID, callID) => phase(sessionID) === "window" && entries.get(sessionID)!.tools.has(callID),
    expectOwn(messageID) {
      ownIDs.delete(messageID)
      ownIDs.add(messageID)
      for (const oldest of ownIDs) {
        if (ownIDs.size <= MAX_OWN_IDS) break
        ownIDs.delete(oldest)
      }
    },
    isOwn: (messageID) => messageID !== undefined && ownIDs.has(messageID),
    foreignPrompt(sessionID, messageID) {
      if (messageID !== undefined && ownIDs.has(messageID)) return false
      const entry = entryOf(sessionID)
      if (entry.phase === "dead") return false
      // A turn that has ended and is only settling is over: the prompt begins the next one.
      if (entry.phase === "step" && !entry.cancelSettle) entry.version++
      else enter(entry, "admitting")
      emit({ kind: "foreign_prompt", sessionID })
      return true
    },
    ask,
    fence,
    unfence(directory) {
      if (fences.delete(directory)) emit({ kind: "unfenced", directory })
    },
    isFenced,
    subscribe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    size: () => entries.size,
    dispose() {
      for (const entry of entries.values()) entry.cancelSettle?.()
      entries.clear()
      listeners.clear()
      ownIDs.clear()
    },
  }
}
