import { messageID, partID } from "../../core/ids.ts"
import type { ContextMark } from "../../core/turn.ts"
import type { Clock } from "../clock.ts"
import { identityOf, type Identity } from "../gate/prompt.ts"
import type { Host, LogLevel, PromptInput } from "../host.ts"
import type { ContextArgs, Contexts, PromptAsyncGateResult } from "../prompt-async-gate.ts"
import type { SessionState } from "../session-state.ts"
import type { Outbox, OutboxItem } from "./outbox.ts"

const MAX_ATTEMPTS = 5
const IDENTITY_LENGTHS = [30, 300] as const

/** Makes what feeds a session's outbox to the gate, item by item. */
export function makeSender(parts: {
  readonly host: Pick<Host, "session" | "messages" | "message">
  readonly state: Pick<SessionState, "inTool">
  readonly clock: Clock
  readonly tell: (level: LogLevel, sessionID: string, what: string, extra?: Record<string, unknown>) => void
  readonly isAway: (sessionID: string) => boolean
}): (sessionID: string, outbox: Outbox, intentID: string | undefined, at: ContextArgs["at"]) => Contexts {
  const { host, state, clock, tell, isAway } = parts

  /** The staged items in order, each written down before it is sent and after it has arrived. The head blocks. */
  async function* send(
    sessionID: string,
    outbox: Outbox,
    intentID: string | undefined,
    at: ContextArgs["at"],
  ): Contexts {
    let identity: Identity | undefined
    for (;;) {
      const item = outbox.next(intentID)
      if (!item) return true
      if (isAway(sessionID)) return false
      if (item.state === "sending" && (await arrived(sessionID, item, outbox))) continue
      if (outbox.next(intentID)?.id !== item.id) continue
      if (item.attempts >= MAX_ATTEMPTS) {
        giveUp(sessionID, item, outbox, `not stored after ${item.attempts} attempts`)
        continue
      }
      if (isAway(sessionID)) return false
      identity ??= await askIdentity(sessionID)
      if (!identity) return false
      if (at !== "idle" && !state.inTool(sessionID, at.toolCall)) return false
      const now = clock.now()
      const ids = { message: item.messageID ?? messageID(now, item.id), part: item.partID ?? partID(now, item.id) }
      const attempt = item.attempts + 1
      const written = outbox.sending(item, ids.message, ids.part)
      if (!written.ok) {
        tell("error", sessionID, written.error.text)
        return false
      }
      let result: PromptAsyncGateResult | undefined
      try {
        result = yield messageOf(sessionID, item, ids, identity)
      } finally {
        // The gate stopped before it sent this one: that was no attempt.
        if (!result) outbox.unsent(item)
      }
      if (result.status === "dispatched") {
        const noted = outbox.delivered(item)
        if (!noted.ok) tell("error", sessionID, noted.error.text)
        continue
      }
      if (result.status === "rejected" && result.httpStatus !== 404) {
        giveUp(sessionID, item, outbox, `refused with ${result.httpStatus}`)
        continue
      }
      const { id, source } = item
      tell("error", sessionID, `not stored: ${result.status}`, { id, source, attempt, ...textOf(result) })
      return false
    }
  }

  /** After doubt the transcript is asked; only a proven absence is sent again. */
  async function arrived(sessionID: string, item: OutboxItem, outbox: Outbox): Promise<boolean> {
    const found = await host.message(sessionID, item.messageID!)
    if (!found.ok || found.value === undefined) return false
    outbox.delivered(item)
    return true
  }

  function giveUp(sessionID: string, item: OutboxItem, outbox: Outbox, reason: string) {
    tell("error", sessionID, `given up: ${reason}`, { id: item.id, source: item.source })
    outbox.giveUp(item, reason)
  }

  async function askIdentity(sessionID: string): Promise<Identity | undefined> {
    for (const length of IDENTITY_LENGTHS) {
      if (isAway(sessionID)) return undefined
      const answer = await host.messages(sessionID, length)
      if (!answer.ok) return undefined
      const known = answer.value.some((message) => message.info.role === "user")
      if (known) return identityOf(undefined, answer.value)
      if (answer.value.length < length) break
    }
    if (isAway(sessionID)) return undefined
    const session = await host.session(sessionID)
    return session.ok ? identityOf(session.value, []) : undefined
  }

  return send
}

function messageOf(
  sessionID: string,
  item: OutboxItem,
  ids: { readonly message: string; readonly part: string },
  identity: Identity,
): PromptInput {
  const mark: ContextMark = { inject: item.id, seq: item.seq, source: item.source, kind: item.kind }
  const part = { id: ids.part, type: "text", text: item.text, synthetic: true, metadata: { kagan: mark } } as const
  return { sessionID, messageID: ids.message, noReply: true, ...identity, parts: [part] }
}

function textOf(result: PromptAsyncGateResult): Record<string, unknown> {
  return result.status === "failed" ? { error: String(result.error) } : {}
}
