import { ok } from "../../core/result.ts"
import { columnOf, type TaskMeta } from "../../core/task.ts"
import { moveCommands } from "../../shared/task-commands.ts"
import { putHelpersAway } from "../helper.ts"
import { failed, refused } from "../moves.ts"
import { toSetUpAgain, wantsSetup } from "../setup.ts"
import { moveReply, type Desk, type Handlers } from "../requests.ts"
import { countInProgress } from "../queue.ts"
import { purgeTask } from "../purge.ts"
import { restTask, stopAll } from "./agent.ts"

/** Where a card stands, and whether it is on the board at all. */
export function keepingRequests(
  desk: Desk,
): Pick<
  Handlers,
  | "task.move"
  | "task.reorder"
  | "task.archive"
  | "task.trash"
  | "purge.preview"
  | "task.purge"
  | "task.restore"
  | "task.discard"
> {
  const { project, supervisor, create, on, change } = desk
  const { tasks, store, clock } = project
  return {
    "task.move": ({ sessionID, to, asIs }) =>
      on(sessionID, async (task) => {
        if (asIs && columnOf(task.meta) === "in_progress") {
          const stopped = await stopAll(desk, task)
          if (!stopped.ok) return stopped
          await restTask(desk, task)
        }
        const moved = await supervisor.move(sessionID, to)
        return moved.ok ? ok(moveReply(moved.value, to)) : moved
      }),

    "task.reorder": ({ sessionID, order }) =>
      Number.isFinite(order)
        ? change(sessionID, "reordered", (meta) => ({ ...meta, order }))
        : Promise.resolve(refused({ kind: "invalid", text: "that is no place in a column" })),

    "task.archive": ({ sessionID, archived }) =>
      on(sessionID, async (task) => {
        if (archived && columnOf(task.meta) === "in_progress") return refused({ kind: "stop_first" })
        if (task.meta.merge?.state === "claimed") return refused({ kind: "merging" })
        if (!archived) return change(sessionID, "brought back", (meta) => ({ ...meta, archivedAt: undefined }))
        const rested = await putHelpersAway(project, task)
        const put = await change(sessionID, "archived", (meta) => ({ ...rested(meta), archivedAt: clock.now() }))
        if (!put.ok) return put
        const stopped = await stopAll(desk, task)
        return stopped.ok ? put : failed(`archived, but what runs could not be stopped: ${stopped.error.text}`)
      }),

    "task.trash": ({ sessionID, trashed }) =>
      on(sessionID, async (task) => {
        if (task.meta.merge?.state === "claimed") return refused({ kind: "merging" })
        const rested = trashed ? await putHelpersAway(project, task) : undefined
        let full = false
        const updated = await tasks.update(sessionID, async (meta, { siblings }) => {
          // What comes back from the trash takes its place in progress only where one is free.
          const returns = !trashed && columnOf(meta) === "in_progress"
          const taken = returns ? countInProgress(await siblings(), meta.sessionID) : 0
          full = returns && taken >= project.options().inProgressLimit
          if (full) return undefined
          // Written before anything is stopped: a helper that ends by that has not failed.
          return rested ? { ...rested(meta), trashedAt: clock.now() } : { ...meta, trashedAt: undefined }
        })
        if (!updated.ok) return failed(updated.error.text)
        if (full) return refused({ kind: "invalid", text: "no place in progress is free to bring it back to" })
        if (trashed) {
          const stopped = await stopAll(desk, task)
          if (!stopped.ok) return failed(`in the trash, but what runs could not be stopped: ${stopped.error.text}`)
        }
        const text = trashed ? "moved to trash (u brings it back)" : "brought back"
        await project.remember(sessionID, { kind: "edit", text })
        return ok({ text })
      }),

    async "purge.preview"({ sessionID }) {
      const read = await tasks.read(sessionID)
      if (!read.ok) return read.error.kind === "gone" ? refused({ kind: "gone" }) : failed(read.error.text)
      const losing = await project.trees.loss(read.value.task.meta)
      return losing.ok ? ok({ lost: losing.value }) : failed(losing.error.text)
    },

    "task.purge": ({ sessionID, lost }) => on(sessionID, (task) => purgeTask(desk, task, lost)),

    async "task.restore"({ sessionID }) {
      const record = await tasks.recordOf(sessionID)
      const known = supervisor.factsOf(sessionID)?.record?.meta
      if (!record || !known) return refused({ kind: "gone" })
      const tree = await project.trees.worktree(known)
      const missing = tree.state === "missing"
      const unprepared = missing && tree.renamed === undefined ? await wantsSetup(project, known) : ok(false)
      if (!unprepared.ok) return failed(unprepared.error.text)
      if (missing) {
        const put = await project.trees.restore(known)
        if (!put.ok) return failed(put.error.text)
      } else if (tree.state !== "present") return failed(`its worktree ${known.worktree} is not its own any more`)
      const ensured = await project.ensureInstance(known.worktree)
      if (!ensured.ok) return failed(ensured.error.text)
      const { worktree: directory, agent, model } = known
      const restored = await tasks.restore(
        sessionID,
        {
          directory,
          permission: create.permission(),
          ...(agent ? { agent } : {}),
          ...(model ? { model } : {}),
        },
        (meta) => {
          const rest = withoutSession(meta, clock.now())
          return unprepared.value ? toSetUpAgain(project, rest) : rest
        },
      )
      if (!restored.ok) return failed(restored.error.text)
      const { meta } = restored.value
      if (meta.sessionID !== sessionID) {
        for (const file of ["description", "history"] as const) {
          const text = await store.readText(store.paths.session(sessionID)[file])
          if (text.ok) await store.writeText(store.paths.session(meta.sessionID)[file], text.value)
        }
        const kept = await moveCommands(project, sessionID, meta.sessionID)
        if (!kept.ok) project.host.log("error", `#${meta.taskNumber} runs what is configured now: ${kept.error.text}`)
        supervisor.forget(sessionID)
      }
      await project.remember(meta.sessionID, { kind: "restore", text: `brought back from its record`, was: sessionID })
      void supervisor.look(meta.sessionID)
      project.push({ type: "changed", sessionIDs: [sessionID, meta.sessionID] })
      return ok({ sessionID: meta.sessionID, taskNumber: meta.taskNumber, text: `#${meta.taskNumber} is back` })
    },

    async "task.discard"({ sessionID }) {
      const discarded = await tasks.discard(sessionID, clock.now())
      if (!discarded.ok) return failed(discarded.error.text)
      supervisor.forget(sessionID)
      project.push({ type: "changed", sessionIDs: [sessionID] })
      await project.remember(sessionID, { kind: "edit", text: "given up; worktree and branch stay" })
      return ok({ text: "discarded; its worktree and branch stay" })
    },
  }
}

/** What of a task outlives its session: helpers and turns do not, so the review counts as not done. */
function withoutSession(meta: TaskMeta, now: number): TaskMeta {
  const { snapshot } = meta.review ?? {}
  return {
    ...meta,
    status: columnOf(meta),
    lastGatedStatus: columnOf(meta),
    awaiting: undefined,
    denied: undefined,
    run: columnOf(meta) === "in_progress" ? { stoppedAt: now } : undefined,
    intake: meta.intake?.state === "done" || meta.intake?.state === "waived" ? meta.intake : undefined,
    review:
      meta.review && columnOf(meta) !== "done"
        ? { findings: 0, ruled: 0, fix: 0, ...(snapshot ? { snapshot } : {}) }
        : meta.review,
    ...(meta.merge?.state === "claimed" ? { merge: undefined, approval: undefined } : {}),
  }
}
