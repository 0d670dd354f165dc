import { afterEach, beforeEach } from "vitest"

/**
 * The tests of this file tell one story: each begins where the one before it ended. After the first that fails the
 * others are skipped, since they could only wait in vain.
 */
export function oneStory(): void {
  let failed: string | undefined
  beforeEach(({ skip }) => {
    if (failed !== undefined) skip(`“${failed}” failed before it`)
  })
  afterEach(({ task }) => {
    if (task.result?.state === "fail") failed ??= task.name
  })
}
