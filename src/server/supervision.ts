import { randomUUID } from "node:crypto"
import type { Options } from "../core/options.ts"
import type { Push } from "../core/protocol.ts"
import { ok } from "../core/result.ts"
import type { ModelRef, Task, TaskMeta } from "../core/task.ts"
import { TOLD } from "../core/turn.ts"
import type { Clock } from "../shared/clock.ts"
import type { Host, HostDoors, PermissionRuleset, Session } from "../shared/host.ts"
import { makeInject, type Inject } from "../shared/inject.ts"
import { makeGate, type Gate } from "../shared/prompt-async-gate.ts"
import type { HostEvent } from "../shared/session-event.ts"
import { makeSessionState, type SessionState } from "../shared/session-state.ts"
import type { Store } from "../shared/store.ts"
import { makeTasks, type Tasks } from "../shared/tasks.ts"
import type { Work } from "./actions.ts"
import { resumeMerge } from "./approve.ts"
import { makeBranchWatch } from "./branch-watch.ts"
import { runChecks } from "./checks.ts"
import { hintOf, isSameRow } from "./events.ts"
import type { FactSources } from "./facts.ts"
import { collectIntake, intakeSpec } from "./intake.ts"
import { makeLiveOutput } from "./live.ts"
import { makeNeighbours } from "./neighbours.ts"
import type { Project, WakeRequest, WakeResult } from "./project.ts"
import { metaOf } from "./queue.ts"
import { runSetup } from "./setup.ts"
import { reviewFacts, snapshotTask } from "./snapshot.ts"
import { makeSupervisor, type Supervisor } from "./supervisor.ts"
import type { Trees } from "./trees.ts"
import { collectFindings } from "./validator/findings.ts"
import { validatorSpec } from "./validator/spawn.ts"
import { wakeTask } from "./wake-task.ts"
import { makeWorker } from "./worker.ts"

/*
 * The parts of one repository's supervision, put together from what they are given: no git, no channel, no process.
 *
 *   events ─► state ─► gate, inject          records of other windows ─┐
 *        └──────────► supervisor.look ◄──────────────────────────────────┘
 */

export type SupervisionParts = {
  readonly doors: HostDoors
  readonly root: string
  readonly repo: string
  readonly store: Store
  readonly clock: Clock
  readonly trees: Trees
  options(): Options
  push(push: Push): void
  ensureInstance: Project["ensureInstance"]
  isServed: Project["isServed"]
  /** See `Project`; without it no worktree does. */
  bringsConfig?: Project["bringsConfig"]
  leftCommands: FactSources["leftCommands"]
  /** The rules of a session that works on a task. */
  permission(): PermissionRuleset
  /** What is made ready in a task's worktree each time before its agent is woken. */
  beforeWork?(task: Task): Promise<void>
  /** What changed outside of a task's worktree since its work started, in lines for the person. */
  outside?(meta: TaskMeta): Promise<readonly string[]>
  /** For tests: parts of the life of a task that are done in another way. */
  readonly work?: Partial<Work>
}

export interface Supervision {
  readonly project: Project
  readonly tasks: Tasks
  readonly host: Host
  readonly state: SessionState
  readonly gate: Gate
  readonly inject: Inject
  readonly supervisor: Supervisor
  /** From the one event subscriber of each instance. */
  observe(event: HostEvent): void
  /** Hears other windows, and looks at everything once. */
  start(): Promise<void>
  /** Looks at whatever changed without a word: when a board comes to the fore. */
  refresh(): Promise<void>
  dispose(): Promise<void>
}

