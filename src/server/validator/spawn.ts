import { evidenceText } from "../../core/checks.ts"
import { validatorPrompt, type PriorRuling } from "../../core/prompts.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { METADATA_VERSION, type Task } from "../../core/task.ts"
import { readChecks } from "../checks.ts"
import { agreed, describe } from "../describe.ts"
import type { HelperFailure, HelperSpec } from "../helper.ts"
import type { Project } from "../project.ts"
import { lastValidator } from "../wake-task.ts"

/** The validator child: handed the diff of the snapshot, reads the code, writes nothing, reports once. */
export function validatorSpec(project: Project): HelperSpec {
  return {
    role: "validator",
    title: (task) => `Review of #${task.meta.taskNumber} ${task.title}`,
    meta: (task) => ({
      v: METADATA_VERSION,
      role: "validator",
      repo: project.repo,
      validatorParent: task.meta.sessionID,
      generation: task.meta.generation,
      snapshot: task.meta.review!.snapshot!.commit,
    }),
    models: () => project.options().validator.models,
    agent: () => project.options().validator.agent,
    prompt: (task) => promptOf(project, task),
  }
}

async function promptOf(project: Project, task: Task): Promise<Result<string, HelperFailure>> {
  const { meta } = task
  const snapshot = meta.review?.snapshot
  if (!snapshot) return err({ text: "there is no snapshot to review" })
  const diff = await project.trees.diff(snapshot)
  if (!diff.ok) return diff
  const known = await agreed(project, meta)
  const prompt = validatorPrompt({
    taskNumber: meta.taskNumber,
    title: task.title,
    description: await describe(project, meta),
    ...known,
    priorRulings: await priorRulings(project, task),
    ...(await evidenceOf(project, task)),
    files: diff.value.files,
    generation: meta.generation,
    maxTokens: project.options().validator.maxTokens,
    nonce: project.seed(),
  })
  return ok(prompt.text)
}

/** What the person's checks say of the snapshot; results that cannot be read are said to be missing. */
async function evidenceOf(project: Project, { meta }: Task): Promise<{ readonly checks?: string }> {
  const snapshot = meta.review?.snapshot
  if (!snapshot || !meta.review?.checks) return {}
  const report = await readChecks(project, meta.sessionID, snapshot)
  if (!report.ok) return { checks: `The results could not be read: ${report.error.text}` }
  return report.value ? { checks: evidenceText(report.value.results) } : {}
}

/** The rulings of all earlier generations: what was set aside is not to be reported again. */
async function priorRulings(project: Project, task: Task): Promise<readonly PriorRuling[]> {
  const prior: PriorRuling[] = []
  for (let generation = 1; generation < task.meta.generation; generation++) {
    const meta = await lastValidator(project, task.meta.sessionID, generation)
    for (const ruling of meta?.rulings ?? []) {
      const finding = meta?.findings?.find((candidate) => candidate.id === ruling.finding)
      if (finding) prior.push({ finding, ruling, generation })
    }
  }
  return prior
}
