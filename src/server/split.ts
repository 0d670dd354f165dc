import { splitTasks } from "../core/assessment.ts"
import { readKagan } from "../core/codec.ts"
import type { Draft } from "../core/draft.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { columnOf, type IntakeMeta, type Task } from "../core/task.ts"
import { describe } from "./describe.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"

/*
 * A task that is too big becomes several:
 *
 *   the intake's proposal ─ one draft, all or none ─ the parts stand ─ the task is archived, and who waited for it waits
 *   for the parts at its end ─ the parts start in order
 *
 * The last two go with the draft: after a crash they follow where its creation is finished.
 */

/** The parts that the intake proposes, as a draft to create; its id says that it is made once. */
export async function splitDraft(
  project: Project,
  { meta, title }: Task,
  start: boolean,
): Promise<Result<Draft, RequestFailure>> {
  if (columnOf(meta) !== "backlog") return refused({ kind: "not_in_column", needed: "backlog" })
  if (meta.archivedAt || meta.trashedAt) return refused({ kind: "invalid", text: "it is not on the board any more" })
  const { intake } = meta
  if (intake?.state !== "done" || !intake.sessionID) return refused({ kind: "intake_running" })
  const helper = await project.tasks.readHelper<IntakeMeta>(intake.sessionID, "intake")
  if (!helper.ok) return failed(helper.error.text)
  const { assessment, answers = [] } = helper.value
  if (!assessment?.split?.length) return refused({ kind: "invalid", text: "the intake proposes no split" })
  const open = intake.required - intake.answered
  if (start && open > 0) return refused({ kind: "decisions_open", open })
  const description = await describe(project, meta)
  const tasks = splitTasks({ title, meta, description }, assessment, answers)
  return ok({
    id: `split-${meta.sessionID}`,
    tasks,
    splitOf: meta.sessionID,
    ...(start ? { start: { waiver: `Agreed in the intake of #${meta.taskNumber}` } } : {}),
    at: project.clock.now(),
  })
}

/** The parts stand in the place of the task: it goes to the archive, and what waited for it waits for them. */
export async function takePlaces(project: Project, draft: Draft, parts: readonly Task[]): Promise<void> {
  const { tasks, host, clock } = project
  const sessionID = draft.splitOf!
  const numbers = parts.map(({ meta }) => meta.taskNumber)
  const archived = await tasks.update(sessionID, (meta) =>
    meta.archivedAt ? undefined : { ...meta, status: columnOf(meta), awaiting: undefined, archivedAt: clock.now() },
  )
  if (!archived.ok) return host.log("error", `${sessionID} was split and stays on the board: ${archived.error.text}`)
  const { taskNumber } = archived.value.task.meta
  const list = numbers.map((number) => `#${number}`).join(", ")
  if (archived.value.changed)
    await project.remember(sessionID, { kind: "edit", text: `split into ${list}`, into: numbers })
  const awaited = new Set(draft.tasks.flatMap(({ after = [] }) => after))
  const last = numbers.filter((_, index) => !awaited.has(index))
  for (const record of await tasks.records()) {
    const decoded = readKagan(record.sessionID, { kagan: record.kagan })
    if (decoded.kind !== "task" || !decoded.meta.dependsOn?.includes(taskNumber)) continue
    const changed = await tasks.update(record.sessionID, (meta) => {
      const others = (meta.dependsOn ?? []).filter((number) => number !== taskNumber)
      return others.length === meta.dependsOn?.length
        ? undefined
        : { ...meta, dependsOn: [...new Set([...others, ...last])] }
    })
    const name = `#${decoded.meta.taskNumber}`
    if (!changed.ok) host.log("error", `${name} still waits for #${taskNumber}, which was split: ${changed.error.text}`)
    else if (changed.value.changed)
      await project.remember(record.sessionID, {
        kind: "edit",
        text: `waits for parts of #${taskNumber}, which was split`,
      })
  }
}
