import { carryPlace, type PriorRuling } from "../../core/carry.ts"
import { commentFinding } from "../../core/comments.ts"
import type { Task, TaskMeta, ValidatorMeta } from "../../core/task.ts"
import { standingComments } from "../comments.ts"
import type { Project } from "../project.ts"

/** More than this is no longer read by anyone; the newest count. */
const MOST = 200

/**
 * The rulings of all earlier reviews of the task, oldest first, `except` the review that asks, each with whether the code
 * at its place has changed up to `snapshot`. A review that cannot be read is logged and left out.
 */
export async function priorRulings(
  project: Project,
  { meta }: Task,
  snapshot: string,
  except: string | undefined,
): Promise<readonly PriorRuling[]> {
  const children = await project.host.children(meta.sessionID)
  if (!children.ok) {
    project.host.log("error", `the earlier reviews of #${meta.taskNumber} cannot be read: ${children.error.text}`)
    return []
  }
  const prior: PriorRuling[] = []
  for (const child of children.value.toSorted((a, b) => a.time.created - b.time.created)) {
    const kagan = child.metadata?.kagan as { role?: unknown } | undefined
    if (kagan?.role !== "validator" || child.id === except) continue
    const read = await project.tasks.readHelper<ValidatorMeta>(child.id, "validator")
    if (!read.ok) {
      project.host.log("error", `an earlier review of #${meta.taskNumber} cannot be read: ${read.error.text}`)
      continue
    }
    if (read.value.rulings?.length) prior.push(...(await rulingsOf(project, read.value, snapshot)))
  }
  return [...prior, ...(await commentsOf(project, meta))].slice(-MOST)
}

/** The person's own comments of earlier iterations. */
async function commentsOf(project: Project, meta: TaskMeta): Promise<readonly PriorRuling[]> {
  const comments = await standingComments(project, meta)
  if (!comments.ok) {
    project.host.log("error", `the comments on #${meta.taskNumber} cannot be read: ${comments.error.text}`)
    return []
  }
  return comments.value.flatMap((comment): PriorRuling[] => {
    const { id, generation, disposition, snapshot, at, location, outdated } = comment
    if (generation >= meta.generation) return []
    const known = { finding: commentFinding(comment), ruling: { finding: id, disposition, snapshot, at }, generation }
    if (location?.line === undefined) return [known]
    return [{ ...known, changed: outdated === true, ...(outdated ? {} : { now: location }) }]
  })
}

async function rulingsOf(
  project: Project,
  { findings = [], rulings = [], generation, snapshot: from }: ValidatorMeta,
  to: string,
): Promise<readonly PriorRuling[]> {
  const since = from === to ? undefined : await project.trees.diff({ base: from, commit: to })
  if (since?.ok === false) project.host.log("warn", `what changed since ${from} cannot be read: ${since.error.text}`)
  return rulings.flatMap((ruling): PriorRuling[] => {
    const finding = findings.find((one) => one.id === ruling.finding)
    if (!finding) return []
    const { location } = finding
    const known = { finding, ruling, generation }
    if (!location || location.line === undefined || since?.ok === false) return [known]
    const now = since ? carryPlace(since.value.diff, location) : location
    return [{ ...known, changed: now === undefined, ...(now ? { now } : {}) }]
  })
}
