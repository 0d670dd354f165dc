import { z } from "zod"
import { isObject } from "./loose.ts"

/**
 * The options of Kagan's one entry in `opencode.json`, each with what it means, which values it takes and when a change
 * of it counts. From this table come the reading, the messages, `assets/kagan.schema.json`, the settings screen and
 * `docs/options.md`. An unknown or bad option is named as a problem and its default is used; the rest stays in force.
 */
export type Effect = "at once" | "with the next task" | "after a restart"

function about<T extends z.ZodType>(type: T, meaning: string, range: string, effect: Effect = "at once"): T {
  return type.meta({ description: meaning, range, effect }) as T
}

const positive = z.number().int().min(1)
const text = z.string().min(1)
const model = z.string().regex(/^[^/]+\/.+$/)
const folder = z.string().regex(/^(\/|[A-Za-z]:[\\/])/)
const yesNo = "true or false"
const retries = z.number().int().min(0).max(10)

const checks = z.array(
  z.object({
    name: about(text, "What the check is called on the board", "a text"),
    command: about(z.string(), "What is run, through your shell; empty: nothing yet", "a command"),
    cwd: about(text, "The folder in the worktree where it runs; absent: its root", "a folder").optional(),
    paths: about(
      z.array(text),
      "It only counts when one of these changed; absent: always",
      "a list of patterns",
    ).optional(),
    timeout: about(positive, "Seconds until it is ended; absent: 600", "a whole number from 1").optional(),
  }),
)

const schema = {
  inProgressLimit: about(
    positive.max(50),
    "How many cards may be in progress; more are queued",
    "a whole number from 1 to 50",
  ),
  intake: z.object({
    enabled: about(z.boolean(), "Whether a helper reads the code and asks before a task starts", yesNo),
    agent: about(text, "The agent of that helper; absent: Kagan's own", "the name of an agent").optional(),
    model: about(model, "The model of that helper; absent: the host's default", "provider/model").optional(),
    retries: about(retries, "How often a failed helper is asked again by itself", "a whole number from 0 to 10"),
  }),
  validator: z.object({
    agent: about(text, "The agent of the reviewer; absent: Kagan's own", "the name of an agent").optional(),
    models: about(
      z.array(model),
      "The models that read the diff, in order of preference; empty: the host's default",
      "a list of provider/model",
    ),
    retries: about(retries, "How often a failed reviewer is asked again by itself", "a whole number from 0 to 10"),
    maxTokens: about(
      positive.min(1_000),
      "How much the reviewer is given to read; what does not fit is named",
      "a whole number from 1000",
    ),
  }),
  worktree: z.object({
    root: about(
      folder,
      "The folder in which worktrees stand; absent: ~/.local/share/kagan/worktrees",
      "an absolute path",
      "after a restart",
    ).optional(),
    branchPrefix: about(
      text,
      "The first part of the names of branches: kagan gives kagan/12-title",
      "a text",
      "with the next task",
    ),
    copy: about(
      z.array(text),
      "Untracked files that a fresh worktree brings along, such as .env",
      "a list of patterns",
      "with the next task",
    ),
    setup: about(
      z.array(text),
      "Commands that prepare a fresh worktree, one after the other",
      "a list of commands",
      "with the next task",
    ),
    setupTimeout: about(positive, "Seconds until one of them is ended", "a whole number from 1"),
    filters: about(
      z.array(text),
      "Content filters and merge drivers of the repository's own git settings that may run, by the digest that Kagan names",
      "a list of digests",
    ),
  }),
  checks: about(
    checks,
    "Commands that are run on each snapshot; what they say goes to the reviewer and to you",
    "a list of checks: name and command, and if wanted cwd, paths and timeout",
    "with the next task",
  ),
  merge: z.object({
    strategy: about(
      z.enum(["squash", "merge"]),
      "Whether an approved task becomes one commit, or a merge commit above its own",
      '"squash" or "merge"',
    ),
  }),
  sendBack: z.object({
    mode: about(
      z.enum(["continue", "fresh"]),
      "Whether what is sent back goes on in the same conversation or in a fresh one",
      '"continue" or "fresh"',
    ),
    stopThreshold: about(
      positive,
      "After how many tries the board asks whether another is worth it",
      "a whole number from 1",
    ),
  }),
  resume: about(
    z.enum(["ask", "auto"]),
    "Whether work that OpenCode's end interrupted waits for you or goes on by itself",
    '"ask" or "auto"',
  ),
  stallAfter: about(
    positive,
    "Seconds without a sign of life before a working card counts as stalled",
    "a whole number from 1",
  ),
  pushGuard: about(z.boolean(), "Whether agents on the board are refused git push and the like", yesNo),
  attention: about(z.boolean(), "Whether OpenCode's attention signal is given when a card waits for you", yesNo),
  mouse: about(z.boolean(), "Whether clicks and the wheel do something on the board", yesNo),
  updates: about(z.boolean(), "Whether Kagan looks once a day for a newer version of itself", yesNo),
} as const

