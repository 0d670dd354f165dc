import { stat } from "node:fs/promises"
import { join } from "node:path"
import { lastLine } from "../core/live.ts"
import { isSettingUpAgain } from "../core/decide.ts"
import { readReport, type CheckResult } from "../core/checks.ts"
import { isReason } from "../core/rules.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf, type Task, type TaskMeta } from "../core/task.ts"
import { commandsOf, keepCommands } from "../shared/task-commands.ts"
import { resultOf } from "./checks.ts"
import { commandEndText, runCommand } from "./command.ts"
import { markShell } from "./left-commands.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"

/*
 * Prepares a fresh worktree with the person's commands, one after the other; the first failure ends it. Until they are
 * through, nothing of the task is started; what they wrote is kept beside the task.
 */

type Done = Result<void, { readonly text: string }>
type SetupState = NonNullable<TaskMeta["setup"]>["state"]

/** Runs the setup commands of the task in its worktree. */
export async function runSetup(project: Project, task: Task, signal?: AbortSignal): Promise<Done> {
  const { tasks, clock } = project
  const { meta } = task
  const { sessionID } = meta
  const claim = { ...tasks.self, at: clock.now() }
  /** Only as long as it is ours: another window may have taken it over, or the person asked for it anew. */
  const note = async (state: SetupState, text?: string) => {
    const noted = await tasks.update(sessionID, (now) => {
      const held = state === "running" ? meta.setup?.claim : claim
      if (now.setup?.claim?.pid !== held?.pid || now.setup?.claim?.at !== held?.at) return undefined
      if (state === "running" && now.setup?.state !== meta.setup?.state) return undefined
      const running = state === "running" ? { claim } : {}
      const again = now.setup?.again && state !== "done" ? { again: true as const } : {}
      return { ...now, setup: { state, ...(text ? { text } : {}), ...again, ...running, at: clock.now() } }
    })
    return noted.ok ? ok(noted.value.changed) : err({ text: noted.error.text })
  }
  const begun = await note("running")
  if (!begun.ok) return begun
  if (!begun.value) return ok()
  const outcome = await inOrder(project, task, signal)
  const kept = await project.store.writeJson(pathOf(project, sessionID), {
    snapshot: "",
    at: clock.now(),
    results: outcome.results,
  })
  if (!kept.ok) project.host.log("error", `what the setup of #${meta.taskNumber} wrote is not kept: ${kept.error.text}`)
  const { problem } = outcome
  await project.remember(sessionID, { kind: "setup", text: problem ? `setup failed: ${problem}` : "setup done" })
  const noted = problem ? await note("failed", problem) : await note("done")
  return noted.ok ? ok() : noted
}

async function inOrder(
  project: Project,
  { meta }: Task,
  signal: AbortSignal | undefined,
): Promise<{ readonly results: readonly CheckResult[]; readonly problem?: string }> {
  const there = await stat(meta.worktree).catch(() => undefined)
  if (!there?.isDirectory()) return { results: [], problem: `the worktree folder ${meta.worktree} is missing` }
  const commands = await commandsOf(project, meta.sessionID, project.options())
  if (!commands.ok) return { results: [], problem: commands.error.text }
  const setup = commands.value.setup.filter((one) => one.trim() !== "")
  const results: CheckResult[] = []
  for (const [index, command] of setup.entries()) {
    const env: Record<string, string> = {}
    markShell(env)
    const place = { what: "setup" as const, name: command, command, index: index + 1, of: setup.length }
    const telling = project.live.begin(meta.sessionID, { ...place, before: [...results] })
    const ran = await runCommand({
      command,
      cwd: meta.worktree,
      env,
      clock: project.clock,
      timeoutMs: project.options().worktree.setupTimeout * 1000,
      heard: telling.take,
      ...(signal ? { signal } : {}),
    })
    telling.end()
    const result = resultOf({ name: command, command }, meta.worktree, ran)
    results.push(result)
    if (result.outcome === "passed") continue
    const last = lastLine(ran.tail)
    const said = last ? ` · ${last}` : ""
    return { results, problem: `${commandEndText(ran.end)}${said} (${command})`.slice(0, 500) }
  }
  return { results }
}

