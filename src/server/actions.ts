import type { Action, Died, LookFacts } from "../core/decide.ts"
import { wakeAgain } from "../core/moves.ts"
import { workText } from "../core/prompts.ts"
import type { Result } from "../core/result.ts"
import { NO_REVIEW } from "../core/stage.ts"
import { columnOf, workingSession, type HelperRole, type Status, type Task } from "../core/task.ts"
import { refuseAsk } from "./asks.ts"
import { failHelper, promptHelper, spawnHelper, type HelperSpec } from "./helper.ts"
import { judgeWish } from "./moves.ts"
import type { Project } from "./project.ts"

type Outcome = Result<unknown, { readonly text: string }>

/** What the actions do, apart from what stands here: the parts of the life of a task that have their own files. */
export type Work = {
  readonly specs: Readonly<Record<HelperRole, HelperSpec>>
  collect(role: HelperRole, task: Task): Promise<Outcome>
  runSetup(task: Task, signal: AbortSignal): Promise<Outcome>
  wakeTask(task: Task): Promise<Outcome>
  makeWorker(task: Task): Promise<Outcome>
  takeSnapshot(task: Task): Promise<Outcome>
  runChecks(task: Task, signal: AbortSignal): Promise<Outcome>
  resumeMerge(task: Task): Promise<Outcome>
}

export type ActionParts = {
  readonly project: Project
  readonly work: Work
  /** Runs a long action aside; the task is looked at again when it is over. */
  aside(sessionID: string, what: "setup" | "checks", action: (signal: AbortSignal) => Promise<Outcome>): void
  /** Ends the long action of a task. */
  interrupt(sessionID: string): void
  /** Runs the making of one part of a task, so that its claim counts as alive meanwhile. */
  claiming(sessionID: string, part: HelperRole | "worker", action: () => Promise<Outcome>): Promise<Outcome>
}

/** What an action came to: its result, and whether another look makes sense at once. */
export type Executed = { readonly result: Outcome; readonly again: boolean }

/** Executes what `decide` asked for. Each is idempotent: a second window that decides the same does nothing twice. */
export async function execute(parts: ActionParts, action: Action, task: Task, facts: LookFacts): Promise<Executed> {
  const { project, work } = parts
  const { sessionID } = task.meta
  const once = (result: Outcome): Executed => ({ result, again: false })
  const more = (result: Outcome): Executed => ({ result, again: result.ok })
  switch (action.kind) {
    case "seed":
      return more(
        await project.tasks.update(sessionID, (meta) =>
          meta.lastGatedStatus ? undefined : { ...meta, lastGatedStatus: meta.status },
        ),
      )
    case "judge":
      return judge(parts, action.wish, task, facts)
    case "run_setup":
      parts.aside(sessionID, "setup", (signal) => work.runSetup(task, signal))
      return once(DONE)
    case "spawn_helper": {
      const { role, attempt } = action
      return more(await parts.claiming(sessionID, role, () => spawnHelper(project, work.specs[role], task, attempt)))
    }
    case "prompt_helper":
      return once(await promptHelper(project, work.specs[action.role], task, action.died))
    case "collect_helper":
      return more(await work.collect(action.role, task))
    case "fail_helper":
      return more(await failHelper(project, action.role, task, action.reason, facts.helpers[action.role]?.activity))
    case "refuse_ask":
      return once(await refuseAsk(project.host, action.ask))
    case "abort":
      return once(await project.host.abort(workingSession(task.meta), task.meta.worktree))
    case "make_worker":
      return more(await parts.claiming(sessionID, "worker", () => work.makeWorker(task)))
    case "wake":
      return once(await work.wakeTask(task))
    case "mark_delivered":
      return more(await markDelivered(project, task))
    case "resume":
      return more(await resume(project, task, action.died))
    case "answer_words":
      return more(await answerWords(project, task, action.ended))
    case "enter_review":
      return more(await enterReview(parts.project, task))
    case "take_snapshot":
      return more(await work.takeSnapshot(task))
    case "run_checks":
      parts.aside(sessionID, "checks", (signal) => work.runChecks(task, signal))
      return once(DONE)
    case "end_commands":
      parts.interrupt(sessionID)
      return once(DONE)
    case "resume_merge":
      return more(await work.resumeMerge(task))
  }
}

