import { cleanTitle, type Draft } from "../../core/draft.ts"
import { ok } from "../../core/result.ts"
import { draftOf, dropDraft } from "../../shared/drafts.ts"
import { createFrom, keptDrafts, tellDrafts } from "../creation.ts"
import { failed, refused } from "../moves.ts"
import { waitProblem } from "../queue.ts"
import type { Desk, Handlers } from "../requests.ts"
import { readTemplates } from "../templates.ts"
import { closeText, openText } from "../text-files.ts"

const LONG_DESCRIPTION = 1_000

/** From what was typed to a task, and what was typed later. */
export function creationRequests(
  desk: Desk,
): Pick<
  Handlers,
  | "board.facts"
  | "base.list"
  | "template.list"
  | "text.open"
  | "text.close"
  | "task.create"
  | "tasks.create"
  | "draft.retry"
  | "draft.discard"
  | "task.edit"
> {
  const { project, supervisor, create, on } = desk
  const { tasks, host, store, clock } = project

  async function made(draft: Draft) {
    const created = await createFrom(desk, draft)
    if (!created.ok) return created
    const { text } = created.value
    const refs = created.value.tasks.map(({ meta }) => ({ sessionID: meta.sessionID, taskNumber: meta.taskNumber }))
    return ok({ tasks: refs, text })
  }

  return {
    "board.facts": async () => ok({ facts: supervisor.facts(), drafts: await keptDrafts(create) }),

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

    async "text.open"({ text }) {
      const opened = await openText(project.seed(), text)
      return opened.ok ? opened : failed(opened.error)
    },
    async "text.close"({ id }) {
      const text = await closeText(id)
      return text.ok ? ok({ text: text.value }) : failed(text.error)
    },

    "template.list": async () => ok(await readTemplates(project.root)),

    async "task.create"({ draftID, start, ...task }) {
      const created = await made({ id: draftID, tasks: [task], ...(start ? { start } : {}), at: clock.now() })
      return created.ok ? ok({ ...created.value.tasks[0]!, text: created.value.text }) : created
    },

    async "tasks.create"({ draftID, tasks: wanted, start }) {
      return made({ id: draftID, tasks: wanted, ...(start ? { start } : {}), at: clock.now() })
    },

    async "draft.retry"({ draftID }) {
      const draft = await draftOf(create, draftID)
      return draft ? made(draft) : refused({ kind: "invalid", text: "this draft is gone" })
    },

    async "draft.discard"({ draftID }) {
      const dropped = await dropDraft(create, draftID)
      await tellDrafts(desk)
      return dropped.ok ? ok({ text: "draft discarded" }) : failed(dropped.error.text)
    },

    "task.edit": ({ sessionID, title, description, ...more }) =>
      on(sessionID, async (task) => {
        const { dependsOn } = more
        const clean = title === undefined ? task.title : cleanTitle(title)
        if (!clean) return refused({ kind: "title_empty" })
        const text = description?.trim()
        const long = text !== undefined && text.length > LONG_DESCRIPTION
        if (long) {
          const written = await store.writeText(store.paths.session(sessionID).description, text)
          if (!written.ok) return failed(written.error.text)
        }
        let problem: string | undefined
        const updated = await tasks.update(sessionID, async (meta, { siblings }) => {
          problem = dependsOn && waitProblem(meta.taskNumber, dependsOn, await siblings())
          if (problem !== undefined) return undefined
          return {
            ...meta,
            ...(text === undefined
              ? {}
              : {
                  description: text === "" ? undefined : long ? text.slice(0, 300) : text,
                  descriptionFile: long ? true : undefined,
                }),
            ...(more.model === undefined ? {} : { model: more.model ?? undefined }),
            ...(more.agent === undefined ? {} : { agent: more.agent || undefined }),
            ...(more.scope === undefined ? {} : { scope: more.scope.trim().slice(0, 500) || undefined }),
            ...(dependsOn === undefined ? {} : { dependsOn: dependsOn.length > 0 ? dependsOn : undefined }),
          }
        })
        if (!updated.ok) return failed(updated.error.text)
        if (problem !== undefined) return refused({ kind: "invalid", text: problem })
        if (clean !== task.title) {
          const renamed = await host.rename(sessionID, clean)
          if (!renamed.ok) return failed(renamed.error.text)
          // The record repeats the title: write it anew.
          const repaired = await tasks.repair(sessionID)
          if (!repaired.ok) return failed(repaired.error.text)
        }
        await project.remember(sessionID, { kind: "edit", text: "edited" })
        return ok({ text: "saved" })
      }),
  }
}
