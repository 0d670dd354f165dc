import type { LogLevel } from "../host.ts"
import type { Change, SessionState } from "../session-state.ts"
import type { Flight } from "./flight.ts"
import type { SlotLeases } from "./leases.ts"
import { revoke, sharedSlots, type Reservation } from "./slots.ts"

/** What the gate makes of what happens in the sessions: signs of its turns, their ends, and other people's prompts. */
export function listen(parts: {
  readonly state: SessionState
  readonly flight: Flight
  readonly leases: SlotLeases
  readonly mine: ReadonlySet<Reservation>
  readonly tell: (level: LogLevel, about: Pick<Reservation, "sessionID" | "source">, what: string) => void
  readonly isDisposed: () => boolean
}): (change: Change) => void {
  const { state, flight, leases, mine, tell, isDisposed } = parts
  const { slots } = sharedSlots()

  function heard(change: Change) {
    if (change.kind === "unfenced" || change.kind === "unblocked") return
    if (change.kind === "fenced") return fenced(change.directory)
    if (change.kind === "dead") return flight.bury(change.sessionID)
    const { sessionID } = change
    const slot = slots.get(sessionID)
    const reservation = slot?.reservation
    switch (change.kind) {
      case "foreign_prompt":
        if (reservation) revoke(reservation, { status: "active" })
        return
      case "busy": {
        if (reservation) flight.sign(reservation)
        const ours = slot?.turn ?? (reservation?.evidence ? reservation : undefined)
        const away = isDisposed() || state.isFenced(state.directoryOf(sessionID))
        if (!ours && !away && state.tracked(sessionID)) void watchTurn(sessionID)
        return
      }
      case "answer":
        if (reservation?.messageID === change.parentID) flight.sign(reservation)
        return
      case "error":
        if (reservation) flight.doubt(reservation)
        return
      case "idle":
        if (slot) delete slot.turn
        if (reservation) flight.rest(reservation)
        return leases.dropIfUnused(sessionID)
    }
  }

  /** A turn that somebody else started in a session of ours: the lease tells other windows that it runs here. */
  async function watchTurn(sessionID: string) {
    const slot = slots.get(sessionID) ?? { leased: false }
    slot.turn = { source: "foreign:prompt" }
    slots.set(sessionID, slot)
    const elsewhere = await leases.take(sessionID)
    if (elsewhere === undefined) return
    tell("warn", { sessionID, source: "foreign:prompt" }, `a turn runs here while its lease is ${elsewhere}`)
  }

  function fenced(directory: string) {
    for (const reservation of mine) if (reservation.directory === directory) flight.retire(reservation)
    for (const [sessionID, slot] of slots) {
      if (!slot.turn || state.directoryOf(sessionID) !== directory) continue
      delete slot.turn
      leases.dropIfUnused(sessionID)
    }
  }

  return heard
}
