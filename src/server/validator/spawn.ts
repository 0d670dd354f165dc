import { evidenceText } from "../../core/checks.ts"
import { otherProviderFirst, readModel } from "../../core/options.ts"
import { validatorPrompt, type ValidatorPrompt } from "../../core/prompts.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { METADATA_VERSION, type Task, type ValidatorMeta } from "../../core/task.ts"
import { readChecks } from "../checks.ts"
import { agreed, describe } from "../describe.ts"
import { remarkOf, type HelperFailure, type HelperSpec } from "../helper.ts"
import type { Project } from "../project.ts"
import { notePath } from "../sent-text.ts"
import { priorRulings } from "./prior.ts"

const MOST_LEFT = 100

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
    models: (task) => modelsFor(project, task),
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
  const remark = await remarkOf(project, task, "validator")
  const prompt = validatorPrompt({
    taskNumber: meta.taskNumber,
    title: task.title,
    description: await describe(project, meta),
    ...known,
    priorRulings: await priorRulings(project, task, snapshot.commit, meta.review?.validator?.sessionID),
    notes: await notesOf(project, task),
    ...(remark ? { remark } : {}),
    ...(await evidenceOf(project, task)),
    files: diff.value.files,
    generation: meta.generation,
    maxTokens: project.options().validator.maxTokens,
    nonce: project.seed(),
  })
  const kept = await keepMaterial(project, task, prompt)
  return kept.ok ? ok(prompt.text) : kept
}

/** Another provider's model first: it errs in other ways than the one that wrote the change. */
async function modelsFor(project: Project, { meta }: Task): Promise<readonly string[]> {
  const { models } = project.options().validator
  if (models.length < 2) return models
  if (meta.model) return otherProviderFirst(models, meta.model.providerID)
  const config = await project.host.config(meta.worktree)
  const usual = config.ok && config.value.model ? readModel(config.value.model) : undefined
  return usual ? otherProviderFirst(models, usual.providerID) : models
}

/** What the person's checks say of the snapshot; results that cannot be read are said to be missing. */
async function evidenceOf(project: Project, { meta }: Task): Promise<{ readonly checks?: string }> {
  const snapshot = meta.review?.snapshot
  if (!snapshot || !meta.review?.checks) return {}
  const report = await readChecks(project, meta.sessionID, snapshot)
  if (!report.ok) return { checks: `The results could not be read: ${report.error.text}` }
  return report.value ? { checks: evidenceText(report.value.results) } : {}
}

/** What the person said with each send back, oldest first. */
async function notesOf(project: Project, { meta }: Task): Promise<readonly string[]> {
  const notes: string[] = []
  for (let generation = 2; generation <= meta.generation; generation++) {
    const note = await project.store.readText(notePath(project, meta.sessionID, generation))
    if (note.ok && note.value.trim() !== "") notes.push(`For iteration ${generation}: ${note.value.trim()}`)
  }
  return notes
}

/** Kept with the review, so that what it did not see is known wherever its result is shown. */
async function keepMaterial(project: Project, task: Task, seen: ValidatorPrompt): Promise<Result<void, HelperFailure>> {
  const sessionID = task.meta.review?.validator?.sessionID
  if (!sessionID) return ok()
  const { shown, total, left } = seen
  const material = { shown, total, left: left.slice(0, MOST_LEFT) }
  const kept = await project.tasks.updateHelper<ValidatorMeta>(sessionID, "validator", (meta) => ({
    ...meta,
    material,
  }))
  return kept.ok ? ok() : kept
}
