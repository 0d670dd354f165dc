import { err, ok, type Result } from "../../core/result.ts"
import { append, readLinesNow, sizeNow, type FileFailure } from "../store/files.ts"

/**
 * What is staged for one session, as a journal of JSON lines: accepted, sending (with its ids), then delivered or given
 * up. Another window may add lines at any time, so it is read again whenever the file has grown.
 *
 *   staged ─► sending ─► delivered
 *               │  └─ crash or doubt: the transcript is asked, then the same ids again
 *               └─ given up (refused, too many attempts, withdrawn)
 */

export type Content = {
  /** `route:subject`: who tells it. */
  readonly source: string
  /** What it is to the reader of the transcript: `reference`, `finding`, `handoff`, `board`, … */
  readonly kind: string
  readonly text: string
}

export type OutboxItem = Content & {
  readonly id: string
  readonly seq: number
  readonly at: number
  /** Waits for the wake of this intent, and goes with no other. */
  readonly intentID?: string
  messageID?: string
  partID?: string
  attempts: number
  state: "staged" | "sending" | "delivered" | "given_up"
}

export const MAX_STAGED = 32
export const MAX_CHARS = 100_000
export const MAX_STAGED_CHARS = 400_000

export interface Outbox {
  /** Adds an item, durably, or says why not. */
  stage(item: Pick<OutboxItem, "id" | "source" | "kind" | "text" | "at" | "intentID">): Result<OutboxItem, StageRefusal>
  /** The next one to send; those of an intent go only with it. */
  next(intentID: string | undefined): OutboxItem | undefined
  /** Writes down, before the send, under which ids the item is sent. */
  sending(item: OutboxItem, messageID: string, partID: string): Result<void, FileFailure>
  /** It was not sent after all. */
  unsent(item: OutboxItem): Result<void, FileFailure>
  delivered(item: OutboxItem): Result<void, FileFailure>
  giveUp(item: OutboxItem, reason: string): Result<void, FileFailure>
  /** Not delivered and not given up, in order. */
  open(): readonly OutboxItem[]
  ofIntent(intentID: string): readonly OutboxItem[]
}

export type StageRefusal =
  | { readonly kind: "blank"; readonly text: string }
  | { readonly kind: "too_long"; readonly text: string }
  | { readonly kind: "full"; readonly text: string }
  | { readonly kind: "io"; readonly text: string }

type Line =
  | ({ readonly t: "staged" } & Pick<OutboxItem, "id" | "seq" | "source" | "kind" | "text" | "at" | "intentID">)
  | { readonly t: "sending"; readonly id: string; readonly messageID: string; readonly partID: string }
  | { readonly t: "unsent"; readonly id: string }
  | { readonly t: "delivered"; readonly id: string }
  | { readonly t: "given_up"; readonly id: string; readonly reason: string }

/** Opens the journal; nothing is read before the first use. Lines that cannot be read are reported once and passed over. */
export function openOutbox(path: string, report: (text: string) => void): Outbox {
  const items = new Map<string, OutboxItem>()
  let size = -1
  let seq = 0
  let reported = 0

  function refresh(): Result<void, FileFailure> {
    if (sizeNow(path) === size) return ok()
    const read = readLinesNow(path)
    if (!read.ok) return read
    size = read.value.size
    items.clear()
    seq = 0
    for (const line of read.value.lines) apply(line as Line)
    if (read.value.bad.length > reported) {
      reported = read.value.bad.length
      report(`${path}: line ${read.value.bad.map((bad) => bad.line).join(", ")} cannot be read`)
    }
    return ok()
  }

  function apply(line: Line) {
    if (line?.t === "staged") {
      seq = Math.max(seq, line.seq)
      const { t: _, ...rest } = line
      items.set(line.id, { ...rest, attempts: 0, state: "staged" })
      return
    }
    const item = items.get(line?.id)
    if (!item) return
    if (line.t === "sending") {
      item.attempts++
      item.messageID = line.messageID
      item.partID = line.partID
    }
    if (line.t === "unsent") item.attempts--
    item.state = line.t === "unsent" ? "staged" : line.t
  }

  function write(line: Line): Result<void, FileFailure> {
    const before = sizeNow(path)
    const written = append(path, line)
    if (!written.ok) return written
    // Only when nobody else has written in between is our own picture still the file's.
    if (before === size || (size === -1 && before === 0)) {
      size = sizeNow(path)
      apply(line)
    }
    return refresh()
  }

  const open = () => [...items.values()].filter((item) => item.state === "staged" || item.state === "sending")

  return {
    stage(item) {
      const chars = item.text.length
      if (item.text.trim() === "") return err({ kind: "blank", text: "there is nothing to tell" })
      if (chars > MAX_CHARS) return err({ kind: "too_long", text: `${chars} characters, ${MAX_CHARS} at most` })
      const read = refresh()
      if (!read.ok) return err({ kind: "io", text: read.error.text })
      const waiting = open()
      const total = waiting.reduce((sum, other) => sum + other.text.length, chars)
      if (waiting.length >= MAX_STAGED || total > MAX_STAGED_CHARS) {
        return err({ kind: "full", text: `${waiting.length} contexts are waiting already` })
      }
      const { id, source, kind, text, at, intentID } = item
      const line = { t: "staged", id, seq: seq + 1, source, kind, text, at, ...(intentID ? { intentID } : {}) } as const
      const written = write(line)
      return written.ok ? ok(items.get(id)!) : err({ kind: "io", text: written.error.text })
    },
    next(intentID) {
      refresh()
      return open().find((item) => item.intentID === undefined || item.intentID === intentID)
    },
    sending: (item, messageID, partID) => write({ t: "sending", id: item.id, messageID, partID }),
    unsent: (item) => write({ t: "unsent", id: item.id }),
    delivered: (item) => write({ t: "delivered", id: item.id }),
    giveUp: (item, reason) => write({ t: "given_up", id: item.id, reason }),
    open() {
      refresh()
      return open()
    },
    ofIntent(intentID) {
      refresh()
      return [...items.values()].filter((item) => item.intentID === intentID)
    },
  }
}
