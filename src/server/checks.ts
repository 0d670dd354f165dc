import { realpath, stat } from "node:fs/promises"
import { join, sep } from "node:path"
import { matchingChecks, type Check } from "../core/check-paths.ts"
import { readReport, summarize, type CheckResult, type ChecksReport } from "../core/checks.ts"
import { plural } from "../core/board.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf, type ChecksSummary, type SnapshotRef, type Task } from "../core/task.ts"
import { commandsOf } from "../shared/task-commands.ts"
import { commandEndText, runCommand, type CommandResult, type WantedCommand } from "./command.ts"
import type { Telling } from "./live.ts"
import { markShell } from "./left-commands.ts"
import type { Project } from "./project.ts"

/*
 * Runs the person's checks on the snapshot, in the worktree, where its dependencies are. A result counts only if the
 * worktree was the snapshot before and after.
 *
 *   claim ─► per check: still the snapshot? ─ run ─ still the snapshot? ─► file beside the task ─► counts in the metadata
 */

const DEFAULT_TIMEOUT = 600
const KEPT_OUTPUT = 64 * 1024

/** The reason of an abort that is no stop of the person's: this process ends, and the next one runs them again. */
export const PROCESS_ENDS = "process ends"

type Done = Result<void, { readonly text: string }>
type ChecksProject = Pick<Project, "tasks" | "clock" | "store" | "trees" | "remember" | "options" | "live">

/** Runs those checks that concern the snapshot, one after the other, and writes down what came of them. */
export async function runChecks(project: ChecksProject, task: Task, signal?: AbortSignal): Promise<Done> {
  const { tasks, clock } = project
  const { sessionID } = task.meta
  const snapshot = task.meta.review?.snapshot
  if (!snapshot) return ok()
  const claim = { ...tasks.self, at: clock.now() }
  const seen = task.meta.review?.checks
  const noted = (summary: ChecksSummary, held: ChecksSummary | undefined) =>
    note(project, sessionID, snapshot, held, summary)

  const running: ChecksSummary = { state: "running", passed: 0, failed: 0, notRun: 0, claim, at: clock.now() }
  const begun = await noted(running, seen)
  if (!begun.ok) return begun
  // Another window runs them, or the card went on.
  if (!begun.value) return ok()

  const results = await resultsOf(project, task, snapshot, signal)
  if (signal?.aborted && signal.reason === PROCESS_ENDS) return ok()
  const report: ChecksReport = { snapshot: snapshot.commit, at: clock.now(), results }
  const stored = await project.store.writeText(pathOf(project, sessionID, snapshot), JSON.stringify(report))
  if (!stored.ok) return err({ text: `the results of the checks: ${stored.error.text}` })
  const summary = summarize(results, clock.now())
  const finished = await noted(summary, running)
  if (!finished.ok) return finished
  if (finished.value) {
    const { passed, failed, notRun } = summary
    const text = `checks on ${snapshot.commit.slice(0, 7)}: ${passed} passed, ${failed} failed, ${notRun} not run`
    await project.remember(sessionID, { kind: "check", text, snapshot: snapshot.commit })
  }
  return ok()
}

/** What is stored of the checks on a snapshot; `undefined` when none were run on it. */
export async function readChecks(
  project: Pick<Project, "store">,
  sessionID: string,
  snapshot: Pick<SnapshotRef, "commit">,
): Promise<Result<ChecksReport | undefined, { readonly text: string }>> {
  const path = pathOf(project, sessionID, snapshot)
  const read = await project.store.readText(path)
  if (!read.ok) return read.error.kind === "missing" ? ok(undefined) : err({ text: read.error.text })
  const report = readReport(parsed(read.value))
  return report ? ok(report) : err({ text: `${path} holds no results of checks` })
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // Whatever it is, it is no report, which the caller says.
    return undefined
  }
}

function pathOf({ store }: Pick<Project, "store">, sessionID: string, snapshot: Pick<SnapshotRef, "commit">): string {
  return join(store.paths.session(sessionID).checks, `${snapshot.commit}.json`)
}

/** Writes the summary as long as this snapshot is under review and the checks are still ours; says whether it did. */
async function note(
  project: ChecksProject,
  sessionID: string,
  snapshot: SnapshotRef,
  held: ChecksSummary | undefined,
  summary: ChecksSummary,
): Promise<Result<boolean, { readonly text: string }>> {
  const updated = await project.tasks.update(sessionID, (now) => {
    if (columnOf(now) !== "review" || now.review?.snapshot?.commit !== snapshot.commit) return undefined
    const { checks } = now.review
    if (checks?.state !== held?.state || checks?.claim?.pid !== held?.claim?.pid) return undefined
    if (checks?.claim?.at !== held?.claim?.at) return undefined
    return { ...now, review: { ...now.review, checks: summary } }
  })
  return updated.ok ? ok(updated.value.changed) : err({ text: updated.error.text })
}

