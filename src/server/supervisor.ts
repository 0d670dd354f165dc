import type { TaskFacts } from "../core/board.ts"
import { decide, type Action, type LookFacts } from "../core/decide.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import type { Verdict } from "../core/rules.ts"
import { columnOf, type Claim, type Status, type Task } from "../core/task.ts"
import { gatherFacts, type FactSources } from "./facts.ts"
import { failHelper, promptHelper, spawnHelper, type HelperSpec } from "./helper.ts"
import { countInProgress, failed, judgeWish, metaOf, openDependencies } from "./moves.ts"
import type { SessionState } from "../shared/session-state.ts"
import type { Project } from "./project.ts"

/*
 *   event, timer, request, start-up ──► look(task) ──► facts ─► decide ─► actions ─► facts told to the boards
 *                                        ▲  one at a time per task; asked while running: once more afterwards
 *
 * An event only says "look again". Nothing here depends on one arriving: while anything is going on there is one timer.
 */

const RELOOK_MS = 15_000
const MAX_ROUNDS = 12

export type Work = {
  readonly specs: Readonly<Record<"intake" | "validator", HelperSpec>>
  collect(role: "intake" | "validator", task: Task): Promise<Result<void, { readonly text: string }>>
  runSetup(task: Task): Promise<Result<void, { readonly text: string }>>
  wakeTask(task: Task): Promise<Result<void, { readonly text: string }>>
  takeSnapshot(task: Task): Promise<Result<void, { readonly text: string }>>
  resumeMerge(task: Task): Promise<Result<void, { readonly text: string }>>
  /** What differs between worktree and snapshot, and between target and snapshot; only asked for cards in Review. */
  reviewFacts(task: Task): Promise<Pick<TaskFacts, "changedSince" | "conflicts">>
}

export type SupervisorParts = {
  readonly project: Project
  readonly work: Work
  readonly worktreeState: FactSources["worktreeState"]
  readonly state: SessionState
}

export interface Supervisor {
  /** Looks at every task of the repository once and keeps looking while anything is going on. */
  start(): Promise<void>
  /** Looks at the task that this session belongs to; resolves when that look is over. */
  look(sessionID: string): Promise<void>
  /** A session was seen to be a child of another one. */
  relate(child: string, parent: string): void
  forget(sessionID: string): void
  /** Whether a session is, or stands below, a helper of a task. */
  isHelper(sessionID: string): boolean
  /** A session was seen to be a helper. */
  noteHelper(sessionID: string): void
  /** The task that a session belongs to, at any depth. */
  taskOf(sessionID: string): string | undefined
  /** Writes the wish and judges it: the answer is that look's verdict. */
  move(sessionID: string, to: Status): Promise<Result<Verdict, RequestFailure>>
  facts(): readonly TaskFacts[]
  factsOf(sessionID: string): TaskFacts | undefined
  /** Runs one long action of a task; a second one of the same task is refused with `false`. */
  occupy<T>(sessionID: string, action: () => Promise<T>): Promise<T | false>
  dispose(): Promise<void>
}

