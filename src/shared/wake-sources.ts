/**
 * Every route that wakes a session, and what triggers it. The `source` of a wake is `<route>:<session of the task>`.
 * A guard fails when a route has no regression test of its own trigger.
 */
export const WAKE_SOURCES = {
  intake: "a task in Backlog has no intake",
  validator: "a snapshot in Review has no review",
  "task-start": "a move to In Progress was accepted",
  "task-send-back": "findings ruled fix were sent back",
  "task-resume": "the person resumed an interrupted task",
  "task-tell": "the person told an idle agent something",
} as const

export type WakeRoute = keyof typeof WAKE_SOURCES
