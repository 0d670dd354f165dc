import type { TaskFacts } from "../core/board.ts"
import { decide, type LookFacts } from "../core/decide.ts"
import type { Live } from "../core/live.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import type { Verdict } from "../core/rules.ts"
import { classifyError } from "../core/turn.ts"
import { columnOf, type Status, type Task } from "../core/task.ts"
import type { SessionState } from "../shared/session-state.ts"
import { commandsOf } from "../shared/task-commands.ts"
import { execute, judgingFacts, type ActionParts, type Work } from "./actions.ts"
import { PROCESS_ENDS } from "./checks.ts"
import { gatherFacts, type FactSources } from "./facts.ts"
import { makeFamily, type Family } from "./family.ts"
import { failed, judgeWish, type Asking } from "./moves.ts"
import type { Project } from "./project.ts"
import { makeOccupancy, type Occupancy } from "./occupancy.ts"
import { countsAs, mayStart, metaOf } from "./queue.ts"
import { makeRollCall } from "./roll-call.ts"
import { fromRecord, hasWork, isActive } from "./standing.ts"
import type { ReviewFacts } from "./snapshot.ts"
import { makeShownFacts, type ShownFacts } from "./shown-facts.ts"

/*
 *   event, timer, request, start-up ──► look(task) ──► facts ─► decide ─► actions ─► facts told to the boards
 *                                        ▲  one at a time per task; asked while running: once more afterwards
 *
 * An event only says "look again". Nothing here depends on one arriving: while anything is going on there is one timer.
 */

const RELOOK_MS = 15_000
const MAX_ROUNDS = 12
const SIGN_EVERY_MS = 2_000

export type SupervisorParts = {
  readonly project: Project
  readonly work: Work
  /** What differs between worktree and snapshot, and between target and snapshot; only asked for cards in Review. */
  reviewFacts(task: Task): Promise<ReviewFacts>
  /** Told of every task as a look has read it. */
  saw(task: Task): void
  readonly state: SessionState
  readonly leftCommands: FactSources["leftCommands"]
  readonly rested: FactSources["rested"]
  readonly isUntold: FactSources["isUntold"]
}

export interface Supervisor {
  /** Looks at every task of the repository once and keeps looking while anything is going on. */
  start(): Promise<void>
  /** Looks at whatever changed without an event: when a board comes to the fore. */
  refresh(): Promise<void>
  /** Looks at the task that this session belongs to; resolves when that look is over. */
  look(sessionID: string): Promise<void>
  readonly family: Family
  /** The task that a session belongs to, at any depth. */
  taskOf(sessionID: string): string | undefined
  isHelper(sessionID: string): boolean
  /** A session gave a sign of life. */
  signOf(sessionID: string): void
  /** Judges a wish that came over the channel: the answer is the verdict. A look follows. */
  move(
    sessionID: string,
    to: Status,
    asking?: Omit<Asking & { by: "channel" }, "by">,
  ): Promise<Result<Verdict, RequestFailure>>
  facts(): readonly TaskFacts[]
  factsOf(sessionID: string): TaskFacts | undefined
  /** Runs one long action of a task; a second one of the same task is refused with `false`. */
  occupy: Occupancy["occupy"]
  occupation: Occupancy["occupation"]
  /** What a command of a task says now is shown on its card; `undefined`: none runs. */
  saying(sessionID: string, live: Live | undefined): void
  /** Ends the long action of a task that can be ended. */
  interrupt(sessionID: string): void
  /** Forgets a task that is none any more. */
  forget(sessionID: string): void
  dispose(): Promise<void>
}

