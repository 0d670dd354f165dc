import { plural } from "../core/board.ts"
import { intakePrompt } from "../core/prompts.ts"
import { referenceSections } from "../core/references.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf, METADATA_VERSION, type Answer, type Assessment, type IntakeMeta, type Task } from "../core/task.ts"
import type { DecisionAnswer, RequestFailure } from "../core/protocol.ts"
import { isReason } from "../core/rules.ts"
import { notAwaited, remarkOf, type HelperFailure, type HelperSpec } from "./helper.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { describe } from "./describe.ts"
import { referred } from "./references.ts"

const MAX_INSTRUCTION = 12_000

/** The intake child: reads the code, writes nothing, reports through `kagan_intake` once. */
export function intakeSpec(project: Project): HelperSpec {
  return {
    role: "intake",
    title: (task) => `Intake of #${task.meta.taskNumber} ${task.title}`,
    meta: (task) => ({
      v: METADATA_VERSION,
      role: "intake",
      repo: project.repo,
      intakeParent: task.meta.sessionID,
      generation: task.meta.generation,
    }),
    models: async () => (project.options().intake.model ? [project.options().intake.model!] : []),
    agent: () => project.options().intake.agent,
    async prompt(task) {
      const remark = await remarkOf(project, task, "intake")
      const description = await describe(project, task.meta)
      const named = await referred(project, description, task.meta.taskNumber)
      return ok(
        intakePrompt({
          taskNumber: task.meta.taskNumber,
          title: task.title,
          description,
          baseBranch: task.meta.baseBranch,
          ...(task.meta.scope ? { scope: task.meta.scope } : {}),
          ...(remark ? { remark } : {}),
          references: referenceSections(named),
          nonce: project.seed(),
        }),
      )
    },
  }
}

/** Stores what the recorded intake helper reported. A late or foreign report changes nothing. */
export async function storeAssessment(
  project: Project,
  sessionID: string,
  assessment: Assessment,
): Promise<Result<string, string>> {
  const before = await project.tasks.readHelper<IntakeMeta>(sessionID, "intake")
  if (!before.ok) return err(before.error.text)
  const task = await project.tasks.read(before.value.intakeParent)
  if (!task.ok) return err(`its task is not there any more: ${task.error.text}`)
  const over = before.value.assessment ? undefined : notAwaited(task.value.task, "intake", sessionID)
  if (over) return err(over)
  const helper = await project.tasks.updateHelper<IntakeMeta>(sessionID, "intake", (meta) =>
    meta.assessment ? undefined : { ...meta, assessment },
  )
  if (!helper.ok) return err(helper.error.text)
  if (helper.value.assessment !== assessment) return err("intake was already reported; there is nothing more to do")
  return ok("Reported. Nothing more is needed: end your turn with one short sentence.")
}

/** Counts the report into the task. */
export async function collectIntake(project: Project, task: Task): Promise<Result<void, HelperFailure>> {
  const pointer = task.meta.intake
  if (!pointer?.sessionID) return ok()
  const helper = await project.tasks.readHelper<IntakeMeta>(pointer.sessionID, "intake")
  if (!helper.ok) return helper
  const { assessment, answers } = helper.value
  if (!assessment) return ok()
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => {
    if (meta.intake?.sessionID !== pointer.sessionID || meta.intake?.state === "waived") return undefined
    return {
      ...meta,
      intake: {
        ...meta.intake!,
        state: "done",
        ...countAnswers(assessment, answers ?? []),
        mode: assessment.mode,
        at: project.clock.now(),
      },
    }
  })
  if (!updated.ok) return updated
  if (updated.value.changed) {
    const { required } = countAnswers(assessment, [])
    await project.remember(task.meta.sessionID, {
      kind: "helper",
      text: `intake reported: ${plural(assessment.decisions.length, "decision")}, ${required} required`,
      helper: pointer.sessionID,
    })
  }
  return ok()
}

