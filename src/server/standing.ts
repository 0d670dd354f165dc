import type { TaskFacts } from "../core/board.ts"
import { columnOf, type Task } from "../core/task.ts"

/* What follows from where a task stands: whether its instance is needed, and whether it is looked at again. */

/** What is shown of a task of which only the record is left. */
export function fromRecord(sessionID: string, record: NonNullable<TaskFacts["record"]>): TaskFacts {
  return {
    sessionID,
    source: "record",
    record,
    activity: { kind: "gone" },
    asks: [],
    worktree: "unknown",
    unreadable: [],
    readOnly: false,
  }
}

const UNDER_WAY = new Set<string | undefined>(["claimed", "running"])

/** Whether there is something to do in the worktree's instance, so that it has to be up with our half in it. */
export function hasWork({ meta }: Task, intakeEnabled: boolean): boolean {
  if (meta.trashedAt || meta.archivedAt) return false
  switch (columnOf(meta)) {
    case "backlog":
      return meta.intake ? UNDER_WAY.has(meta.intake.state) : intakeEnabled
    case "in_progress":
    case "review":
      return true
    case "done":
      return false
  }
}

/** Whether anything of the task is going on, so that it is looked at again without an event. */
export function isActive({ meta }: Task, facts: TaskFacts): boolean {
  if (meta.trashedAt || meta.archivedAt || columnOf(meta) === "done") return false
  const { activity } = facts
  return (
    activity.kind === "busy" ||
    activity.kind === "retry" ||
    (activity.kind === "unknown" && facts.worktree !== "missing" && facts.worktree !== "foreign") ||
    facts.command !== undefined ||
    UNDER_WAY.has(meta.intake?.state) ||
    UNDER_WAY.has(meta.review?.validator?.state) ||
    meta.review?.checks?.state === "running" ||
    meta.status !== columnOf(meta) ||
    meta.setup?.state === "running" ||
    meta.merge?.state === "claimed" ||
    (meta.run?.intent !== undefined && meta.run.intent.deliveredAt === undefined && !facts.lost) ||
    (columnOf(meta) === "review" && !meta.review?.snapshot && !meta.review?.problem)
  )
}
