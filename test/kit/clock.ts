import type { Clock } from "../../src/shared/clock.ts"

export interface ManualClock extends Clock {
  /**
   * Moves time on by `ms`, runs what falls due in order of its time (also what those runs set), and lets the promises
   * that they settle go on before the next timer fires.
   */
  advance(ms: number): Promise<void>
  /** How many timers are armed. */
  pending(): number
}

/** A clock that stands still until it is told to move. */
export function manualClock(start = Date.UTC(2030, 0, 1)): ManualClock {
  type Timer = { at: number; order: number; run: () => void }
  const timers = new Set<Timer>()
  let elapsed = 0
  let order = 0

  function nextDue(until: number): Timer | undefined {
    let first: Timer | undefined
    for (const timer of timers) {
      if (timer.at > until) continue
      if (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order)) first = timer
    }
    return first
  }

  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    setTimer(ms, run) {
      const timer: Timer = { at: elapsed + Math.max(0, ms), order: order++, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      for (let timer = nextDue(until); timer; timer = nextDue(until)) {
        timers.delete(timer)
        elapsed = Math.max(elapsed, timer.at)
        timer.run()
        await settle()
      }
      elapsed = until
    },
    pending: () => timers.size,
  }
}

/** Lets everything that waits only for promises (not for time or I/O) run to its end. */
export async function settle(rounds = 50): Promise<void> {
  for (let i = 0; i < rounds; i++) await Promise.resolve()
}
