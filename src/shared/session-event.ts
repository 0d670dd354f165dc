/** An event of the host, by its outer shape; what is inside is checked as it is read. */
export type HostEvent = { readonly type: string; readonly properties?: unknown }

export type SessionInfo = { readonly directory?: string; readonly blocked?: "reverted" | "archived" }

/** What one event says about one session. */
export type SessionEvent =
  | { readonly kind: "busy"; readonly sessionID: string; readonly retryUntil?: number }
  | { readonly kind: "idle"; readonly sessionID: string }
  | { readonly kind: "session"; readonly sessionID: string; readonly info: SessionInfo }
  | { readonly kind: "dead"; readonly sessionID: string }
  | { readonly kind: "disposed"; readonly directory: string }
  | { readonly kind: "answer"; readonly sessionID: string; readonly parentID: string }
  | { readonly kind: "error"; readonly sessionID: string; readonly error: unknown }

type Bag = { readonly [key: string]: unknown }

const isBag = (value: unknown): value is Bag => typeof value === "object" && value !== null
const text = (value: unknown) => (typeof value === "string" && value !== "" ? value : undefined)

/** The few events that say what a session is doing (1.18.33); everything else is none of the tracker's business. */
export function readEvent({ type, properties }: HostEvent): SessionEvent | undefined {
  if (!isBag(properties)) return undefined
  const info = isBag(properties.info) ? properties.info : {}
  if (type === "server.instance.disposed") {
    const directory = text(properties.directory)
    return directory === undefined ? undefined : { kind: "disposed", directory }
  }
  const sessionID = text(properties.sessionID) ?? text(info.sessionID) ?? text(info.id)
  if (sessionID === undefined) return undefined
  switch (type) {
    case "session.status": {
      const status = isBag(properties.status) ? properties.status : {}
      if (status.type === "idle") return { kind: "idle", sessionID }
      return { kind: "busy", sessionID, ...(typeof status.next === "number" ? { retryUntil: status.next } : {}) }
    }
    case "session.idle":
      return { kind: "idle", sessionID }
    case "session.created":
    case "session.updated": {
      const time = isBag(info.time) ? info.time : {}
      const blocked = isBag(info.revert) ? "reverted" : time.archived ? "archived" : undefined
      const directory = text(info.directory)
      return {
        kind: "session",
        sessionID,
        info: { ...(directory ? { directory } : {}), ...(blocked ? { blocked } : {}) },
      }
    }
    case "session.deleted":
      return { kind: "dead", sessionID }
    case "session.error":
      return { kind: "error", sessionID, error: properties.error }
    case "message.updated": {
      const parentID = text(info.parentID)
      return info.role === "assistant" && parentID ? { kind: "answer", sessionID, parentID } : undefined
    }
    default:
      return undefined
  }
}
