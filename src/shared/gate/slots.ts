import type { Clock } from "../clock.ts"

/**
 * Who may send into which session, for all copies of the gate in this thread: the map stands on `globalThis`, because
 * the same plugin can be loaded twice (from npm and by path) and both would otherwise guard only themselves.
 */

/** What became of a wake. `active` and `reserved` are successful suppression, not a reason to try again. */
export type PromptAsyncGateResult =
  /** `already`: the transcript holds this intent's message, nothing was sent now. */
  | { readonly status: "dispatched"; readonly response: unknown; readonly already?: true }
  | { readonly status: "active" }
  | { readonly status: "reserved"; readonly reservedBy: string }
  | { readonly status: "unavailable" }
  | { readonly status: "failed"; readonly error: unknown }
  /** The host refused it; the same again would be refused again. */
  | { readonly status: "rejected"; readonly httpStatus: number }
  | { readonly status: "blocked"; readonly reason: BlockReason }

export type BlockReason = "reverted" | "archived" | "deleted" | "disposing"

/** `settling` and `checking` have sent nothing yet; `limbo` has sent something that has not come back in time. */
export type Stage = "settling" | "checking" | "sending" | "starting" | "holding" | "limbo"

export type Reservation = {
  readonly sessionID: string
  readonly source: string
  readonly kind: "wake" | "context"
  readonly directory: string | undefined
  stage: Stage
  /** The prompt's own id, from the moment before it is sent. */
  messageID?: string
  /** Set while nothing of the prompt is sent: why it must not be sent any more. */
  revoked?: PromptAsyncGateResult
  releaseAsked: boolean
  /** The turn was seen to run, and to end. */
  evidence: boolean
  ended: boolean
  holdUntil: number
  /** Until then what is in limbo may still arrive. */
  limboUntil: number
  readonly timers: Set<() => void>
  /** Ends the settle at once. */
  wake?: () => void
  inFlight?: Promise<unknown>
  /** Ends the wait for what is on its way; it is then nobody's any more. */
  abandon?: () => void
  /** The one pending look at the transcript. */
  recheck?: { readonly at: number; readonly cancel: () => void }
  mismatchLogged: boolean
}

export type Slot = {
  reservation?: Reservation
  /** A context on its way inside a tool hook of a running turn. */
  storing?: Reservation
  /** A turn that runs as far as is known. */
  turn?: { readonly source: string; readonly messageID?: string }
  leased: boolean
}

type Shared = { readonly slots: Map<string, Slot>; readonly gates: WeakMap<object, unknown> }

const KEY = Symbol.for("kagan/prompt-gate@1")

/** The one map of this thread. */
export function sharedSlots(): Shared {
  const holder = globalThis as { [KEY]?: Shared }
  holder[KEY] ??= { slots: new Map(), gates: new WeakMap() }
  return holder[KEY]
}

export function slotOf(sessionID: string): Slot | undefined {
  return sharedSlots().slots.get(sessionID)
}

/** Who holds the session, `undefined` when it is free to be reserved. */
export function holderOf(sessionID: string): string | undefined {
  const slot = slotOf(sessionID)
  return (slot?.reservation ?? slot?.storing)?.source
}

/** Takes the session, at once. The caller has made sure that it is free. */
export function reserve(
  seed: Pick<Reservation, "sessionID" | "source" | "kind" | "directory" | "stage">,
  as: "reservation" | "storing" = "reservation",
): Reservation {
  const reservation: Reservation = {
    ...seed,
    releaseAsked: false,
    evidence: false,
    ended: false,
    holdUntil: 0,
    limboUntil: 0,
    timers: new Set(),
    mismatchLogged: false,
  }
  const { slots } = sharedSlots()
  const slot = slots.get(seed.sessionID) ?? { leased: false }
  slot[as] = reservation
  slots.set(seed.sessionID, slot)
  return reservation
}

/** Whether the reservation still is the one that holds its session. */
export function holds(reservation: Reservation): boolean {
  const slot = slotOf(reservation.sessionID)
  return slot?.reservation === reservation || slot?.storing === reservation
}

/** Gives the session back. A reservation that no longer holds it changes nothing. */
export function free(reservation: Reservation): void {
  for (const cancel of reservation.timers) cancel()
  reservation.timers.clear()
  delete reservation.recheck
  const slot = slotOf(reservation.sessionID)
  if (slot?.reservation === reservation) delete slot.reservation
  if (slot?.storing === reservation) delete slot.storing
}

/** A timer that dies with the reservation. */
export function arm(clock: Clock, reservation: Reservation, ms: number, run: () => void): () => void {
  const cancel = clock.setTimer(ms, () => {
    reservation.timers.delete(cancel)
    run()
  })
  reservation.timers.add(cancel)
  return () => {
    reservation.timers.delete(cancel)
    cancel()
  }
}

/** Whether a send of it has not come back. */
export function isSending(reservation: Reservation | undefined): boolean {
  return reservation?.stage === "sending" || reservation?.stage === "limbo"
}

/** Says why nothing of it must be sent any more, and ends its settle. */
export function revoke(reservation: Reservation, result: PromptAsyncGateResult): void {
  reservation.revoked ??= result
  reservation.wake?.()
}

export type Release = { readonly reservedBy?: string | readonly string[]; readonly reservedByPrefix?: string }

/** Only the exact owner matches, or a prefix that ends with a colon: `runtime` would match strangers. */
export function matches(source: string, release: Release): boolean {
  const owners = typeof release.reservedBy === "string" ? [release.reservedBy] : (release.reservedBy ?? [])
  if (owners.includes(source)) return true
  const prefix = release.reservedByPrefix
  return prefix !== undefined && prefix.length > 1 && prefix.endsWith(":") && source.startsWith(prefix)
}
