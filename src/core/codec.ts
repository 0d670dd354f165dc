import { z } from "zod"
import { migrate, VERSIONS, type Migrated, type Raw, type Versions } from "./migrations.ts"
import { stageOf, type Stage } from "./stage.ts"
import {
  FINDING_KINDS,
  METADATA_VERSION,
  SEVERITIES,
  STATUSES,
  type IntakeMeta,
  type KaganMeta,
  type TaskMeta,
  type ValidatorMeta,
  type WorkerMeta,
} from "./task.ts"

/**
 * The one reader of `metadata.kagan`. It never throws and never drops a bad field in silence: what cannot be read is
 * named in `unreadable` and left untouched by later writes; what it does not know is kept by `mergeKagan`. What an older
 * version wrote is read as this one's; what a newer one wrote is read-only.
 */
export type Decoded =
  /** Not ours: no value, a copy (a fork carries its origin's), or another shape altogether. */
  | { readonly kind: "none" }
  | (DecodedMeta & {
      readonly unreadable: readonly string[]
      readonly readOnly: boolean
      /** What was stored, brought to this version: what a write starts from. */
      readonly raw: Raw
    })

type DecodedMeta =
  /** A task, whole and as its column sees it. */
  (Extract<KaganMeta, { kind: "task" }> & { readonly stage: Stage }) | Exclude<KaganMeta, { kind: "task" }>

const int = z.number().int()
const at = z.number().finite()
/** Longer than anything that is written here: a value beyond it is not ours. */
const text = z.string().max(200_000)
const id = z.string().min(1).max(200)
const status = z.enum(STATUSES)
const hash = z.string().regex(/^[0-9a-f]{7,64}$/)

const model = z.object({ providerID: id, modelID: id, variant: id.optional() })
const claim = z.object({ pid: int.min(1), start: text, host: text, at })
const sent = z.object({ count: int.min(1), at })
const helper = {
  state: z.enum(["claimed", "running", "done", "failed", "waived"]),
  sessionID: id.optional(),
  generation: int.min(1),
  attempt: int.min(0),
  reason: text.optional(),
  claim: claim.optional(),
  asked: sent.optional(),
  at,
}
const mode = z.enum(["autonomous", "assisted", "manual"])
const snapshot = z.object({
  commit: hash,
  tree: hash,
  base: hash,
  generation: int.min(1),
  files: int.min(0),
  insertions: int.min(0),
  deletions: int.min(0),
  nested: z.array(text).max(20).optional(),
  at,
})
const checks = z.object({
  state: z.enum(["running", "done"]),
  passed: int.min(0),
  failed: int.min(0),
  notRun: int.min(0),
  failing: z.array(text).max(20).optional(),
  claim: claim.optional(),
  at,
})

type Field = { readonly type: z.ZodType; readonly fallback?: unknown; readonly required?: boolean }
type Fields = Readonly<Record<string, Field>>

