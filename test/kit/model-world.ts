import { AsyncLocalStorage } from "node:async_hooks"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { DiffFile } from "../../src/core/diff.ts"
import { DEFAULT_OPTIONS, type Options } from "../../src/core/options.ts"
import type { ReviewFile } from "../../src/core/review-material.ts"
import { ok } from "../../src/core/result.ts"
import { columnOf, METADATA_VERSION, type TaskMeta } from "../../src/core/task.ts"
import { makeHandlers, type Handlers } from "../../src/server/requests.ts"
import { makeSupervision, type Supervision, type SupervisionParts } from "../../src/server/supervision.ts"
import type { Trees } from "../../src/server/trees.ts"
import type { CreateParts } from "../../src/shared/create-task.ts"
import type { Clock } from "../../src/shared/clock.ts"
import type { HostEvent } from "../../src/shared/session-event.ts"
import { makeDisk, memoryStore, type Disk } from "./memory-store.ts"
import { makeDatabase, modelHost, type Database, type Loop, type ModelProcess } from "./model-host.ts"

/*
 * A world of several OpenCode processes on one repository, in one thread and on one clock that stands still until it is
 * moved. The server half is the real one from the gate to the handlers; host, files and git are models. Whatever waits
 * for one of them waits in a pool, and a seed says who goes on next; a process can be killed at any of these points.
 */

export interface Process extends ModelProcess, Loop {
  alive: boolean
  readonly supervision: Supervision
  readonly handlers: Handlers
  /** Runs something as this process. */
  run<T>(work: () => T): T
  /** The plugin is put down and loaded again; turns go on. */
  readonly reload: () => Promise<void>
}

export interface World {
  readonly db: Database
  readonly disk: Disk
  readonly processes: Process[]
  /** A new process, started. */
  start(): Process
  /** SIGKILL, now or when it has come to the n-th call from now on. */
  kill(process: Process, afterCalls?: number): void
  /** Goes on until everything waits for time or for somebody. */
  settle(): Promise<void>
  advance(ms: number): Promise<void>
  now(): number
  /** What `now` says jumps, as when a machine sleeps or its clock is set; what is measured goes on as before. */
  jump(ms: number): void
  /** How events are treated from now on. */
  events: { drop: number; twice: number }
  /** A number below `n`, from the seed. */
  random(n: number): number
  /** The files of this worktree change. */
  edit(worktree: string): void
  /** What every diff says of places, and what of each is there to read, where that matters. */
  changed: readonly DiffFile[]
  shown?: readonly ReviewFile[]
  task(sessionID: string): TaskMeta | undefined
  /** How many timers this process has set. */
  timers(process: Process): number
  /** How often each snapshot was merged. */
  readonly merges: Map<string, number>
  dispose(): Promise<void>
}

export const REPO = "repo"
export const START = Date.UTC(2030, 0, 1)

type Timer = { at: number; order: number; by: Process; run(): void }

type Mutable<T> = T & { dieAfter(n: number): void; reload(): Promise<void> }

const context = new AsyncLocalStorage<{ slots?: unknown }>()
let installed = false

/** The gate keeps its map on globalThis; each process of the model has its own. */
function ownSlots() {
  if (installed) return
  installed = true
  const key = Symbol.for("kagan/prompt-gate@1")
  let outside: unknown
  Object.defineProperty(globalThis, key, {
    configurable: true,
    get: () => (context.getStore() ? context.getStore()!.slots : outside),
    set(value: unknown) {
      const process = context.getStore()
      if (process) process.slots = value
      else outside = value
    },
  })
}

