import type { Leases } from "../store.ts"
import { sharedSlots } from "./slots.ts"

/** The lease of a session, held while its slot is in use. Takes and gives of one session never overlap. */
export interface SlotLeases {
  /** `undefined`: this process holds it. Otherwise who does. */
  take(sessionID: string): Promise<string | undefined>
  /** Forgets the slot, and gives its lease back, once nothing uses it. */
  dropIfUnused(sessionID: string): void
  /** Resolves when no take or give is under way. */
  settled(): Promise<void>
}

export function makeSlotLeases(leases: Pick<Leases, "take" | "release"> | undefined): SlotLeases {
  const { slots } = sharedSlots()
  const underWay = new Map<string, Promise<unknown>>()

  function serially<T>(sessionID: string, work: () => Promise<T>): Promise<T> {
    const before = underWay.get(sessionID) ?? Promise.resolve()
    const next = before.then(work, work)
    underWay.set(sessionID, next)
    const done = () => {
      if (underWay.get(sessionID) === next) underWay.delete(sessionID)
    }
    next.then(done, done)
    return next
  }

  function giveBack(sessionID: string) {
    void serially(sessionID, async () => {
      // Somebody may have come for the session in the meantime, and relies on the file.
      if (!slots.has(sessionID)) await leases?.release(sessionID)
    })
  }

  return {
    async take(sessionID) {
      if (!leases) return undefined
      const taken = await serially(sessionID, () => leases.take(sessionID))
      if (!taken.ok) return taken.error.text
      const slot = slots.get(sessionID)
      if (slot) slot.leased = true
      else giveBack(sessionID)
      return undefined
    },
    dropIfUnused(sessionID) {
      const slot = slots.get(sessionID)
      if (!slot || slot.reservation || slot.storing || slot.turn) return
      slots.delete(sessionID)
      if (slot.leased && leases) giveBack(sessionID)
    },
    async settled() {
      await Promise.allSettled(underWay.values())
    },
  }
}