const taskFields: Fields = {
  v: { type: int.min(1), required: true, fallback: METADATA_VERSION },
  boardTask: { type: z.literal(true), required: true, fallback: true },
  sessionID: { type: id, required: true },
  repo: { type: id, required: true, fallback: "" },
  taskNumber: { type: int.min(1), required: true, fallback: 0 },
  status: { type: status, required: true, fallback: "backlog" },
  lastGatedStatus: { type: status },
  order: { type: at, required: true, fallback: 0 },
  description: { type: text },
  descriptionFile: { type: z.boolean() },
  baseBranch: { type: z.string().min(1), required: true, fallback: "" },
  baseCommit: { type: hash, required: true, fallback: "" },
  branch: { type: z.string().min(1), required: true, fallback: "" },
  worktree: {
    type: z
      .string()
      .startsWith("/")
      .or(z.string().regex(/^[A-Za-z]:[\\/]/)),
    required: true,
    fallback: "",
  },
  model: { type: model },
  agent: { type: id },
  scope: { type: text },
  dependsOn: { type: z.array(int.min(1)).max(100) },
  draft: { type: id },
  generation: { type: int.min(1), required: true, fallback: 1 },
  setup: {
    type: z.object({
      state: z.enum(["running", "done", "failed", "skipped"]),
      text: text.optional(),
      again: z.literal(true).optional(),
      claim: claim.optional(),
      at,
    }),
  },
  intake: { type: z.object({ ...helper, required: int.min(0), answered: int.min(0), mode: mode.optional() }) },
  run: {
    type: z.object({
      intent: z
        .object({
          id,
          messageID: id,
          partID: id,
          purpose: z.enum(["start", "send_back", "resume", "tell"]),
          text,
          at,
          deliveredAt: at.optional(),
          sent: sent.optional(),
        })
        .optional(),
      workerID: id.optional(),
      fresh: z.boolean().optional(),
      claim: claim.optional(),
      stoppedAt: at.optional(),
    }),
  },
  review: {
    type: z.object({
      snapshot: snapshot.optional(),
      checks: checks.optional(),
      validator: z.object(helper).optional(),
      partial: z.object({ shown: int.min(0), total: int.min(0) }).optional(),
      findings: int.min(0),
      ruled: int.min(0),
      fix: int.min(0),
      problem: text.optional(),
      large: z.enum(["asked", "allowed"]).optional(),
    }),
  },
  comments: { type: z.object({ total: int.min(0), fix: int.min(0), generation: int.min(1), at }) },
  approval: { type: z.object({ snapshot: hash, at, waiver: text.optional() }) },
  merge: {
    type: z.object({
      state: z.enum(["claimed", "merged", "left", "failed"]),
      snapshot: hash.optional(),
      target: text.optional(),
      strategy: z.enum(["squash", "merge"]).optional(),
      commit: hash.optional(),
      reason: text.optional(),
      claim: claim.optional(),
      at,
    }),
  },
  denied: { type: z.object({ wish: status, kind: text, text, at }) },
  awaiting: { type: z.object({ wish: status, text, since: at, fresh: z.boolean().optional() }) },
  startedAt: { type: at },
  archivedAt: { type: at },
  trashedAt: { type: at },
}

const decision = z.object({ question: text, assumption: text, required: z.boolean() })
const assessment = z.object({
  understanding: text,
  decisions: z.array(decision),
  instruction: text,
  mode,
  modeReason: text,
  split: z.array(z.object({ title: text, description: text, dependsOn: z.array(int).optional() })).optional(),
})
const location = z.object({ path: text, line: int.optional(), endLine: int.optional() })
const finding = z.object({
  id,
  kind: z.enum(FINDING_KINDS),
  severity: z.enum(SEVERITIES),
  confidence: z.number().min(0).max(10).nullable(),
  title: text,
  detail: text,
  location: location.optional(),
  citation: z.enum(["verified", "file", "unchanged_line", "no_line", "no_file", "none"]),
  count: int.optional(),
})
const helperFields: Fields = {
  v: { type: int.min(1), required: true, fallback: METADATA_VERSION },
  role: { type: z.enum(["intake", "validator", "worker"]), required: true },
  sessionID: { type: id, required: true },
  repo: { type: id, required: true, fallback: "" },
  generation: { type: int.min(1), required: true, fallback: 1 },
  attempt: { type: int.min(1) },
  claimedAt: { type: at },
}
const roleFields: Record<"intake" | "validator" | "worker", Fields> = {
  intake: {
    ...helperFields,
    intakeParent: { type: id, required: true, fallback: "" },
    assessment: { type: assessment },
    answers: {
      type: z.array(
        z.object({ decision: int.min(0), kind: z.enum(["approved", "overridden"]), text: text.optional(), at }),
      ),
    },
    instruction: { type: text },
  },
  validator: {
    ...helperFields,
    validatorParent: { type: id, required: true, fallback: "" },
    snapshot: { type: hash, required: true, fallback: "" },
    material: { type: z.object({ shown: int.min(0), total: int.min(0), left: z.array(text).max(100) }) },
    summary: { type: text },
    findings: { type: z.array(finding) },
    repeated: {
      type: z.array(
        z.object({
          title: text,
          location: location.optional(),
          finding: id,
          generation: int.min(1),
          disposition: z.enum(["fix", "intended", "ignored"]),
        }),
      ),
    },
    rulings: {
      type: z.array(
        z.object({
          finding: id,
          disposition: z.enum(["fix", "intended", "ignored"]),
          reason: text.optional(),
          snapshot: hash,
          at,
        }),
      ),
    },
  },
  worker: { ...helperFields, workerParent: { type: id, required: true, fallback: "" } },
}