export type Options = { [K in keyof typeof schema]: z.infer<(typeof schema)[K]> }

export const DEFAULT_OPTIONS: Options = {
  inProgressLimit: 2,
  intake: { enabled: true, retries: 1 },
  validator: { models: [], retries: 1, maxTokens: 60_000 },
  worktree: { branchPrefix: "kagan", copy: [], setup: [], setupTimeout: 600, filters: [] },
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

/** Options that concern the screen: Kagan's entry in `tui.json` may set them too, and wins. */
export const SCREEN_OPTIONS = ["attention", "mouse"] as const

export type OptionProblem = { readonly option: string; readonly text: string }

export type OptionKind = "boolean" | "number" | "choice" | "text" | "texts" | "json"

/** One option as a person meets it. */
export type OptionRow = {
  /** Its name, `group.name` in a group. */
  readonly path: string
  readonly kind: OptionKind
  readonly meaning: string
  /** The values that it takes, in words that follow "must be". */
  readonly range: string
  /** Absent: it has none. */
  readonly default?: unknown
  readonly effect: Effect
  readonly choices?: readonly string[]
}

/** Every option, in the order of the table. */
export const OPTION_ROWS: readonly OptionRow[] = Object.entries(schema).flatMap(([name, type]) =>
  type instanceof z.ZodObject
    ? Object.entries(type.shape as Record<string, z.ZodType>).map(([inner, field]) => rowOf(`${name}.${inner}`, field))
    : [rowOf(name, type)],
)

const ROW_OF: ReadonlyMap<string, OptionRow> = new Map(OPTION_ROWS.map((row) => [row.path, row]))

function rowOf(path: string, field: z.ZodType): OptionRow {
  const type = field instanceof z.ZodOptional ? (field.unwrap() as z.ZodType) : field
  const {
    description = "",
    range = "",
    effect = "at once",
  } = (type.meta() ?? {}) as {
    description?: string
    range?: string
    effect?: Effect
  }
  const fallback = valueAt(DEFAULT_OPTIONS, path)
  return {
    path,
    kind: kindOf(type),
    meaning: description,
    range,
    effect,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(type instanceof z.ZodEnum ? { choices: type.options.map(String) } : {}),
  }
}

function kindOf(type: z.ZodType): OptionKind {
  if (type instanceof z.ZodBoolean) return "boolean"
  if (type instanceof z.ZodNumber) return "number"
  if (type instanceof z.ZodEnum) return "choice"
  if (type instanceof z.ZodArray) return type.element instanceof z.ZodObject ? "json" : "texts"
  return "text"
}

/** The value at `group.name` of an options object, or of what somebody wrote in its place. */
export function valueAt(options: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((at, key) => (isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined), options)
}

/** The value as it is taken over, or what is wrong with it. */
export function judgeOption(path: string, value: unknown): { readonly value: unknown } | { readonly problem: string } {
  const row = ROW_OF.get(path)
  const type = row && fieldAt(path)
  if (!row || !type) return { problem: "there is no such option" }
  const parsed = type.safeParse(value)
  if (parsed.success) return { value: parsed.data }
  const at = parsed.error.issues[0]?.path ?? []
  const place =
    at.length > 0 ? ` (at ${at.map((key) => (typeof key === "number" ? key + 1 : String(key))).join(", ")})` : ""
  return { problem: `must be ${row.range}${place}` }
}

function fieldAt(path: string): z.ZodType | undefined {
  const [name = "", inner] = path.split(".")
  if (!Object.hasOwn(schema, name)) return undefined
  const type = schema[name as keyof typeof schema] as z.ZodType
  if (inner === undefined) return type
  const shape = type instanceof z.ZodObject ? (type.shape as Record<string, z.ZodType>) : {}
  return Object.hasOwn(shape, inner) ? shape[inner] : undefined
}

/** Reads the options as they stand in the config entry; never fails. */
export function readOptions(raw: unknown): { readonly options: Options; readonly problems: readonly OptionProblem[] } {
  const problems: OptionProblem[] = []
  const options: Record<string, unknown> = { ...DEFAULT_OPTIONS }
  if (raw === undefined || raw === null) return { options: DEFAULT_OPTIONS, problems }
  if (!isObject(raw)) {
    return {
      options: DEFAULT_OPTIONS,
      problems: [{ option: "(all)", text: "the options must be an object; defaults are used" }],
    }
  }
  for (const [key, value] of Object.entries(raw)) {
    const isGroup = Object.hasOwn(schema, key) && schema[key as keyof Options] instanceof z.ZodObject
    if (!isGroup) take(key, value, (good) => (options[key] = good))
    else if (!isObject(value)) problems.push({ option: key, text: "must be an object; the defaults are used" })
    else {
      const merged: Record<string, unknown> = { ...(options[key] as object) }
      for (const [inner, one] of Object.entries(value)) take(`${key}.${inner}`, one, (good) => (merged[inner] = good))
      options[key] = merged
    }
  }
  return { options: options as Options, problems }

  function take(option: string, value: unknown, use: (good: unknown) => void) {
    const judged = judgeOption(option, value)
    if ("value" in judged) return use(judged.value)
    const fallback = ROW_OF.get(option)
    const instead = !fallback
      ? ""
      : fallback.default === undefined
        ? "; it counts as absent"
        : `; the default ${JSON.stringify(fallback.default)} is used`
    problems.push({ option, text: `${judged.problem}${instead}` })
  }
}

/** The JSON schema of the options, for editors and for `assets/kagan.schema.json`. */
export function optionSchema(): Record<string, unknown> {
  const made = z.toJSONSchema(z.object(schema).partial(), {
    override: ({ jsonSchema }) => {
      delete jsonSchema["range"]
      delete jsonSchema["effect"]
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      // In a person's file nothing is required but what a check consists of.
      if (!(jsonSchema.properties && "command" in jsonSchema.properties)) delete jsonSchema.required
      if (jsonSchema.type === "object") jsonSchema.additionalProperties = false
    },
  }) as unknown as JsonNode
  for (const row of OPTION_ROWS) {
    if (row.default === undefined) continue
    const at = row.path.split(".").reduce<JsonNode | undefined>((node, key) => node?.properties?.[key], made)
    if (at) at["default"] = row.default
  }
  return made
}

type JsonNode = { [key: string]: unknown; properties?: Record<string, JsonNode> }

/** Reads `provider/model` as the host writes models; the model may hold further slashes. */
export function readModel(text: string): { providerID: string; modelID: string } | undefined {
  const slash = text.indexOf("/")
  if (slash <= 0 || slash === text.length - 1) return undefined
  return { providerID: text.slice(0, slash), modelID: text.slice(slash + 1) }
}

/** The models of other providers than this one first, each group in its order. */
export function otherProviderFirst(models: readonly string[], providerID: string): readonly string[] {
  const same = (model: string) => readModel(model)?.providerID === providerID
  return [...models.filter((model) => !same(model)), ...models.filter(same)]
}
