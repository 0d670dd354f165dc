import { z } from "zod"

/**
 * The options of Kagan's one entry in `opencode.json`. An unknown or bad option is named as a problem and its default
 * is used; the rest stays in force.
 */
const positive = z.number().int().min(1)
const text = z.string().min(1)

const schema = {
  inProgressLimit: positive.max(50),
  intake: z.object({
    enabled: z.boolean(),
    agent: text.optional(),
    model: text.optional(),
    retries: z.number().int().min(0).max(10),
  }),
  validator: z.object({
    agent: text.optional(),
    models: z.array(text),
    retries: z.number().int().min(0).max(10),
    maxTokens: positive.min(1_000),
  }),
  worktree: z.object({
    root: text.optional(),
    branchPrefix: text,
    copy: z.array(text),
    setup: z.array(text),
    /** Seconds. */
    setupTimeout: positive,
  }),
  checks: z.array(
    z.object({
      name: text,
      command: z.string(),
      cwd: text.optional(),
      paths: z.array(text).optional(),
      /** Seconds. */
      timeout: positive.optional(),
    }),
  ),
  merge: z.object({ strategy: z.enum(["squash", "merge"]) }),
  sendBack: z.object({ mode: z.enum(["continue", "fresh"]), stopThreshold: positive }),
  resume: z.enum(["ask", "auto"]),
  /** Seconds without a sign of life before a working card counts as stalled. */
  stallAfter: positive,
  pushGuard: z.boolean(),
  attention: z.boolean(),
  mouse: z.boolean(),
  updates: z.boolean(),
} as const

export type Options = { [K in keyof typeof schema]: z.infer<(typeof schema)[K]> }

export const DEFAULT_OPTIONS: Options = {
  inProgressLimit: 2,
  intake: { enabled: true, retries: 1 },
  validator: { models: [], retries: 1, maxTokens: 60_000 },
  worktree: { branchPrefix: "kagan", copy: [], setup: [], setupTimeout: 600 },
  checks: [],
  merge: { strategy: "squash" },
  sendBack: { mode: "continue", stopThreshold: 3 },
  resume: "ask",
  stallAfter: 600,
  pushGuard: true,
  attention: true,
  mouse: true,
  updates: true,
}

export type OptionProblem = { readonly option: string; readonly text: string }

/** Reads the options as they stand in the config entry; never fails. */
export function readOptions(raw: unknown): { readonly options: Options; readonly problems: readonly OptionProblem[] } {
  const problems: OptionProblem[] = []
  const options: Record<string, unknown> = { ...DEFAULT_OPTIONS }
  if (raw === undefined || raw === null) return { options: DEFAULT_OPTIONS, problems }
  if (typeof raw !== "object" || Array.isArray(raw)) {
    return {
      options: DEFAULT_OPTIONS,
      problems: [{ option: "(all)", text: "the options must be an object; defaults are used" }],
    }
  }
  for (const [key, value] of Object.entries(raw)) {
    if (!Object.hasOwn(schema, key)) {
      problems.push({ option: key, text: "there is no such option" })
      continue
    }
    const name = key as keyof Options
    const fallback = DEFAULT_OPTIONS[name]
    const nested = isObject(fallback) && isObject(value)
    if (nested) {
      const merged: Record<string, unknown> = { ...fallback }
      const shape = (schema[name] as unknown as z.ZodObject).shape
      for (const [inner, innerValue] of Object.entries(value)) {
        const field = Object.hasOwn(shape, inner) ? (shape[inner] as z.ZodType) : undefined
        if (!field) problems.push({ option: `${key}.${inner}`, text: "there is no such option" })
        else take(`${key}.${inner}`, field, innerValue, (good) => (merged[inner] = good))
      }
      options[name] = merged
    } else take(key, schema[name] as z.ZodType, value, (good) => (options[name] = good))
  }
  return { options: options as Options, problems }

  function take(option: string, type: z.ZodType, value: unknown, use: (good: unknown) => void) {
    const parsed = type.safeParse(value)
    if (parsed.success) use(parsed.data)
    else problems.push({ option, text: `${parsed.error.issues[0]?.message ?? "not usable"}; the default is used` })
  }
}

/** Reads `provider/model` as the host writes models; the model may hold further slashes. */
export function readModel(text: string): { providerID: string; modelID: string } | undefined {
  const slash = text.indexOf("/")
  if (slash <= 0 || slash === text.length - 1) return undefined
  return { providerID: text.slice(0, slash), modelID: text.slice(slash + 1) }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
