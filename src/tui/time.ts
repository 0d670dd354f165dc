/** Time as the screen needs it; tests pass a manual one. */
export type Time = {
  /** Milliseconds since the epoch. */
  now(): number
  /** Runs once after `ms`; never keeps the process alive. Returns the cancel. */
  setTimer(ms: number, run: () => void): () => void
}

export const systemTime: Time = {
  now: () => Date.now(),
  setTimer(ms, run) {
    const timer = setTimeout(run, ms)
    timer.unref?.()
    return () => clearTimeout(timer)
  },
}
