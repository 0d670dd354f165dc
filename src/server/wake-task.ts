import { sendBackContext, startContext } from "../core/prompts.ts"
import { referencesText } from "../core/references.ts"
import { err, ok, type Result } from "../core/result.ts"
import { workingSession, type Task, type WakePurpose } from "../core/task.ts"
import { agreed, describe } from "./describe.ts"
import { modelOf } from "./helper.ts"
import type { Content } from "../shared/inject.ts"
import type { WakeRoute } from "../shared/wake-sources.ts"
import type { Project } from "./project.ts"
import { referred } from "./references.ts"
import { lastValidator } from "./validator/last.ts"

const ROUTES = {
  start: "task-start",
  send_back: "task-send-back",
  resume: "task-resume",
  tell: "task-tell",
} as const satisfies Record<WakePurpose, WakeRoute>

/** Sends the turn that `run.intent` asks for. Sending it again is harmless: its ids were fixed when it was decided. */
export async function wakeTask(project: Project, task: Task): Promise<Result<void, { readonly text: string }>> {
  const { meta } = task
  const intent = meta.run?.intent
  if (!intent) return ok()
  const sent = await project.wake({
    sessionID: workingSession(meta),
    directory: meta.worktree,
    source: `${ROUTES[intent.purpose]}:${meta.sessionID}`,
    intent,
    text: intent.text,
    contexts: await contextsOf(project, task),
    ...(meta.agent ? { agent: meta.agent } : {}),
    ...modelOf(meta.model),
  })
  if (sent.kind === "refused") return err({ text: `it could not be started: ${sent.text}` })
  if (sent.kind === "held") return ok()
  const counted = await project.tasks.update(meta.sessionID, (now) => {
    const same = now.run?.intent
    if (same?.id !== intent.id || same.deliveredAt !== undefined) return undefined
    const count = { count: (same.sent?.count ?? 0) + 1, at: project.clock.now() }
    return { ...now, run: { ...now.run, intent: { ...same, sent: count } } }
  })
  return counted.ok ? ok() : counted
}

/** What stands before the prompt. They go with the intent: the same intent again adds none a second time. */
async function contextsOf(project: Project, task: Task): Promise<readonly Content[]> {
  const { meta, title } = task
  const intent = meta.run!.intent!
  const nonce = project.seed()
  if (intent.purpose === "start" || (intent.purpose === "send_back" && meta.run?.workerID)) {
    const known = await agreed(project, meta)
    const description = await describe(project, meta)
    const text = startContext({
      taskNumber: meta.taskNumber,
      title,
      description,
      branch: meta.branch,
      baseBranch: meta.baseBranch,
      ...known,
      nonce,
    })
    const start: Content = { source: `task:${meta.taskNumber}`, kind: "task", text }
    const about = [start, ...(await referencesOf(project, task, description, nonce))]
    return intent.purpose === "start" ? about : [...about, ...(await findingsOf(project, task, nonce))]
  }
  return intent.purpose === "send_back" ? findingsOf(project, task, nonce) : []
}

/** The tasks that the description names, as they are now. The person hears of a number that no task has. */
async function referencesOf(
  project: Project,
  { meta }: Task,
  description: string,
  nonce: string,
): Promise<readonly Content[]> {
  const named = await referred(project, description, meta.taskNumber)
  if (named.length === 0) return []
  const unknown = named.filter((one) => one.missing).map(({ number }) => `#${number}`)
  if (unknown.length > 0) {
    const text = `its description names ${unknown.join(", ")}, which is not on this board`
    project.push({
      type: "notice",
      level: "warning",
      text,
      taskNumber: meta.taskNumber,
      key: `refs ${meta.taskNumber}`,
    })
  }
  const source = `reference:${named.map(({ number }) => `#${number}`).join(",")}`
  return [{ source, kind: "reference", text: referencesText(named, nonce) }]
}

/** The findings ruled "fix" by the person in the generation before this one. */
async function findingsOf(project: Project, task: Task, nonce: string): Promise<readonly Content[]> {
  const { meta } = task
  const validator = await lastValidator(project, meta.sessionID, meta.generation - 1)
  const note = await project.store.readText(notePath(project, meta.sessionID, meta.generation))
  const fix = (validator?.rulings ?? []).filter((ruling) => ruling.disposition === "fix")
  const findings = fix.flatMap((ruling) => {
    const finding = validator?.findings?.find((candidate) => candidate.id === ruling.finding)
    return finding ? [{ finding, ...(ruling.reason ? { reason: ruling.reason } : {}) }] : []
  })
  const text = sendBackContext({
    taskNumber: meta.taskNumber,
    generation: meta.generation,
    findings,
    ...(note.ok && note.value.trim() ? { note: note.value } : {}),
    nonce,
  })
  return [
    {
      source: `findings:${meta.taskNumber}/${meta.generation - 1}`,
      kind: "findings",
      text,
    },
  ]
}

/** Where the person's note for the iteration `generation` stands. */
export function notePath(project: Project, sessionID: string, generation: number): string {
  return `${project.store.paths.session(sessionID).dir}/note-${generation}.md`
}
