import type { Clock } from "../shared/clock.ts"
import type { Trees } from "./trees.ts"

/**
 * Tells when a branch that cards in Review are measured against has moved, whoever moved it. Git's folder of branches is
 * watched; while nothing happens there, nothing is asked and no timer runs.
 */
export interface BranchWatch {
  /** Answers whether one of these was not followed before: it may have moved until now. */
  follow(branches: readonly string[]): Promise<boolean>
  /** Compares now, for when no event came. */
  check(): Promise<void>
  dispose(): void
}

/** A burst of events may end before the branch is written, and its last event may be lost. */
const SETTLED_MS = 1_000

export function makeBranchWatch(parts: {
  readonly trees: Pick<Trees, "tips" | "watch">
  readonly clock: Clock
  log(text: string): void
  moved(): void
}): BranchWatch {
  const { trees, clock } = parts
  const followed = new Set<string>()
  let tips = ""
  let stop = () => {}
  let cancel: (() => void) | undefined
  let disposed = false
  let queue: Promise<unknown> = Promise.resolve()

  /** One at a time, in the order of asking. */
  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = queue.then(work)
    queue = done.catch(() => undefined)
    return done
  }

  async function read(): Promise<string | undefined> {
    const now = await trees.tips([...followed])
    if (!now.ok) parts.log(now.error.text)
    return now.ok ? now.value.join(" ") : undefined
  }

  function happened() {
    void check()
    cancel?.()
    cancel = clock.setTimer(SETTLED_MS, () => void check())
  }

  const check = () =>
    inTurn(async () => {
      if (disposed || followed.size === 0) return
      const now = await read()
      if (now === undefined || now === tips) return
      tips = now
      parts.moved()
    })

  return {
    check,
    follow: (branches) =>
      inTurn(async () => {
        const fresh = branches.filter((branch) => !followed.has(branch))
        if (fresh.length === 0 || disposed) return false
        for (const branch of fresh) followed.add(branch)
        const watching = await trees.watch([...followed], happened)
        stop()
        stop = watching.ok ? watching.value : () => {}
        if (!watching.ok) parts.log(`branches are not watched: ${watching.error.text}`)
        const before = tips
        tips = (await read()) ?? before
        return true
      }),
    dispose() {
      disposed = true
      stop()
      cancel?.()
    },
  }
}
