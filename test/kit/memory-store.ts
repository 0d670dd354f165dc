import { err, ok } from "../../src/core/result.ts"
import type { Claim } from "../../src/core/task.ts"
import type { Clock } from "../../src/shared/clock.ts"
import type { FileFailure, HeldClaim, LeaseHolder, Store } from "../../src/shared/store.ts"
import { join } from "node:path"

/** What lies on disk: shared by the processes of one model world, and by whoever comes after a crash. */
export interface Disk {
  readonly files: Map<string, string>
  readonly lines: Map<string, unknown[]>
  lock: Holder | undefined
  readonly leases: Map<string, Holder>
  readonly watchers: Set<{ readonly dir: string; readonly by: Holder; changed(): void }>
  last: number
  /** As long as it is set, nothing can be written. */
  full?: boolean
}

/** One process of the model world. */
export interface Holder {
  readonly pid: number
  readonly alive: boolean
}

export function makeDisk(): Disk {
  return { files: new Map(), lines: new Map(), lock: undefined, leases: new Map(), watchers: new Set(), last: 0 }
}

/**
 * The store of one process over a disk that several share. `pass` is called around each operation: it lets time go by,
 * and never comes back once the process is dead. `folder` is a real one, for the outbox, which is written directly.
 */
export function memoryStore(
  disk: Disk,
  me: Holder,
  parts: { readonly clock: Clock; readonly folder: string; pass(name: string): Promise<void> },
): Store {
  const { clock, pass } = parts
  const claimOf = (holder: Holder): HeldClaim => ({
    pid: holder.pid,
    start: "model",
    host: "model",
    at: 0,
    nonce: String(holder.pid),
  })
  const processes = processesOf(disk)
  processes.set(me.pid, me)
  const tasks = "/store/tasks"
  let queue: Promise<unknown> = Promise.resolve()
  const parsed = new Map<string, { readonly text: string; readonly value: unknown }>()

  const missing = (path: string) => err<FileFailure>({ kind: "missing", text: path })
  function wrote(path: string) {
    for (const watcher of disk.watchers) {
      if (watcher.by.alive && path.startsWith(`${watcher.dir}/`)) watcher.changed()
    }
  }

  async function locked<T>(work: () => Promise<T>) {
    for (;;) {
      await pass("lock")
      if (disk.lock === undefined || !disk.lock.alive) break
      await new Promise<void>((resolve) => clock.setTimer(5, resolve))
    }
    disk.lock = me
    try {
      return ok(await work())
    } finally {
      if (disk.lock === me) disk.lock = undefined
    }
  }

  const store: Store = {
    dir: "/store",
    paths: {
      tasks,
      drafts: "/store/drafts",
      leases: "/store/leases",
      record: (number) => `${tasks}/${number}.json`,
      draft: (id) => `/store/drafts/${id}.json`,
      session: (sessionID) => ({
        dir: `/store/${sessionID}`,
        description: `/store/${sessionID}/description.md`,
        history: `/store/${sessionID}/history.jsonl`,
        outbox: join(parts.folder, `${sessionID}.jsonl`),
        merge: `/store/${sessionID}/merge.json`,
        checks: `/store/${sessionID}/checks`,
        comments: `/store/${sessionID}/comments.json`,
        viewed: `/store/${sessionID}/viewed.json`,
        sendBack: (generation) => `/store/${sessionID}/send-back-${generation}.md`,
      }),
    },
    repoID: async () => ok("repo"),
    withLock(work) {
      const turn = queue.then(() => locked(work))
      queue = turn.catch(() => undefined)
      return turn
    },
    nextTaskNumber: async (count = 1) => {
      const first = disk.last + 1
      disk.last += count
      return ok(first)
    },
    async recordNumbers() {
      return [...disk.files.keys()]
        .flatMap((path) => /^\/store\/tasks\/(\d+)\.json$/.exec(path)?.[1] ?? [])
        .map(Number)
        .toSorted((a, b) => a - b)
    },
    leases: {
      async take(sessionID) {
        await pass("lease")
        const holder = disk.leases.get(sessionID)
        if (holder && holder !== me && holder.alive)
          return err({ kind: "held", holder: claimOf(holder), text: `held by process ${holder.pid}` })
        disk.leases.set(sessionID, me)
        return ok()
      },
      async release(sessionID) {
        await pass("lease")
        return disk.leases.get(sessionID) === me && disk.leases.delete(sessionID)
      },
      async holder(sessionID) {
        await pass("lease")
        const holder = disk.leases.get(sessionID)
        if (!holder) return ok(undefined)
        const found: LeaseHolder = { claim: claimOf(holder), mine: holder === me, alive: holder.alive }
        return ok(found)
      },
      async seize(sessionID) {
        disk.leases.set(sessionID, me)
        return ok()
      },
    },
    self: claimOf(me) satisfies Claim,
    alive: (claim) => processes.get(claim.pid)?.alive ?? false,
    async readJson(path) {
      await pass("read")
      const text = disk.files.get(path)
      if (text === undefined) return missing(path)
      // Nobody changes what was read; the same text again is the same value.
      const known = parsed.get(path)
      if (known?.text === text) return ok(known.value)
      const value: unknown = JSON.parse(text)
      parsed.set(path, { text, value })
      return ok(value)
    },
    async writeJson(path, value) {
      return store.writeText(path, JSON.stringify(value))
    },
    async readText(path) {
      const text = disk.files.get(path)
      return text === undefined ? missing(path) : ok(text)
    },
    async writeText(path, text) {
      await pass("write")
      if (disk.full) return err<FileFailure>({ kind: "io", text: `${path}: no space left on device` })
      disk.files.set(path, text)
      wrote(path)
      await pass("written")
      return ok()
    },
    append(path, value) {
      if (me.alive) disk.lines.set(path, [...(disk.lines.get(path) ?? []), value])
      return ok()
    },
    readLines: async (path) => ok({ lines: disk.lines.get(path) ?? [], bad: [], size: 0 }),
    readLinesNow: (path) => ok({ lines: disk.lines.get(path) ?? [], bad: [], size: 0 }),
    async names(dir) {
      return ok(
        [...disk.files.keys()].filter((path) => path.startsWith(`${dir}/`)).map((path) => path.slice(dir.length + 1)),
      )
    },
    async remove(path) {
      disk.files.delete(path)
      return ok()
    },
    watch(dir, changed) {
      const watcher = { dir, by: me, changed: () => void clock.setTimer(20, changed) }
      disk.watchers.add(watcher)
      return ok(() => void disk.watchers.delete(watcher))
    },
  }
  return store
}

const worlds = new WeakMap<Disk, Map<number, Holder>>()

function processesOf(disk: Disk): Map<number, Holder> {
  const found = worlds.get(disk) ?? new Map<number, Holder>()
  worlds.set(disk, found)
  return found
}
