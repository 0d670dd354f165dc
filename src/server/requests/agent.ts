import { isSettingUpAgain } from "../../core/decide.ts"
import { sendAgain, wakeAgain } from "../../core/moves.ts"
import { workText } from "../../core/prompts.ts"
import type { Done, RequestFailure } from "../../core/protocol.ts"
import { ok, type Result } from "../../core/result.ts"
import { columnOf, workingSession, type Task, type TaskMeta, type WakeIntent } from "../../core/task.ts"
import { TOLD } from "../../core/turn.ts"
import type { HostFailure } from "../../shared/host.ts"
import { endLeftCommands } from "../left-commands.ts"
import { failed, refused } from "../moves.ts"
import { done, type Desk, type Handlers } from "../requests.ts"
import { putBack, setUpAgain, waiveSetup } from "../setup.ts"

type Told = Result<void, { readonly text: string }>

const REST_LIMIT_MS = 10_000
const REST_STEP_MS = 100

/** What the person says to the agent of a card, and what they answer it. */
export function agentRequests(
  desk: Desk,
): Pick<Handlers, "task.tell" | "task.stop" | "task.resume" | "setup.waive" | "ask.permission" | "ask.question"> {
  const { project, supervisor, on } = desk
  const { tasks, host } = project

  async function wake(task: Task, purpose: "tell" | "resume", text: string): Promise<Result<Done, RequestFailure>> {
    let moved = false
    const before = await unsaid(task)
    if (!before.ok) return failed(before.error.text)
    let told: Told = ok()
    const updated = await tasks.update(task.meta.sessionID, (meta) => {
      moved = columnOf(meta) !== "in_progress"
      if (moved) return undefined
      const intent = meta.run?.intent
      if (!intent || intent.id !== before.value?.id)
        return wakeAgain(meta, purpose, { now: project.clock.now(), seed: project.seed() }, text)
      // The words go along with it, before it.
      if (purpose === "tell") told = tell(meta, text)
      return told.ok ? sendAgain(meta, intent) : undefined
    })
    if (!updated.ok) return failed(updated.error.text)
    if (!told.ok) return failed(`not told: ${told.error.text}`)
    if (moved) return refused({ kind: "not_in_column", needed: "in_progress" })
    await project.remember(task.meta.sessionID, { kind: "edit", text: purpose === "tell" ? "told" : "resumed by you" })
    return ok({ text: purpose === "tell" ? "told" : "resumed" })
  }

  /** The prompt that was wanted before and does not stand in the transcript. */
  async function unsaid({ meta }: Task): Promise<Result<WakeIntent | undefined, HostFailure>> {
    const intent = meta.run?.intent
    if (!intent || intent.deliveredAt !== undefined) return ok(undefined)
    const stored = await host.message(workingSession(meta), intent.messageID)
    if (!stored.ok && stored.error.kind !== "not_found") return stored
    return ok(stored.ok && stored.value ? undefined : intent)
  }

  const tell = (meta: TaskMeta, text: string): Told =>
    project.tell(workingSession(meta), meta.worktree, { source: `person:${meta.taskNumber}`, kind: TOLD, text })

  /** Told into a running turn, under the lock, so that the card does not enter Review without it meanwhile. */
  async function tellRunning(task: Task, text: string): Promise<Result<Done, RequestFailure>> {
    let told: Told | undefined
    const updated = await tasks.update(task.meta.sessionID, (meta) => {
      if (columnOf(meta) === "in_progress") told = tell(meta, text)
      return undefined
    })
    if (!updated.ok) return failed(updated.error.text)
    if (!told) return refused({ kind: "not_in_column", needed: "in_progress" })
    return told.ok ? ok({ text: "told; it is read at the next step" }) : failed(`not told: ${told.error.text}`)
  }

  return {
    "task.tell": ({ sessionID, text }) =>
      on(sessionID, async (task) => {
        const words = text.trim()
        if (!words) return refused({ kind: "invalid", text: "there is nothing to tell" })
        if (columnOf(task.meta) !== "in_progress") return refused({ kind: "not_in_column", needed: "in_progress" })
        const facts = supervisor.factsOf(sessionID)
        const { intent, stoppedAt } = task.meta.run ?? {}
        const begins = intent !== undefined && intent.deliveredAt === undefined && !facts?.lost
        // A turn that the person stopped is over, whatever the last look still saw of it: it would not be read there.
        if ((facts?.activity.kind === "busy" || begins) && stoppedAt === undefined) return tellRunning(task, words)
        return wake(task, "tell", words)
      }),

    "task.stop": ({ sessionID }) =>
      on(sessionID, async (task) => {
        const stopped = await stopAll(desk, task)
        if (stopped.ok) await project.remember(sessionID, { kind: "stop", text: "stopped by you" })
        return stopped
      }),

    "task.resume": ({ sessionID }) =>
      on(sessionID, async (task) => {
        if ((await project.trees.worktree(task.meta)).state === "missing") {
          return done(await putBack(project, task))
        }
        if (task.meta.setup?.state === "failed" && (columnOf(task.meta) === "backlog" || isSettingUpAgain(task.meta))) {
          return done(await setUpAgain(project, task))
        }
        if (supervisor.factsOf(sessionID)?.problem && columnOf(task.meta) !== "in_progress")
          return ok({ text: "tried again" })
        if (columnOf(task.meta) !== "in_progress") return refused({ kind: "not_in_column", needed: "in_progress" })
        const facts = supervisor.factsOf(sessionID)
        if (facts?.command)
          return refused({ kind: "invalid", text: "a command of a dead run still goes on (X ends it)" })
        if (facts?.activity.kind === "busy" || facts?.activity.kind === "retry")
          return refused({ kind: "turn_running" })
        return wake(task, "resume", workText("resume", { title: task.title, taskNumber: task.meta.taskNumber }))
      }),

    "setup.waive": ({ sessionID, reason }) =>
      on(sessionID, async (task) => done(await waiveSetup(project, task, reason))),

    "ask.permission": ({ sessionID, ask, reply, message }) =>
      on(sessionID, async () => {
        const replied = await host.replyPermission(ask.directory, ask.id, reply, message)
        return replied.ok ? ok({ text: reply === "reject" ? "rejected" : "allowed" }) : failed(replied.error.text)
      }),

    "ask.question": ({ sessionID, ask, answers }) =>
      on(sessionID, async () => {
        const replied = answers
          ? await host.replyQuestion(
              ask.directory,
              ask.id,
              answers.map((answer) => [...answer]),
            )
          : await host.rejectQuestion(ask.directory, ask.id)
        return replied.ok ? ok({ text: answers ? "answered" : "dismissed" }) : failed(replied.error.text)
      }),
  }
}

