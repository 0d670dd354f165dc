import { columnOf } from "../../core/task.ts"
import type { ReplyOf } from "../../core/protocol.ts"
import type { App } from "../app.tsx"
import type { AgentChoice, ModelChoice } from "../client.ts"
import type { Choice } from "../ui/dialog.tsx"
import type { TaskForm } from "./task-form.ts"

/** What can be chosen for a task, in the host's own words. */
export type Known = {
  readonly bases?: ReplyOf<"base.list">
  readonly models: readonly ModelChoice[]
  readonly agents: readonly AgentChoice[]
  readonly templates?: ReplyOf<"template.list">
}

/** What is picked in a list of its own. */
export type Picked = "base" | "model" | "agent" | "after" | "template"

export const PICKED_TITLE: Readonly<Record<Picked, string>> = {
  base: "Base branch",
  model: "Model",
  agent: "Agent",
  after: "Waits for",
  template: "Template",
}

/** The choices of a list; `take` changes the form, and leaves the list unless `stays`. */
export function choicesOf(
  what: Picked,
  form: TaskForm,
  known: Known,
  app: App,
  own: number | undefined,
  take: (change: Partial<TaskForm>, stays?: boolean) => void,
): readonly Choice[] {
  switch (what) {
    case "base":
      return (known.bases?.branches ?? []).map((branch) => ({
        title: branch,
        ...(branch === known.bases?.proposed ? { note: "where you stand" } : {}),
        choose: () => take({ base: branch }),
      }))
    case "model":
      return [
        { title: "OpenCode's own default", choose: () => take({ model: "" }) },
        ...known.models.map(({ name, provider, providerID, modelID }) => ({
          title: name,
          note: provider,
          choose: () => take({ model: `${providerID}/${modelID}` }),
        })),
      ]
    case "agent":
      return [
        { title: "OpenCode's own default", choose: () => take({ agent: "" }) },
        ...known.agents.map(({ name, description }) => ({
          title: name,
          ...(description ? { note: description } : {}),
          choose: () => take({ agent: name }),
        })),
      ]
    case "after":
      return app.board
        .all()
        .filter(({ meta }) => meta.taskNumber !== own && columnOf(meta) !== "done" && !meta.trashedAt)
        .toSorted((a, b) => b.meta.taskNumber - a.meta.taskNumber)
        .map(({ title, meta }) => {
          const chosen = form.after.includes(meta.taskNumber)
          const after = chosen
            ? form.after.filter((number) => number !== meta.taskNumber)
            : [...form.after, meta.taskNumber].toSorted((a, b) => a - b)
          return {
            title: `${chosen ? "✓ " : ""}#${meta.taskNumber} ${title}`,
            choose: () => take({ after }, true),
          }
        })
    case "template":
      return (known.templates?.templates ?? []).map(({ name, title, description, problem }) => ({
        title: name,
        ...(problem === undefined ? { note: title } : { not: problem }),
        detail: description,
        choose: () =>
          take({
            ...(form.title.trim() === "" ? { title } : {}),
            description:
              form.description.trim() === "" ? description : `${form.description.trimEnd()}\n\n${description}`,
          }),
      }))
  }
}

/** What a list says that has nothing to choose. */
export function emptyText(what: Picked, known: Known): string {
  if (what === "template") {
    if (!known.templates) return "the templates are being read"
    return known.templates.problem ?? `there is no template: put *.md files into ${known.templates.folder}`
  }
  return what === "after" ? "no other open task is on the board" : "the host has not told them yet"
}
