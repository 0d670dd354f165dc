/** Time for everything outside `core`. Tests pass a manual one. */
export interface Clock {
  /** Milliseconds since the epoch, for what is stored and shown. */
  now(): number
  /** Milliseconds that never jump, for holds, settles and time-outs. */
  monotonic(): number
  /** Runs once after `ms`; the timer never keeps the process alive. Returns the cancel. */
  setTimer(ms: number, run: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
