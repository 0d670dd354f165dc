import { referencesIn, type Referred } from "../core/references.ts"
import { columnOf, STATUS_TITLE, workingSession, type TaskMeta } from "../core/task.ts"
import type { Siblings } from "../shared/tasks.ts"
import { agreed } from "./describe.ts"
import type { Project } from "./project.ts"
import { metaOf } from "./queue.ts"
import { lastValidator } from "./validator/last.ts"

/** What the tasks that a text names say of themselves now. A number that no task has is said to be unknown. */
export async function referred(project: Project, text: string, own: number): Promise<readonly Referred[]> {
  const numbers = referencesIn(text, own)
  if (numbers.length === 0) return []
  const records = await project.tasks.records()
  return Promise.all(numbers.map((number) => look(project, records, number)))
}

async function look(project: Project, records: Siblings, number: number): Promise<Referred> {
  const record = records.find((one) => metaOf(one)?.taskNumber === number)
  const meta = record && metaOf(record)
  if (!record || !meta) return { number, missing: true }
  const { assessment } = await agreed(project, meta)
  const report = await reportOf(project, meta)
  return {
    number,
    title: record.title,
    status: statusOf(meta),
    ...(assessment ? { understanding: assessment.understanding } : {}),
    ...(report ? { report } : {}),
  }
}

/** The column, and what goes beyond it. */
export function statusOf(meta: TaskMeta): string {
  const away = meta.trashedAt ? ", in the trash" : meta.archivedAt ? ", archived" : ""
  const merged =
    meta.merge?.state === "merged" && meta.merge.commit
      ? `, merged as ${meta.merge.commit.slice(0, 10)} into ${meta.merge.target ?? meta.baseBranch}`
      : meta.merge?.state === "left"
        ? ", left unmerged"
        : ""
  return `${STATUS_TITLE[columnOf(meta)]}${merged}${away}`
}

/** The last words of its agent, and what its reviewer made of the change. */
export async function reportOf(project: Pick<Project, "host" | "tasks">, meta: TaskMeta): Promise<string> {
  const messages = await project.host.messages(workingSession(meta), 10)
  const last = messages.ok ? messages.value.findLast(({ info }) => info.role === "assistant") : undefined
  const said = (last?.parts ?? []).flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : []))
  const validator = meta.review?.snapshot ? await lastValidator(project, meta.sessionID, meta.generation) : undefined
  return [
    said.join("\n").trim() === "" ? "" : `its agent said last: ${said.join("\n").trim()}`,
    validator?.summary ? `its reviewer: ${validator.summary}` : "",
  ]
    .filter(Boolean)
    .join("\n")
}
