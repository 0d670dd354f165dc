import type { ValidatorMeta } from "../../core/task.ts"
import type { Project } from "../project.ts"

/** The validator child of a generation that reported, newest first. */
export async function lastValidator(
  project: Pick<Project, "host" | "tasks">,
  sessionID: string,
  generation: number,
): Promise<ValidatorMeta | undefined> {
  const children = await project.host.children(sessionID)
  if (!children.ok) return undefined
  for (const child of children.value.toSorted((a, b) => b.time.created - a.time.created)) {
    const kagan = child.metadata?.kagan as { role?: unknown; generation?: unknown } | undefined
    if (kagan?.role !== "validator" || kagan.generation !== generation) continue
    const meta = await project.tasks.readHelper<ValidatorMeta>(child.id, "validator")
    if (meta.ok && meta.value.findings) return meta.value
  }
  return undefined
}
