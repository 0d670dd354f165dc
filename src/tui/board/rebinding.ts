import { DIALOG_COMMANDS, FORM_COMMANDS, type DialogCommandID, type FormCommandID } from "./dialog-keys.ts"
import {
  COMMANDS,
  ENTRIES,
  REVIEW_COMMANDS,
  spellKey,
  type CommandID,
  type EntryID,
  type ReviewCommandID,
} from "./keys.ts"

/** A command of any part of the table. */
export type AnyCommandID = CommandID | ReviewCommandID | FormCommandID | DialogCommandID | EntryID

/** Keys of the person's own by command name, with what could not be read. */
export type Rebinding = {
  readonly keys: Readonly<Record<string, readonly string[]>>
  readonly problems: readonly string[]
}

const DEFAULT_KEYS: ReadonlyMap<string, readonly string[]> = new Map(
  [...COMMANDS, ...REVIEW_COMMANDS, ...FORM_COMMANDS, ...DIALOG_COMMANDS, ...ENTRIES].map(({ id, keys }) => [id, keys]),
)

/** The keys in force: the person's own, else the table's. */
export function keysOf(rebinding: Rebinding, id: AnyCommandID): readonly string[] {
  return rebinding.keys[id] ?? DEFAULT_KEYS.get(id) ?? []
}

/** The keys in force as the host's keymap takes them. */
export function bindableKeys(rebinding: Rebinding, id: AnyCommandID): readonly (string | { readonly name: string })[] {
  // In a text a comma stands between two keys, so that the key itself has to be given as an object.
  return keysOf(rebinding, id).map((key) => (key === "comma" ? { name: "," } : key))
}

/** The first of its keys as a person reads it; empty: it has none. */
export function spelledKey(rebinding: Rebinding, id: AnyCommandID): string {
  const key = keysOf(rebinding, id)[0]
  return key === undefined ? "" : spellKey(key)
}

/** A line of hints: each a command with a word for what its key does, or words alone. One without a key is left out. */
export function hintLine(rebinding: Rebinding, parts: readonly (readonly [AnyCommandID, string] | string)[]): string {
  const words = parts.flatMap((part) => {
    if (typeof part === "string") return part === "" ? [] : [part]
    const key = spelledKey(rebinding, part[0])
    return key === "" ? [] : [`${key} ${part[1]}`]
  })
  return words.join(" · ")
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
