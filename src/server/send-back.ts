import { sendBackContext, workText } from "../core/prompts.ts"
import type { RequestFailure, RequestOf, ReplyOf } from "../core/protocol.ts"
import { ok, type Result } from "../core/result.ts"
import { judgeSendBack } from "../core/rules.ts"
import { toFix, type Task, type TaskMeta } from "../core/task.ts"
import { commentFindings } from "./comments.ts"
import { failed, refused } from "./moves.ts"
import type { Project } from "./project.ts"
import { notePath, sendBackPath } from "./sent-text.ts"
import { lastValidator } from "./validator/last.ts"

/*
 * What goes back to the agent is fixed when the person sends it: it is shown, edited, stored, and given as it was
 * stored, however late the turn starts.
 */

type Failed = { readonly text: string }

/** What the agent would get now, made of the rulings and the person's comments. */
export async function previewSendBack(
  project: Project,
  { meta, title }: Task,
): Promise<Result<ReplyOf<"sendBack.preview">, RequestFailure>> {
  const { findings, comments } = toFix(meta)
  const prompt = workText("send_back", { title, taskNumber: meta.taskNumber, found: findings + comments })
  if (findings + comments === 0) return ok({ text: "", prompt })
  const text = await sendBackText(project, meta, meta.generation)
  return text.ok ? ok({ text: text.value, prompt }) : failed(text.error.text)
}

/** Stores what the next iteration begins with. */
export async function storeSendBack(
  project: Project,
  { meta }: Task,
  { text, note }: Pick<RequestOf<"task.sendBack">, "text" | "note">,
): Promise<Result<void, RequestFailure>> {
  const verdict = judgeSendBack(meta, text ?? note)
  if (!verdict.ok) return refused(verdict.error)
  const whole = text?.trim() ? ok(text.trim()) : await sendBackText(project, meta, meta.generation, note)
  if (!whole.ok) return failed(whole.error.text)
  const path = sendBackPath(project, meta.sessionID, meta.generation + 1)
  const written = await project.store.writeText(path, whole.value)
  if (!written.ok) return failed(written.error.text)
  const own = text?.trim() ? await ownWords(project, meta, text) : ok(note?.trim() ?? "")
  if (!own.ok) return failed(own.error.text)
  if (own.value === "") return ok()
  const noted = await project.store.writeText(notePath(project, meta.sessionID, meta.generation + 1), own.value)
  return noted.ok ? ok() : failed(noted.error.text)
}

/** What the person wrote themselves in what is sent: the lines that the rulings and comments do not make. */
async function ownWords(project: Project, meta: TaskMeta, text: string): Promise<Result<string, Failed>> {
  const { findings, comments } = toFix(meta)
  if (findings + comments === 0) return ok(text.trim())
  const made = await sendBackText(project, meta, meta.generation)
  if (!made.ok) return made
  const lines = new Set(made.value.split("\n"))
  const own = text.split("\n").filter((line) => !lines.has(line) && !line.startsWith("<<<"))
  return ok(own.join("\n").trim())
}

/** What this iteration begins with: as it was sent, else (a wish that came otherwise) what the last review says. */
export async function sentBack(project: Project, meta: TaskMeta): Promise<Result<string, Failed>> {
  const stored = await project.store.readText(sendBackPath(project, meta.sessionID, meta.generation))
  if (stored.ok) return stored
  const note = await project.store.readText(notePath(project, meta.sessionID, meta.generation))
  return sendBackText(project, meta, meta.generation - 1, note.ok ? note.value : undefined)
}

/** The findings ruled "fix" in the review of `generation` and the comments of the person in it. */
async function sendBackText(
  project: Project,
  meta: TaskMeta,
  generation: number,
  note?: string,
): Promise<Result<string, Failed>> {
  const validator = await lastValidator(project, meta.sessionID, generation)
  const comments = await commentFindings(project, meta, generation)
  if (!comments.ok) return comments
  const ruled = (validator?.rulings ?? []).filter(({ disposition }) => disposition === "fix")
  const findings = ruled.flatMap((ruling) => {
    const finding = validator?.findings?.find((candidate) => candidate.id === ruling.finding)
    return finding ? [{ finding, ...(ruling.reason ? { reason: ruling.reason } : {}) }] : []
  })
  return ok(
    sendBackContext({
      taskNumber: meta.taskNumber,
      generation: generation + 1,
      findings: [...findings, ...comments.value],
      ...(note?.trim() ? { note: note.trim() } : {}),
      nonce: project.seed(),
    }),
  )
}
