import type { TaskFacts } from "../core/board.ts"
import { stageOf, type DoneTask, type Stage } from "../core/stage.ts"
import type { Task } from "../core/task.ts"

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
  const stage = stageOf(meta)
  switch (stage.column) {
    case "backlog":
      return stage.intake ? UNDER_WAY.has(stage.intake.state) : intakeEnabled
    case "in_progress":
    case "review":
      return true
    case "done":
      return false
  }
}

/** Whether anything of the task is going on, so that it is looked at again without an event. */
export function isActive({ meta }: Task, facts: TaskFacts): boolean {
  const stage = stageOf(meta)
  if (meta.trashedAt || meta.archivedAt || stage.column === "done") return false
  const { activity } = facts
  return (
    activity.kind === "busy" ||
    activity.kind === "retry" ||
    (activity.kind === "unknown" && facts.worktree !== "missing" && facts.worktree !== "foreign") ||
    facts.command !== undefined ||
    meta.status !== stage.column ||
    goesOn(stage, facts)
  )
}

function goesOn(stage: Exclude<Stage, DoneTask>, facts: TaskFacts): boolean {
  if (stage.setup?.again && stage.setup.state === "running") return true
  switch (stage.column) {
    case "backlog":
      return UNDER_WAY.has(stage.intake?.state) || stage.setup?.state === "running"
    case "in_progress": {
      const intent = stage.run?.intent
      return intent !== undefined && intent.deliveredAt === undefined && !facts.lost
    }
    case "review": {
      const { snapshot, problem, checks, validator } = stage.review
      return (
        (!snapshot && !problem) ||
        checks?.state === "running" ||
        UNDER_WAY.has(validator?.state) ||
        stage.merge?.state === "claimed"
      )
    }
  }
}
