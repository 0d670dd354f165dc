import { cleanTitle, type Draft } from "../../core/draft.ts"
import type { DraftReply } from "../../core/protocol.ts"
import { ok } from "../../core/result.ts"
import { createTask, dropDraft, listDrafts, type CreateParts } from "../../shared/create-task.ts"
import { waiveIntake } from "../intake.ts"
import { failed, refused } from "../moves.ts"
import type { Desk, Handlers } from "../requests.ts"

const LONG_DESCRIPTION = 1_000

/** From what was typed to a task, and what was typed later. */
export function creationRequests({
  project,
  supervisor,
  create,
  on,
}: Desk): Pick<Handlers, "board.facts" | "base.list" | "task.create" | "draft.discard" | "task.edit"> {
  const { tasks, host, store, clock } = project
  return {
    "board.facts": async () => ok({ facts: supervisor.facts(), drafts: await drafts(create) }),

    async "base.list"() {
      const { repository } = create
      const [branches, proposed, dirty] = await Promise.all([
        repository.branches(),
        repository.defaultBase(),
        repository.dirtyFiles(),
      ])
      if (!branches.ok) return failed(branches.error.text)
      const files = dirty.ok ? dirty.value.map((entry) => entry.path) : []
      const own = `${project.options().worktree.branchPrefix}/`
      return ok({
        branches: branches.value.map((branch) => branch.name).filter((name) => !name.startsWith(own)),
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
          const text = description.trim()
          const long = text.length > LONG_DESCRIPTION
          if (long) {
            const written = await store.writeText(store.paths.session(sessionID).description, description)
            if (!written.ok) return failed(written.error.text)
          }
          const updated = await tasks.update(sessionID, (meta) => ({
            ...meta,
            description: text === "" ? undefined : long ? text.slice(0, 300) : text,
            descriptionFile: long ? true : undefined,
          }))
          if (!updated.ok) return failed(updated.error.text)
        } else {
          // The record repeats the title: write it anew.
          const repaired = await tasks.repair(sessionID)
          if (!repaired.ok) return failed(repaired.error.text)
        }
        await project.remember(sessionID, { kind: "edit", text: "edited" })
        return ok({ text: "saved" })
      }),
  }
}

async function drafts(create: CreateParts): Promise<readonly DraftReply[]> {
  return (await listDrafts(create)).map((draft) => ({
    id: draft.id,
    title: draft.title,
    description: draft.description,
    problem: draft.problem ?? (draft.claim ? "being created" : "not created yet"),
  }))
}
