import { basename, dirname } from "node:path"
import type { ReplyOf } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { systemClock, type Clock } from "../shared/clock.ts"
import type { CreateParts } from "../shared/create-task.ts"
import { listRecords } from "../shared/git/ownership.ts"
import { openRepository, worktreeRootOf, type Repository } from "../shared/git/repository.ts"
import { makeGit } from "../shared/git/runner.ts"
import type { Host, HostDoors } from "../shared/host.ts"
import type { Inject } from "../shared/inject.ts"
import type { Gate } from "../shared/prompt-async-gate.ts"
import type { HostEvent } from "../shared/session-event.ts"
import type { SessionState } from "../shared/session-state.ts"
import { copiedFrom } from "../shared/store/home.ts"
import { openStore } from "../shared/store.ts"
import { boardText } from "./board-text.ts"
import type { ServerChannel } from "./channel.ts"
import type { ConfigPlaces } from "./config-files.ts"
import { makeContainment } from "./containment.ts"
import { createPlanned, finishLeftDrafts, tellDrafts, type Creating } from "./creation.ts"
import type { Patient } from "./doctor/doctor.ts"
import { rewriteRecord } from "./doctor/records.ts"
import { ensureInstance, isServed, personEnv } from "./instances.ts"
import { storeAssessment } from "./intake.ts"
import { leftCommands } from "./left-commands.ts"
import { liveOptions } from "./live-options.ts"
import { foreignConfig } from "./own-files.ts"
import { taskRules } from "./permissions.ts"
import { makePushGuard, type PushGuard } from "./push-guard.ts"
import { personsNpm } from "./npm.ts"
import { makeHandlers } from "./requests.ts"
import { serviceHandlers } from "./services.ts"
import { makeSettings } from "./settings.ts"
import { makeUpdates } from "./updates.ts"
import { makeSupervision } from "./supervision.ts"
import type { Supervisor } from "./supervisor.ts"
import type { HelperReports } from "./tools.ts"
import { gitTrees } from "./trees.ts"
import { storeFindings } from "./validator/findings.ts"

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
  /** Whether it is, or lies in, a worktree of ours. */
  isTaskFolder(directory: string): boolean
  readonly host: Host
  readonly state: SessionState
  readonly inject: Inject
  readonly gate: Gate
  readonly supervisor: Supervisor
  readonly reports: HelperReports
  readonly pushGuard: PushGuard
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
  const { host } = input.doors
  let trusted = (): readonly string[] => []
  const opened = await openRepository(makeGit({ trusted: () => trusted() }), input.directory)
  if (!opened.ok) return err({ text: opened.error.text })
  const repository = opened.value
  const { root } = repository
  const store = openStore(repository.commonDir, { clock })
  const id = await store.repoID()
  if (!id.ok) return err({ text: `the repository's Kagan folder: ${id.error.text}` })
  const repo = id.value
  const original = await copiedFrom(repository.commonDir)
  if (!original.ok) return err({ text: `the repository's Kagan folder: ${original.error.text}` })
  if (original.value !== undefined) {
    const text = `a copy of ${original.value}, where the cards are: remove ${store.dir} and restart OpenCode for a board of its own`
    return err({ text })
  }
  const options = liveOptions(input.options, () => {
    input.channel.push(repo, { type: "options", options: options.now(), problems: options.problems() })
    // A higher limit may let go on what is queued.
    void supervision.refresh()
  })
  trusted = () => options.now().worktree.filters
  const worktreesRoot = options.now().worktree.root ?? worktreeRootOf(repository)
  // A repository that was moved, or another option, gives new worktrees another place than the old ones have.
  const former = (await listRecords(repository.commonDir)).map(({ path }) => `${dirname(path)}/`)
  const own = (directory: string) =>
    directory !== root && [worktreesRoot, ...former].some((folder) => directory.startsWith(folder))
  const foreign = async (directory: string) => {
    const found = await foreignConfig(directory, root).catch((cause: Error) => cause)
    if (!(found instanceof Error)) return found
    host.log("warn", `its OpenCode files cannot be looked at: ${found.message}`, { directory })
    // Rather one boot too many.
    return ".opencode"
  }
  const permission = () => taskRules({ root, pushGuard: options.now().pushGuard })
  const from = repository.isLinkedWorktree ? root : input.directory

  const containment = makeContainment({ repository, store, clock })
  const supervision = makeSupervision({
    doors: input.doors,
    root,
    repo,
    store,
    clock,
    trees: gitTrees(repository, store, () => options.now().worktree),
    options: options.now,
    push: (push) => input.channel.push(repo, push),
    ensureInstance: (directory) =>
      ensureInstance({
        host,
        root,
        from,
        directory,
        family: own,
        foreign,
        onForeign: (opened, file) => {
          const text = `OpenCode opened ${basename(opened)} before Kagan could: ${file} of that branch was in force until now`
          host.log("warn", text, { directory: opened })
          input.channel.push(repo, { type: "notice", level: "warning", text, key: `foreign ${opened}` })
        },
      }),
    isServed,
    bringsConfig: async (directory) => (await foreign(directory)) !== undefined,
    leftCommands,
    permission,
    async beforeWork({ meta }) {
      await pushGuard.prepare(meta)
      const begun = await containment.begin(meta)
      if (!begun.ok)
        host.log("warn", `#${meta.taskNumber}: what surrounds it was not written down: ${begun.error.text}`)
    },
    async outside(meta) {
      const changes = await containment.changes(meta)
      if (!changes.ok) host.log("warn", `#${meta.taskNumber}: ${changes.error.text}`)
      return changes.ok ? changes.value : []
    },
  })
  const { project, supervisor, tasks } = supervision
  const pushGuard = makePushGuard({
    repository,
    host,
    enabled: () => options.now().pushGuard,
    family: supervisor.family,
    taskOf: supervisor.taskOf,
  })
  const create: CreateParts = {
    repository,
    host,
    store,
    tasks,
    clock,
    repo,
    options: options.now,
    ensureInstance: project.ensureInstance,
    permission,
  }

  const places = (): ConfigPlaces => ({ root, from, url: import.meta.url, env: personEnv() })
  const settings = makeSettings({ places, apply: options.set })
  const updates = makeUpdates({ places, version: input.version, npm: personsNpm(personEnv) })
  const patient = (board: { readonly hostVersion: string; readonly version: string }): Patient => ({
    repository,
    store,
    places: places(),
    settings,
    worktreesRoot,
    version: input.version,
    hostVersion: board.hostVersion,
    board,
    running: { options: options.now(), problems: options.problems() },
    writeRecord: (taskNumber) => rewriteRecord(host, tasks, { root, repo, taskNumber }),
  })
  const creating: Creating = { project, supervisor, create }
  let stopHearing = () => {}
  let stopWatching = () => {}

  return ok({
    root,
    repo,
    isTaskFolder: own,
    host,
    state: supervision.state,
    inject: supervision.inject,
    gate: supervision.gate,
    supervisor,
    pushGuard,
    reports: {
      assessment: async (sessionID, assessment) =>
        reported(sessionID, await storeAssessment(project, sessionID, assessment)),
      findings: async (sessionID, report) => reported(sessionID, await storeFindings(project, sessionID, report)),
      createTasks: (sessionID, planned) => createPlanned(creating, sessionID, planned),
      board: async () =>
        ok(boardText(await tasks.records(), supervisor.facts(), clock.now(), options.now().stallAfter)),
      unreadable: (sessionID, tool, reason) => host.log("warn", `${tool} of ${sessionID} could not be read: ${reason}`),
    },

    hello: () => ({
      repo,
      root,
      version: input.version,
      options: options.now(),
      problems: options.problems(),
      ...readOnly(repository),
    }),
    observe: supervision.observe,

    async start() {
      input.channel.serve(repo, {
        ...makeHandlers(creating),
        ...serviceHandlers({ settings, patient, updates }),
      })
      stopHearing = input.channel.onWatched((which, watched) => {
        if (which !== repo || !watched) return
        void supervision.refresh()
        void finishLeftDrafts(creating)
      })
      // What another window keeps or makes of what was typed is heard from its file.
      const watching = store.watch(store.paths.drafts, () => void tellDrafts(creating))
      if (watching.ok) stopWatching = watching.value
      else host.log("warn", `drafts of other windows are not heard: ${watching.error.text}`)
      await supervision.start()
      await finishLeftDrafts(creating)
    },

    async dispose() {
      stopHearing()
      stopWatching()
      input.channel.retire(repo)
      await supervision.dispose()
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

function readOnly(repository: Repository): { readonly readOnly?: string } {
  if (repository.bare) return { readOnly: "this repository has no checkout: tasks cannot be merged into it" }
  return repository.hasCommit ? {} : { readOnly: "this repository has no commit yet: make a first one to create tasks" }
}