export function makeSupervision(parts: SupervisionParts): Supervision {
  const { clock, store, root, repo } = parts
  const { host, metadata, turns } = parts.doors
  const tasks = makeTasks({ host, metadata, store, repo, project: { root, since: earliest(clock) } })
  const state = makeSessionState({ host, clock, leases: store.leases })
  const log = host.log.bind(host)
  const gate = makeGate({ turns, host, state, leases: store.leases, clock, log })
  const inject = makeInject({ gate, host, state, store, clock, log })

  const bringsConfig = async (directory: string) => (await parts.bringsConfig?.(directory)) ?? false

  const project: Project = {
    root,
    repo,
    trees: parts.trees,
    host,
    store,
    tasks,
    clock,
    options: parts.options,
    seed: () => randomUUID(),
    ensureInstance: parts.ensureInstance,
    isServed: parts.isServed,
    bringsConfig,
    protect: async (directory) =>
      !parts.isServed(directory) && (await bringsConfig(directory)) ? parts.ensureInstance(directory) : ok(),
    wake,
    tell(sessionID, directory, context) {
      state.track(sessionID, directory)
      const accepted = inject.inject(sessionID, { source: context.source, text: context.text, kind: context.kind })
      return accepted.ok ? ok() : accepted
    },
    isUntold: (sessionID) => inject.waiting(sessionID, TOLD) > 0,
    push: parts.push,
    live: makeLiveOutput(clock, (sessionID, live) => supervisor.saying(sessionID, live)),
    outside: async (meta) => (await parts.outside?.(meta)) ?? [],
    async remember(sessionID, entry) {
      const written = store.append(store.paths.session(sessionID).history, { at: clock.now(), ...entry })
      if (!written.ok) host.log("error", `the history of ${sessionID} misses a line: ${written.error.text}`)
    },
  }

  async function wake(request: WakeRequest): Promise<WakeResult> {
    const { sessionID, directory, intent } = request
    state.track(sessionID, directory)
    const input = {
      sessionID,
      directory,
      messageID: intent.messageID,
      parts: [{ type: "text" as const, id: intent.partID, text: request.text }],
      ...(request.agent ? { agent: request.agent } : {}),
      ...(request.model ? { model: modelRef(request.model) } : {}),
      ...(request.model?.variant ? { variant: request.model.variant } : {}),
    }
    const args = { client: turns, sessionID, directory, source: request.source, intent, input }
    const result = await inject.prompt(args, request.contexts)
    switch (result.status) {
      case "dispatched":
        return { kind: "sent" }
      case "active":
      case "reserved":
      case "unavailable":
        return { kind: "held", text: result.status }
      case "failed":
        return { kind: "held", text: String(result.error) }
      case "refused":
        return { kind: "refused", text: result.reason }
      case "rejected":
        return { kind: "refused", text: `OpenCode refused the prompt (${result.httpStatus})` }
      case "blocked":
        return {
          kind: "refused",
          text:
            result.reason === "reverted"
              ? "an undo is open in its session: redo or go on there"
              : `its session is ${result.reason}`,
        }
    }
  }

  const work: Work = {
    specs: { intake: intakeSpec(project), validator: validatorSpec(project) },
    collect: (role, task) => (role === "intake" ? collectIntake(project, task) : collectFindings(project, task)),
    runSetup: (task, signal) => runSetup(project, task, signal),
    async wakeTask(task) {
      await parts.beforeWork?.(task)
      return wakeTask(project, task)
    },
    makeWorker: (task) => makeWorker(project, task, parts.permission()),
    takeSnapshot: (task) => snapshotTask(project, task),
    runChecks: (task, signal) => runChecks(project, task, signal),
    resumeMerge: (task) => resumeMerge(project, task),
    ...parts.work,
  }
  const neighbours = makeNeighbours((sessionID) => void supervisor.look(sessionID))
  const branches = makeBranchWatch({
    trees: parts.trees,
    clock,
    log: (text) => log("warn", text),
    moved: neighbours.lookAtAll,
  })
  const supervisor: Supervisor = makeSupervisor({
    project,
    work,
    async reviewFacts(task) {
      await branches.follow([task.meta.baseBranch])
      const facts = await reviewFacts(project, task)
      if (facts.target !== undefined && (await branches.follow([facts.target]))) return reviewFacts(project, task)
      return facts
    },
    saw: (task) => neighbours.saw(task.meta),
    state,
    leftCommands: parts.leftCommands,
    isUntold: project.isUntold,
    rested: (sessionID) => gate.rested(sessionID),
  })
  /** Rows of sessions as they were last heard of, and records of tasks as they were last read. */
  const rows = new Map<string, Session | "deleted">()
  const recorded = new Map<string, string>()
  let stopWatching: (() => void) | undefined

  function sessionChanged(session: Session, deleted: boolean) {
    supervisor.family.saw(session)
    const known = rows.get(session.id)
    if (deleted ? known === "deleted" : known !== "deleted" && isSameRow(known, session)) return
    rows.set(session.id, deleted ? "deleted" : session)
    const task = supervisor.taskOf(session.id)
    const mine = (session.metadata?.kagan as { repo?: unknown } | undefined)?.repo === repo
    if (task || mine) void supervisor.look(task ?? session.id)
  }

  function lookAtTaskOf(sessionID: string) {
    const task = supervisor.taskOf(sessionID)
    if (task) void supervisor.look(task)
  }

  // An idle event is heard before the session counts as idle; a wake that was held until then is tried again here.
  const unsubscribe = state.subscribe((change) => {
    if (change.kind === "idle" || change.kind === "unblocked") lookAtTaskOf(change.sessionID)
  })

  /** Another window wrote records: those tasks are looked at, and boards read their sessions again. */
  async function recordsChanged() {
    const changed: string[] = []
    for (const record of await tasks.records()) {
      const key = JSON.stringify(record)
      if (recorded.get(record.sessionID) === key) continue
      recorded.set(record.sessionID, key)
      if (tasks.wroteRecord(record) || metaOf(record)?.repo !== repo) continue
      changed.push(record.sessionID)
      void supervisor.look(record.sessionID)
    }
    if (changed.length > 0) parts.push({ type: "changed", sessionIDs: changed })
  }

  return {
    project,
    tasks,
    host,
    state,
    gate,
    inject,
    supervisor,

    observe(event) {
      state.observe(event)
      const hint = hintOf(event)
      if (!hint) return
      if (hint.kind === "session") return sessionChanged(hint.session, hint.deleted)
      if (hint.kind === "sign") return supervisor.taskOf(hint.sessionID) && supervisor.signOf(hint.sessionID)
      if (hint.kind === "look") lookAtTaskOf(hint.sessionID)
    },

    async start() {
      for (const record of await tasks.records()) recorded.set(record.sessionID, JSON.stringify(record))
      const watching = store.watch(store.paths.tasks, () => void recordsChanged())
      if (watching.ok) stopWatching = watching.value
      else host.log("warn", `other windows are not heard: ${watching.error.text}`)
      await supervisor.start()
    },

    async refresh() {
      await Promise.all([supervisor.refresh(), branches.check()])
    },

    async dispose() {
      stopWatching?.()
      branches.dispose()
      unsubscribe()
      await supervisor.dispose()
      await inject.dispose()
      await gate.dispose()
      state.dispose()
    },
  }
}

/**
 * The earliest that the wall clock can have said since now. A clock may be set back, and what is stored right then, before
 * anybody here has looked at it, counts as well.
 */
function earliest(clock: Clock): () => number {
  const born = { wall: clock.now(), monotonic: clock.monotonic() }
  let back = 0
  return () => {
    back = Math.min(back, clock.now() - born.wall - (clock.monotonic() - born.monotonic))
    return born.wall + back
  }
}

function modelRef({ providerID, modelID }: ModelRef) {
  return { providerID, modelID }
}
