import { needsMore, readTail } from "../core/turn.ts"
import { err, type Result } from "../core/result.ts"
import type { Clock } from "./clock.ts"
import type { Host, HostFailure, Session } from "./host.ts"
import type { Asked, Entry, Phase, Transcript } from "./session-state.ts"
import type { Leases } from "./store.ts"

/** What asking reads and corrects of the tracker. */
export type Tracker = {
  phase(sessionID: string): Phase
  isFenced(directory: string | undefined): boolean
  entryOf(sessionID: string): Entry
  peek(sessionID: string): Entry | undefined
  busy(sessionID: string, retryUntil: number | undefined): void
  settled(sessionID: string, entry: Entry): void
}

type AskParts = {
  readonly host: Pick<Host, "session" | "statuses" | "messages">
  readonly clock: Clock
  readonly leases?: Pick<Leases, "holder">
  readonly startedAt?: number
}

const ASK_LIMIT_MS = 5_000
const TAIL_LIMIT_MS = 15_000
/** How long something unended of this process's own lifetime may still be on its way although the status is silent. */
const SILENT_START_MS = 60_000
const TAIL_LENGTHS = [30, 300] as const

/** One question about one session: its row, the status of its own directory, its lease, and the end of its transcript. */
export function makeAsk(parts: AskParts, tracker: Tracker): (sessionID: string, directory?: string) => Promise<Asked> {
  const { host, clock, leases } = parts
  const startedAt = parts.startedAt ?? clock.now()
  const birth = { wall: clock.now(), monotonic: clock.monotonic() }

  async function bounded<T>(ms: number, call: Promise<Result<T, HostFailure>>): Promise<Result<T, HostFailure>> {
    let cancel: (() => void) | undefined
    const late = new Promise<Result<T, HostFailure>>((resolve) => {
      cancel = clock.setTimer(ms, () => resolve(err({ kind: "timeout", text: `no answer within ${ms / 1000} s` })))
    })
    return Promise.race([call, late]).finally(() => cancel?.())
  }

  /** Between two calls of one question the session may have gone, or its instance. */
  function isAway(sessionID: string): boolean {
    const current = tracker.phase(sessionID)
    return current === "dead" || current === "fenced"
  }

  async function ask(sessionID: string, directory?: string): Promise<Asked> {
    if (tracker.phase(sessionID) === "dead") return { kind: "gone" }
    if (tracker.isFenced(tracker.peek(sessionID)?.directory ?? directory)) {
      return { kind: "unknown", text: "its instance is going away" }
    }
    const guess = tracker.peek(sessionID)?.directory ?? directory
    const before = tracker.peek(sessionID)?.version ?? 0
    const [found, guessed, holder] = await Promise.all([
      bounded(ASK_LIMIT_MS, host.session(sessionID)),
      guess === undefined ? undefined : bounded(ASK_LIMIT_MS, host.statuses(guess)),
      leases?.holder(sessionID),
    ])
    if (!found.ok) {
      if (found.error.kind === "not_found") return { kind: "gone" }
      return { kind: "unknown", text: found.error.text }
    }
    const own = found.value.directory
    const entry = tracker.entryOf(sessionID)
    entry.directory = own
    if (isAway(sessionID)) return { kind: "unknown", text: "its instance is going away" }
    const statuses = guess === own && guessed ? guessed : await bounded(ASK_LIMIT_MS, host.statuses(own))
    if (!statuses.ok) return { kind: "unknown", text: statuses.error.text }
    const status = statuses.value[sessionID]
    if (status && status.type !== "idle") {
      const retryUntil = status.type === "retry" ? status.next : undefined
      if (entry.phase !== "step") tracker.busy(sessionID, retryUntil)
      return { kind: "busy", session: found.value, ...(retryUntil === undefined ? {} : { retryUntil }) }
    }
    if (holder && !holder.ok) return { kind: "unknown", text: holder.error.text }
    if (holder?.value && !holder.value.mine && holder.value.alive !== false) {
      return { kind: "elsewhere", session: found.value, text: whereIs(holder.value) }
    }
    const reason = found.value.revert ? "reverted" : found.value.time.archived ? "archived" : undefined
    if (reason) entry.blocked = reason
    else delete entry.blocked
    if (reason) return { kind: "blocked", session: found.value, reason }
    return quiet(sessionID, found.value, before)
  }

  async function quiet(sessionID: string, found: Session, before: number): Promise<Asked> {
    for (const length of TAIL_LENGTHS) {
      if (isAway(sessionID)) return { kind: "unknown", text: "its instance is going away" }
      const answer = await bounded(TAIL_LIMIT_MS, host.messages(sessionID, length))
      if (!answer.ok) return { kind: "unknown", text: answer.error.text }
      const transcript: Transcript = { messages: answer.value, whole: answer.value.length < length }
      if (needsMore(transcript.messages, transcript.whole) && length !== TAIL_LENGTHS.at(-1)) continue
      const entry = tracker.entryOf(sessionID)
      if (tracker.phase(sessionID) === "admitting" || (entry.version !== before && entry.phase === "step")) {
        return { kind: "busy", session: found }
      }
      const tail = readTail(transcript.messages, { live: mayBeStarting(entry, transcript) })
      if (tail.kind !== "open" && entry.phase !== "idle" && !entry.cancelSettle) tracker.settled(sessionID, entry)
      return { kind: "quiet", session: found, tail, transcript }
    }
    return { kind: "unknown", text: "the transcript could not be read" }
  }

  /**
   * The status is silent for the first seconds of a cold start. What was made before this process began is not starting,
   * nor is what has been open for a minute; a wall clock that jumps must not make it look so.
   */
  function mayBeStarting(entry: Entry, { messages }: Transcript): boolean {
    const last = messages.at(-1)
    if (!last) return false
    const jumped = clock.now() - birth.wall - (clock.monotonic() - birth.monotonic)
    if (last.info.time.created < startedAt + Math.min(0, jumped)) return false
    if (entry.openTail?.messageID !== last.info.id) {
      entry.openTail = { messageID: last.info.id, since: clock.monotonic() }
    }
    return clock.monotonic() - entry.openTail.since < SILENT_START_MS
  }

  return ask
}

function whereIs({ claim, alive }: { readonly claim: { pid: number; host: string }; readonly alive: unknown }): string {
  return alive === "elsewhere" ? `another machine (${claim.host})` : `another OpenCode (process ${claim.pid})`
}
