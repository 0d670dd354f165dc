import { z } from "zod"
import type { Claim, ModelRef } from "./task.ts"

/** What was typed for a task that is not one yet: kept from the first moment until its session stands. */
export type Draft = {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly baseBranch?: string
  readonly model?: ModelRef
  readonly agent?: string
  readonly scope?: string
  readonly dependsOn?: readonly number[]
  readonly start?: { readonly waiver: string }
  /** How far creation has come; each is written before it is acted on. */
  readonly made?: {
    readonly taskNumber: number
    readonly branch: string
    readonly worktree: string
    readonly baseBranch: string
    readonly baseCommit: string
  }
  /** Why creation did not succeed, in words. */
  readonly problem?: string
  readonly claim?: Claim
  readonly at: number
}

const draft = z.object({
  id: z.string().regex(/^[\w-]{1,100}$/),
  title: z.string(),
  description: z.string(),
  baseBranch: z.string().optional(),
  model: z.object({ providerID: z.string(), modelID: z.string(), variant: z.string().optional() }).optional(),
  agent: z.string().optional(),
  scope: z.string().optional(),
  dependsOn: z.array(z.number().int()).optional(),
  start: z.object({ waiver: z.string() }).optional(),
  made: z
    .object({
      taskNumber: z.number().int(),
      branch: z.string(),
      worktree: z.string(),
      baseBranch: z.string(),
      baseCommit: z.string(),
    })
    .optional(),
  problem: z.string().optional(),
  claim: z.object({ pid: z.number().int(), start: z.string(), host: z.string(), at: z.number() }).optional(),
  at: z.number(),
})

/** A stored draft, or `undefined` for anything else. */
export function readDraft(value: unknown): Draft | undefined {
  const parsed = draft.safeParse(value)
  return parsed.success ? parsed.data : undefined
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
