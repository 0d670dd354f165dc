import type { Occupation } from "../core/decide.ts"
import type { Claim } from "../core/task.ts"

/** What this process is at right now, and with that, which stored claims are alive. */
export interface Occupancy {
  /** Runs one long action of a task; a second one of the same task is refused with `false`. */
  occupy<T>(sessionID: string, what: Occupation, action: (signal: AbortSignal) => Promise<T>): Promise<T | false>
  occupation(sessionID: string): Occupation | undefined
  /** Ends the long action of a task that can be ended. */
  interrupt(sessionID: string, reason?: unknown): void
  interruptAll(reason: unknown): void
  /** Runs the making of one part of a task. */
  claiming<T>(sessionID: string, part: string, action: () => Promise<T>): Promise<T>
  isClaiming(sessionID: string, part: string): boolean
  /** A claim of ours lives as long as we are at it: one that we gave up half way is taken up again. */
  holds(claim: Claim | undefined, atIt: boolean): boolean
}

export function makeOccupancy(self: Claim, alive: (claim: Claim) => boolean | "elsewhere"): Occupancy {
  const occupied = new Map<string, { readonly what: Occupation; readonly controller: AbortController }>()
  const parts = new Set<string>()
  return {
    async occupy(sessionID, what, action) {
      if (occupied.has(sessionID)) return false
      const controller = new AbortController()
      occupied.set(sessionID, { what, controller })
      try {
        return await action(controller.signal)
      } finally {
        occupied.delete(sessionID)
      }
    },
    occupation: (sessionID) => occupied.get(sessionID)?.what,
    interrupt: (sessionID, reason) => occupied.get(sessionID)?.controller.abort(reason),
    interruptAll(reason) {
      for (const { controller } of occupied.values()) controller.abort(reason)
    },
    async claiming(sessionID, part, action) {
      const key = `${sessionID}:${part}`
      parts.add(key)
      try {
        return await action()
      } finally {
        parts.delete(key)
      }
    },
    isClaiming: (sessionID, part) => parts.has(`${sessionID}:${part}`),
    holds(claim, atIt) {
      if (claim === undefined) return false
      const mine = claim.pid === self.pid && claim.start === self.start && claim.host === self.host
      return mine ? atIt : alive(claim) !== false
    },
  }
}
