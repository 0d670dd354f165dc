import { homedir } from "node:os"
import { isAbsolute, join, resolve } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { isMainThread } from "node:worker_threads"
import type { Clock } from "../shared/clock.ts"
import type { Host } from "../shared/host.ts"
import { readConfig } from "./recipe.ts"

/*
 * Kagan has one entry in each of the host's two kinds of config file. Of the terminal UI's the server half sees nothing:
 * when no board says hello, it tells which file lacks the line.
 */

/** The plugin entry that loaded the module at `url`, as the config shows it; `undefined` when no entry names it. */
export function ownSpec(plugins: readonly unknown[], url: string): string | undefined {
  const path = fileURLToPath(url).replaceAll("\\", "/")
  return plugins
    .map((entry) => (Array.isArray(entry) ? (entry[0] as unknown) : entry))
    .filter((spec): spec is string => typeof spec === "string")
    .find((spec) => {
      if (spec.startsWith("file://")) {
        const target = fileURLToPath(spec).replaceAll("\\", "/").replace(/\/$/, "")
        return path === target || path.startsWith(`${target}/`)
      }
      return path.includes(`/node_modules/${packageName(spec)}/`)
    })
}

/** `@scope/name@1.2.3` without its version. */
function packageName(spec: string): string {
  const at = spec.indexOf("@", 1)
  return at === -1 ? spec : spec.slice(0, at)
}

/** The terminal UI runs its server in a worker thread; `serve`, `run` and the like have no screen (1.17.18 to 1.18.33). */
export function isHeadless(): boolean {
  return isMainThread
}

/** One sentence for the person whose board does not come up: what to write into which file. */
export async function missingBoardText(input: {
  readonly root: string
  readonly url: string
  readonly plugins: readonly unknown[]
}): Promise<string> {
  const spec = ownSpec(input.plugins, input.url)
  const config = join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "opencode")
  const folders = [input.root, join(input.root, ".opencode"), config]
  for (const folder of folders) {
    const written = await writtenSpec(folder, ["tui.json", "tui.jsonc"], spec)
    if (written) {
      return `Kagan's board did not start, although ${join(folder, "tui.json")} lists it: restart OpenCode, then run opencode with --print-logs to see why`
    }
  }
  for (const folder of folders) {
    const written = await writtenSpec(folder, ["opencode.json", "opencode.jsonc"], spec)
    if (written) return lacks(join(folder, "tui.json"), written)
  }
  return lacks(join(config, "tui.json"), spec ?? "opencode-kagan")
}

function lacks(file: string, spec: string): string {
  return `Kagan has no board here: ${file} lacks the line "plugin": [${JSON.stringify(spec)}]`
}

/** How our entry is spelled in one of these files of the folder. */
async function writtenSpec(
  folder: string,
  names: readonly string[],
  spec: string | undefined,
): Promise<string | undefined> {
  if (!spec) return undefined
  for (const name of names) {
    const read = await readConfig(join(folder, name), folder)
    const entries = read.ok && Array.isArray(read.value["plugin"]) ? (read.value["plugin"] as unknown[]) : []
    for (const entry of entries) {
      const written: unknown = Array.isArray(entry) ? entry[0] : entry
      if (typeof written === "string" && (written === spec || asURL(written, folder) === spec)) return written
    }
  }
  return undefined
}

function asURL(spec: string, folder: string): string | undefined {
  return isAbsolute(spec) || spec.startsWith(".") ? pathToFileURL(resolve(folder, spec)).href : undefined
}

let told = false

/** Tells once per process, by a toast, when no board has said hello a while after the start; never where there is no screen. */
export function tellWhenNoBoard(input: {
  readonly host: Pick<Host, "config" | "toast" | "log">
  readonly clock: Clock
  readonly directory: string
  readonly root: string
  readonly url: string
  readonly heard: () => boolean
  readonly headless?: boolean
  readonly after?: number
}): () => void {
  if (told || (input.headless ?? isHeadless())) return () => {}
  return input.clock.setTimer(input.after ?? 20_000, () => {
    if (told || input.heard()) return
    told = true
    void tell(input)
  })
}

async function tell(input: Parameters<typeof tellWhenNoBoard>[0]): Promise<void> {
  const { host, directory, root, url } = input
  const config = await host.config(directory)
  const message = await missingBoardText({ root, url, plugins: config.ok ? (config.value.plugin ?? []) : [] })
  host.log("warn", message)
  const shown = await host.toast(directory, { title: "Kagan", message, variant: "warning" })
  if (!shown.ok) host.log("error", shown.error.text)
}
