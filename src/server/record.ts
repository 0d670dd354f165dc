import { stat } from "node:fs/promises"
import { homedir } from "node:os"
import { join, resolve } from "node:path"
import { recordMarkdown } from "../core/record-page.ts"
import { reviewRecord, type RecordInput } from "../core/record.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { slug } from "../core/slug.ts"
import type { IntakeMeta, Task, ValidatorMeta } from "../core/task.ts"
import type { Repository } from "../shared/git/repository.ts"
import { readChecks } from "./checks.ts"
import { standingComments } from "./comments.ts"
import { describe } from "./describe.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { costsByTask } from "./statistics.ts"
import { notePath } from "./sent-text.ts"

export type WrittenRecord = { readonly markdown: string; readonly json: string; readonly text: string }

/** Writes the review record of a task in both shapes, and says where. What stands there already and is none is kept. */
export async function writeRecord(
  parts: { readonly project: Project; readonly repository: Repository },
  task: Task,
  wanted: string | undefined,
): Promise<Result<WrittenRecord, RequestFailure>> {
  const { project, repository } = parts
  const { store } = project
  const place = wanted?.trim()
    ? resolve(
        project.root,
        wanted
          .trim()
          .replace(/^~(?=\/)/, homedir())
          .replace(/\.(md|json)$/, ""),
      )
    : join(store.dir, "records", `${task.meta.taskNumber}-${slug(task.title)}`)
  const [markdown, json] = [`${place}.md`, `${place}.json`]
  for (const path of [markdown, json]) {
    const taken = await isTaken(project, path)
    if (taken) return refused({ kind: "invalid", text: taken })
  }
  const gathered = await gather(project, repository, task)
  if (!gathered.ok) return gathered
  const record = reviewRecord(gathered.value)
  for (const [path, text] of [
    [markdown, recordMarkdown(record)],
    [json, `${JSON.stringify(record, undefined, 2)}\n`],
  ] as const) {
    const written = await store.writeText(path, text)
    if (!written.ok) return failed(`the record could not be written: ${written.error.text}`)
  }
  await project.remember(task.meta.sessionID, { kind: "edit", text: `review record written to ${markdown}` })
  return ok({ markdown, json, text: `the record is in ${markdown} and .json` })
}

/** Why nothing may be written there: something else stands at the place. */
async function isTaken(project: Project, path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined)
  if (!found) return undefined
  const read = found.isFile() ? await project.store.readText(path) : undefined
  const ours = read?.ok && (read.value.startsWith("# Review record of #") || read.value.startsWith(JSON_HEAD))
  return ours ? undefined : `${path} is there already and is no review record: choose another place`
}

const JSON_HEAD = '{\n  "kagan": "review record"'

async function gather(
  project: Project,
  repository: Repository,
  task: Task,
): Promise<Result<RecordInput, RequestFailure>> {
  const { host, store, tasks, clock } = project
  const { meta } = task
  const [children, listed, history, who] = await Promise.all([
    host.children(meta.sessionID),
    host.sessions(project.root),
    store.readLines(store.paths.session(meta.sessionID).history),
    repository.git.run(["config", "--get", "user.name"], { cwd: project.root }),
  ])
  if (!children.ok) return failed(`its reviews cannot be read: ${children.error.text}`)
  if (!history.ok) return failed(`its history cannot be read: ${history.error.text}`)
  const reviews: RecordInput["reviews"][number][] = []
  for (const child of children.value.toSorted((a, b) => a.time.created - b.time.created)) {
    if ((child.metadata?.kagan as { role?: unknown } | undefined)?.role !== "validator") continue
    const read = await tasks.readHelper<ValidatorMeta>(child.id, "validator")
    if (!read.ok) return failed(`a review cannot be read: ${read.error.text}`)
    const { generation } = read.value
    const note = generation > 1 ? await store.readText(notePath(project, meta.sessionID, generation)) : undefined
    const model = child.model && { providerID: child.model.providerID, modelID: child.model.id }
    reviews.push({
      meta: read.value,
      at: child.time.created,
      ...(model ? { model } : {}),
      ...(note?.ok && note.value.trim() !== "" ? { note: note.value.trim() } : {}),
    })
  }
  const intakeID = meta.intake?.sessionID
  const intake = intakeID ? await tasks.readHelper<IntakeMeta>(intakeID, "intake") : undefined
  if (intake?.ok === false) return failed(`its intake cannot be read: ${intake.error.text}`)
  const snapshot = meta.review?.snapshot
  const checks = snapshot ? await readChecks(project, meta.sessionID, snapshot) : undefined
  if (checks?.ok === false) return failed(`its checks cannot be read: ${checks.error.text}`)
  const comments = await standingComments(project, meta)
  if (!comments.ok) return failed(`its comments cannot be read: ${comments.error.text}`)
  const cost = listed.ok ? costsByTask(listed.value).get(meta.sessionID) : undefined
  return ok({
    task,
    description: await describe(project, meta),
    ...(intake?.ok ? { intake: intake.value } : {}),
    reviews,
    comments: comments.value,
    checks: checks?.value?.results ?? [],
    history: history.value.lines,
    cost: cost ?? { work: 0, intake: 0, validator: 0 },
    person: who.ok && who.value.stdout.trim() !== "" ? who.value.stdout.trim() : "the person at this machine",
    now: clock.now(),
  })
}