const DONE: Outcome = { ok: true, value: undefined }

async function judge(parts: ActionParts, wish: Status, task: Task, facts: LookFacts): Promise<Executed> {
  const { project } = parts
  const judged = await judgeWish(project, task, wish, judgingFacts(facts), { by: "status" })
  if (!judged.ok) {
    const { kind, text } = judged.error
    if (kind !== "refused") return { result: judged, again: false }
    const { taskNumber, sessionID } = task.meta
    project.push({ type: "notice", level: "error", text, taskNumber, key: `denied:${sessionID}` })
    return { result: DONE, again: true }
  }
  if (judged.value.verdict.kind === "queued") return { result: DONE, again: false }
  return { result: DONE, again: true }
}

/** What the judgement of a move takes from a look. */
export function judgingFacts(facts: Pick<LookFacts, "activity" | "worktree" | "elsewhere">) {
  const { kind } = facts.activity
  return {
    turnRunning: kind === "busy" || kind === "retry" || kind === "unknown" || facts.elsewhere !== undefined,
    worktreeReady: facts.worktree === "present",
  }
}

async function markDelivered(project: Project, task: Task): Promise<Outcome> {
  const seen = task.meta.run?.intent
  const marked = await project.tasks.update(task.meta.sessionID, (meta) => {
    const intent = meta.run?.intent
    if (!intent || intent.deliveredAt !== undefined || intent.id !== seen?.id) return undefined
    return { ...meta, run: { ...meta.run, intent: { ...intent, deliveredAt: project.clock.now() } } }
  })
  if (marked.ok && marked.value.changed) {
    await project.remember(task.meta.sessionID, {
      kind: "wake",
      text: `woken once: ${seen?.purpose}`,
      messageID: seen?.messageID,
    })
  }
  return marked
}

/** The ids follow from the message that died, so that two windows that resume it wake it once. */
async function resume(project: Project, task: Task, died: Died): Promise<Outcome> {
  const { sessionID, taskNumber } = task.meta
  const seed = `resume:${died.messageID}`
  const text = workText("resume", { title: task.title, taskNumber })
  const resumed = await project.tasks.update(sessionID, (meta) => {
    const intent = meta.run?.intent
    if (columnOf(meta) !== "in_progress" || meta.run?.stoppedAt || intent?.id === seed) return undefined
    if (intent?.id !== task.meta.run?.intent?.id) return undefined
    return wakeAgain(meta, "resume", { now: project.clock.now(), seed }, text)
  })
  if (resumed.ok && resumed.value.changed)
    await project.remember(sessionID, { kind: "edit", text: "resumed after OpenCode ended in the middle" })
  return resumed
}

/** The ids follow from the message that ended the turn, so that two windows wake it once. */
async function answerWords(project: Project, task: Task, ended: string): Promise<Outcome> {
  const { sessionID, taskNumber } = task.meta
  const seed = `words:${ended}`
  const text = `Please read what was told last, and go on with task #${taskNumber}.`
  const woken = await project.tasks.update(sessionID, (meta) => {
    if (columnOf(meta) !== "in_progress" || meta.run?.intent?.id !== task.meta.run?.intent?.id) return undefined
    return wakeAgain(meta, "tell", { now: project.clock.now(), seed }, text)
  })
  if (woken.ok && woken.value.changed)
    await project.remember(sessionID, { kind: "edit", text: "woken for what you told last" })
  return woken
}

async function enterReview(project: Project, task: Task): Promise<Outcome> {
  const seen = task.meta
  const entered = await project.tasks.update(seen.sessionID, (meta) => {
    if (meta.status !== "in_progress" || columnOf(meta) !== "in_progress") return undefined
    if (meta.generation !== seen.generation || meta.run?.intent?.id !== seen.run?.intent?.id) return undefined
    // Told since the facts were taken: the next look answers it.
    if (project.isUntold(workingSession(meta))) return undefined
    return {
      ...meta,
      status: "review",
      lastGatedStatus: "review",
      review: NO_REVIEW,
      approval: undefined,
      merge: undefined,
    }
  })
  if (entered.ok && entered.value.changed) {
    const text = "entered Review: turn finished"
    await project.remember(seen.sessionID, { kind: "move", text, from: "in_progress", to: "review" })
  }
  return entered
}