/** What the setup commands wrote when they ran last, in their order; empty when none ran. */
export async function readSetup(
  project: Pick<Project, "store">,
  sessionID: string,
): Promise<Result<readonly CheckResult[], { readonly text: string }>> {
  const path = pathOf(project, sessionID)
  const read = await project.store.readJson(path)
  if (!read.ok) return read.error.kind === "missing" ? ok([]) : err({ text: read.error.text })
  const report = readReport(read.value)
  return report ? ok(report.results) : err({ text: `${path} holds no output of a setup` })
}

/** Runs it again after a failure, with the commands that are configured now. */
export async function setUpAgain(project: Project, { meta }: Task): Promise<Result<string, RequestFailure>> {
  const kept = await keepCommands(project, meta.sessionID, project.options())
  if (!kept.ok) return failed(kept.error.text)
  const again = await project.tasks.update(meta.sessionID, (now) =>
    now.setup?.state === "failed"
      ? { ...now, setup: { state: "running", ...againOf(now), at: project.clock.now() } }
      : undefined,
  )
  return again.ok ? ok("the setup runs again") : failed(again.error.text)
}

function againOf({ setup }: TaskMeta): { readonly again?: true } {
  return setup?.again ? { again: true } : {}
}

/** Whether a worktree of the task that is put back is to be set up, with the commands of its creation. */
export async function wantsSetup(
  project: Project,
  meta: TaskMeta,
): Promise<Result<boolean, { readonly text: string }>> {
  if (columnOf(meta) === "done") return ok(false)
  const commands = await commandsOf(project, meta.sessionID, project.options())
  return commands.ok ? ok(commands.value.setup.some((one) => one.trim() !== "")) : commands
}

/** Says that the setup is to run again; the next look at a worktree that is there begins it. */
export function toSetUpAgain(project: Project, meta: TaskMeta): TaskMeta {
  return { ...meta, setup: { state: "running", again: true, at: project.clock.now() } }
}

/**
 * Puts a task's missing worktree back as it was made: at the tip of its branch, with the untracked files that are
 * brought along, and set up again. That it is to be set up is written down first, so that a crash leaves none unprepared.
 */
export async function putBack(project: Project, { meta }: Task): Promise<Result<string, RequestFailure>> {
  // Moved back whole, it is as it was.
  const { renamed } = await project.trees.worktree(meta)
  const wanted = renamed === undefined ? await wantsSetup(project, meta) : ok(false)
  if (!wanted.ok) return failed(wanted.error.text)
  if (wanted.value) {
    const noted = await project.tasks.update(meta.sessionID, (now) => toSetUpAgain(project, now))
    if (!noted.ok) return failed(noted.error.text)
  }
  const put = await project.trees.restore(meta)
  if (!put.ok) return failed(put.error.text)
  const ensured = await project.ensureInstance(meta.worktree)
  if (!ensured.ok) return failed(ensured.error.text)
  await project.remember(meta.sessionID, { kind: "restore", text: "its worktree was put back" })
  return ok(wanted.value ? "its worktree is back; its setup runs again" : "its worktree is back")
}

/** Goes on with a worktree whose setup failed, for a reason that stays on record. */
export async function waiveSetup(
  project: Project,
  { meta }: Task,
  reason: string,
): Promise<Result<string, RequestFailure>> {
  if (!isReason(reason)) return refused({ kind: "reason_needed", what: "going on without the setup" })
  const text = `went on without it: ${reason.trim()}`
  const waived = await project.tasks.update(meta.sessionID, (now) =>
    now.setup?.state === "failed" && (columnOf(now) === "backlog" || isSettingUpAgain(now))
      ? { ...now, setup: { state: "skipped", text, at: project.clock.now() } }
      : undefined,
  )
  if (!waived.ok) return failed(waived.error.text)
  if (!waived.value.changed) return refused({ kind: "invalid", text: "its setup has not failed" })
  await project.remember(meta.sessionID, { kind: "setup", text: `setup failed, ${text}` })
  return ok("goes on without the setup")
}

function pathOf({ store }: Pick<Project, "store">, sessionID: string): string {
  return join(store.paths.session(sessionID).dir, "setup.json")
}
