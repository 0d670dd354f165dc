import { isObject } from "./loose.ts"
import { judgeOption, OPTION_ROWS, readOptions, SCREEN_OPTIONS, valueAt, type OptionRow } from "./options.ts"

/*
 * Where the options stand, as the settings screen shows it. The host takes one entry of a plugin and drops the others, so
 * of several files with an entry of ours one counts, whole.
 */

/** `opencode.json` and its kin configure the server half, `tui.json` the screen. */
export type Half = "server" | "tui"

export type SettingsFile = {
  readonly path: string
  readonly half: Half
  readonly scope: "global" | "project"
  /** Whether our entry in it counts; `false`: another file's does. Absent: it has no entry of ours. */
  readonly counts?: boolean
  /** As they are written in its entry. */
  readonly options?: unknown
  /** Why it cannot be changed. */
  readonly problem?: string
}

export type Settings = { readonly files: readonly SettingsFile[] }

/** An option of the screen alone. */
const KEYBINDS: OptionRow = {
  path: "keybinds",
  kind: "json",
  meaning: "Keys of your own by the names of docs/keys.md; only in tui.json",
  range: 'an object such as {"kagan.forward": "f"}',
  effect: "after a restart",
}

/** Everything that the settings screen lists. */
export const SETTING_ROWS: readonly OptionRow[] = [...OPTION_ROWS, KEYBINDS]

export type Setting = {
  readonly row: OptionRow
  /** In force; `undefined`: none. */
  readonly value: unknown
  /** The file that says so; absent: nobody does, it is the default. */
  readonly from?: SettingsFile
  /** What is wrong with what is written there; the default is used. */
  readonly problem?: string
}

/** Every option with the value in force and where it comes from. */
export function settingsOf(settings: Settings): readonly Setting[] {
  const server = settings.files.find((file) => file.half === "server" && file.counts)
  const tui = settings.files.find((file) => file.half === "tui" && file.counts)
  const { options } = readOptions(server?.options)
  return SETTING_ROWS.map((row): Setting => {
    const own = halvesOf(row.path).includes("tui") ? valueAt(tui?.options, row.path) : undefined
    const file = own === undefined ? server : tui
    const written = own === undefined ? valueAt(server?.options, row.path) : own
    if (row === KEYBINDS) return { row, value: own, ...(own === undefined ? {} : { from: tui! }) }
    if (written === undefined) return { row, value: row.default }
    const judged = judgeOption(row.path, written)
    if ("problem" in judged) return { row, value: row.default, from: file!, problem: judged.problem }
    return { row, value: own === undefined ? valueAt(options, row.path) : judged.value, from: file! }
  })
}

/** In which kinds of file an option may stand. */
export function halvesOf(path: string): readonly Half[] {
  if (path === KEYBINDS.path) return ["tui"]
  return (SCREEN_OPTIONS as readonly string[]).includes(path) ? ["server", "tui"] : ["server"]
}

/** What of the screen's own entry wins over the server half's; unusable values do not. */
export function screenOptions(raw: unknown): Readonly<Record<string, unknown>> {
  const found = SCREEN_OPTIONS.flatMap((name) => {
    const value = valueAt(raw, name)
    const judged = value === undefined ? undefined : judgeOption(name, value)
    return judged && "value" in judged ? [[name, judged.value] as const] : []
  })
  return Object.fromEntries(found)
}

/** What cannot be used of the screen's own entry, `keybinds` aside. */
export function screenProblems(raw: unknown): readonly { readonly option: string; readonly text: string }[] {
  if (raw === undefined || raw === null) return []
  if (!isObject(raw)) return [{ option: "tui.json", text: "the options must be an object" }]
  return Object.entries(raw).flatMap(([name, value]) => {
    if (name === KEYBINDS.path) return []
    if (!(SCREEN_OPTIONS as readonly string[]).includes(name)) {
      const elsewhere = OPTION_ROWS.some(({ path }) => path === name || path.startsWith(`${name}.`))
      const text = elsewhere ? "it belongs into the entry in opencode.json" : "there is no such option"
      return [{ option: `tui.json: ${name}`, text }]
    }
    const judged = judgeOption(name, value)
    return "problem" in judged ? [{ option: `tui.json: ${name}`, text: judged.problem }] : []
  })
}

/** The files in which an option can be written, the one that counts first. */
export function targetsOf(settings: Settings, path: string): readonly SettingsFile[] {
  const halves = halvesOf(path)
  const rank = (file: SettingsFile) => (file.counts === true ? 0 : file.counts === false ? 1 : 2)
  return settings.files
    .filter((file) => halves.includes(file.half))
    .toSorted((a, b) => halves.indexOf(a.half) - halves.indexOf(b.half) || rank(a) - rank(b))
}

/** What a person typed for an option, or what is wrong with it. An empty text means that it is taken out. */
export function typedOption(row: OptionRow, typed: string): { readonly value: unknown } | { readonly problem: string } {
  const text = typed.trim()
  if (text === "") return { value: undefined }
  const raw = rawOf(row, text)
  if (raw === undefined) return { problem: `must be ${row.range}` }
  if (row === KEYBINDS) return isObject(raw) ? { value: raw } : { problem: `must be ${row.range}` }
  return judgeOption(row.path, raw)
}

function rawOf(row: OptionRow, text: string): unknown {
  switch (row.kind) {
    case "boolean":
      return text === "true" ? true : text === "false" ? false : undefined
    case "number":
      return Number(text)
    case "texts":
      return text.split("\n").flatMap((line) => (line.trim() === "" ? [] : [line.trim()]))
    case "json":
      return parsed(text)
    case "choice":
    case "text":
      return text
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    // What is no JSON is no value; the caller says what would be one.
    return undefined
  }
}

/** A value as it is typed, see `typedOption`. */
export function spellOption(row: OptionRow, value: unknown): string {
  if (value === undefined) return ""
  if (row.kind === "texts" && Array.isArray(value)) return value.map(String).join("\n")
  return typeof value === "string" ? value : JSON.stringify(value)
}

/** A path with the person's home as they write it. */
export function homeRelative(path: string, home: string | undefined): string {
  return home && path.startsWith(`${home}/`) ? `~${path.slice(home.length)}` : path
}

/** A value in a few words, for a list. */
export function showOption(value: unknown): string {
  if (value === undefined) return "–"
  if (Array.isArray(value))
    return value.length === 0 ? "none" : value.every(isPlain) ? value.join(", ") : `${value.length}`
  if (isObject(value)) return `${Object.keys(value).length}`
  return isPlain(value) ? String(value) : JSON.stringify(value)
}

const isPlain = (value: unknown) => ["string", "number", "boolean"].includes(typeof value)
