import { stat } from "node:fs/promises"
import type { Draft } from "../core/draft.ts"
import { intentOf } from "../core/moves.ts"
import { workText } from "../core/prompts.ts"
import type { Done, DraftReply, MoveReply, ReplyOf, RequestFailure, RequestOf, RequestType } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { isReason, judgeSendBack } from "../core/rules.ts"
import { cleanTitle } from "../core/draft.ts"
import { columnOf, workingSession, type Task, type TaskMeta } from "../core/task.ts"
import { createTask, dropDraft, listDrafts, type CreateParts } from "../shared/create-task.ts"
import { approveTask, leaveTask } from "./approve.ts"
import { pointerOf, withPointer } from "./helper.ts"
import { answerDecisions, waiveIntake } from "./intake.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { diffOf } from "./review-diff.ts"
import type { Supervisor } from "./supervisor.ts"
import { ruleFindings } from "./validator/findings.ts"
import { notePath } from "./wake-task.ts"

/** Answers a board. Each handler asks the rules with what is true now, acts, and has the task looked at. */
export type Handlers = {
  readonly [T in Exclude<RequestType, "hello">]: (body: RequestOf<T>) => Promise<Result<ReplyOf<T>, RequestFailure>>
}

export function makeHandlers(parts: {
  readonly project: Project
  readonly supervisor: Supervisor
  readonly create: CreateParts
}): Handlers {
  const { project, supervisor, create } = parts
  const { tasks, host, store, clock } = project

  /** Reads the task, runs the action on it, and looks at it afterwards whatever came of it. */
  async function on<T>(
    sessionID: string,
    action: (task: Task) => Promise<Result<T, RequestFailure>>,
  ): Promise<Result<T, RequestFailure>> {
    const read = await tasks.read(sessionID)
    if (!read.ok) return read.error.kind === "gone" ? refused({ kind: "gone" }) : failed(read.error.text)
    if (read.value.readOnly) return refused({ kind: "read_only" })
    const result = await action(read.value.task)
    await supervisor.look(sessionID)
    return result
  }

  async function change(
    sessionID: string,
    text: string,
    edit: (meta: TaskMeta) => TaskMeta | undefined,
  ): Promise<Result<Done, RequestFailure>> {
    return on(sessionID, async () => {
      const updated = await tasks.update(sessionID, edit)
      if (!updated.ok) return failed(updated.error.text)
      if (updated.value.changed) await project.remember(sessionID, { kind: "edit", text })
      return ok({ text })
    })
  }

  const handlers: Handlers = {
    "board.facts": async () => ok({ facts: supervisor.facts(), drafts: await drafts(create) }),

    async "base.list"() {
      const [branches, proposed, dirty] = await Promise.all([
        project.repository.branches(),
        project.repository.defaultBase(),
        project.repository.dirtyFiles(),
      ])
      if (!branches.ok) return failed(branches.error.text)
      const files = dirty.ok ? dirty.value.map((entry) => entry.path) : []
      return ok({
        branches: branches.value
          .map((branch) => branch.name)
          .filter((name) => !name.startsWith(`${project.options().worktree.branchPrefix}/`)),
        proposed: proposed.ok ? (proposed.value?.branch ?? "") : "",
        dirty: files.slice(0, 50),
        dirtyCount: files.length,
      })
    },

    async "task.create"(body) {
      const draft: Draft = {
        id: body.draftID,
        title: body.title,
        description: body.description,
        ...(body.baseBranch ? { baseBranch: body.baseBranch } : {}),
        ...(body.model ? { model: body.model } : {}),
        ...(body.agent ? { agent: body.agent } : {}),
        ...(body.scope ? { scope: body.scope } : {}),
        ...(body.dependsOn ? { dependsOn: body.dependsOn } : {}),
        ...(body.start ? { start: body.start } : {}),
        at: clock.now(),
      }
      const made = await createTask(create, draft)
      project.push({ type: "drafts", drafts: await drafts(create) })
      if (!made.ok)
        return made.error.kind === "refused"
          ? refused({ kind: "invalid", text: made.error.text })
          : failed(made.error.text)
      const { sessionID, taskNumber } = made.value.meta
      await project.remember(sessionID, { kind: "edit", text: `created from ${made.value.meta.baseBranch}` })
      if (!body.start) {
        void supervisor.look(sessionID)
        return ok({ sessionID, taskNumber, text: `#${taskNumber} created` })
      }
      const waived = await waiveIntake(project, made.value, body.start.waiver)
      await supervisor.look(sessionID)
      const moved = waived.ok ? await supervisor.move(sessionID, "in_progress") : waived
      const outcome = moved.ok ? "and started" : `but not started: ${moved.error.text}`
      return ok({ sessionID, taskNumber, text: `#${taskNumber} created ${outcome}` })
    },

    async "draft.discard"({ draftID }) {
      const dropped = await dropDraft(create, draftID)
      project.push({ type: "drafts", drafts: await drafts(create) })
      return dropped.ok ? ok({ text: "draft discarded" }) : failed(dropped.error.text)
    },

    "task.edit": ({ sessionID, title, description }) =>
      on(sessionID, async (task) => {
        if (title !== undefined && title !== task.title) {
          const clean = cleanTitle(title)
          if (!clean) return refused({ kind: "title_empty" })
          const renamed = await host.rename(sessionID, clean)
          if (!renamed.ok) return failed(renamed.error.text)
        }
        if (description !== undefined) {
          const long = description.trim().length > 1_000
          if (long) {
            const written = await store.writeText(store.paths.session(sessionID).description, description)
            if (!written.ok) return failed(written.error.text)
          }
          const text = description.trim()
          const updated = await tasks.update(sessionID, (meta) => ({
            ...meta,
            description: text === "" ? undefined : long ? text.slice(0, 300) : text,
            descriptionFile: long ? true : undefined,
          }))
          if (!updated.ok) return failed(updated.error.text)
        } else {
          // The record repeats the title: write it anew.
          const updated = await tasks.update(sessionID, (meta) => ({ ...meta }))
          if (!updated.ok) return failed(updated.error.text)
        }
        await project.remember(sessionID, { kind: "edit", text: "edited" })
        return ok({ text: "saved" })
      }),

    "task.move": ({ sessionID, to, asIs }) =>
      on(sessionID, async (task) => {
        if (asIs && columnOf(task.meta) === "in_progress") {
          const stopped = await stop(task)
          if (!stopped.ok) return stopped
        }
        const moved = await supervisor.move(sessionID, to)
        return moved.ok ? ok(moveReply(moved.value)) : moved
      }),

    "task.reorder": ({ sessionID, order }) =>
      Number.isFinite(order)
        ? change(sessionID, "reordered", (meta) => ({ ...meta, order }))
        : Promise.resolve(refused({ kind: "invalid", text: "that is no place in a column" })),

    "intake.answer": ({ sessionID, answers }) =>
      on(sessionID, async (task) => done(await answerDecisions(project, task, answers))),
    "intake.waive": ({ sessionID, reason }) =>
      on(sessionID, async (task) => done(await waiveIntake(project, task, reason))),

    "helper.retry": ({ sessionID, role }) =>
      on(sessionID, async (task) => {
        const pointer = pointerOf(task.meta, role)
        if (!pointer) return refused({ kind: "nothing_runs" })
        if (pointer.state === "running" || pointer.state === "claimed") return refused({ kind: "stop_first" })
        const updated = await tasks.update(sessionID, (meta) => {
          if (role === "intake") return columnOf(meta) === "backlog" ? { ...meta, intake: undefined } : undefined
          return columnOf(meta) === "review" && meta.review
            ? { ...meta, review: { ...meta.review, validator: undefined, findings: 0, ruled: 0, fix: 0 } }
            : undefined
        })
        if (!updated.ok) return failed(updated.error.text)
        if (!updated.value.changed)
          return refused({ kind: "not_in_column", needed: role === "intake" ? "backlog" : "review" })
        return ok({ text: `${role} runs again` })
      }),

    "validator.waive": ({ sessionID, reason }) =>
      on(sessionID, async (task) => {
        if (!isReason(reason)) return refused({ kind: "reason_needed", what: "waiving the review" })
        if (!task.meta.review?.snapshot) return refused({ kind: "no_snapshot" })
        const running =
          task.meta.review.validator?.state === "running" ? task.meta.review.validator.sessionID : undefined
        const updated = await tasks.update(sessionID, (meta) =>
          withPointer(meta, "validator", {
            ...(meta.review?.validator ?? { attempt: 0, generation: meta.generation }),
            state: "waived",
            reason: reason.trim(),
            claim: undefined,
            at: clock.now(),
          }),
        )
        if (!updated.ok) return failed(updated.error.text)
        if (running) await host.abort(running, task.meta.worktree)
        await project.remember(sessionID, { kind: "ruling", text: `review waived: ${reason.trim()}` })
        return ok({ text: "review waived" })
      }),

    "findings.rule": ({ sessionID, rulings }) =>
      on(sessionID, async (task) => done(await ruleFindings(project, task, rulings))),

    "review.again": ({ sessionID }) =>
      on(sessionID, async (task) => {
        if (columnOf(task.meta) !== "review") return refused({ kind: "not_in_column", needed: "review" })
        if (task.meta.merge?.state === "claimed") return refused({ kind: "merging" })
        if (supervisor.factsOf(sessionID)?.activity.kind === "busy") return refused({ kind: "turn_running" })
        const updated = await tasks.update(sessionID, (meta) => ({
          ...meta,
          review: undefined,
          approval: undefined,
          merge: undefined,
        }))
        return updated.ok ? ok({ text: "a new snapshot is taken and reviewed" }) : failed(updated.error.text)
      }),

    async "review.diff"({ sessionID }) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return refused({ kind: "gone" })
      const snapshot = read.value.task.meta.review?.snapshot
      if (!snapshot) return refused({ kind: "no_snapshot" })
      const diff = await diffOf(project, snapshot)
      if (!diff.ok) return failed(diff.error.text)
      return ok({ snapshot: snapshot.commit, base: snapshot.base, files: diff.value.files, left: [] })
    },

    "task.sendBack": ({ sessionID, note }) =>
      on(sessionID, async (task) => {
        const verdict = judgeSendBack(task.meta, note)
        if (!verdict.ok) return refused(verdict.error)
        if (note?.trim()) {
          const written = await store.writeText(notePath(project, sessionID, task.meta.generation + 1), note.trim())
          if (!written.ok) return failed(written.error.text)
        }
        const moved = await supervisor.move(sessionID, "in_progress")
        return moved.ok ? ok(moveReply(moved.value)) : moved
      }),

    "task.approve": (body) =>
      on(body.sessionID, async (task) => {
        const approved = await supervisor.occupy(body.sessionID, () => approveTask(project, task, body))
        return approved === false ? refused({ kind: "merging" }) : approved
      }),
    "task.leave": ({ sessionID, reason }) => on(sessionID, (task) => leaveTask(project, task, reason)),

    "task.tell": ({ sessionID, text }) =>
      on(sessionID, async (task) => {
        const words = text.trim()
        if (!words) return refused({ kind: "invalid", text: "there is nothing to tell" })
        if (columnOf(task.meta) !== "in_progress") return refused({ kind: "not_in_column", needed: "in_progress" })
        if (supervisor.factsOf(sessionID)?.activity.kind === "busy") {
          project.tell(workingSession(task.meta), task.meta.worktree, {
            source: `person:${task.meta.taskNumber}`,
            kind: "tell",
            text: words,
          })
          return ok({ text: "told; it is read at the next step" })
        }
        return wake(task, "tell", words)
      }),

    "task.stop": ({ sessionID }) => on(sessionID, stop),

    "task.resume": ({ sessionID }) =>
      on(sessionID, async (task) => {
        if (columnOf(task.meta) !== "in_progress") return refused({ kind: "not_in_column", needed: "in_progress" })
        const activity = supervisor.factsOf(sessionID)?.activity.kind
        if (activity === "busy" || activity === "retry") return refused({ kind: "turn_running" })
        return wake(task, "resume", workText("resume", { title: task.title, taskNumber: task.meta.taskNumber }))
      }),

    "task.archive": ({ sessionID, archived }) =>
      change(sessionID, archived ? "archived" : "brought back", (meta) => ({
        ...meta,
        archivedAt: archived ? clock.now() : undefined,
      })),

    "task.trash": ({ sessionID, trashed }) =>
      on(sessionID, async (task) => {
        if (task.meta.merge?.state === "claimed") return refused({ kind: "merging" })
        if (trashed) {
          const stopped = await stopAll(task)
          if (!stopped.ok) return stopped
        }
        const updated = await tasks.update(sessionID, (meta) => ({
          ...meta,
          trashedAt: trashed ? clock.now() : undefined,
        }))
        if (!updated.ok) return failed(updated.error.text)
        const text = trashed ? "moved to trash (u brings it back)" : "brought back"
        await project.remember(sessionID, { kind: "edit", text })
        return ok({ text })
      }),

    "ask.permission": ({ sessionID, ask, reply, message }) =>
      on(sessionID, async () => {
        const replied = await host.replyPermission(ask.directory, ask.id, reply, message)
        return replied.ok ? ok({ text: reply === "reject" ? "rejected" : "allowed" }) : failed(replied.error.text)
      }),

    "ask.question": ({ sessionID, ask, answers }) =>
      on(sessionID, async () => {
        const replied = answers
          ? await host.replyQuestion(
              ask.directory,
              ask.id,
              answers.map((answer) => [...answer]),
            )
          : await host.rejectQuestion(ask.directory, ask.id)
        return replied.ok ? ok({ text: answers ? "answered" : "dismissed" }) : failed(replied.error.text)
      }),
  }
  return handlers

  /** Stops the task's own turn and every helper of it; a stop stays a stop. */
  async function stop(task: Task): Promise<Result<Done, RequestFailure>> {
    const stopped = await stopAll(task)
    if (!stopped.ok) return stopped
    await project.remember(task.meta.sessionID, { kind: "stop", text: "stopped by you" })
    return ok({ text: "stopped" })
  }

  async function stopAll(task: Task): Promise<Result<Done, RequestFailure>> {
    const { meta } = task
    const updated = await tasks.update(meta.sessionID, (now) =>
      columnOf(now) === "in_progress" ? { ...now, run: { ...now.run, stoppedAt: clock.now() } } : undefined,
    )
    if (!updated.ok) return failed(updated.error.text)
    if (!(await isThere(meta.worktree))) return ok({ text: "nothing runs without its folder" })
    const statuses = await host.statuses(meta.worktree)
    if (!statuses.ok) return failed(statuses.error.text)
    for (const sessionID of Object.keys(statuses.value)) {
      if (supervisor.taskOf(sessionID) !== meta.sessionID) continue
      const aborted = await host.abort(sessionID, meta.worktree)
      if (!aborted.ok) return failed(aborted.error.text)
    }
    return ok({ text: "stopped" })
  }

  async function wake(task: Task, purpose: "tell" | "resume", text: string): Promise<Result<Done, RequestFailure>> {
    const updated = await tasks.update(task.meta.sessionID, (meta) => ({
      ...meta,
      run: {
        ...meta.run,
        stoppedAt: undefined,
        intent: intentOf(purpose, { now: clock.now(), seed: project.seed() }, text),
      },
    }))
    if (!updated.ok) return failed(updated.error.text)
    return ok({ text: purpose === "tell" ? "told" : "resumed" })
  }
}

function done(result: Result<string, RequestFailure>): Result<Done, RequestFailure> {
  return result.ok ? ok({ text: result.value }) : result
}

function moveReply(
  verdict: { readonly kind: "accepted" } | { readonly kind: "queued"; readonly text: string },
): MoveReply {
  return verdict.kind === "queued" ? { verdict: "queued", text: verdict.text } : { verdict: "accepted", text: "moved" }
}

async function drafts(create: CreateParts): Promise<readonly DraftReply[]> {
  return (await listDrafts(create)).map((draft) => ({
    id: draft.id,
    title: draft.title,
    description: draft.description,
    problem: draft.problem ?? (draft.claim ? "being created" : "not created yet"),
  }))
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
