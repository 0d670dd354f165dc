import { randomUUID } from "node:crypto"
import { link, mkdir, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { err, ok, type Result } from "../core/result.ts"
import type { Claim } from "../core/task.ts"
import type { Clock } from "./clock.ts"
import {
  alive,
  codeOf,
  dropClaim,
  isMine,
  readClaim,
  self,
  takeClaim,
  textOf,
  type ClaimFailure,
  type HeldClaim,
  type Identity,
} from "./store/claim.ts"
import {
  append,
  names,
  readJson,
  readLines,
  readLinesNow,
  readTextFile,
  remove,
  watch,
  writeJson,
  writeText,
  type FileFailure,
} from "./store/files.ts"

/**
 * The files beside the host's database, one folder per repository, shared by all its worktrees and windows:
 *
 *   <git common dir>/kagan/{id, lock, counter.json, tasks/<n>.json, drafts/<id>.json, leases/<sessionID>,
 *                           <sessionID>/{description.md, history.jsonl, outbox.jsonl, merge.json, checks/,
 *                                        comments.json, viewed.json, send-back-<generation>.md}}
 *
 * `openStore` does no I/O. Every expected failure is a value. Paths come from `paths` alone.
 */
export interface Store {
  readonly dir: string
  readonly paths: Paths
  /** The repository's random id, made once by whoever asks first. */
  repoID(): Promise<Result<string, FileFailure>>
  /**
   * Runs `work` as the only one in all processes: hold it for a read-change-write, never across git, a hook or a model.
   * Waits up to `waitMs` (10 s), takes over from a dead holder, is not reentrant.
   */
  withLock<T>(work: () => Promise<T>, waitMs?: number): Promise<Result<T, LockFailure>>
  /** The first of `count` numbers that no task, draft or purged task ever had. Takes the lock itself. */
  nextTaskNumber(count?: number): Promise<Result<number, FileFailure | LockFailure>>
  /** The numbers of all records, ascending. */
  recordNumbers(): Promise<readonly number[]>
  readonly leases: Leases
  /** This process, for claims. */
  readonly self: Claim
  /** `"elsewhere"`: a claim of another host, which this one cannot judge. */
  alive(claim: Identity): boolean | "elsewhere"
  readonly readJson: typeof readJson
  readonly writeJson: typeof writeJson
  readonly readText: typeof readTextFile
  readonly writeText: typeof writeText
  readonly append: typeof append
  readonly readLines: typeof readLines
  readonly readLinesNow: typeof readLinesNow
  readonly names: typeof names
  readonly remove: typeof remove
  /** Calls back, once for a burst of changes in the folder; answers the disposer. */
  watch(dir: string, changed: () => void): Result<() => void, FileFailure>
}

export interface Paths {
  readonly tasks: string
  readonly drafts: string
  readonly leases: string
  record(taskNumber: number): string
  draft(id: string): string
  /** The folder of a session and what stands in it. */
  session(sessionID: string): SessionPaths
}

export type SessionPaths = {
  readonly dir: string
  readonly description: string
  readonly history: string
  readonly outbox: string
  readonly merge: string
  readonly checks: string
  /** The person's comments on the task's changes. */
  readonly comments: string
  /** Which files the person has marked as viewed, and which snapshot they looked at. */
  readonly viewed: string
  /** What the agent gets at the beginning of an iteration after the first, as the person sent it. */
  sendBack(generation: number): string
}

export type LockFailure = { readonly kind: "lock_busy" | "lock_io"; readonly text: string }

export type LeaseHolder = { readonly claim: HeldClaim; readonly mine: boolean; readonly alive: boolean | "elsewhere" }

/** Who runs a session. A lease has no heartbeat: it is lost only by the death of its process, on its own host. */
export interface Leases {
  /** Takes the session's lease, from a dead process of this host too; one that this process holds is taken already. */
  take(sessionID: string): Promise<Result<void, ClaimFailure>>
  /** Lets go; `false` when this process does not hold it. */
  release(sessionID: string): Promise<boolean>
  holder(sessionID: string): Promise<Result<LeaseHolder | undefined, FileFailure>>
  /** Takes it whoever holds it: only on the person's word, for a lease of another host. */
  seize(sessionID: string): Promise<Result<void, ClaimFailure>>
}

export type { ClaimFailure, FileFailure, HeldClaim, Identity }

const LOCK_WAIT_MS = 10_000
const LOCK_STEP_MS = 5
const LOCK_MAX_STEP_MS = 100

/** Opens the store of the repository with this git common directory. */
export function openStore(commonDir: string, parts: { readonly clock: Clock }): Store {
  const { clock } = parts
  const dir = join(commonDir, "kagan")
  const paths = pathsIn(dir)
  let queue: Promise<unknown> = Promise.resolve()

  async function repoID(): Promise<Result<string, FileFailure>> {
    const path = join(dir, "id")
    const found = await readTextFile(path)
    if (found.ok && found.value.trim() !== "") return ok(found.value.trim())
    if (!found.ok && found.error.kind !== "missing") return found
    if (found.ok) return err({ kind: "torn", text: `${path}: empty` })
    const temp = `${path}.${randomUUID()}.tmp`
    try {
      await mkdir(dir, { recursive: true })
      await writeFile(temp, `${randomUUID()}\n`, { flag: "wx", flush: true })
      await link(temp, path)
    } catch (cause) {
      if (codeOf(cause) !== "EEXIST") return err({ kind: "io", text: `${path}: ${textOf(cause)}` })
    } finally {
      await rm(temp, { force: true })
    }
    const made = await readTextFile(path)
    return made.ok ? ok(made.value.trim()) : made
  }

  function withLock<T>(work: () => Promise<T>, waitMs = LOCK_WAIT_MS): Promise<Result<T, LockFailure>> {
    const turn = queue.then(() => locked(work, waitMs))
    queue = turn.catch(() => undefined)
    return turn
  }

  async function locked<T>(work: () => Promise<T>, waitMs: number): Promise<Result<T, LockFailure>> {
    const path = join(dir, "lock")
    const until = clock.monotonic() + waitMs
    for (let step = LOCK_STEP_MS; ; step = Math.min(step * 2, LOCK_MAX_STEP_MS)) {
      const claim = await takeClaim(path, clock.now(), false)
      if (claim.ok) {
        try {
          return ok(await work())
        } finally {
          await dropClaim(path, claim.value.nonce)
        }
      }
      if (claim.error.kind === "io") return err({ kind: "lock_io", text: claim.error.text })
      if (clock.monotonic() + step > until) {
        return err({ kind: "lock_busy", text: `the repository lock is ${claim.error.text} for ${waitMs / 1000} s` })
      }
      await new Promise<void>((resolve) => clock.setTimer(step, resolve))
    }
  }

  async function nextTaskNumber(count = 1): Promise<Result<number, FileFailure | LockFailure>> {
    const answer = await withLock(async (): Promise<Result<number, FileFailure>> => {
      const last = await lastNumber()
      if (!last.ok) return last
      const written = await writeJson(join(dir, "counter.json"), { last: last.value + count })
      return written.ok ? ok(last.value + 1) : written
    })
    return answer.ok ? answer.value : answer
  }

  async function lastNumber(): Promise<Result<number, FileFailure>> {
    const path = join(dir, "counter.json")
    const counter = await readJson(path)
    if (!counter.ok && counter.error.kind !== "missing") return counter
    const counted = counter.ok ? (counter.value as { last?: unknown } | null)?.last : 0
    if (typeof counted !== "number" || !Number.isSafeInteger(counted) || counted < 0) {
      return err({ kind: "invalid", text: `${path}: "last" is no number` })
    }
    return ok(Math.max(counted, ...(await recordNumbers())))
  }

  async function recordNumbers(): Promise<readonly number[]> {
    const found = await names(paths.tasks)
    // A folder that cannot be listed has no records that could be read either.
    if (!found.ok) return []
    const numbers = found.value.flatMap((name) => /^(\d{1,9})\.json$/.exec(name)?.[1] ?? []).map(Number)
    return numbers.toSorted((a, b) => a - b)
  }

  return {
    dir,
    paths,
    repoID,
    withLock,
    nextTaskNumber,
    recordNumbers,
    leases: leasesIn(paths.leases, clock),
    self: { ...self(), at: clock.now() },
    alive,
    readJson,
    writeJson,
    readText: readTextFile,
    writeText,
    append,
    readLines,
    readLinesNow,
    names,
    remove,
    watch: (folder, changed) => watch(folder, clock, changed),
  }
}

function leasesIn(dir: string, clock: Clock): Leases {
  const pathOf = (sessionID: string) => join(dir, named(sessionID))

  async function take(sessionID: string): Promise<Result<void, ClaimFailure>> {
    const claim = await takeClaim(pathOf(sessionID), clock.now(), true)
    return claim.ok ? ok() : claim
  }

  return {
    take,
    async release(sessionID) {
      const claim = await readClaim(pathOf(sessionID)).catch(() => undefined)
      return claim !== undefined && isMine(claim) && dropClaim(pathOf(sessionID), claim.nonce)
    },
    async holder(sessionID) {
      try {
        const claim = await readClaim(pathOf(sessionID))
        return ok(claim && { claim, mine: isMine(claim), alive: alive(claim) })
      } catch (cause) {
        return err({ kind: "io", text: textOf(cause) })
      }
    },
    async seize(sessionID) {
      const removed = await remove(pathOf(sessionID))
      return removed.ok ? take(sessionID) : err({ kind: "io", text: removed.error.text })
    },
  }
}

function pathsIn(dir: string): Paths {
  const [tasks, drafts, leases] = [join(dir, "tasks"), join(dir, "drafts"), join(dir, "leases")]
  return {
    tasks,
    drafts,
    leases,
    record: (taskNumber) => join(tasks, `${taskNumber}.json`),
    draft: (id) => join(drafts, `${named(id)}.json`),
    session(sessionID) {
      const own = join(dir, named(sessionID))
      return {
        dir: own,
        description: join(own, "description.md"),
        history: join(own, "history.jsonl"),
        outbox: join(own, "outbox.jsonl"),
        merge: join(own, "merge.json"),
        checks: join(own, "checks"),
        comments: join(own, "comments.json"),
        viewed: join(own, "viewed.json"),
        sendBack: (generation) => join(own, `send-back-${generation}.md`),
      }
    },
  }
}

/** An id that becomes a file name: the host's ids fit; anything else is a bug of the caller, never a path. */
function named(id: string): string {
  if (!/^[A-Za-z0-9][A-Za-z0-9_-]{0,127}$/.test(id)) throw new Error(`not an id: ${JSON.stringify(id)}`)
  return id
}
