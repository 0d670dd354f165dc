import { randomUUID } from "node:crypto"
import type { TaskFacts } from "../core/board.ts"
import { readOptions } from "../core/options.ts"
import type { ReplyOf } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { oneLine } from "../core/fence.ts"
import { columnOf, STATUS_TITLE, type ModelRef, type Task } from "../core/task.ts"
import { readDraft } from "../core/draft.ts"
import { systemClock, type Clock } from "../shared/clock.ts"
import { createTask, listDrafts, type CreateParts } from "../shared/create-task.ts"
import { openRepository, worktreeRootOf, type Repository } from "../shared/git/repository.ts"
import { makeGit } from "../shared/git/runner.ts"
import { worktreeState } from "../shared/git/worktree-state.ts"
import type { Host, HostDoors, Session } from "../shared/host.ts"
import { makeInject, type Inject } from "../shared/inject.ts"
import { makeGate, type Gate } from "../shared/prompt-async-gate.ts"
import type { HostEvent } from "../shared/session-event.ts"
import { makeSessionState, type SessionState } from "../shared/session-state.ts"
import { openStore } from "../shared/store.ts"
import { makeTasks, type Tasks } from "../shared/tasks.ts"
import { hintOf, rowKey } from "./events.ts"
import { collectIntake, intakeSpec, storeAssessment } from "./intake.ts"
import { ensureInstance } from "./instances.ts"
import { metaOf } from "./moves.ts"
import { taskRules } from "./permissions.ts"
import type { Project, WakeRequest, WakeResult } from "./project.ts"
import { makeHandlers, type Handlers } from "./requests.ts"
import { resumeMerge } from "./approve.ts"
import { reviewFacts, snapshotTask } from "./snapshot.ts"
import { runSetup } from "./setup.ts"
import { isHelperRole, makeSupervisor, type Supervisor } from "./supervisor.ts"
import type { HelperReports } from "./tools.ts"
import { collectFindings, storeFindings } from "./validator/findings.ts"
import { validatorSpec } from "./validator/spawn.ts"
import { wakeTask } from "./wake-task.ts"
import type { ServerChannel } from "./channel.ts"

/*
 * One repository's server half: opened once per process, whatever number of directories the host serves.
 *
 *   instances of all directories ─ events, tool hooks, prompts ─► running ─► state, gate, inject, supervisor
 *   boards ─ channel ─► handlers ─► supervisor
 */

export type RunningInput = {
  readonly doors: HostDoors
  /** Where the host was started. */
  readonly directory: string
  readonly options: unknown
  readonly channel: ServerChannel
  readonly version: string
  readonly clock?: Clock
}

export interface Running {
  readonly root: string
  readonly repo: string
  readonly worktreesRoot: string
  readonly host: Host
  readonly state: SessionState
  readonly inject: Inject
  readonly gate: Gate
  readonly supervisor: Supervisor
  readonly reports: HelperReports
  hello(): ReplyOf<"hello">
  /** From the one event subscriber of each instance. */
  observe(event: HostEvent): void
  /** Looks at everything once, finishes what a dead process left half created. */
  start(): Promise<void>
  dispose(): Promise<void>
}

export type OpenFailure = { readonly text: string }

