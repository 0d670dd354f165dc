import type { Assessment, Answer, IntakeMeta, TaskMeta } from "../core/task.ts"
import type { Project } from "./project.ts"

/** The task's description: short ones stand in the metadata, long ones in a file beside the record. */
export async function describe(project: Project, meta: TaskMeta): Promise<string> {
  if (!meta.descriptionFile) return meta.description ?? ""
  const file = await project.store.readText(project.store.paths.session(meta.sessionID).description)
  if (file.ok) return file.value
  project.host.log("error", `the description of #${meta.taskNumber} cannot be read: ${file.error.text}`)
  return meta.description ?? ""
}

/** What intake found out and the person decided, as far as there is any. */
export async function agreed(
  project: Project,
  meta: TaskMeta,
): Promise<{ readonly assessment?: Assessment; readonly answers: readonly Answer[] }> {
  const id = meta.intake?.sessionID
  if (!id || meta.intake?.state !== "done") return { answers: [] }
  const helper = await project.tasks.readHelper<IntakeMeta>(id, "intake")
  if (!helper.ok) {
    project.host.log("error", `the intake of #${meta.taskNumber} cannot be read: ${helper.error.text}`)
    return { answers: [] }
  }
  const { assessment, answers, instruction } = helper.value
  const known = assessment && { ...assessment, ...(instruction ? { instruction } : {}) }
  return { ...(known ? { assessment: known } : {}), answers: answers ?? [] }
}
