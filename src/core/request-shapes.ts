import { z } from "zod"
import { MAX_TASKS } from "./planning.ts"
import type { RequestOf, RequestType } from "./protocol.ts"
import { err, ok, type Result } from "./result.ts"
import { STATUSES } from "./task.ts"

/*
 * What may stand in the body of each request. A new request of `protocol.ts` needs its row here, or nothing compiles:
 * one shape for every field, optional ones too.
 */

/** Longer than anything that a person types; beyond it the request is refused rather than cut. */
const MAX_TEXT = 400_000
const MAX_ENTRIES = 2_000

const text = z.string().max(MAX_TEXT)
const line = z.string().max(4_000)
/** Ids name folders and files beside the repository: nothing but word characters. */
const id = z.string().regex(/^[\w-]{1,200}$/)
const list = <T extends z.ZodType>(of: T) => z.array(of).max(MAX_ENTRIES)
const index = z.number().int().min(0)
const lineNumber = z.number().int().min(1)
const model = z.object({ providerID: line, modelID: line, variant: line.optional() })
const ask = z.object({ id, directory: line.min(1) })
const location = z.object({ path: line.min(1), line: lineNumber.optional(), endLine: lineNumber.optional() })
const commit = z.string().regex(/^[0-9a-f]{40,64}$/)
const sessionID = id
const draftID = z.string().regex(/^[A-Za-z0-9][\w-]{0,99}$/)
const start = z.object({ waiver: text }).optional()
const newTask = {
  title: text,
  description: text,
  baseBranch: line.optional(),
  model: model.optional(),
  agent: line.optional(),
  scope: text.optional(),
  dependsOn: list(z.number().int().min(1)).optional(),
}

type Shape<R> = { readonly [K in keyof R]-?: z.ZodType<R[K]> }

const SHAPES: { readonly [T in RequestType]: Shape<RequestOf<T>> } = {
  hello: { directory: line, version: line },
  "board.facts": {},
  "base.list": {},
  "task.create": { draftID, ...newTask, start },
  "tasks.create": {
    draftID,
    tasks: z
      .array(z.object({ ...newTask, after: list(index).optional() }))
      .min(1)
      .max(MAX_TASKS),
    start,
  },
  "draft.retry": { draftID },
  "board.stats": {},
  "task.record": { sessionID, path: line.optional() },
  "draft.discard": { draftID },
  "template.list": {},
  "text.open": { text },
  "text.close": { id },
  "task.edit": {
    sessionID,
    title: text.optional(),
    description: text.optional(),
    model: model.nullable().optional(),
    agent: line.optional(),
    scope: text.optional(),
    dependsOn: list(z.number().int().min(1)).optional(),
  },
  "task.move": { sessionID, to: z.enum(STATUSES), asIs: z.boolean().optional() },
  "task.reorder": { sessionID, order: z.number() },
  "intake.answer": {
    sessionID,
    answers: list(z.object({ decision: index, kind: z.enum(["approved", "overridden"]), text: text.optional() })),
  },
  "intake.instruct": { sessionID, instruction: text },
  "intake.split": { sessionID, start: z.boolean().optional() },
  "intake.waive": { sessionID, reason: text },
  "helper.retry": { sessionID, role: z.enum(["intake", "validator"]), remark: text.optional() },
  "validator.waive": { sessionID, reason: text },
  "findings.rule": {
    sessionID,
    rulings: list(
      z.object({ finding: id, disposition: z.enum(["fix", "intended", "ignored"]), reason: text.optional() }),
    ),
  },
  "review.again": { sessionID },
  "review.allowLarge": { sessionID },
  "review.checks": { sessionID },
  "task.description": { sessionID },
  "task.history": { sessionID, before: index.optional() },
  "setup.output": { sessionID },
  "setup.waive": { sessionID, reason: text },
  "merge.preview": { sessionID, target: line.optional() },
  "task.update": { sessionID, base: line.min(1).optional() },
  "review.files": { sessionID, since: z.enum(["base", "generation", "look"]) },
  "review.sizes": { sessionID, from: commit, to: commit },
  "review.file": {
    sessionID,
    from: commit,
    to: commit,
    path: line.min(1),
    oldPath: line.optional(),
    whole: z.boolean().optional(),
  },
  "review.viewed": { sessionID, path: line.min(1), object: commit, viewed: z.boolean() },
  "comments.list": { sessionID },
  "comment.add": {
    sessionID,
    text,
    location: location.optional(),
    side: z.literal("old").optional(),
    quote: text.optional(),
  },
  "comment.edit": { sessionID, id, text },
  "comment.delete": { sessionID, id },
  "sendBack.preview": { sessionID },
  "task.sendBack": {
    sessionID,
    mode: z.enum(["continue", "fresh"]).optional(),
    note: text.optional(),
    text: text.optional(),
  },
  "task.approve": {
    sessionID,
    snapshot: line,
    expected: line.optional(),
    target: line.optional(),
    strategy: z.enum(["squash", "merge"]).optional(),
    message: text.optional(),
    waiver: text.optional(),
  },
  "task.leave": { sessionID, reason: text },
  "task.tell": { sessionID, text },
  "task.stop": { sessionID },
  "task.resume": { sessionID },
  "task.archive": { sessionID, archived: z.boolean() },
  "purge.preview": { sessionID },
  "task.purge": { sessionID, lost: text },
  "task.trash": { sessionID, trashed: z.boolean() },
  "task.restore": { sessionID },
  "task.discard": { sessionID },
  "ask.permission": { sessionID, ask, reply: z.enum(["once", "always", "reject"]), message: text.optional() },
  "ask.question": { sessionID, ask, answers: list(list(text)).optional() },
  "settings.read": {},
  "settings.write": { file: line.min(1), option: line.min(1), value: z.unknown() },
  "doctor.run": { hostVersion: line, version: line },
  "doctor.repair": { hostVersion: line, version: line, id: line },
  "update.check": { hostVersion: line, written: list(line) },
  "update.install": { hostVersion: line, written: list(line), version: line },
}

const readers = new Map<RequestType, z.ZodType>()

/** Whether a request of this name exists. */
export function isRequestType(type: unknown): type is RequestType {
  return typeof type === "string" && Object.hasOwn(SHAPES, type)
}

/**
 * The body of a request with exactly the fields that it may have, or in words what is wrong with the first bad one.
 * Never throws, whatever the value is.
 */
export function readBody<T extends RequestType>(type: T, body: unknown): Result<RequestOf<T>, string> {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return err(`${type} came without a body`)
  let reader = readers.get(type)
  if (!reader) readers.set(type, (reader = z.object(SHAPES[type] as z.ZodRawShape)))
  const parsed = reader.safeParse(body)
  if (parsed.success) return ok(parsed.data as RequestOf<T>)
  const issue = parsed.error.issues[0]!
  return err(`${type} was not understood: \`${issue.path.join(".")}\`: ${issue.message}`)
}
