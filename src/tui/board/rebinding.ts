import {
  COMMANDS,
  ENTRIES,
  FORM_COMMANDS,
  REVIEW_COMMANDS,
  type CommandID,
  type EntryID,
  type FormCommandID,
  type ReviewCommandID,
} from "./keys.ts"

/** Keys of the person's own by command name, with what could not be read. */
export type Rebinding = {
  readonly keys: Readonly<Record<string, readonly string[]>>
  readonly problems: readonly string[]
}

const DEFAULT_KEYS: ReadonlyMap<string, readonly string[]> = new Map(
  [...COMMANDS, ...REVIEW_COMMANDS, ...FORM_COMMANDS, ...ENTRIES].map(({ id, keys }) => [id, keys]),
)

/** The keys in force: the person's own, else the table's. */
export function keysOf(
  rebinding: Rebinding,
  id: CommandID | ReviewCommandID | FormCommandID | EntryID,
): readonly string[] {
  return rebinding.keys[id] ?? DEFAULT_KEYS.get(id) ?? []
}

/**
 * Reads `keybinds` of the plugin's entry in `tui.json`, in the host's own notation: a key, several with commas or as a
 * list, and `"none"` or `false` for no key. The host's own `keybinds` drops names that it does not know (measured on
 * 1.18.33), so ours stand beside it.
 */
export function readRebinding(options: unknown): Rebinding {
  const raw = isObject(options) ? options.keybinds : undefined
  if (raw === undefined) return { keys: {}, problems: [] }
  if (!isObject(raw)) return { keys: {}, problems: ["keybinds must be an object"] }
  const keys: Record<string, readonly string[]> = {}
  const problems: string[] = []
  for (const [name, value] of Object.entries(raw)) {
    const read = readKeys(value)
    if (!DEFAULT_KEYS.has(name)) problems.push(`keybinds: there is no command ${name}`)
    else if (!read) problems.push(`keybinds: the keys of ${name} cannot be read`)
    else keys[name] = read
  }
  return { keys, problems }
}

function readKeys(value: unknown): readonly string[] | undefined {
  if (value === false || value === "none") return []
  const list = typeof value === "string" ? value.split(",") : value
  if (!Array.isArray(list) || !list.every((key) => typeof key === "string" && key.trim() !== "")) return undefined
  return list.map((key: string) => key.trim())
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}
