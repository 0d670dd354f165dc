import { z } from "zod"
import { duration } from "./board.ts"
import { STATUSES, STATUS_TITLE, type Status } from "./task.ts"

/*
 * What the histories of the tasks say about how judging goes: a table of a few figures, each with its course over the
 * last weeks. Nothing is measured for it: a line of history is read as it was written.
 */

/** Of one task: where it stands, the lines of its history, and what its sessions have cost. */
export type TaskStory = {
  readonly taskNumber: number
  readonly column: Status
  readonly history: readonly unknown[]
  readonly cost: Cost
}

export type Cost = { readonly work: number; readonly intake: number; readonly validator: number }

export type StatRow = {
  readonly label: string
  readonly value: string
  /** What the value is taken from. */
  readonly of: string
  /** One number a week, oldest first; `null`: nothing happened in it. */
  readonly weeks: readonly (number | null)[]
}

const WEEKS = 12
const WEEK = 7 * 24 * 3_600_000

type Line = { readonly at: number; readonly kind: string; readonly from?: Status; readonly to?: Status }
const status = z.enum(STATUSES)
const shape = z.object({
  at: z.number().finite(),
  kind: z.string(),
  from: status.optional().catch(undefined),
  to: status.optional().catch(undefined),
  finding: z.string().optional().catch(undefined),
  disposition: z.string().optional().catch(undefined),
  findings: z.number().optional().catch(undefined),
})

type Point = { readonly at: number; readonly value: number }

/** The table, at the time `now`. Lines that are none are passed over; a clock that was set back makes no negative time. */
export function statistics(stories: readonly TaskStory[], now: number): readonly StatRow[] {
  const stays: Record<Status, Point[]> = { backlog: [], in_progress: [], review: [], done: [] }
  const lead: Point[] = []
  const first: Point[] = []
  const backs: Point[] = []
  const upheld: Point[] = []
  const costs: Record<keyof Cost, Point[]> = { work: [], intake: [], validator: [] }
  for (const { history, cost } of stories) {
    const lines = history.flatMap((raw) => {
      const parsed = shape.safeParse(raw)
      return parsed.success ? [parsed.data] : []
    })
    if (lines.length === 0) continue
    const moves = lines.filter((line): line is typeof line & Line & { from: Status; to: Status } => isMove(line))
    let since = lines[0]!.at
    let sent = 0
    for (const { at, from, to } of moves) {
      stays[from].push({ at, value: Math.max(0, at - since) })
      since = at
      if (from === "review" && to === "in_progress") {
        sent++
        backs.push({ at, value: 1 })
      }
      if (to !== "done") continue
      lead.push({ at, value: Math.max(0, at - lines[0]!.at) })
      first.push({ at, value: sent === 0 ? 1 : 0 })
    }
    upheld.push(...rulings(lines))
    const last = lines.at(-1)!.at
    for (const role of ["work", "intake", "validator"] as const)
      if (cost[role] > 0) costs[role].push({ at: last, value: cost[role] })
  }

  const time = (label: string, points: readonly Point[]): StatRow => ({
    label,
    value: points.length === 0 ? "–" : duration(median(points)),
    of: points.length === 0 ? "none yet" : `median of ${points.length}`,
    weeks: byWeek(points, now, median),
  })
  const share = (label: string, points: readonly Point[], noun: string): StatRow => ({
    label,
    value: points.length === 0 ? "–" : `${Math.round(mean(points) * 100)}%`,
    of: points.length === 0 ? "none yet" : `${sum(points)} of ${count(points.length, noun)}`,
    weeks: byWeek(points, now, mean),
  })
  const money = (label: string, points: readonly Point[]): StatRow => ({
    label,
    value: points.length === 0 ? "–" : `$${sum(points).toFixed(2)}`,
    of: points.length === 0 ? "none reported" : `$${(sum(points) / points.length).toFixed(2)} a task`,
    weeks: byWeek(points, now, sum),
  })
  return [
    {
      label: "Tasks done",
      value: String(lead.length),
      of: `of ${count(stories.length, "task")}`,
      weeks: byWeek(
        lead.map(({ at }) => ({ at, value: 1 })),
        now,
        sum,
      ),
    },
    time("Created → Done", lead),
    ...(["backlog", "in_progress", "review"] as const).map((column) =>
      time(`Time in ${STATUS_TITLE[column]}`, stays[column]),
    ),
    share("First pass", first, "done task"),
    {
      label: "Sent back",
      value: String(backs.length),
      of: lead.length === 0 ? "no task is done" : `${(backs.length / lead.length).toFixed(1)} per done task`,
      weeks: byWeek(backs, now, sum),
    },
    share("Findings upheld", upheld, "ruled finding"),
    money("Cost of work", costs.work),
    money("Cost of intake", costs.intake),
    money("Cost of review", costs.validator),
  ]
}

function isMove(line: { readonly kind: string; readonly from?: Status | undefined; readonly to?: Status | undefined }) {
  return line.kind === "move" && line.from !== undefined && line.to !== undefined && line.from !== line.to
}

/** Each finding once, with what was ruled on it last: 1 when it is to be fixed. Every report counts its own anew. */
function rulings(lines: readonly z.infer<typeof shape>[]): readonly Point[] {
  const last = new Map<string, Point>()
  let report = 0
  for (const { kind, at, finding, disposition, findings } of lines) {
    if (kind === "helper" && findings !== undefined) report++
    if (kind === "ruling" && finding !== undefined && disposition !== undefined)
      last.set(`${report}:${finding}`, { at, value: disposition === "fix" ? 1 : 0 })
  }
  return [...last.values()]
}

function byWeek(points: readonly Point[], now: number, of: (points: readonly Point[]) => number): (number | null)[] {
  const weeks = Array.from({ length: WEEKS }, (): Point[] => [])
  for (const point of points) {
    const ago = Math.floor(Math.max(0, now - point.at) / WEEK)
    if (ago < WEEKS) weeks[WEEKS - 1 - ago]!.push(point)
  }
  return weeks.map((week) => (week.length === 0 ? null : of(week)))
}

function median(points: readonly Point[]): number {
  const sorted = points.map(({ value }) => value).toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function sum(points: readonly Point[]): number {
  return points.reduce((total, { value }) => total + value, 0)
}

function mean(points: readonly Point[]): number {
  return sum(points) / points.length
}

function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`
}

/** The course of a row as steps from 0 to `steps` - 1, from the least to the most of its own; `null` stays. */
export function sparkSteps(weeks: readonly (number | null)[], steps: number): readonly (number | null)[] {
  const known = weeks.filter((week) => week !== null)
  const most = Math.max(0, ...known)
  return weeks.map((week) => {
    if (week === null) return null
    return most === 0 ? 0 : Math.min(steps - 1, Math.round((Math.max(0, week) / most) * (steps - 1)))
  })
}
