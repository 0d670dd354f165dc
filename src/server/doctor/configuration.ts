import { readFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { withEntry } from "../../core/config-edit.ts"
import { OPTION_ROWS, readOptions, valueAt } from "../../core/options.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { homeRelative, screenProblems, type Half } from "../../core/settings.ts"
import { configFiles, inForce, pathOf, replaceConfig, type ConfigFile } from "../config-files.ts"
import type { Found, Patient } from "./doctor.ts"

/** The config files, our two entries, and the options in them. */
export async function configuration(patient: Patient): Promise<readonly Found[]> {
  const all = await configFiles(patient.places)
  const home = patient.places.env["HOME"]
  const name = (path: string) => homeRelative(path, home)
  const server = inForce(all, "server")
  const tui = inForce(all, "tui")
  return [
    ...all.flatMap((file): Found[] =>
      file.problem === undefined
        ? []
        : [
            {
              id: `config:${file.path}`,
              group: "Configuration",
              level: "trouble",
              text: `${name(file.path)}: ${file.problem}`,
              cause: "OpenCode cannot read it either; mend it by hand.",
            },
          ],
    ),
    ...entries(server, tui, name),
    ...shadowed(all, server, name),
    ...badOptions(patient, server, tui, name),
    ...edited(patient, server, name),
  ]
}

type Name = (path: string) => string

function entries(server: ConfigFile | undefined, tui: ConfigFile | undefined, name: Name): Found[] {
  if (server?.entry && tui?.entry) {
    const specs = [resolved(server), resolved(tui)]
    if (specs[0] === specs[1]) {
      const text = `Kagan's entries: ${name(server.path)} and ${name(tui.path)}`
      return [{ id: "entries", group: "Configuration", level: "fine", text }]
    }
    return [
      {
        id: "entries",
        group: "Configuration",
        level: "trouble",
        text: `${name(server.path)} names ${server.entry.spec}, ${name(tui.path)} names ${tui.entry.spec}`,
        cause: "The two halves come from different places and may not understand each other: name the same in both.",
      },
    ]
  }
  const there = server ?? tui
  const spec = there?.entry?.spec
  if (!there || spec === undefined) {
    const text = "no config file names Kagan"
    const cause = "It is loaded by OPENCODE_CONFIG_CONTENT or by another folder's configuration, or not at all."
    return [{ id: "entries", group: "Configuration", level: "note", text, cause }]
  }
  const half: Half = server ? "tui" : "server"
  const path = join(dirname(there.path), half === "tui" ? "tui.json" : "opencode.json")
  return [
    {
      id: `entry:${half}`,
      group: "Configuration",
      level: "trouble",
      text: `${name(path)} lacks "plugin": [${JSON.stringify(spec)}]`,
      cause:
        half === "tui"
          ? "Without it there is no board: OpenCode loads the half that shows from tui.json."
          : "Without it the board can only look: OpenCode loads the half that acts from opencode.json.",
      repair: `adds that entry to ${name(path)}; it counts after a restart`,
      mend: () => addEntry(path, pathOf(spec, dirname(there.path)) ? there.entry!.spec : spec),
    },
  ]
}

const resolved = ({ path, entry }: ConfigFile) => pathOf(entry!.spec, dirname(path)) ?? entry!.spec

async function addEntry(path: string, spec: string): Promise<Result<string, string>> {
  const before = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => cause)
  if (before instanceof Error && before.code !== "ENOENT") return err(before.message)
  const text = typeof before === "string" ? before : undefined
  const after = withEntry(text ?? "{}\n", spec)
  if (!after.ok) return err(`${path}: ${after.error}`)
  const written = await replaceConfig(path, text, after.value)
  return written.ok ? ok(`added to ${path}; restart OpenCode`) : written
}

function shadowed(all: readonly ConfigFile[], server: ConfigFile | undefined, name: Name): Found[] {
  const others = all.filter((file) => file.half === "server" && file !== server && file.entry?.options !== undefined)
  return others.map(({ path }) => ({
    id: `shadowed:${path}`,
    group: "Configuration",
    level: "note",
    text: `the options in ${name(path)} do not count here`,
    cause: `OpenCode takes one entry of a plugin, and here that of ${name(server?.path ?? "?")} counts.`,
  }))
}

function badOptions(
  { settings }: Patient,
  server: ConfigFile | undefined,
  tui: ConfigFile | undefined,
  name: Name,
): Found[] {
  const found = (file: ConfigFile, option: string, text: string): Found => ({
    id: `option:${file.half}:${option}`,
    group: "Configuration",
    level: "trouble",
    text: `${option} ${text}`,
    cause: `It stands in ${name(file.path)}; everything else in the entry is in force.`,
    ...(option.startsWith("(") ? {} : takenOut(file, option)),
  })
  const takenOut = (file: ConfigFile, option: string): Pick<Found, "repair" | "mend"> => ({
    repair: `takes it out of ${name(file.path)}`,
    mend: () => settings.takeOut(file.path, option),
  })
  return [
    ...(server ? readOptions(server.entry?.options).problems.map((one) => found(server, one.option, one.text)) : []),
    ...(tui
      ? screenProblems(tui.entry?.options).map((one) => found(tui, one.option.replace(/^tui\.json: /, ""), one.text))
      : []),
  ]
}

/** The host reads its files once: what was edited by hand since then waits for a restart. */
function edited({ running }: Patient, server: ConfigFile | undefined, name: Name): Found[] {
  if (!running || !server) return []
  const { options } = readOptions(server.entry?.options)
  const differing = OPTION_ROWS.filter(
    ({ path }) => JSON.stringify(valueAt(options, path)) !== JSON.stringify(valueAt(running.options, path)),
  )
  if (differing.length === 0) return []
  return [
    {
      id: "edited",
      group: "Configuration",
      level: "note",
      text: `not yet in force: ${differing.map(({ path }) => path).join(", ")} of ${name(server.path)}`,
      cause: "The file was changed after OpenCode had read it: restart OpenCode, or set it on the board (,).",
    },
  ]
}
