import { lstat, rm } from "node:fs/promises"
import { join } from "node:path"
import type { Clock } from "../clock.ts"
import { ioFailure, type GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"

/*
 * Locks that a git of ours left when it was killed, in places where nobody else works. Of other places Kagan removes
 * none, however old: it names them.
 */

/** Git holds such a lock for an instant; one this old was left behind. */
const LEFT_BEHIND_MS = 60_000

/** Changes a name that only Kagan writes: a snapshot's, or a task branch's while no turn runs. */
export async function onOwnRef<T>(repo: Repository, ref: string, attempt: () => GitResult<T>): GitResult<T> {
  const { clock } = repo.git
  const lock = join(repo.commonDir, `${ref}.lock`)
  const foreign = (await ageOf(lock, clock)) !== undefined
  const first = await whileLocked(clock, attempt)
  if (first.ok) return first
  const { kind } = first.error
  try {
    if (!foreign && (kind === "killed" || kind === "timed_out")) await rm(lock, { force: true })
    return kind === "locked" && (await dropLeftLock(lock, clock)) ? await attempt() : first
  } catch (error) {
    return ioFailure(lock, "removing", error)
  }
}

/** Removes a lock that is too old to be held; answers whether it did. */
export async function dropLeftLock(lock: string, clock: Clock): Promise<boolean> {
  const age = await ageOf(lock, clock)
  if (age === undefined || age < LEFT_BEHIND_MS) return false
  await rm(lock, { force: true })
  return true
}

async function ageOf(path: string, clock: Clock): Promise<number | undefined> {
  const there = await lstat(path).catch(() => undefined)
  return there && clock.now() - there.mtimeMs
}