export function makeWorld(options: {
  seed: number
  changed?: Database["changed"]
  options?: Partial<Options>
  /** Parts of the life of a task that are done in another way. */
  work?: SupervisionParts["work"]
}): World {
  ownSlots()
  const chosen = { ...DEFAULT_OPTIONS, ...options.options }
  const folder = mkdtempSync(join(tmpdir(), "kagan-world-"))
  const disk = makeDisk()
  const db = makeDatabase(options.changed ?? (() => {}))
  const timers = new Set<Timer>()
  const waiting: { by: Process; go(): void }[] = []
  const mail: { to: Process; event: HostEvent }[] = []
  const versions = new Map<string, number>()
  const merges = new Map<string, number>()
  const processes: Process[] = []
  let elapsed = 0
  let jumped = 0
  let order = 0
  let state = options.seed >>> 0 || 1

  function random(n: number): number {
    // xorshift32: the same seed, the same world.
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state % n
  }

  const shaOf = (worktree: string) =>
    `${worktree.replace(/\D/g, "").padStart(4, "0")}${(versions.get(worktree) ?? 0).toString(16).padStart(8, "0")}`.padEnd(
      40,
      "0",
    )
  const sha = (text: string) => text.padEnd(40, "0")

  function treesOf(pass: (name: string) => Promise<void>): Trees {
    return {
      worktree: async () => ({ state: "present" }),
      restore: async () => ok(),
      async take({ meta }) {
        await pass("snapshot")
        return ok({ commit: shaOf(meta.worktree), tree: shaOf(meta.worktree), base: sha("ba5e") })
      },
      async changed(meta) {
        await pass("changed")
        return ok(meta.review?.snapshot?.commit === shaOf(meta.worktree) ? [] : ["a.txt"])
      },
      person: async () => "Ann",
      // The model's people judge without reading.
      reading: undefined as never,
      async landing(_meta, snapshot) {
        return ok({ target: "main", tip: sha("7a26e7"), behind: 0, conflicts: [], contained: merges.has(snapshot) })
      },
      moved: async () => "main moved",
      remote: async () => "origin",
      branches: async () => ok(["main"]),
      files: async () => ok(["a.txt"]),
      tips: async () => ok([sha("7a26e7")]),
      watch: async () => ok(() => {}),
      update: async () => ok({ base: "main" }),
      loss: async () => ok(""),
      remove: async () => ok(),
      forget: async () => ok(),
      async diff(snapshot) {
        await pass("diff")
        const edited = !snapshot.commit.slice(4, 12).match(/^0+$/)
        const file = { path: "a.txt", kind: "text", insertions: 1, deletions: 0, patch: "" }
        const diff = { from: snapshot.base, to: snapshot.commit, files: world.changed, insertions: 0, deletions: 0 }
        return ok({ diff, files: world.shown ?? (edited ? [file] : []) })
      },
      cite: async (_diff, locations) => ok(locations.map((one) => (one ? ("verified" as const) : ("none" as const)))),
      async merge(meta) {
        const { snapshot } = meta.merge!
        await pass("merge")
        if (shaOf(meta.worktree) !== snapshot) return { ok: false, error: { kind: "changed", text: "it changed" } }
        merges.set(snapshot, (merges.get(snapshot) ?? 0) + 1)
        await pass("merged")
        return ok({ commit: sha("c0ffee") })
      },
      async findMerge(meta) {
        await pass("find merge")
        return ok(merges.has(meta.merge!.snapshot!) ? sha("c0ffee") : undefined)
      },
    }
  }

  function start(): Process {
    const own: { slots?: unknown } = {}
    let deathAt = Number.POSITIVE_INFINITY
    let calls = 0
    const dead = new Promise<never>(() => {})
    const process = {
      pid: 1000 + processes.length,
      alive: true,
      turns: new Map(),
      served: new Set<string>(),
      asks: [],
      answers: [],
      run: <T>(work: () => T): T => context.run(own, work),
    } as unknown as Mutable<Process>
    process.dieAfter = (n) => {
      deathAt = calls + n
    }
    const clock: Clock = {
      now: () => START + elapsed + jumped,
      monotonic: () => elapsed,
      setTimer(ms, run) {
        const timer = { at: elapsed + Math.max(0, ms), order: order++, by: process, run }
        timers.add(timer)
        return () => void timers.delete(timer)
      },
    }
    async function pass(): Promise<void> {
      if (++calls >= deathAt) process.alive = false
      if (!process.alive) return dead
      // Most calls go straight on, or a run of thousands would take too long; the seed chooses who lets others by.
      const turn = random(64)
      if (turn < 16) await new Promise<void>((go) => waiting.push({ by: process, go }))
      // And some take their time, so that other windows hear of what is half done.
      else if (turn < 18) await new Promise<void>((go) => clock.setTimer(random(200), go))
      if (!process.alive) return dead
    }
    const doors = modelHost(db, process, {
      now: clock.now,
      pass,
      others: () => processes.filter((other) => other !== process),
      emit: (event) => void mail.push({ to: process, event }),
    })
    Object.assign(process, {
      begin: doors.begin,
      end: doors.end,
      step: doors.step,
      call: doors.call,
      retry: doors.retry,
    })
    const load = () => {
      const supervision = makeSupervision({
        doors,
        root: "/main",
        repo: REPO,
        store: memoryStore(disk, process, { clock, folder, pass }),
        clock,
        trees: treesOf(pass),
        options: () => chosen,
        push() {},
        async ensureInstance(directory) {
          process.served.add(directory)
          return ok()
        },
        isServed: (directory) => process.served.has(directory),
        leftCommands: async () => [],
        permission: () => [],
        ...(options.work ? { work: options.work } : {}),
      })
      const create = { permission: () => [] } as unknown as CreateParts
      const { project, supervisor } = supervision
      Object.assign(process, { supervision, handlers: makeHandlers({ project, supervisor, create }) })
      void supervision.start()
    }
    process.reload = async () => {
      await process.supervision.dispose()
      load()
    }
    process.run(load)
    processes.push(process)
    return process
  }

  /** All promises that wait for nothing but each other have gone on. */
  const breathe = () => new Promise<void>((resolve) => setImmediate(resolve))

  async function settle(): Promise<void> {
    for (;;) {
      await breathe()
      const choices = waiting.length + mail.length
      if (choices === 0) {
        if (!beginOne()) return
        continue
      }
      const chosen = random(choices)
      if (chosen < waiting.length) {
        const [one] = waiting.splice(chosen, 1)
        if (one!.by.alive) one!.by.run(one!.go)
      } else deliver(chosen - waiting.length)
      if (random(8) === 0) beginOne()
    }
  }

  /** A prompt that a process has admitted begins its turn there. */
  function beginOne(): boolean {
    for (const process of processes.filter(({ alive }) => alive)) {
      for (const [sessionID, turn] of process.turns) {
        if (turn.begun) continue
        process.run(() => process.begin(sessionID))
        return true
      }
    }
    return false
  }

  /** Events come in any order, get lost, and come twice. */
  function deliver(at: number) {
    const [letter] = mail.splice(at, 1)
    const { to, event } = letter!
    if (!to.alive || random(100) < world.events.drop) return
    if (random(100) < world.events.twice) mail.push(letter!)
    to.run(() => to.supervision.observe(event))
  }

  async function advance(ms: number): Promise<void> {
    const until = elapsed + ms
    await settle()
    for (;;) {
      let next: Timer | undefined
      for (const timer of timers) {
        if (timer.at > until || (next && (next.at < timer.at || (next.at === timer.at && next.order < timer.order))))
          continue
        next = timer
      }
      if (!next) break
      timers.delete(next)
      elapsed = Math.max(elapsed, next.at)
      if (!next.by.alive) continue
      next.by.run(next.run)
      await settle()
    }
    elapsed = until
  }

  const world: World = {
    db,
    disk,
    processes,
    start,
    kill(process, afterCalls) {
      if (afterCalls === undefined) process.alive = false
      else (process as Process & { dieAfter(n: number): void }).dieAfter(afterCalls)
    },
    settle,
    advance,
    now: () => START + elapsed + jumped,
    jump(ms) {
      jumped += ms
    },
    events: { drop: 0, twice: 0 },
    changed: [],
    random,
    edit: (worktree) => void versions.set(worktree, (versions.get(worktree) ?? 0) + 1),
    task: (sessionID) => db.sessions.get(sessionID)?.metadata?.kagan as TaskMeta | undefined,
    timers: (process) => [...timers].filter((timer) => timer.by === process).length,
    merges,
    async dispose() {
      for (const process of processes) process.alive = false
      timers.clear()
      rmSync(folder, { recursive: true, force: true })
    },
  }
  return world
}