async function resultsOf(
  project: ChecksProject,
  task: Task,
  snapshot: SnapshotRef,
  signal: AbortSignal | undefined,
): Promise<CheckResult[]> {
  const commands = await commandsOf(project, task.meta.sessionID, project.options())
  if (!commands.ok) return [notRun({ name: "checks", command: "" }, commands.error.text)]
  const { checks } = commands.value
  const diff = await project.trees.diff(snapshot)
  if (!diff.ok) return checks.map((check) => notRun(check, `the changed files are not known: ${diff.error.text}`))
  const changed = diff.value.files.flatMap(({ path, from }) => (from === undefined ? [path] : [path, from]))
  const results: CheckResult[] = []
  const matching = matchingChecks(checks, changed)
  let telling: Telling | undefined
  try {
    for (const [index, check] of matching.entries()) {
      const { name, command } = check
      const place = { what: "checks" as const, name, command, index: index + 1, of: matching.length }
      telling = project.live.begin(task.meta.sessionID, { ...place, before: [...results] })
      results.push(await oneResult(project, task, check, { heard: telling.take, ...(signal ? { signal } : {}) }))
    }
  } finally {
    telling?.end()
  }
  return results
}

async function oneResult(
  project: ChecksProject,
  task: Task,
  check: Check,
  ends: Pick<WantedCommand, "signal" | "heard">,
): Promise<CheckResult> {
  const { meta } = task
  if (check.command.trim() === "")
    return { name: check.name, command: check.command, outcome: "none", text: "no command is configured" }
  if (ends.signal?.aborted) return notRun(check, "stopped")
  const folder = await folderOf(meta.worktree, check.cwd)
  if (!folder.ok) return notRun(check, folder.error)
  const before = await moved(project, task)
  if (before !== undefined) return notRun(check, before)
  const env: Record<string, string> = {}
  markShell(env)
  const started = project.clock.monotonic()
  const ran = await runCommand({
    command: check.command,
    cwd: folder.value,
    env,
    timeoutMs: (check.timeout ?? DEFAULT_TIMEOUT) * 1000,
    clock: project.clock,
    ...ends,
  })
  const ms = Math.round(project.clock.monotonic() - started)
  const judged = { ...resultOf(check, folder.value, ran), ms }
  if (judged.outcome === "not_run") return judged
  const after = await moved(project, task)
  return after === undefined ? judged : { ...judged, outcome: "not_run", text: `${judged.text}, but ${after}` }
}

/** How a command that was run counts, before it is known whether the tree stood still. */
export function resultOf(check: Pick<Check, "name" | "command">, folder: string, ran: CommandResult): CheckResult {
  const { end, bytes } = ran
  const passed = end.kind === "exited" && end.code === 0
  const counts = end.kind !== "stopped" && end.kind !== "not_started"
  const kept = ran.tail.slice(-KEPT_OUTPUT)
  const output = bytes > Buffer.byteLength(kept) ? `(the last part of ${plural(bytes, "byte")})\n${kept}` : kept
  const where = end.kind === "exited" && (end.code === 127 || end.code === 126) ? ` (${ran.shell} in ${folder})` : ""
  return {
    name: check.name,
    command: check.command,
    outcome: passed ? "passed" : counts ? "failed" : "not_run",
    text: `${commandEndText(end)}${where}`,
    folder,
    shell: ran.shell,
    bytes,
    output,
  }
}

function notRun({ name, command }: Pick<Check, "name" | "command">, text: string): CheckResult {
  return { name, command, outcome: "not_run", text }
}

/** Why the worktree is not the snapshot; `undefined` when it is. */
async function moved({ trees }: ChecksProject, { meta }: Task): Promise<string | undefined> {
  if ((await realFolder(meta.worktree)) === undefined) return `the worktree folder ${meta.worktree} is missing`
  const changed = await trees.changed(meta)
  if (!changed.ok) return `the worktree cannot be compared with the snapshot: ${changed.error.text}`
  const files = changed.value
  if (files.length === 0) return undefined
  const more = files.length > 3 ? ` and ${files.length - 3} more` : ""
  return `the worktree is not the snapshot: ${files.slice(0, 3).join(", ")}${more} changed`
}

/** Where a check runs: always inside the worktree, whatever links the branch holds. */
async function folderOf(worktree: string, cwd: string | undefined): Promise<Result<string, string>> {
  const top = await realFolder(worktree)
  if (top === undefined) return err(`the worktree folder ${worktree} is missing`)
  if (cwd === undefined) return ok(top)
  const folder = await realFolder(join(top, cwd))
  if (folder === undefined) return err(`the folder ${cwd} is missing in the worktree`)
  const inside = folder === top || folder.startsWith(top.endsWith(sep) ? top : top + sep)
  return inside ? ok(folder) : err(`the folder ${cwd} lies outside the worktree`)
}

async function realFolder(path: string): Promise<string | undefined> {
  const real = await realpath(path).catch(() => undefined)
  const found = real === undefined ? undefined : await stat(real).catch(() => undefined)
  return found?.isDirectory() ? real : undefined
}
