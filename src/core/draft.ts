import { z } from "zod"
import type { Claim, ModelRef } from "./task.ts"

/** One task as somebody asks for it. */
export type NewTask = {
  readonly title: string
  readonly description: string
  readonly baseBranch?: string
  readonly model?: ModelRef
  readonly agent?: string
  readonly scope?: string
  /** Numbers of tasks on the board that it waits for. */
  readonly dependsOn?: readonly number[]
  /** Positions, from 0, of earlier tasks asked for together with it that it waits for. */
  readonly after?: readonly number[]
}

/** What is chosen once per task and written down before it is acted on. */
export type Plan = {
  readonly taskNumber: number
  readonly branch: string
  readonly worktree: string
  readonly baseBranch: string
  readonly baseCommit: string
}

/**
 * What was asked for and is no task yet: kept from the first moment until the sessions stand. Its tasks are made all or
 * none, in their order.
 */
export type Draft = {
  readonly id: string
  readonly tasks: readonly NewTask[]
  /** Start them as soon as they may; `waiver`: without intake, for this reason. */
  readonly start?: { readonly waiver: string }
  /** The session of the task in whose place they come. */
  readonly splitOf?: string
  /** How far creation has come, task by task. */
  readonly made?: readonly Plan[]
  /** Why creation did not succeed, in words. */
  readonly problem?: string
  readonly claim?: Claim
  readonly at: number
}

const task = z.object({
  title: z.string(),
  description: z.string(),
  baseBranch: z.string().optional(),
  model: z.object({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() }).optional(),
  agent: z.string().optional(),
  scope: z.string().optional(),
  dependsOn: z.array(z.number().int()).optional(),
  after: z.array(z.number().int()).optional(),
})
const plan = z.object({
  taskNumber: z.number().int(),
  branch: z.string(),
  worktree: z.string(),
  baseBranch: z.string(),
  baseCommit: z.string(),
})
const draft = z.object({
  id: z.string().regex(/^[A-Za-z0-9][\w-]{0,99}$/),
  tasks: z.array(task).min(1),
  start: z.object({ waiver: z.string() }).optional(),
  splitOf: z.string().optional(),
  made: z.array(plan).optional(),
  problem: z.string().optional(),
  claim: z.object({ pid: z.number().int(), start: z.string(), host: z.string(), at: z.number() }).optional(),
  at: z.number(),
})

/** A stored draft, or `undefined` for anything else. */
export function readDraft(value: unknown): Draft | undefined {
  const parsed = draft.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

/** A draft in one line, as its card shows it. */
export function draftTitle({ tasks }: Pick<Draft, "tasks">): string {
  const titles = tasks.map(({ title }) => title.trim())
  return titles.length === 1 ? titles[0]! : `${titles.length} tasks: ${titles.join(" · ")}`
}

export const MAX_TITLE = 300

/**
 * The title as it is stored: one line, without control characters, at most 300 characters. `undefined` when nothing
 * visible is left.
 */
export function cleanTitle(text: string): string | undefined {
  const line = text
    // eslint-disable-next-line no-control-regex -- removing them is the point
    .replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ")
    .replace(/ {2,}/g, " ")
    .trim()
  const visible = line.replace(/[\s\p{Cf}\p{Zs}\u115f\u1160\u3164\uffa0]/gu, "")
  if (visible === "") return undefined
  return Array.from(line).slice(0, MAX_TITLE).join("")
}
