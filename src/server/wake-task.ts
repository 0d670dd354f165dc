import { startContext } from "../core/prompts.ts"
import { referencesText } from "../core/references.ts"
import { err, ok, type Result } from "../core/result.ts"
import { workingSession, type Task, type WakePurpose } from "../core/task.ts"
import { agreed, describe } from "./describe.ts"
import { modelOf } from "./helper.ts"
import type { Content } from "../shared/inject.ts"
import type { WakeRoute } from "../shared/wake-sources.ts"
import type { Project } from "./project.ts"
import { referred } from "./references.ts"
import { sentBack } from "./send-back.ts"

type Failed = { readonly text: string }

const ROUTES = {
  start: "task-start",
  send_back: "task-send-back",
  resume: "task-resume",
  tell: "task-tell",
} as const satisfies Record<WakePurpose, WakeRoute>

/** Sends the turn that `run.intent` asks for. Sending it again is harmless: its ids were fixed when it was decided. */
export async function wakeTask(project: Project, task: Task): Promise<Result<void, Failed>> {
  const { meta } = task
  const intent = meta.run?.intent
  if (!intent) return ok()
  const contexts = await contextsOf(project, task)
  if (!contexts.ok) return err({ text: `it could not be started: ${contexts.error.text}` })
  const sent = await project.wake({
    sessionID: workingSession(meta),
    directory: meta.worktree,
    source: `${ROUTES[intent.purpose]}:${meta.sessionID}`,
    intent,
    text: intent.text,
    contexts: contexts.value,
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
async function contextsOf(project: Project, task: Task): Promise<Result<readonly Content[], Failed>> {
  const { meta, title } = task
  const intent = meta.run!.intent!
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
      nonce: project.seed(),
    })
    const start: Content = { source: `task:${meta.taskNumber}`, kind: "task", text }
    const about = [start, ...(await referencesOf(project, task, description))]
    if (intent.purpose === "start") return ok(about)
    const findings = await findingsOf(project, task)
    return findings.ok ? ok([...about, ...findings.value]) : findings
  }
  return intent.purpose === "send_back" ? findingsOf(project, task) : ok([])
}

/** The tasks that the description names, as they are now. The person hears of a number that no task has. */
async function referencesOf(project: Project, { meta }: Task, description: string): Promise<readonly Content[]> {
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
  return [{ source, kind: "reference", text: referencesText(named, project.seed()) }]
}

/** What the review before this generation sends back. */
async function findingsOf(project: Project, { meta }: Task): Promise<Result<readonly Content[], Failed>> {
  const text = await sentBack(project, meta)
  if (!text.ok) return text
  return ok([{ source: `findings:${meta.taskNumber}/${meta.generation - 1}`, kind: "findings", text: text.value }])
}
