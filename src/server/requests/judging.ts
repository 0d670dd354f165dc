import { isCommentID } from "../../core/comments.ts"
import type { FindingRuling } from "../../core/review-requests.ts"
import { ok } from "../../core/result.ts"
import { isReason } from "../../core/rules.ts"
import { NO_REVIEW } from "../../core/stage.ts"
import { columnOf } from "../../core/task.ts"
import { approveTask, leaveTask } from "../approve.ts"
import { removeComment, rewriteComment, ruleComments, standingComments, writeComment } from "../comments.ts"
import { createFrom } from "../creation.ts"
import { pointerOf, remarkPath, withPointer } from "../helper.ts"
import { answerDecisions, instruct, waiveIntake } from "../intake.ts"
import { failed, refused } from "../moves.ts"
import { done, moveReply, type Desk, type Handlers } from "../requests.ts"
import { splitDraft } from "../split.ts"
import { reviewAgain, updateTask } from "../update.ts"
import { ruleFindings } from "../validator/findings.ts"
import { previewSendBack, storeSendBack } from "../send-back.ts"

/** Where the person's judgement is asked: intake, findings, approval. */
export function judgingRequests(
  desk: Desk,
  tell: Handlers["task.tell"],
): Pick<
  Handlers,
  | "intake.answer"
  | "intake.instruct"
  | "intake.split"
  | "intake.waive"
  | "helper.retry"
  | "validator.waive"
  | "findings.rule"
  | "review.again"
  | "review.allowLarge"
  | "comments.list"
  | "comment.add"
  | "comment.edit"
  | "comment.delete"
  | "sendBack.preview"
  | "task.sendBack"
  | "merge.preview"
  | "task.update"
  | "task.approve"
  | "task.leave"
