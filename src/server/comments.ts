import {
  addComment,
  commentFinding,
  commentsToFix,
  countComments,
  deleteComment,
  editComment,
  isCommentID,
  NO_COMMENTS,
  readComments,
  ruleComment,
  type Comment,
  type CommentDraft,
  type Comments,
} from "../core/comments.ts"
import { followComment } from "../core/follow.ts"
import type { RequestFailure } from "../core/protocol.ts"
import type { FindingRuling } from "../core/review-requests.ts"
import { err, ok, type Result } from "../core/result.ts"
import { columnOf, type Finding, type SnapshotRef, type Task, type TaskMeta } from "../core/task.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"

/*
 * The comments of a task: a file beside it, changed under the repository's lock together with their counts in the
 * metadata, which is what other windows hear of.
 */

type Failed = { readonly text: string }
type CommentsProject = Pick<Project, "store" | "tasks" | "trees" | "clock" | "remember" | "host">

/** All comments of the task, each at its place in the snapshot under review. */
export async function standingComments(
  project: CommentsProject,
  meta: TaskMeta,
): Promise<Result<readonly Comment[], Failed>> {
  const stored = await load(project, meta.sessionID)
  if (!stored.ok) return stored
  const { snapshot } = meta.review ?? {}
  return ok(snapshot ? await followed(project, stored.value.comments, snapshot) : stored.value.comments)
}

/** The comments that go back to the agent from the review of `generation`, as findings. */
export async function commentFindings(
  project: CommentsProject,
  meta: TaskMeta,
  generation: number,
): Promise<Result<readonly { readonly finding: Finding; readonly reason?: string }[], Failed>> {
  const standing = await standingComments(project, meta)
  if (!standing.ok) return standing
  return ok(
    commentsToFix(standing.value, generation).map((comment) => ({
      finding: commentFinding(comment),
      ...(comment.reason ? { reason: comment.reason } : {}),
    })),
  )
}

/** Writes a new comment on the snapshot under review. */
export async function writeComment(
  project: CommentsProject,
  task: Task,
  draft: CommentDraft,
): Promise<Result<{ readonly id: string; readonly text: string }, RequestFailure>> {
  const snapshot = task.meta.review?.snapshot
  if (!snapshot) return refused({ kind: "no_snapshot" })
  const by = await project.trees.person()
  let id = ""
  const written = await changeComments(project, task, (known, meta) => {
    const at = project.clock.now()
    const added = addComment(known, draft, {
      by,
      at,
      snapshot: snapshot.commit,
      base: snapshot.base,
      generation: meta.generation,
    })
    if (added.ok) id = added.value.comments.at(-1)!.id
    return added
  })
  if (!written.ok) return written
  await project.remember(task.meta.sessionID, { kind: "ruling", text: `${id} commented: ${draft.text.trim()}` })
  return ok({ id, text: `${id} is kept; it goes back with the findings (s)` })
}

export async function rewriteComment(
  project: CommentsProject,
  task: Task,
  id: string,
  text: string,
): Promise<Result<string, RequestFailure>> {
  const written = await changeComments(project, task, (known, meta) =>
    editComment(known, id, text, { at: project.clock.now(), generation: meta.generation }),
  )
  if (!written.ok) return written
  await project.remember(task.meta.sessionID, { kind: "ruling", text: `${id} says now: ${text.trim()}` })
  return ok(`${id} is changed`)
}

export async function removeComment(
  project: CommentsProject,
  task: Task,
  id: string,
): Promise<Result<string, RequestFailure>> {
  const written = await changeComments(project, task, (known) => deleteComment(known, id))
  if (!written.ok) return written
  await project.remember(task.meta.sessionID, { kind: "ruling", text: `${id} deleted` })
  return ok(`${id} is deleted`)
}