/**
 * Stops everything of a task: the turn, its helpers, its setup, and what a dead OpenCode left running in the worktree.
 * The stop is written down first, so that a turn which is only about to begin is stopped as well.
 */
export async function stopAll({ project, supervisor }: Desk, task: Task): Promise<Result<Done, RequestFailure>> {
  const { tasks, host, clock } = project
  const { sessionID, worktree } = task.meta
  const updated = await tasks.update(sessionID, (now) =>
    columnOf(now) === "in_progress" ? { ...now, run: { ...now.run, stoppedAt: clock.now() } } : undefined,
  )
  if (!updated.ok) return failed(updated.error.text)
  supervisor.interrupt(sessionID)
  if ((await project.trees.worktree(task.meta)).state !== "present")
    return ok({ text: "nothing runs without its folder" })
  if (supervisor.factsOf(sessionID)?.command && !(await endLeftCommands(worktree, clock)))
    return failed("a command of a dead run could not be ended")
  if (!project.isServed(worktree)) return ok({ text: "stopped" })
  const statuses = await host.statuses(worktree)
  if (!statuses.ok) return failed(statuses.error.text)
  await supervisor.family.learn(Object.keys(statuses.value))
  for (const id of Object.keys(statuses.value)) {
    if (supervisor.taskOf(id) !== sessionID) continue
    const aborted = await host.abort(id, worktree)
    if (!aborted.ok) return failed(aborted.error.text)
  }
  return ok({ text: "stopped" })
}

/** Waits, not for ever, until what was stopped has come to rest: an abort is answered before the turn has ended. */
export async function restTask({ project }: Desk, task: Task): Promise<void> {
  const { host, clock } = project
  const until = clock.monotonic() + REST_LIMIT_MS
  const working = workingSession(task.meta)
  while (clock.monotonic() < until) {
    const statuses = await host.statuses(task.meta.worktree)
    if (!statuses.ok || statuses.value[working] === undefined) return
    await new Promise<void>((resolve) => clock.setTimer(REST_STEP_MS, resolve))
  }
}