/** Reads the metadata of the session `sessionID`. `metadata` is the session's whole metadata object. */
export function readKagan(sessionID: string, metadata: unknown): Decoded {
  return decode(sessionID, metadata, VERSIONS)
}

/** `readKagan` for given versions. */
export function decode(sessionID: string, metadata: unknown, versions: Versions): Decoded {
  const raw = rawKagan(metadata)
  if (!raw || raw.sessionID !== sessionID) return { kind: "none" }
  return decodeRaw(migrate(raw, versions))
}

function decodeRaw(migrated: Migrated): Decoded {
  const { raw } = migrated
  const { role } = raw
  const named = role === "intake" || role === "validator" || role === "worker"
  if (!named && (role !== undefined || raw.boardTask !== true)) return { kind: "none" }
  const { value, unreadable, broken } = readFields(named ? roleFields[role] : taskFields, raw)
  if (migrated.kind === "stuck") unreadable.unshift(`v: ${migrated.why}`)
  const readOnly = broken || migrated.kind === "newer" || migrated.kind === "stuck"
  const rest = { unreadable, readOnly, raw }
  switch (role) {
    case "intake":
      return { kind: role, meta: value as IntakeMeta, ...rest }
    case "validator":
      return { kind: role, meta: value as ValidatorMeta, ...rest }
    case "worker":
      return { kind: role, meta: value as WorkerMeta, ...rest }
    default: {
      const meta = value as TaskMeta
      return { kind: "task", meta, stage: stageOf(meta), ...rest }
    }
  }
}

/**
 * The object to store: `raw` (what the session has now, brought to this version) with the fields of `next` in place of the known ones. Fields
 * that this version does not know, and known ones that were unreadable and are unchanged, stay as they are.
 */
export function mergeKagan(raw: Raw | undefined, next: object, previous?: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...raw }
  const before = (previous ?? {}) as Record<string, unknown>
  const after = next as Record<string, unknown>
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    if (after[key] === undefined) delete merged[key]
    else if (after[key] !== before[key] || !(key in merged)) merged[key] = after[key]
  }
  return merged
}

/** The raw `kagan` object in a session's metadata, when it is one of sane size. */
export function rawKagan(metadata: unknown): Record<string, unknown> | undefined {
  if (!isObject(metadata)) return undefined
  const raw = metadata.kagan
  return isObject(raw) ? raw : undefined
}

function readFields(fields: Fields, raw: Raw) {
  const value: Record<string, unknown> = {}
  const unreadable: string[] = []
  let broken = false
  for (const [name, field] of Object.entries(fields)) {
    const given = Object.hasOwn(raw, name) ? raw[name] : undefined
    if (given === undefined && !field.required) continue
    const parsed = field.type.safeParse(given)
    if (parsed.success) {
      value[name] = parsed.data
      continue
    }
    unreadable.push(`${name}: ${parsed.error.issues[0]?.message ?? "not readable"}`)
    if (field.required) {
      broken = true
      value[name] = field.fallback
    }
  }
  return { value, unreadable, broken }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
