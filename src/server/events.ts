import { isDeepStrictEqual } from "node:util"
import { rawKagan } from "../core/codec.ts"
import type { Session } from "../shared/host.ts"
import type { HostEvent } from "../shared/session-event.ts"

/**
 * What one event of the host means for supervision: a session to look at, a relation to remember, or nothing. It never
 * says what happened; the look finds that out. Shapes: the host's event union (measured on 1.18.33).
 */
export type Hint =
  | { readonly kind: "look"; readonly sessionID: string }
  /** Nothing to look at, but the session lives. */
  | { readonly kind: "sign"; readonly sessionID: string }
  | { readonly kind: "session"; readonly session: Session; readonly deleted: boolean }
  | { readonly kind: "disposed"; readonly directory: string }

export function hintOf(event: HostEvent): Hint | undefined {
  const properties = (event.properties ?? {}) as Record<string, unknown>
  switch (event.type) {
    case "session.created":
    case "session.updated":
    case "session.deleted": {
      const info = properties.info as Session | undefined
      return info?.id ? { kind: "session", session: info, deleted: event.type === "session.deleted" } : undefined
    }
    case "session.status":
    case "session.idle":
    case "session.error":
    case "session.compacted":
    case "permission.asked":
    case "permission.replied":
    case "question.asked":
    case "question.replied":
    case "question.rejected":
      return look(properties.sessionID)
    case "message.updated": {
      const info = properties.info as
        | { sessionID?: unknown; role?: unknown; time?: { completed?: unknown } }
        | undefined
      // A streaming answer tells nothing that the status does not; its beginning and its end do.
      return info?.role === "user" || info?.time?.completed !== undefined ? look(info.sessionID) : sign(info?.sessionID)
    }
    case "message.part.updated": {
      const part = properties.part as { sessionID?: unknown; type?: unknown; state?: { status?: unknown } } | undefined
      return part?.type === "tool" && part.state?.status !== "pending" ? look(part.sessionID) : sign(part?.sessionID)
    }
    case "message.part.delta":
      return sign(properties.sessionID)
    case "server.instance.disposed":
      return typeof properties.directory === "string"
        ? { kind: "disposed", directory: properties.directory }
        : undefined
    default:
      return undefined
  }
}

function look(sessionID: unknown): Hint | undefined {
  return typeof sessionID === "string" ? { kind: "look", sessionID } : undefined
}

function sign(sessionID: unknown): Hint | undefined {
  return typeof sessionID === "string" ? { kind: "sign", sessionID } : undefined
}

/**
 * Whether two rows of a session are the same in all that a look depends on. The host repeats the whole row with each
 * change of cost, tokens and time; only another row in this sense is worth a look.
 */
export function isSameRow(one: Session | undefined, other: Session | undefined): boolean {
  if (one === other) return true
  if (!one || !other) return false
  if (one.title !== other.title || one.revert?.messageID !== other.revert?.messageID) return false
  return (
    one.time.archived === other.time.archived && isDeepStrictEqual(rawKagan(one.metadata), rawKagan(other.metadata))
  )
}
