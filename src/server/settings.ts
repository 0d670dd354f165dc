import { dirname, join } from "node:path"
import { withEntry, withOption, writtenEntries } from "../core/config-edit.ts"
import { isObject } from "../core/loose.ts"
import { judgeOption, type OptionRow } from "../core/options.ts"
import type { RequestFailure } from "../core/protocol.ts"
import { err, ok, type Result } from "../core/result.ts"
import { halvesOf, SETTING_ROWS, showOption, type Half, type Settings, type SettingsFile } from "../core/settings.ts"
import {
  configFiles,
  globalFolder,
  inForce,
  pathOf,
  replaceConfig,
  type ConfigFile,
  type ConfigPlaces,
} from "./config-files.ts"
import { failed, refused } from "./moves.ts"

export type SettingsInput = {
  readonly places: () => ConfigPlaces
  /** An option of the entry that counts has changed: from now on it is this; `undefined`: no longer set. */
  readonly apply: (option: string, value: unknown) => void
}

export type SettingsDesk = {
  read(): Promise<Settings>
  /** Takes an option, known or not, out of the entry in this file. */
  takeOut(file: string, option: string): Promise<Result<string, string>>
  write(body: {
    readonly file: string
    readonly option: string
    readonly value?: unknown
  }): Promise<Result<{ readonly text: string; readonly settings: Settings }, RequestFailure>>
}

const HALVES: readonly Half[] = ["server", "tui"]

/** Shows where Kagan's options stand, and changes its entry in one file at a time, on the person's word. */
export function makeSettings({ places, apply }: SettingsInput): SettingsDesk {
  async function read(): Promise<Settings> {
    const at = places()
    const files = await configFiles(at)
    const canonical = HALVES.flatMap((half) => [
      newPlace(files, half, at.root, "project"),
      newPlace(files, half, globalFolder(at.env), "global"),
    ])
    const shown = files.filter(
      (file) => file.entry !== undefined || file.problem !== undefined || canonical.includes(file.path),
    )
    return { files: shown.map((file) => settingsFile(file, inForce(files, file.half) === file)) }
  }

  return {
    read,
    async takeOut(path, option) {
      const file = (await configFiles(places())).find((candidate) => candidate.path === path)
      if (!file?.entry || file.problem) return err(`${path}: the entry is not there any more`)
      const text = withOption(file.text ?? "", file.entry.index, option, undefined)
      if (!text.ok) return err(`${path}: ${text.error}`)
      if (text.value === file.text) return err(`${path}: ${option} is not found in the entry: take it out by hand`)
      const written = await replaceConfig(path, file.text, text.value)
      if (!written.ok) return written
      if (file.half === "server" && inForce(await configFiles(places()), "server")?.path === path)
        apply(option, undefined)
      return ok(`${option} is taken out of ${path}`)
    },
    async write({ file: path, option, value }) {
      const row = SETTING_ROWS.find((candidate) => candidate.path === option)
      if (!row) return refused({ kind: "invalid", text: `there is no option ${option}` })
      if (value !== undefined) {
        const problem = problemOf(row, value)
        if (problem) return refused({ kind: "invalid", text: `${option} ${problem}` })
      }
      const known = (await read()).files.some((file) => file.path === path && halvesOf(option).includes(file.half))
      const files = await configFiles(places())
      const file = files.find((candidate) => candidate.path === path)
      if (!known || !file) return refused({ kind: "invalid", text: `${option} cannot stand in ${path}` })
      if (file.problem) return failed(`${path}: ${file.problem}`)

      const text = edited(file, files, option, value)
      if (!text.ok) return failed(`${path}: ${text.error}`)
      const written = await replaceConfig(path, file.text, text.value)
      if (!written.ok) return failed(written.error)

      const now = await configFiles(places())
      const counting = inForce(now, file.half)
      if (counting?.path === path && file.half === "server") apply(option, value)
      const what = value === undefined ? `${option} is no longer set` : `${option}: ${showOption(value)}`
      const said =
        counting?.path === path ? effectOf(row) : `without effect: the entry in ${counting?.path ?? "?"} counts`
      return ok({ text: `${what} (${said})`, settings: await read() })
    },
  }
}

function effectOf(row: OptionRow): string {
  return row.effect === "at once"
    ? "in force now"
    : row.effect === "with the next task"
      ? row.effect
      : `counts ${row.effect}`
}

function problemOf(row: OptionRow, value: unknown): string | undefined {
  if (row.path === "keybinds") return isObject(value) ? undefined : `must be ${row.range}`
  const judged = judgeOption(row.path, value)
  return "problem" in judged ? judged.problem : undefined
}

/** Where a folder's entry would be written: into the file that is there, else into a new one. */
function newPlace(files: readonly ConfigFile[], half: Half, folder: string, scope: ConfigFile["scope"]): string {
  const there = files.filter((file) => file.half === half && file.scope === scope && dirname(file.path) === folder)
  const name = half === "server" ? "opencode.json" : "tui.json"
  return there.findLast((file) => file.text !== undefined)?.path ?? join(folder, name)
}

function settingsFile(file: ConfigFile, counts: boolean): SettingsFile {
  const { path, half, scope, problem, entry } = file
  return {
    path,
    half,
    scope,
    ...(entry ? { counts } : {}),
    ...(entry?.options === undefined ? {} : { options: entry.options }),
    ...(problem === undefined ? {} : { problem }),
  }
}

/** A file without an entry gets one with all that counts now: the entries of several files are not joined. */
function edited(
  file: ConfigFile,
  files: readonly ConfigFile[],
  option: string,
  value: unknown,
): Result<string, string> {
  const { entry, half } = file
  if (entry) return withOption(file.text ?? "", entry.index, option, value)
  const model = inForce(files, half) ?? inForce(files, "server") ?? inForce(files, "tui")
  const spec = model?.entry ? (pathOf(model.entry.spec, dirname(model.path)) ?? model.entry.spec) : "opencode-kagan"
  const added = withEntry(file.text ?? blank(half), spec, model?.half === half ? model.entry?.options : undefined)
  if (!added.ok) return added
  return withOption(added.value, entryCount(file), option, value)
}

/** With the line that the host would otherwise write into it. */
const blank = (half: Half) => (half === "server" ? '{\n  "$schema": "https://opencode.ai/config.json"\n}\n' : "{}\n")

function entryCount(file: ConfigFile): number {
  const entries = file.text === undefined || file.text.trim() === "" ? undefined : writtenEntries(file.text)
  return entries?.ok ? entries.value.length : 0
}
