import { z } from "zod"
import { cut } from "./loose.ts"
import { err, ok, type Result } from "./result.ts"
import type { Citation, Disposition, Finding, Location, TaskMeta } from "./task.ts"

/*
 * The person's own words on a change: on a line, a range, a file or the whole task. They are findings of the kind
 * `comment`, ruled "fix" from the beginning. No session made them, so they stand in a file beside the task; the task's
 * metadata keeps their counts.
 */

export type Comment = {
  /** `C1`, `C2`, … within one task, never given twice. */
  readonly id: string
  readonly text: string
  /** Absent: about the task. */
  readonly location?: Location
  /** `old`: the numbers count on the side before the change, of a line that it removes. */
  readonly side?: "old"
  /** The cited line as it was when the comment was written. */
  readonly quote?: string
  readonly by: string
  readonly at: number
  readonly editedAt?: number
  /** The snapshot and its base on which the place was found last. */
  readonly snapshot: string
  readonly base: string
  /** The iteration whose review it belongs to: with a later one it has been sent back. */
  readonly generation: number
  readonly disposition: Disposition
  readonly reason?: string
  /** Its line was changed since, so that the place only says where it stood. */
  readonly outdated?: true
}

export type Comments = { readonly next: number; readonly comments: readonly Comment[] }

/** What the person gives for a new comment, or instead of an old one's words. */
export type CommentDraft = Pick<Comment, "text" | "location" | "side" | "quote">

export const NO_COMMENTS: Comments = { next: 1, comments: [] }
export const MAX_COMMENTS = 500
const MAX_TEXT = 8_000
const MAX_QUOTE = 200

const shape = z.object({
  next: z.number().int().min(1),
  comments: z.array(
    z.object({
      id: z.string().regex(/^C\d+$/),
      text: z.string(),
      location: z
        .object({ path: z.string(), line: z.number().int().optional(), endLine: z.number().int().optional() })
        .optional(),
      side: z.literal("old").optional(),
      quote: z.string().optional(),
      by: z.string(),
      at: z.number(),
      editedAt: z.number().optional(),
      snapshot: z.string(),
      base: z.string(),
      generation: z.number().int().min(1),
      disposition: z.enum(["fix", "intended", "ignored"]),
      reason: z.string().optional(),
      outdated: z.literal(true).optional(),
    }),
  ),
})

/** Reads the stored file; what has another shape is named, never taken for "no comments". */
export function readComments(raw: unknown): Result<Comments, string> {
  const read = shape.safeParse(raw)
  return read.success ? ok(read.data as Comments) : err(read.error.issues[0]?.message ?? "another shape")
}

/** Whether a ruling's id is that of a comment. */
export const isCommentID = (id: string) => /^C\d+$/.test(id)

/** Adds one. `where`: who writes it, when, and on which snapshot. */
export function addComment(
  known: Comments,
  draft: CommentDraft,
  where: Pick<Comment, "by" | "at" | "snapshot" | "base" | "generation">,
): Result<Comments, string> {
  const text = draft.text.trim()
  if (text === "") return err("a comment needs a word")
  if (known.comments.length >= MAX_COMMENTS) return err(`there are ${MAX_COMMENTS} comments on this task already`)
  const comment: Comment = {
    id: `C${known.next}`,
    text: cut(text, MAX_TEXT),
    ...(draft.location ? { location: draft.location } : {}),
    ...(draft.side === "old" ? { side: draft.side } : {}),
    ...(draft.quote?.trim() ? { quote: cut(draft.quote.trim(), MAX_QUOTE) } : {}),
    ...where,
    disposition: "fix",
  }
  return ok({ next: known.next + 1, comments: [...known.comments, comment] })
}

/** Other words for one; what was sent back before is then said in this iteration. */
export function editComment(
  known: Comments,
  id: string,
  text: string,
  now: { readonly at: number; readonly generation: number },
): Result<Comments, string> {
  if (text.trim() === "") return err("a comment needs a word")
  return change(known, id, (comment) => ({
    ...comment,
    text: cut(text.trim(), MAX_TEXT),
    editedAt: now.at,
    generation: now.generation,
    disposition: "fix",
  }))
}

export function deleteComment(known: Comments, id: string): Result<Comments, string> {
  if (!known.comments.some((comment) => comment.id === id)) return err(`there is no comment ${id}`)
  return ok({ ...known, comments: known.comments.filter((comment) => comment.id !== id) })
}

/** Rules on one: `fix` sends it back (again), the others settle it. */
export function ruleComment(
  known: Comments,
  id: string,
  ruling: { readonly disposition: Disposition; readonly reason?: string; readonly generation: number },
): Result<Comments, string> {
  return change(known, id, (comment) => {
    const { reason: _, ...rest } = comment
    const reason = ruling.reason?.trim()
    const { disposition, generation } = ruling
    return { ...rest, disposition, generation, ...(reason ? { reason } : {}) }
  })
}

function change(known: Comments, id: string, edit: (comment: Comment) => Comment): Result<Comments, string> {
  if (!known.comments.some((comment) => comment.id === id)) return err(`there is no comment ${id}`)
  return ok({ ...known, comments: known.comments.map((comment) => (comment.id === id ? edit(comment) : comment)) })
}

/** Those that go back to the agent from the review of this iteration. */
export function commentsToFix(comments: readonly Comment[], generation: number): readonly Comment[] {
  return comments.filter((comment) => comment.generation === generation && comment.disposition === "fix")
}

/** What the task's metadata keeps of them. */
export function countComments(
  comments: readonly Comment[],
  now: { readonly at: number; readonly generation: number },
): NonNullable<TaskMeta["comments"]> {
  return {
    total: comments.length,
    fix: commentsToFix(comments, now.generation).length,
    generation: now.generation,
    at: now.at,
  }
}

/** A comment as the finding that it is; the first line is its title. */
export function commentFinding(comment: Comment): Finding {
  const [title, ...rest] = comment.text.split("\n")
  const about =
    comment.quote === undefined || (!comment.outdated && comment.side !== "old")
      ? []
      : [`${comment.outdated ? "The line was" : "About the removed line"}: ${comment.quote}`]
  const citation: Citation = !comment.location
    ? "none"
    : comment.outdated
      ? "no_line"
      : comment.location.line === undefined
        ? "file"
        : "verified"
  return {
    id: comment.id,
    kind: "comment",
    severity: "medium",
    confidence: 10,
    title: title!.trim(),
    detail: [...rest, ...about].join("\n").trim(),
    ...(comment.location ? { location: comment.location } : {}),
    citation,
  }
}
