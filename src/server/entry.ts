import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { isMainThread } from "node:worker_threads"
import type { Clock } from "../shared/clock.ts"
import type { Host } from "../shared/host.ts"
import { configFiles, globalFolder, inForce, PACKAGE, packageName, type ConfigPlaces } from "./config-files.ts"

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

/** The terminal UI runs its server in a worker thread; `serve`, `run` and the like have no screen (1.17.18 to 1.18.33). */
export function isHeadless(): boolean {
  return isMainThread
}

/** One sentence for the person whose board does not come up: what to write into which file. */
export async function missingBoardText(
  places: ConfigPlaces & { readonly plugins: readonly unknown[] },
): Promise<string> {
  const files = await configFiles(places)
  const board = inForce(files, "tui")
  if (board) {
    return `Kagan's board did not start, although ${board.path} lists it: restart OpenCode, then run opencode with --print-logs to see why`
  }
  const server = inForce(files, "server")
  if (server?.entry) return lacks(join(dirname(server.path), "tui.json"), server.entry.spec)
  return lacks(join(globalFolder(places.env), "tui.json"), ownSpec(places.plugins, places.url) ?? PACKAGE)
}

function lacks(file: string, spec: string): string {
  return `Kagan has no board here: ${file} lacks the line "plugin": [${JSON.stringify(spec)}]`
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
  const plugins = config.ok ? (config.value.plugin ?? []) : []
  const message = await missingBoardText({ root, from: directory, url, env: process.env, plugins })
  host.log("warn", message)
  const shown = await host.toast(directory, { title: "Kagan", message, variant: "warning" })
  if (!shown.ok) host.log("error", shown.error.text)
}
