import { columnOf, type Review, type Status, type TaskMeta } from "./task.ts"

/**
 * A task as its column sees it: what every card has, and of the rest only what matters there. What a column does not
 * name stays stored and is not looked at: the review of a card that went back to the backlog, the intake of one in Review.
 */
export type Stage = BacklogTask | WorkTask | ReviewTask | DoneTask

/** What only some columns look at. */
const OF_SOME = ["setup", "intake", "run", "review", "approval", "merge", "awaiting"] as const
type OfSome = (typeof OF_SOME)[number]

const OF_COLUMN = {
  backlog: ["setup", "intake", "run", "awaiting"],
  in_progress: ["setup", "intake", "run"],
  review: ["setup", "run", "review", "approval", "merge", "awaiting"],
  done: ["review", "approval", "merge"],
} as const satisfies Record<Status, readonly OfSome[]>

type In<C extends Status> = Omit<TaskMeta, OfSome> &
  Pick<TaskMeta, (typeof OF_COLUMN)[C][number]> & { readonly column: C }

export type BacklogTask = In<"backlog">
export type WorkTask = In<"in_progress">
/** A card in Review always has a review, be it an empty one. */
export type ReviewTask = In<"review"> & { readonly review: Review }
export type DoneTask = In<"done">

export const NO_REVIEW: Review = { findings: 0, ruled: 0, fix: 0 }

/** The task with just the fields of the column in which it stands. */
export function stageOf(meta: TaskMeta): Stage {
  const column = columnOf(meta)
  const stage: Record<string, unknown> = { ...meta, column }
  for (const field of OF_SOME) if (!(OF_COLUMN[column] as readonly OfSome[]).includes(field)) delete stage[field]
  if (column === "review") stage.review ??= NO_REVIEW
  return stage as unknown as Stage
}
