import { z } from "zod"
import type { Push, Wire } from "./protocol.ts"

/*
 * Anything in this process can post on the channel's names. What arrives is looked at before it is believed: the
 * envelope, and of pushes every field that a view reads. Unknown fields pass, so that adding one needs nothing here
 * until something is drawn from it.
 */

const text = z.string().max(400_000)
const id = z.string().min(1).max(400)
const number = z.number()
const texts = z.array(text).max(10_000)

const activity = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.enum(["unknown", "idle", "gone"]) }),
  z.looseObject({ kind: z.literal("busy"), since: number.optional() }),
  z.looseObject({ kind: z.literal("retry"), until: number, attempt: number, text }),
  z.looseObject({ kind: z.literal("blocked"), text }),
])

const end = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("finished"), messageID: text, at: number, text }),
  z.looseObject({ kind: z.literal("interrupted"), reason: text, at: number }),
  z.looseObject({ kind: z.literal("failed"), errorClass: text, text, at: number }),
  z.looseObject({ kind: z.literal("open") }),
])

const asked = { id, sessionID: id, directory: text }
const question = z.looseObject({ question: text, options: texts, multiple: z.boolean(), custom: z.boolean() })
const ask = z.discriminatedUnion("kind", [
  z.looseObject({ kind: z.literal("permission"), ...asked, permission: text, patterns: texts, text }),
  z.looseObject({ kind: z.literal("question"), ...asked, questions: z.array(question).max(100) }),
])

const facts = z.looseObject({
  sessionID: id,
  source: z.enum(["session", "record"]),
  record: z.looseObject({ title: text, meta: z.looseObject({}) }).optional(),
  activity,
  end: end.optional(),
  asks: z.array(ask).max(1_000),
  worktree: z.enum(["present", "missing", "foreign", "unknown"]),
  elsewhere: text.optional(),
  helper: activity.optional(),
  changedSince: texts.optional(),
  conflicts: texts.optional(),
  outside: texts.optional(),
  problem: text.optional(),
  unreadable: texts,
  readOnly: z.boolean(),
  lastSign: number.optional(),
  doing: text.optional(),
  helperSign: number.optional(),
  branch: text.optional(),
  inBase: z.boolean().optional(),
  command: text.optional(),
  lost: text.optional(),
})

const asNew = z.looseObject({ title: text, description: text })
const draft = z.looseObject({ id, title: text, description: text, problem: text, tasks: z.array(asNew).max(1_000) })

const pushes: { readonly [T in Push["type"]]: z.ZodType } = {
  facts: z.looseObject({ facts }),
  drafts: z.looseObject({ drafts: z.array(draft).max(10_000) }),
  changed: z.looseObject({ sessionIDs: z.array(id).max(100_000) }),
  notice: z.looseObject({
    level: z.enum(["info", "success", "warning", "error"]),
    text,
    taskNumber: number.optional(),
    key: text.optional(),
  }),
  options: z.looseObject({ options: z.looseObject({}), problems: z.array(z.looseObject({})) }),
}

const failure = z.looseObject({ kind: z.enum(["refused", "failed", "unanswered"]), text })

const envelopes: { readonly [K in Wire["kagan"]]: z.ZodType } = {
  request: z.looseObject({ id, type: z.string().max(400) }),
  reply: z.discriminatedUnion("ok", [
    z.looseObject({ id, ok: z.literal(true) }),
    z.looseObject({ id, ok: z.literal(false), error: failure }),
  ]),
  push: z.looseObject({ push: z.looseObject({ type: z.string() }) }),
  up: z.looseObject({ directory: text, version: text }),
  board: z.looseObject({ open: z.boolean(), directory: text }),
}

/** A message that is ours and well formed; anything else on the name is ignored. Never throws. */
export function readWire(data: unknown): Wire | undefined {
  if (typeof data !== "object" || data === null) return undefined
  const { kagan: kind } = data as { kagan?: unknown }
  if (typeof kind !== "string" || !Object.hasOwn(envelopes, kind)) return undefined
  if (!envelopes[kind as Wire["kagan"]].safeParse(data).success) return undefined
  const wire = data as Wire
  return wire.kagan === "push" && !isPush(wire.push) ? undefined : wire
}

function isPush(push: Push): boolean {
  return Object.hasOwn(pushes, push.type) && pushes[push.type].safeParse(push).success
}
