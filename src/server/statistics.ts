import { statistics, type Cost, type StatRow, type TaskStory } from "../core/stats.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf } from "../core/task.ts"
import type { Session } from "../shared/host.ts"
import type { Project } from "./project.ts"
import { metaOf } from "./queue.ts"

/** Older tasks are left out, and the answer says so: what is long ago says little about now. */
const MOST_TASKS = 1_000
const AT_ONCE = 16

/** The table of the repository: histories and costs are read anew each time, nothing is kept. */
export async function boardStatistics(
  project: Project,
): Promise<Result<{ readonly rows: readonly StatRow[]; readonly tasks: number; readonly left: number }, string>> {
  const [records, listed] = await Promise.all([project.tasks.records(), project.host.sessions(project.root)])
  if (!listed.ok) return err(`the sessions cannot be listed: ${listed.error.text}`)
  const metas = records
    .flatMap((record) => metaOf(record) ?? [])
    .filter((meta) => meta.repo === project.repo)
    .toSorted((a, b) => b.taskNumber - a.taskNumber)
  const chosen = metas.slice(0, MOST_TASKS)
  const costs = costsByTask(listed.value)
  const stories: TaskStory[] = []
  for (let from = 0; from < chosen.length; from += AT_ONCE) {
    const some = chosen.slice(from, from + AT_ONCE).map(async (meta): Promise<TaskStory> => {
      const history = await project.store.readLines(project.store.paths.session(meta.sessionID).history)
      if (!history.ok) project.host.log("warn", `the history of #${meta.taskNumber}: ${history.error.text}`)
      return {
        taskNumber: meta.taskNumber,
        column: columnOf(meta),
        history: history.ok ? history.value.lines : [],
        cost: costs.get(meta.sessionID) ?? NO_COST,
      }
    })
    stories.push(...(await Promise.all(some)))
  }
  return ok({
    rows: statistics(stories, project.clock.now()),
    tasks: stories.length,
    left: metas.length - chosen.length,
  })
}

const NO_COST: Cost = { work: 0, intake: 0, validator: 0 }

/** What the sessions of each task have cost, by what they are for; a sub-agent counts where it was started. */
export function costsByTask(sessions: readonly Session[]): ReadonlyMap<string, Cost> {
  const byID = new Map(sessions.map((session) => [session.id, session]))
  const costs = new Map<string, { work: number; intake: number; validator: number }>()
  for (const session of sessions) {
    if (!session.cost) continue
    const owner = ownerOf(session, byID)
    if (!owner) continue
    const cost = costs.get(owner.task) ?? { ...NO_COST }
    cost[owner.role] += session.cost
    costs.set(owner.task, cost)
  }
  return costs
}

/** The task and the role for which a session works; a chain that never ends is nobody's. */
function ownerOf(session: Session, byID: ReadonlyMap<string, Session>) {
  let at: Session | undefined = session
  for (let depth = 0; at && depth < 20; depth++) {
    const kagan: Record<string, unknown> = (at.metadata?.kagan ?? {}) as Record<string, unknown>
    if (kagan.sessionID === at.id) {
      const { role } = kagan
      if (role === "intake") return { task: String(kagan.intakeParent), role } as const
      if (role === "validator") return { task: String(kagan.validatorParent), role } as const
      if (role === "worker") return { task: String(kagan.workerParent), role: "work" } as const
      if (kagan.boardTask === true) return { task: at.id, role: "work" } as const
    }
    at = at.parentID === undefined ? undefined : byID.get(at.parentID)
  }
  return undefined
}