> {
  const { project, supervisor, on } = desk
  const { tasks, host, store, clock } = project
  return {
    "intake.answer": ({ sessionID, answers }) =>
      on(sessionID, async (task) => done(await answerDecisions(project, task, answers))),
    "intake.instruct": ({ sessionID, instruction }) =>
      on(sessionID, async (task) => done(await instruct(project, task, instruction))),
    "intake.split": ({ sessionID, start }) =>
      on(sessionID, async (task) => {
        const draft = await splitDraft(project, task, start === true)
        if (!draft.ok) return draft
        const made = await createFrom(desk, draft.value)
        if (!made.ok) return made
        const refs = made.value.tasks.map(({ meta }) => ({ sessionID: meta.sessionID, taskNumber: meta.taskNumber }))
        return ok({ tasks: refs, text: `${made.value.text}; #${task.meta.taskNumber} is archived` })
      }),
    "intake.waive": ({ sessionID, reason }) =>
      on(sessionID, async (task) => done(await waiveIntake(project, task, reason))),

    "helper.retry": ({ sessionID, role, remark }) =>
      on(sessionID, async (task) => {
        const pointer = pointerOf(task.meta, role)
        if (!pointer) return refused({ kind: "nothing_runs" })
        if (pointer.state === "running" || pointer.state === "claimed") return refused({ kind: "stop_first" })
        const words = remark?.trim()
        // Before the pointer goes: whoever looks next asks with it.
        if (words) {
          const written = await store.writeText(remarkPath(project, task, role), words)
          if (!written.ok) return failed(written.error.text)
        }
        const updated = await tasks.update(sessionID, (meta) => {
          const now = pointerOf(meta, role)
          if (now?.state !== pointer.state || now.at !== pointer.at) return undefined
          if (role === "intake") return columnOf(meta) === "backlog" ? { ...meta, intake: undefined } : undefined
          return columnOf(meta) === "review" && meta.review && meta.merge?.state !== "claimed"
            ? {
                ...meta,
                review: { ...meta.review, validator: undefined, partial: undefined, findings: 0, ruled: 0, fix: 0 },
              }
            : undefined
        })
        if (!updated.ok) return failed(updated.error.text)
        if (!updated.value.changed)
          return refused({ kind: "not_in_column", needed: role === "intake" ? "backlog" : "review" })
        if (words) await project.remember(sessionID, { kind: "helper", text: `${role} asked again: ${words}` })
        return ok({ text: `${role} runs again` })
      }),

    "validator.waive": ({ sessionID, reason }) =>
      on(sessionID, async (task) => {
        if (!isReason(reason)) return refused({ kind: "reason_needed", what: "waiving the review" })
        const snapshot = task.meta.review?.snapshot
        if (!snapshot) return refused({ kind: "no_snapshot" })
        let running: string | undefined
        const updated = await tasks.update(sessionID, (meta) => {
          if (columnOf(meta) !== "review" || meta.review?.snapshot?.commit !== snapshot.commit) return undefined
          const now = meta.review.validator
          running = now?.state === "running" ? now.sessionID : undefined
          return withPointer(meta, "validator", {
            ...(now ?? { attempt: 0, generation: meta.generation }),
            state: "waived",
            reason: reason.trim(),
            claim: undefined,
            at: clock.now(),
          })
        })
        if (!updated.ok) return failed(updated.error.text)
        if (!updated.value.changed) return refused({ kind: "not_in_column", needed: "review" })
        if (running) await host.abort(running, task.meta.worktree)
        await project.remember(sessionID, { kind: "ruling", text: `review waived: ${reason.trim()}` })
        return ok({ text: "review waived" })
      }),

    "findings.rule": ({ sessionID, rulings }) =>
      on(sessionID, async (task) => {
        const [comments, findings] = parted(rulings)
        const ruled = comments.length > 0 ? await ruleComments(project, task, comments) : undefined
        if (ruled && (!ruled.ok || findings.length === 0)) return done(ruled)
        return done(await ruleFindings(project, task, findings))
      }),

    async "comments.list"({ sessionID }) {
      const read = await tasks.read(sessionID)
      const meta = read.ok ? read.value.task.meta : supervisor.factsOf(sessionID)?.record?.meta
      if (!meta) return refused({ kind: "gone" })
      const comments = await standingComments(project, meta)
      return comments.ok ? ok({ comments: comments.value }) : failed(comments.error.text)
    },
    "comment.add": ({ sessionID, ...draft }) => on(sessionID, (task) => writeComment(project, task, draft)),
    "comment.edit": ({ sessionID, id, text }) =>
      on(sessionID, async (task) => done(await rewriteComment(project, task, id, text))),
    "comment.delete": ({ sessionID, id }) =>
      on(sessionID, async (task) => done(await removeComment(project, task, id))),

    "review.again": ({ sessionID }) =>
      on(sessionID, async (task) => {
        if (columnOf(task.meta) !== "review") return refused({ kind: "not_in_column", needed: "review" })
        if (task.meta.merge?.state === "claimed") return refused({ kind: "merging" })
        if (supervisor.factsOf(sessionID)?.activity.kind === "busy") return refused({ kind: "turn_running" })
        const again = await reviewAgain(desk, task)
        return again.ok ? ok({ text: "a new snapshot is taken and reviewed" }) : again
      }),

    "review.allowLarge": ({ sessionID }) =>
      on(sessionID, async () => {
        const updated = await tasks.update(sessionID, (meta) =>
          columnOf(meta) === "review" && meta.review?.large === "asked"
            ? { ...meta, review: { ...NO_REVIEW, large: "allowed" } }
            : undefined,
        )
        if (!updated.ok) return failed(updated.error.text)
        if (!updated.value.changed) return refused({ kind: "invalid", text: "it does not ask that" })
        await project.remember(sessionID, { kind: "snapshot", text: "large untracked files allowed" })
        return ok({ text: "taken in" })
      }),

    "sendBack.preview": ({ sessionID }) => on(sessionID, (task) => previewSendBack(project, task)),

    "task.sendBack": ({ sessionID, note, text, mode }) =>
      on(sessionID, async (task) => {
        const stored = await storeSendBack(project, task, { ...(note ? { note } : {}), ...(text ? { text } : {}) })
        if (!stored.ok) return stored
        const words = (text ?? note)?.trim()
        const fresh = (mode ?? project.options().sendBack.mode) === "fresh"
        const moved = await supervisor.move(sessionID, "in_progress", {
          fresh,
          sent: true,
          ...(words ? { note: words } : {}),
        })
        // What is sent back is changed again: nothing that runs on it counts.
        if (moved.ok && moved.value.kind === "accepted") supervisor.interrupt(sessionID)
        return moved.ok ? ok(moveReply(moved.value, "in_progress")) : moved
      }),

    async "merge.preview"({ sessionID, target }) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return read.error.kind === "gone" ? refused({ kind: "gone" }) : failed(read.error.text)
      const { meta } = read.value.task
      const snapshot = meta.review?.snapshot?.commit
      if (!snapshot) return refused({ kind: "no_snapshot" })
      const [landing, branches] = await Promise.all([
        project.trees.landing(meta, snapshot, target),
        project.trees.branches(),
      ])
      if (!branches.ok) return failed(branches.error.text)
      if (!landing.ok && landing.error.kind === "base_gone") {
        const { text: gone } = landing.error
        return ok({ snapshot, branches: branches.value, gone, tip: meta.baseCommit, behind: 0, conflicts: [] })
      }
      if (!landing.ok) return failed(landing.error.text)
      const { contained: _, ...seen } = landing.value
      return ok({ snapshot, branches: branches.value, ...seen })
    },

    "task.update": ({ sessionID, base }) => on(sessionID, (task) => updateTask(desk, task, tell, base)),

    "task.approve": (body) =>
      on(body.sessionID, async (task) => {
        const approved = await supervisor.occupy(body.sessionID, "merge", () => approveTask(project, task, body))
        if (approved !== false) return approved
        const checking = supervisor.occupation(body.sessionID) === "checks"
        return refused(
          checking ? { kind: "invalid", text: "its checks still run (X stops them)" } : { kind: "merging" },
        )
      }),
    "task.leave": ({ sessionID, reason }) => on(sessionID, (task) => leaveTask(project, task, reason)),
  }
}

/** The rulings on the person's comments, and those on the validator's findings. */
function parted(rulings: readonly FindingRuling[]): readonly [readonly FindingRuling[], readonly FindingRuling[]] {
  return [rulings.filter(({ finding }) => isCommentID(finding)), rulings.filter(({ finding }) => !isCommentID(finding))]
}