/** A task as its creation leaves it: the parts of creation that need git are tested with git. */
export async function plantTask(process: Process, over: Partial<TaskMeta> = {}): Promise<string> {
  const { project, tasks, supervisor } = process.supervision
  const number = await project.store.nextTaskNumber()
  if (!number.ok) throw new Error(number.error.text)
  const taskNumber = number.value
  const worktree = `/worktrees/${taskNumber}`
  const meta: Omit<TaskMeta, "sessionID"> = {
    v: METADATA_VERSION,
    boardTask: true,
    repo: REPO,
    taskNumber,
    status: "backlog",
    order: taskNumber,
    baseBranch: "main",
    baseCommit: "ba5e".padEnd(40, "0"),
    branch: `kagan/${taskNumber}`,
    worktree,
    generation: 1,
    setup: { state: "skipped", at: project.clock.now() },
    ...over,
  }
  const prepared = await tasks.prepareTask({ directory: worktree, title: `Task ${taskNumber}` }, meta)
  const made = prepared.ok ? await tasks.adoptTask(prepared.value, meta) : prepared
  if (!made.ok) throw new Error(made.error.text)
  void supervisor.look(made.value.meta.sessionID)
  return made.value.meta.sessionID
}

/** Where the card of a session stands. */
export function columnIn(world: World, sessionID: string) {
  const meta = world.task(sessionID)
  return meta && columnOf(meta)
}