/** The person's answers; answering again replaces the earlier answer. */
export async function answerDecisions(
  project: Project,
  task: Task,
  answers: readonly DecisionAnswer[],
): Promise<Result<string, RequestFailure>> {
  const pointer = task.meta.intake
  if (pointer?.state !== "done" || !pointer.sessionID) return refused({ kind: "intake_running" })
  let problem: string | undefined
  const helper = await project.tasks.updateHelper<IntakeMeta>(pointer.sessionID, "intake", (meta) => {
    const decisions = meta.assessment?.decisions ?? []
    const wrong = answers.find((answer) => !decisions[answer.decision])
    if (wrong) problem = `there is no decision ${wrong.decision + 1}`
    const empty = answers.find((answer) => answer.kind === "overridden" && !answer.text?.trim())
    if (empty) problem = "an override needs an answer"
    if (problem) return undefined
    const kept = (meta.answers ?? []).filter((old) => !answers.some((answer) => answer.decision === old.decision))
    const added: Answer[] = answers.map((answer) => ({ ...answer, at: project.clock.now() }))
    return { ...meta, answers: [...kept, ...added].sort((a, b) => a.decision - b.decision) }
  })
  if (problem) return refused({ kind: "invalid", text: problem })
  if (!helper.ok) return failed(helper.error.text)
  const assessment = helper.value.assessment
  if (!assessment) return refused({ kind: "intake_running" })
  const counts = countAnswers(assessment, helper.value.answers ?? [])
  const updated = await project.tasks.update(task.meta.sessionID, (meta) =>
    meta.intake?.sessionID === pointer.sessionID ? { ...meta, intake: { ...meta.intake!, ...counts } } : undefined,
  )
  if (!updated.ok) return failed(updated.error.text)
  for (const answer of answers) {
    const question = assessment.decisions[answer.decision]?.question
    await project.remember(task.meta.sessionID, {
      kind: "answer",
      text: `${question}: ${answer.kind === "approved" ? "approved" : answer.text}`,
    })
  }
  const open = counts.required - counts.answered
  if (open > 0) return ok(`${plural(open, "required decision")} still open`)
  const left = assessment.decisions.length - (helper.value.answers ?? []).length
  return ok(left > 0 ? `agreed; ${plural(left, "decision")} may stay open` : "every decision is answered")
}

/** The instruction in the person's words; without any it is the intake's again. Only before the work has started. */
export async function instruct(project: Project, task: Task, text: string): Promise<Result<string, RequestFailure>> {
  const pointer = task.meta.intake
  if (columnOf(task.meta) !== "backlog") return refused({ kind: "not_in_column", needed: "backlog" })
  if (pointer?.state !== "done" || !pointer.sessionID) return refused({ kind: "intake_running" })
  const words = text.trim()
  if (words.length > MAX_INSTRUCTION)
    return refused({ kind: "invalid", text: `an instruction has at most ${MAX_INSTRUCTION} characters` })
  const helper = await project.tasks.updateHelper<IntakeMeta>(pointer.sessionID, "intake", (meta) => ({
    ...meta,
    instruction: words === "" || words === meta.assessment?.instruction ? undefined : words,
  }))
  if (!helper.ok) return failed(helper.error.text)
  const own = helper.value.instruction !== undefined
  const said = own ? "the instruction is yours now" : "the instruction is the intake's again"
  await project.remember(task.meta.sessionID, { kind: "answer", text: said })
  return ok(said)
}

/** Starts without intake, for a reason that stays on record. */
export async function waiveIntake(
  project: Project,
  task: Task,
  reason: string,
): Promise<Result<string, RequestFailure>> {
  if (!isReason(reason)) return refused({ kind: "reason_needed", what: "waiving intake" })
  const running = task.meta.intake?.state === "running" ? task.meta.intake.sessionID : undefined
  const updated = await project.tasks.update(task.meta.sessionID, (meta) => ({
    ...meta,
    intake: {
      ...(meta.intake ?? { generation: meta.generation, attempt: 0, required: 0, answered: 0 }),
      state: "waived",
      reason: reason.trim(),
      claim: undefined,
      at: project.clock.now(),
    },
  }))
  if (!updated.ok) return failed(updated.error.text)
  await project.remember(task.meta.sessionID, { kind: "answer", text: `intake waived: ${reason.trim()}` })
  if (running) {
    const stopped = await project.host.abort(running, task.meta.worktree)
    if (!stopped.ok) return failed(`waived, but the intake helper could not be stopped: ${stopped.error.text}`)
  }
  return ok("intake waived")
}

function countAnswers(assessment: Assessment, answers: readonly Answer[]) {
  const answered = new Set(answers.map((answer) => answer.decision))
  const required = assessment.decisions.flatMap((decision, index) => (decision.required ? [index] : []))
  return { required: required.length, answered: required.filter((index) => answered.has(index)).length }
}
