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
  type Timer = { readonly at: number; readonly run: () => void }
  /** In the order in which they fall due; those of one time in the order in which they were set. */
  const timers: Timer[] = []
  let elapsed = 0

  function place(at: number): number {
    let [low, high] = [0, timers.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (timers[middle]!.at <= at) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    now: () => start + elapsed,
    monotonic: () => elapsed,
    setTimer(ms, run) {
      const timer: Timer = { at: elapsed + Math.max(0, ms), run }
      timers.splice(place(timer.at), 0, timer)
      return () => {
        const index = timers.lastIndexOf(timer, place(timer.at) - 1)
        if (index >= 0) timers.splice(index, 1)
      }
    },
    async advance(ms) {
      const until = elapsed + ms
      await settle()
      while (timers[0] && timers[0].at <= until) {
        const timer = timers.shift()!
        elapsed = Math.max(elapsed, timer.at)
        timer.run()
        await settle()
      }
      elapsed = until
    },
    pending: () => timers.length,
  }
}

/** Lets everything that waits only for promises (not for time or I/O) run to its end. */
export async function settle(rounds = 50): Promise<void> {
  for (let i = 0; i < rounds; i++) await Promise.resolve()
}