export function makeSupervisor(parts: SupervisorParts): Supervisor {
  const { project, work } = parts
  const { tasks, host, clock, store } = project
  const known = new Set<string>()
  const parents = new Map<string, string>()
  const helpers = new Set<string>()
  const shown = new Map<string, TaskFacts>()
  const problems = new Map<string, string>()
  const looking = new Map<string, { promise: Promise<void>; again: boolean }>()
  const occupied = new Set<string>()
  /** Tasks whose move over the channel is being judged: a look meanwhile leaves the wish alone. */
  const judging = new Set<string>()
  const active = new Set<string>()
  let cancelTimer: (() => void) | undefined
  let disposed = false

  const sources: FactSources = {
    host,
    family: (sessionID) => [sessionID, ...[...parents.keys()].filter((id) => rootOf(id) === sessionID)],
    worktreeState: parts.worktreeState,
    state: parts.state,
    claimAlive: alive,
    now: () => clock.now(),
  }

  function alive(claim: Claim | undefined): boolean {
    return claim !== undefined && store.alive(claim) !== false
  }

  function rootOf(sessionID: string): string {
    let id = sessionID
    for (let depth = 0; depth < 20; depth++) {
      const parent = parents.get(id)
      if (!parent) break
      id = parent
    }
    return id
  }

  function taskOf(sessionID: string): string | undefined {
    const root = rootOf(sessionID)
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
      .catch((bug: unknown) => report(sessionID, bug))
      .finally(() => {
        looking.delete(sessionID)
        armTimer()
      })
    return entry.promise
  }

  function report(sessionID: string, bug: unknown) {
    const text = bug instanceof Error ? `${bug.message}\n${bug.stack ?? ""}` : String(bug)
    host.log("error", `a look at ${sessionID} broke: ${text}`)
    problems.set(sessionID, "Kagan failed here: see the log")
  }

  async function lookNow(sessionID: string): Promise<void> {
    for (let round = 0; round < MAX_ROUNDS && !disposed; round++) {
      const read = await tasks.read(sessionID)
      if (!read.ok) {
        if (read.error.kind === "gone") publishRecord(sessionID)
        else if (read.error.kind === "not_ours") forget(sessionID)
        else host.log("warn", `look at ${sessionID}: ${read.error.text}`)
        return
      }
      const { task } = read.value
      known.add(sessionID)
      if (needsInstance(task) && (await parts.worktreeState(task)) === "present") {
        const ensured = await project.ensureInstance(task.meta.worktree)
        if (!ensured.ok) problems.set(sessionID, ensured.error.text)
      }
      const gathered = await gatherFacts(sources, task, read.value)
      const extra =
        columnOf(task.meta) === "review" && gathered.shown.worktree === "present" ? await work.reviewFacts(task) : {}
      publish({ ...gathered.shown, ...extra })
      const facts: LookFacts = {
        ...gathered.look,
        mergeClaimAlive: alive(task.meta.merge?.claim),
        mayStart: await mayStart(task),
        occupied: occupied.has(sessionID) || judging.has(sessionID),
      }
      if (isActive(task, gathered.shown)) active.add(sessionID)
      else active.delete(sessionID)
      const actions = decide(task.meta, facts, project.options())
      if (actions.length === 0) return
      let again = false
      for (const action of actions) again = (await execute(action, task, facts)) || again
      if (!again) return
    }
  }

  /** Returns whether another look makes sense at once. */
  async function execute(action: Action, task: Task, facts: LookFacts): Promise<boolean> {
    const sessionID = task.meta.sessionID
    switch (action.kind) {
      case "seed":
        return outcome(
          sessionID,
          await tasks.update(sessionID, (meta) =>
            meta.lastGatedStatus ? undefined : { ...meta, lastGatedStatus: meta.status },
          ),
        )
      case "judge": {
        const judged = await judgeWish(project, task, action.wish, judgingFacts(facts))
        if (!judged.ok) {
          project.push({
            type: "notice",
            level: "error",
            text: judged.error.text,
            taskNumber: task.meta.taskNumber,
            key: `denied:${sessionID}`,
          })
          return true
        }
        if (judged.value.verdict.kind === "queued") return false
        lookAtQueued()
        return true
      }
      case "run_setup":
        void occupy(sessionID, async () => outcome(sessionID, await work.runSetup(task))).then(() => look(sessionID))
        return false
      case "spawn_helper":
        return outcome(sessionID, await spawnHelper(project, work.specs[action.role], task, action.attempt))
      case "prompt_helper":
        outcome(sessionID, await promptHelper(project, work.specs[action.role], task))
        return false
      case "collect_helper":
        return outcome(sessionID, await work.collect(action.role, task))
      case "fail_helper":
        return outcome(sessionID, await failHelper(project, action.role, task, action.reason))
      case "wake":
        outcome(sessionID, await work.wakeTask(task))
        return false
      case "mark_delivered": {
        const marked = await tasks.update(sessionID, (meta) => {
          const intent = meta.run?.intent
          if (!intent || intent.deliveredAt !== undefined || intent.id !== task.meta.run?.intent?.id) return undefined
          return { ...meta, run: { ...meta.run, intent: { ...intent, deliveredAt: clock.now() } } }
        })
        if (marked.ok && marked.value.changed) {
          await project.remember(sessionID, {
            kind: "wake",
            text: `woken once: ${task.meta.run?.intent?.purpose}`,
            messageID: task.meta.run?.intent?.messageID,
          })
        }
        return outcome(sessionID, marked)
      }
      case "enter_review": {
        const entered = await tasks.update(sessionID, (meta) => {
          if (
            meta.status !== "in_progress" ||
            columnOf(meta) !== "in_progress" ||
            meta.generation !== task.meta.generation
          )
            return undefined
          return { ...meta, status: "review", lastGatedStatus: "review", review: { findings: 0, ruled: 0, fix: 0 } }
        })
        if (entered.ok && entered.value.changed) {
          await project.remember(sessionID, {
            kind: "move",
            text: "entered Review: turn finished",
            from: "in_progress",
            to: "review",
          })
          lookAtQueued()
        }
        return outcome(sessionID, entered)
      }
      case "take_snapshot":
        return outcome(sessionID, await work.takeSnapshot(task))
      case "resume_merge":
        return outcome(sessionID, await work.resumeMerge(task))
    }
  }

  function outcome(sessionID: string, result: Result<unknown, { readonly text: string }>): boolean {
    if (result.ok) {
      problems.delete(sessionID)
      return true
    }
    problems.set(sessionID, result.error.text)
    host.log("error", `${sessionID}: ${result.error.text}`)
    const facts = shown.get(sessionID)
    if (facts) publish(facts)
    return false
  }

  async function mayStart(task: Task): Promise<boolean> {
    if (!task.meta.awaiting) return false
    const records = await tasks.records()
    return (
      openDependencies(task.meta, records).length === 0 &&
      countInProgress(records, task.meta.sessionID) < project.options().inProgressLimit &&
      isFirstInQueue(task, records)
    )
  }

  /** Queued cards start in the order in which they were queued. */
  function isFirstInQueue(task: Task, records: Awaited<ReturnType<typeof tasks.records>>): boolean {
    const since = task.meta.awaiting!.since
    return !records.some((record) => {
      const meta = metaOf(record)
      if (!meta?.awaiting || meta.sessionID === task.meta.sessionID || meta.trashedAt) return false
      if (openDependencies(meta, records).length > 0) return false
      return meta.awaiting.since < since || (meta.awaiting.since === since && meta.taskNumber < task.meta.taskNumber)
    })
  }

  function lookAtQueued() {
    void tasks.records().then((records) => {
      for (const record of records) if (metaOf(record)?.awaiting) void look(record.sessionID)
    })
  }

  function judgingFacts(facts: Pick<LookFacts, "activity" | "worktree" | "elsewhere">) {
    return {
      turnRunning:
        facts.activity.kind === "busy" ||
        facts.activity.kind === "retry" ||
        facts.activity.kind === "unknown" ||
        facts.elsewhere !== undefined,
      worktreeReady: facts.worktree === "present",
    }
  }

  function publish(facts: TaskFacts) {
    const problem = problems.get(facts.sessionID)
    const { problem: _, ...rest } = facts
    const next: TaskFacts = problem ? { ...rest, problem } : rest
    const before = shown.get(facts.sessionID)
    if (before && JSON.stringify(before) === JSON.stringify(next)) return
    shown.set(facts.sessionID, next)
    project.push({ type: "facts", facts: next })
  }

  function publishRecord(sessionID: string) {
    active.delete(sessionID)
    publish({
      sessionID,
      source: "record",
      activity: { kind: "gone" },
      asks: [],
      worktree: "unknown",
      unreadable: [],
      readOnly: false,
    })
  }

  function forget(sessionID: string) {
    known.delete(sessionID)
    active.delete(sessionID)
    shown.delete(sessionID)
    problems.delete(sessionID)
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

  async function occupy<T>(sessionID: string, action: () => Promise<T>): Promise<T | false> {
    if (occupied.has(sessionID)) return false
    occupied.add(sessionID)
    try {
      return await action()
    } finally {
      occupied.delete(sessionID)
    }
  }

  return {
    look: (sessionID) => look(rootOf(sessionID)),
    taskOf,
    forget,
    occupy,
    facts: () => [...shown.values()],
    factsOf: (sessionID) => shown.get(sessionID),
    relate: (child, parent) => void parents.set(child, parent),
    noteHelper: (sessionID) => void helpers.add(sessionID),
    isHelper(sessionID) {
      for (let id: string | undefined = sessionID, depth = 0; id && depth < 20; id = parents.get(id), depth++) {
        if (helpers.has(id)) return true
      }
      return false
    },

    async start() {
      const listed = await host.sessions(project.root)
      if (!listed.ok) {
        host.log("error", `the sessions of the project cannot be listed: ${listed.error.text}`)
      } else {
        for (const session of listed.value) {
          if (session.parentID) parents.set(session.id, session.parentID)
          const worker = (session.metadata?.kagan as { workerParent?: unknown } | undefined)?.workerParent
          if (typeof worker === "string") parents.set(session.id, worker)
          if (session.parentID && isHelperRole(session)) helpers.add(session.id)
        }
        for (const session of listed.value) {
          if (!session.parentID && session.metadata?.kagan) known.add(session.id)
        }
      }
      for (const record of await tasks.records()) known.add(record.sessionID)
      const queue = [...known]
      const workers = Array.from({ length: 4 }, async () => {
        for (let id = queue.shift(); id !== undefined; id = queue.shift()) await look(id)
      })
      await Promise.all(workers)
    },

    async move(sessionID, to) {
      judging.add(sessionID)
      try {
        const wished = await tasks.update(sessionID, (meta) =>
          meta.status === to && columnOf(meta) === to
            ? undefined
            : // What stands is seeded with the wish: a look that seeds afterwards would take the wish for the verdict.
              { ...meta, status: to, lastGatedStatus: columnOf(meta), awaiting: undefined, denied: undefined },
        )
        if (!wished.ok) return failed(wished.error.text)
        const read = await tasks.read(sessionID)
        if (!read.ok) return failed(read.error.text)
        const { look: facts } = await gatherFacts(sources, read.value.task, read.value)
        const judged = await judgeWish(project, read.value.task, to, judgingFacts(facts))
        if (judged.ok && judged.value.verdict.kind === "accepted") lookAtQueued()
        return judged.ok ? ok(judged.value.verdict) : judged
      } finally {
        judging.delete(sessionID)
        void look(sessionID)
      }
    },

    async dispose() {
      disposed = true
      cancelTimer?.()
      cancelTimer = undefined
      await Promise.allSettled([...looking.values()].map((entry) => entry.promise))
    },
  }
}

export function isHelperRole(session: { readonly metadata?: Readonly<Record<string, unknown>> }): boolean {
  const role = (session.metadata?.kagan as { role?: unknown } | undefined)?.role
  return role === "intake" || role === "validator"
}

/** Whether the worktree's instance has to be up with our half in it. */
function needsInstance(task: Task): boolean {
  const { meta } = task
  if (meta.trashedAt || meta.archivedAt) return false
  return columnOf(meta) !== "done"
}

/** Whether anything of the task is going on, so that it is looked at again without an event. */
function isActive(task: Task, facts: TaskFacts): boolean {
  const { meta } = task
  if (meta.trashedAt || meta.archivedAt || columnOf(meta) === "done") return false
  const helper = meta.intake?.state ?? ""
  const validator = meta.review?.validator?.state ?? ""
  return (
    facts.activity.kind === "busy" ||
    facts.activity.kind === "retry" ||
    facts.activity.kind === "unknown" ||
    ["claimed", "running"].includes(helper) ||
    ["claimed", "running"].includes(validator) ||
    meta.awaiting !== undefined ||
    meta.setup?.state === "running" ||
    meta.merge?.state === "claimed" ||
    (meta.run?.intent !== undefined && meta.run.intent.deliveredAt === undefined) ||
    (columnOf(meta) === "review" && !meta.review?.snapshot && !meta.review?.problem)
  )
}