/** The rulings on comments among `rulings`; the others are the validator's findings. */
export async function ruleComments(
  project: CommentsProject,
  task: Task,
  rulings: readonly FindingRuling[],
): Promise<Result<string, RequestFailure>> {
  const own = rulings.filter(({ finding }) => isCommentID(finding))
  const written = await changeComments(project, task, (known, { generation }) => {
    let now: Result<Comments, string> = ok(known)
    for (const { finding, disposition, reason } of own) {
      if (!now.ok) return now
      now = ruleComment(now.value, finding, { disposition, generation, ...(reason ? { reason } : {}) })
    }
    return now
  })
  if (!written.ok) return written
  for (const { finding, disposition, reason } of own) {
    await project.remember(task.meta.sessionID, {
      kind: "ruling",
      text: `${finding} ruled ${disposition}${reason ? `: ${reason}` : ""}`,
      finding,
      disposition,
    })
  }
  return ok(`${own.map(({ finding }) => finding).join(", ")} ruled`)
}

/** Changes file and counts in one step. The places are brought to the snapshot under review before. */
async function changeComments(
  project: CommentsProject,
  task: Task,
  change: (known: Comments, meta: TaskMeta) => Result<Comments, string>,
): Promise<Result<void, RequestFailure>> {
  const { sessionID } = task.meta
  const snapshot = task.meta.review?.snapshot
  const before = await load(project, sessionID)
  if (!before.ok) return failed(before.error.text)
  // Git is asked before the lock; whatever another window added meanwhile stands on the same snapshot already.
  const moved = snapshot ? await followed(project, before.value.comments, snapshot) : before.value.comments
  const places = new Map(moved.map((comment) => [comment.id, comment]))
  let problem: Result<never, RequestFailure> | undefined
  const updated = await project.tasks.update(sessionID, async (meta) => {
    if (columnOf(meta) !== "review") {
      problem = refused({ kind: "not_in_column", needed: "review" })
      return undefined
    }
    if (meta.merge?.state === "claimed") {
      problem = refused({ kind: "merging" })
      return undefined
    }
    const now = await load(project, sessionID)
    if (!now.ok) {
      problem = failed(now.error.text)
      return undefined
    }
    const known = { ...now.value, comments: now.value.comments.map((comment) => placed(comment, places)) }
    const changed = change(known, meta)
    if (!changed.ok) {
      problem = refused({ kind: "invalid", text: changed.error })
      return undefined
    }
    const stored = await project.store.writeJson(project.store.paths.session(sessionID).comments, changed.value)
    if (!stored.ok) {
      problem = failed(stored.error.text)
      return undefined
    }
    const counts = countComments(changed.value.comments, { at: project.clock.now(), generation: meta.generation })
    return { ...meta, comments: counts }
  })
  if (problem) return problem
  return updated.ok ? ok() : failed(updated.error.text)
}

/** The place of `places`, the words of `comment`. */
function placed(comment: Comment, places: ReadonlyMap<string, Comment>): Comment {
  const found = places.get(comment.id)
  if (!found || found.snapshot === comment.snapshot) return comment
  const { snapshot, base } = found
  return {
    ...comment,
    snapshot,
    base,
    ...(found.location ? { location: found.location } : {}),
    ...(found.outdated ? { outdated: true as const } : {}),
  }
}

async function followed(
  project: CommentsProject,
  comments: readonly Comment[],
  snapshot: Pick<SnapshotRef, "commit" | "base">,
): Promise<readonly Comment[]> {
  const to = { snapshot: snapshot.commit, base: snapshot.base }
  const diffs = new Map<string, Parameters<typeof followComment>[1]>()
  for (const { snapshot: from, location, outdated } of comments) {
    if (from === to.snapshot || !location || outdated || diffs.has(from)) continue
    const diff = await project.trees.diff({ base: from, commit: to.snapshot })
    // A snapshot that git has cleaned away: its comments are outdated, not lost.
    if (!diff.ok) project.host.log("warn", `comments could not be followed: ${diff.error.text}`)
    diffs.set(from, diff.ok ? diff.value.diff : undefined)
  }
  return comments.map((comment) => followComment(comment, diffs.get(comment.snapshot), to))
}

async function load(project: Pick<Project, "store">, sessionID: string): Promise<Result<Comments, Failed>> {
  const path = project.store.paths.session(sessionID).comments
  const read = await project.store.readJson(path)
  if (!read.ok) return read.error.kind === "missing" ? ok(NO_COMMENTS) : err({ text: read.error.text })
  const comments = readComments(read.value)
  return comments.ok ? comments : err({ text: `${path}: ${comments.error}` })
}
