import type { TaskMeta } from "../core/task.ts"
import { isOnReview } from "./snapshot.ts"

/** Cards in Review bear on each other: what one changes, another may change too. */
export interface Neighbours {
  /** A look has read this task: where its snapshot is another one now, or none, the others are looked at. */
  saw(meta: TaskMeta): void
  /** Looks at every card in Review: a branch has moved. */
  lookAtAll(): void
}

export function makeNeighbours(look: (sessionID: string) => void): Neighbours {
  const snapshots = new Map<string, string | undefined>()

  function lookAtAll(except?: string) {
    for (const [id, commit] of snapshots) if (id !== except && commit !== undefined) look(id)
  }

  return {
    saw(meta) {
      const known = snapshots.has(meta.sessionID)
      const before = snapshots.get(meta.sessionID)
      const now = isOnReview(meta) ? meta.review?.snapshot?.commit : undefined
      snapshots.set(meta.sessionID, now)
      if (known && before !== now) lookAtAll(meta.sessionID)
    },
    lookAtAll: () => lookAtAll(),
  }
}