export function makeSupervisor(parts: SupervisorParts): Supervisor {
  const { project, work, state } = parts
  const { tasks, host, clock, store } = project
  const family = makeFamily(host)
  const known = new Set<string>()
  const looking = new Map<string, { promise: Promise<void>; again: boolean }>()
  const { occupy, occupation, interrupt, interruptAll, claiming, isClaiming, holds } = makeOccupancy(
    tasks.self,
    store.alive,
  )
  const active = new Set<string>()
  const errors = new Map<string, { readonly text: string; readonly at: number }>()
  const signs = new Map<string, number>()
  /** The worktree of each task, as far as it is known without asking the host. */
  const places = new Map<string, string>()
  /** What the cards in the queue go by, as it was last seen of each task. */
  const counted = new Map<string, string>()
  const shown: ShownFacts = makeShownFacts((facts) => project.push({ type: "facts", facts }))
  let cancelTimer: (() => void) | undefined
  let disposed = false
  let repaired = () => {}
  /** Before this, records may lag behind their sessions, and places in progress cannot be counted. */
  const ready = new Promise<void>((resolve) => {
    repaired = resolve
  })

  const rollCall = makeRollCall({ project, family, known, places, look, repaired: () => repaired() })

  const unsubscribe = state.subscribe((change) => {
    if (change.kind !== "error" || taskOf(change.sessionID) === undefined) return
    errors.set(change.sessionID, { text: classifyError(change.error).text, at: clock.now() })
  })

  const sources: FactSources = {
    host,
    family,
    leftCommands: parts.leftCommands,
    rested: parts.rested,
    isUntold: parts.isUntold,
    state,
    claimAlive: (claim, sessionID, part) =>
      holds(
        claim,
        part === "setup" || part === "checks" ? occupation(sessionID) === part : isClaiming(sessionID, part),
      ),
    errorOf: (sessionID) => errors.get(sessionID),
    signOf: (sessionID) => signs.get(sessionID),
    now: () => clock.now(),
  }

  const actions: ActionParts = {
    project,
    work,
    interrupt: (sessionID) => interrupt(sessionID),
    aside(sessionID, what, action) {
      void occupy(sessionID, what, async (signal) => shown.outcome(sessionID, await action(signal))).then(() =>
        look(sessionID),
      )
    },
    claiming,
  }

  function taskOf(sessionID: string): string | undefined {
    const root = family.rootOf(sessionID)
    return known.has(root) ? root : undefined
  }

  function look(sessionID: string): Promise<void> {
    if (disposed) return Promise.resolve()
    const running = looking.get(sessionID)
    if (running) {
      running.again = true
      return running.promise
    }
    const entry = { promise: Promise.resolve(), again: false }
    looking.set(sessionID, entry)
    entry.promise = (async () => {
      do {
        entry.again = false
        await lookNow(sessionID)
      } while (entry.again && !disposed)
    })()
      .catch((bug: unknown) => broke(sessionID, bug))
      .finally(() => {
        looking.delete(sessionID)
        armTimer()
      })
    return entry.promise
  }

  function broke(sessionID: string, bug: unknown) {
    const text = bug instanceof Error ? `${bug.message}\n${bug.stack ?? ""}` : String(bug)
    host.log("error", `a look at ${sessionID} broke: ${text}`)
    shown.problem(sessionID, "action", "Kagan failed here: see the log")
  }

  /** The task is about to be asked for by its session's id, which makes the host open its folder. */
  async function protectFolder(sessionID: string) {
    const known = places.get(sessionID)
    const record = known === undefined ? await tasks.recordOf(sessionID) : undefined
    const worktree = known ?? (record && metaOf(record)?.worktree)
    if (worktree === undefined) return ok()
    places.set(sessionID, worktree)
    return project.protect(worktree)
  }

  async function lookNow(sessionID: string): Promise<void> {
    await ready
    const safe = await protectFolder(sessionID)
    if (!safe.ok) {
      host.log("warn", `look at ${sessionID}: ${safe.error.text}`)
      shown.problem(sessionID, "instance", safe.error.text)
      active.add(sessionID)
      return
    }
    for (let round = 0; round < MAX_ROUNDS && !disposed; round++) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return unread(sessionID, read.error)
      const { task } = read.value
      known.add(sessionID)
      stands(task)
      rollCall.saw(read.value.session)
      parts.saw(task)
      const worktree = await project.trees.worktree(task.meta)
      const up = worktree.state === "present" && (await instanceUp(task))
      const gathered = await gatherFacts(sources, task, read.value, worktree, up)
      const extra = columnOf(task.meta) === "review" && up ? await parts.reviewFacts(task) : {}
      const intakeOff = project.options().intake.enabled ? {} : { intakeOff: true }
      shown.publish({ ...gathered.shown, ...intakeOff, ...extra })
      const running = occupation(sessionID)
      const facts: LookFacts = {
        ...gathered.look,
        mergeClaimAlive: holds(task.meta.merge?.claim, occupation(sessionID) === "merge"),
        mayStart: task.meta.awaiting ? mayStart(task, await tasks.records(), project.options().inProgressLimit) : false,
        ...(running ? { occupied: running } : {}),
        ...(await checksOf(task)),
      }
      if (isActive(task, gathered.shown)) active.add(sessionID)
      else active.delete(sessionID)
      const wanted = decide(task.meta, facts, project.options())
      if (wanted.length === 0) return shown.problem(sessionID, "action", undefined)
      let again = false
      for (const action of wanted) {
        const done = await execute(actions, action, task, facts)
        if (!done.result.ok) {
          host.log("error", `${sessionID}: ${action.kind}: ${done.result.error.text}`)
          active.add(sessionID)
        }
        shown.outcome(sessionID, done.result)
        again ||= done.again
      }
      // What was begun is seen at a later look, whether an event tells of it or not.
      if (!again) return void active.add(sessionID)
    }
    // Still not at rest: later again, so that nothing of this process is kept from its turn.
    active.add(sessionID)
  }

  async function unread(sessionID: string, error: { readonly kind: string; readonly text: string }) {
    if (error.kind === "host" || error.kind === "store") {
      host.log("warn", `look at ${sessionID}: ${error.text}`)
      active.add(sessionID)
      return
    }
    interrupt(sessionID)
    active.delete(sessionID)
    rollCall.forget(sessionID)
    const record = await tasks.recordOf(sessionID)
    const meta = record && metaOf(record)
    if (meta?.repo === project.repo) return shown.publish(fromRecord(sessionID, { title: record!.title, meta }))
    forget(sessionID)
  }

  /** How many checks are written down for a card whose checks may have to be run. A list that cannot be read counts. */
  async function checksOf({ meta }: Task): Promise<Pick<LookFacts, "checks">> {
    if (columnOf(meta) !== "review" || meta.review?.checks) return {}
    const found = await commandsOf(project, meta.sessionID, project.options())
    return { checks: found.ok ? found.value.checks.length : 1 }
  }

  /**
   * The instance is booted where there is something to do in it, and where the branch brought OpenCode files: whoever
   * opens the session must not find it booted with those. One that is up is asked.
   */
  async function instanceUp(task: Task): Promise<boolean> {
    const { worktree, sessionID } = task.meta
    if (!hasWork(task, project.options().intake.enabled) && !(await project.bringsConfig(worktree))) {
      shown.problem(sessionID, "instance", undefined)
      return project.isServed(worktree)
    }
    const ensured = await project.ensureInstance(worktree)
    shown.problem(sessionID, "instance", ensured.ok ? undefined : ensured.error.text)
    return ensured.ok
  }

  /** A sign from a session that is thought to be at rest is worth a look; a stream of them is not worth many. */
  function signOf(sessionID: string) {
    const before = signs.get(sessionID)
    signs.set(sessionID, clock.now())
    const task = taskOf(sessionID)
    const facts = task ? shown.of(task) : undefined
    const thought = family.isHelper(sessionID) ? facts?.helper : facts?.activity
    const stream = before !== undefined && Math.abs(clock.now() - before) < SIGN_EVERY_MS
    if (task && thought?.kind !== "busy" && !stream) void look(task)
  }

  /** Whoever waits for a place or for this task is looked at as soon as it stands elsewhere, whoever moved it. */
  function stands({ meta }: Task) {
    const now = countsAs(meta)
    const before = counted.get(meta.sessionID)
    counted.set(meta.sessionID, now)
    if (before !== undefined && before !== now) lookAtQueued()
  }

  function lookAtQueued() {
    if (disposed) return
    void tasks.records().then((records) => {
      for (const record of records) if (metaOf(record)?.awaiting) void look(record.sessionID)
    })
  }

  function forget(sessionID: string) {
    known.delete(sessionID)
    rollCall.forget(sessionID)
    active.delete(sessionID)
    shown.drop(sessionID)
    if (counted.delete(sessionID)) lookAtQueued()
  }

  /** The one timer: armed while anything is going on, absent otherwise. */
  function armTimer() {
    if (disposed || active.size === 0) {
      cancelTimer?.()
      cancelTimer = undefined
      return
    }
    cancelTimer ??= clock.setTimer(RELOOK_MS, () => {
      cancelTimer = undefined
      for (const sessionID of active) void look(sessionID)
    })
  }

  async function move(sessionID: string, to: Status, asking: Omit<Asking & { by: "channel" }, "by"> = {}) {
    await ready
    try {
      const read = await tasks.read(sessionID)
      if (!read.ok) return failed(read.error.text)
      const { task } = read.value
      stands(task)
      const worktree = await project.trees.worktree(task.meta)
      const up = worktree.state === "present" && (await instanceUp(task))
      const { look: facts } = await gatherFacts(sources, task, read.value, worktree, up)
      const judged = await judgeWish(project, task, to, judgingFacts(facts), { by: "channel", ...asking })
      if (!judged.ok) return judged
      stands(judged.value.task)
      return ok(judged.value.verdict)
    } finally {
      void look(sessionID)
    }
  }

  return {
    start: rollCall.start,
    async refresh() {
      await ready
      await rollCall.refresh()
    },
    look: (sessionID) => look(family.rootOf(sessionID)),
    family,
    taskOf,
    isHelper: family.isHelper,
    signOf,
    move,
    facts: shown.all,
    factsOf: shown.of,
    occupy,
    occupation,
    saying: shown.saying,
    interrupt: (sessionID) => interrupt(sessionID),
    forget,
    async dispose() {
      disposed = true
      repaired()
      unsubscribe()
      cancelTimer?.()
      cancelTimer = undefined
      interruptAll(PROCESS_ENDS)
      await Promise.allSettled([...looking.values()].map((entry) => entry.promise))
    },
  }
}