export async function openRunning(input: RunningInput): Promise<Result<Running, OpenFailure>> {
  const clock = input.clock ?? systemClock
  const { host, metadata, turns } = input.doors
  const git = makeGit()
  const opened = await openRepository(git, input.directory)
  if (!opened.ok) return err({ text: opened.error.text })
  const repository = opened.value
  const store = openStore(repository.commonDir, { clock })
  const id = await store.repoID()
  if (!id.ok) return err({ text: `the repository's Kagan folder: ${id.error.text}` })
  const repo = id.value
  const { options, problems } = readOptions(input.options)
  const tasks = makeTasks({ host, metadata, store, repo })
  const state = makeSessionState({ host, clock, leases: store.leases })
  const log = host.log.bind(host)
  const gate = makeGate({ turns, host, state, leases: store.leases, clock, log })
  const inject = makeInject({ gate, host, state, store, clock, log })
  const worktreesRoot = options.worktree.root ?? worktreeRootOf(repository)
  const own = (directory: string) => directory !== repository.root && directory.startsWith(worktreesRoot)

  const project: Project = {
    root: repository.root,
    repo,
    repository,
    git,
    host,
    store,
    tasks,
    clock,
    options: () => options,
    seed: () => randomUUID(),
    ensureInstance: (directory) =>
      ensureInstance({
        host,
        root: repository.root,
        from: repository.isLinkedWorktree ? repository.root : input.directory,
        directory,
        family: own,
      }),
    wake,
    tell(sessionID, directory, context) {
      state.track(sessionID, directory)
      const accepted = inject.inject(sessionID, { source: context.source, text: context.text, kind: context.kind })
      if (!accepted.ok) host.log("error", `a context for ${sessionID} was not accepted: ${accepted.error.text}`)
    },
    push: (push) => input.channel.push(repo, push),
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

  const specs = { intake: intakeSpec(project), validator: validatorSpec(project) }
  const supervisor = makeSupervisor({
    project,
    work: {
      specs,
      collect: (role, task) => (role === "intake" ? collectIntake(project, task) : collectFindings(project, task)),
      runSetup: (task) => runSetup(project, task),
      wakeTask: (task) => wakeTask(project, task),
      takeSnapshot: (task) => snapshotTask(project, task),
      resumeMerge: (task) => resumeMerge(project, task),
      reviewFacts: (task) => reviewFacts(project, task),
    },
    worktreeState: (task) => folderState(repository, task),
    state,
  })

  const create: CreateParts = {
    repository,
    host,
    store,
    tasks,
    clock,
    repo,
    options: () => options,
    ensureInstance: project.ensureInstance,
    permission: () => taskRules({ root: repository.root, pushGuard: options.pushGuard }),
  }
  const handlers: Handlers = makeHandlers({ project, supervisor, create })
  const rows = new Map<string, string>()
  let stopWatching: (() => void) | undefined

  function sessionChanged(session: Session, deleted: boolean) {
    if (session.parentID) supervisor.relate(session.id, session.parentID)
    if (session.parentID && isHelperRole(session)) supervisor.noteHelper(session.id)
    const worker = (session.metadata?.kagan as { workerParent?: unknown } | undefined)?.workerParent
    if (typeof worker === "string") supervisor.relate(session.id, worker)
    const key = deleted ? "deleted" : rowKey(session)
    if (rows.get(session.id) === key) return
    rows.set(session.id, key)
    const known = supervisor.taskOf(session.id)
    const mine = (session.metadata?.kagan as { repo?: unknown } | undefined)?.repo === repo
    if (known || mine) void supervisor.look(known ?? session.id)
  }

  // An idle event is heard before the session counts as idle; a wake that was held until then is tried again here.
  state.subscribe((change) => {
    if (change.kind !== "idle" && change.kind !== "unblocked") return
    const task = supervisor.taskOf(change.sessionID)
    if (task) void supervisor.look(task)
  })

  /** Another window wrote records: those tasks are looked at. */
  async function recordsChanged() {
    for (const record of await tasks.records()) {
      const key = JSON.stringify(record.kagan)
      if (rows.get(`record:${record.sessionID}`) === key) continue
      rows.set(`record:${record.sessionID}`, key)
      void supervisor.look(record.sessionID)
    }
  }

  return ok({
    root: repository.root,
    repo,
    worktreesRoot,
    host,
    state,
    inject,
    gate,
    supervisor,
    reports: {
      assessment: async (sessionID, assessment) =>
        reported(sessionID, await storeAssessment(project, sessionID, assessment)),
      findings: async (sessionID, report) => reported(sessionID, await storeFindings(project, sessionID, report)),
      createTasks: async (_sessionID, planned) => {
        const made: string[] = []
        for (const one of planned) {
          const task = await createTask(create, {
            id: randomUUID(),
            title: one.title,
            description: one.description ?? "",
            at: clock.now(),
          })
          if (!task.ok)
            return err(
              `${one.title}: ${task.error.text}${made.length > 0 ? ` (created before it: ${made.join(", ")})` : ""}`,
            )
          made.push(`#${task.value.meta.taskNumber}`)
          void supervisor.look(task.value.meta.sessionID)
        }
        return ok(`Created ${made.join(", ")}.`)
      },
      board: async () => ok(await boardText(tasks)),
      unreadable: (sessionID, tool, reason) => host.log("warn", `${tool} of ${sessionID} could not be read: ${reason}`),
    },

    hello: () => ({ repo, root: repository.root, version: input.version, options, problems, ...readOnly(repository) }),

    observe(event) {
      state.observe(event)
      const hint = hintOf(event)
      if (!hint) return
      if (hint.kind === "session") return sessionChanged(hint.session, hint.deleted)
      if (hint.kind === "look") {
        const task = supervisor.taskOf(hint.sessionID)
        if (task) void supervisor.look(task)
      }
    },

    async start() {
      input.channel.serve(repo, handlers)
      const watching = store.watch(store.paths.tasks, () => void recordsChanged())
      if (watching.ok) stopWatching = watching.value
      else host.log("warn", `other windows are not heard: ${watching.error.text}`)
      await recordsChanged()
      await supervisor.start()
      for (const draft of await listDrafts(create)) {
        // Left half made by a process that is gone: go on with it.
        if (draft.problem !== undefined || !draft.claim || store.alive(draft.claim) !== false || !readDraft(draft))
          continue
        const made = await createTask(create, draft)
        if (made.ok) void supervisor.look(made.value.meta.sessionID)
        else host.log("warn", `the draft "${draft.title}" is not a task: ${made.error.text}`)
      }
    },

    async dispose() {
      stopWatching?.()
      input.channel.retire(repo)
      await supervisor.dispose()
      await inject.dispose()
      await gate.dispose()
      state.dispose()
    },
  })

  /** A report changes what is known of its task. */
  function reported<T>(sessionID: string, result: T): T {
    const task = supervisor.taskOf(sessionID)
    if (task) void supervisor.look(task)
    return result
  }
}

const keys = new Map<string, string>()

/** What names the repository of a directory: its shared git folder, or the directory itself where there is none. */
export async function repositoryKey(directory: string): Promise<string> {
  const known = keys.get(directory)
  if (known) return known
  const opened = await openRepository(makeGit(), directory)
  if (opened.ok) keys.set(directory, opened.value.commonDir)
  return opened.ok ? opened.value.commonDir : directory
}

function modelRef({ providerID, modelID }: ModelRef) {
  return { providerID, modelID }
}

/** What stands where the worktree belongs. */
async function folderState(repository: Repository, task: Task): Promise<TaskFacts["worktree"]> {
  const state = await worktreeState(repository, task.meta.worktree, task.meta.branch)
  if (!state.ok) return "unknown"
  switch (state.value.kind) {
    case "missing":
      return "missing"
    case "foreign":
    case "broken":
      return "foreign"
    default:
      return "present"
  }
}

function readOnly(repository: Repository): { readonly readOnly?: string } {
  if (repository.bare) return { readOnly: "this repository has no checkout: tasks cannot be merged into it" }
  return repository.hasCommit ? {} : { readOnly: "this repository has no commit yet: make a first one to create tasks" }
}

async function boardText(tasks: Tasks): Promise<string> {
  const lines = (await tasks.records()).flatMap((record) => {
    const meta = metaOf(record)
    return meta && !meta.trashedAt
      ? [`#${meta.taskNumber} ${STATUS_TITLE[columnOf(meta)]}: ${oneLine(record.title)}`]
      : []
  })
  return lines.length > 0 ? lines.join("\n") : "The board is empty."
}
