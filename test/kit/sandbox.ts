import { spawnSync } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import { guardRoot, killMarked, MARK, releaseRoot } from "./processes.ts"
import { gitEnv, makeRepo, type Repo } from "./repo.ts"

/** The checkout that is being tested. */
export const checkout = join(dirname(fileURLToPath(import.meta.url)), "../..")
/** The real host: the one that is installed here, or another version's program. */
export const opencodeBinary = process.env.KAGAN_TEST_HOST ?? join(checkout, "node_modules/opencode-ai/bin/opencode.exe")

export interface SandboxOptions {
  /** The board has never been seen in this home: the tour is offered. */
  readonly tour?: boolean
  /** More for the host's config (`opencode.json`). */
  readonly config?: Readonly<Record<string, unknown>>
  /** More for the terminal UI's config (`tui.json`). */
  readonly tui?: Readonly<Record<string, unknown>>
  /** The plugin to load in both halves: this checkout's (the default), none, or other plugin specs. */
  readonly plugin?: boolean | string | readonly string[]
  /** Options of the plugin's entry in `opencode.json`. */
  readonly options?: unknown
  /** The scripted model, which the config then names as its only provider. */
  readonly model?: { readonly url: string }
  /** Where the config stands: in the home, or untracked in the repository. */
  readonly where?: "global" | "project"
  /** Where in the sandbox the repository stands; `repo` without it. */
  readonly folder?: string
  /** Files of the repository's first commit. */
  readonly files?: Readonly<Record<string, string>>
}

export interface Sandbox {
  readonly root: string
  readonly home: string
  readonly repo: Repo
  /** The whole environment for a host; a test may change it before it starts one. */
  readonly env: Record<string, string>
  /** Writes both config files anew, with these changes. */
  writeConfig(change?: Pick<SandboxOptions, "config" | "tui" | "plugin" | "options" | "model">): Promise<void>
  /** Ends every process that carries this sandbox's mark and removes all files. */
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A home of its own for the real host, without a network, and a repository to work in; with all that makes a first start slow in place. */
export async function makeSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const root = await realpath(await mkdtemp(join(tmpdir(), "kagan-box-")))
  guardRoot(root)
  const home = join(root, "home")
  const configFolder = join(home, ".config/opencode")
  for (const folder of [".config/opencode", ".local/share", ".local/state", ".cache"]) {
    await mkdir(join(home, folder), { recursive: true })
  }
  await mkdir(join(root, "tmp"))
  // Whoever opens the board in a new home is shown around.
  const state = join(home, ".local/state/opencode")
  await mkdir(state)
  if (!options.tour) await writeFile(join(state, "kv.json"), JSON.stringify({ "kagan.tour.seen": true }))
  await seedDependencies(configFolder)
  const repo = await makeRepo({
    dir: join(root, options.folder ?? "repo"),
    ...(options.files ? { files: options.files } : {}),
  })
  const env = hostEnv(root, home)
  const folder = options.where === "project" ? repo.dir : configFolder

  const sandbox: Sandbox = {
    root,
    home,
    repo,
    env,
    async writeConfig(change = {}) {
      const { config, tui } = configFiles({ ...options, ...change })
      await writeFile(join(folder, "opencode.json"), JSON.stringify(config, null, 2))
      await writeFile(join(folder, "tui.json"), JSON.stringify(tui, null, 2))
    },
    async dispose() {
      killMarked(root)
      await rm(root, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
      releaseRoot(root)
    },
    [Symbol.asyncDispose]: () => sandbox.dispose(),
  }
  await sandbox.writeConfig()
  return sandbox
}

/**
 * The host installs a package into each of its config folders before it loads plugins, and without a network tries for
 * over a minute. This makes it believe that the package is there.
 */
export async function seedDependencies(folder: string): Promise<void> {
  await mkdir(join(folder, "node_modules"), { recursive: true })
  const lock = { packages: { "": { dependencies: { "@opencode-ai/plugin": "*" } } } }
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock))
}

function configFiles(options: SandboxOptions): { config: object; tui: object } {
  const specs = pluginSpecs(options.plugin ?? true)
  const plugin = specs.map((spec, i) => (i === 0 && options.options !== undefined ? [spec, options.options] : spec))
  const provider = {
    mock: {
      npm: "@ai-sdk/openai-compatible",
      name: "Scripted",
      options: { baseURL: options.model?.url, apiKey: "none" },
      models: { m1: { name: "Model One", tool_call: true }, m2: { name: "Model Two", tool_call: true } },
    },
  }
  return {
    config: {
      // A config file without this line is rewritten by the host.
      $schema: "https://opencode.ai/config.json",
      autoupdate: false,
      share: "disabled",
      ...(options.model ? { provider, model: "mock/m1", small_model: "mock/m1" } : {}),
      ...(plugin.length > 0 ? { plugin } : {}),
      ...options.config,
    },
    tui: { ...(specs.length > 0 ? { plugin: specs } : {}), ...options.tui },
  }
}

function pluginSpecs(plugin: boolean | string | readonly string[]): readonly string[] {
  if (plugin === true) return [pluginPath()]
  if (plugin === false) return []
  return typeof plugin === "string" ? [plugin] : plugin
}

/** The environment of a host: nothing of this process's but what every program needs. */
function hostEnv(root: string, home: string): Record<string, string> {
  const kept: Record<string, string | undefined> = {}
  for (const name of ["PATH", "SHELL", "USER", "LOGNAME", "TZ"]) kept[name] = process.env[name]
  return {
    ...gitEnv(kept),
    LANG: "C.UTF-8",
    LC_ALL: "C.UTF-8",
    [MARK]: root,
    HOME: home,
    TMPDIR: join(root, "tmp"),
    XDG_CONFIG_HOME: join(home, ".config"),
    XDG_DATA_HOME: join(home, ".local/share"),
    XDG_STATE_HOME: join(home, ".local/state"),
    XDG_CACHE_HOME: join(home, ".cache"),
    OPENCODE_DISABLE_AUTOUPDATE: "1",
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    // No loading screen; the terminal UI's state is then still empty when a plugin starts.
    OPENCODE_FAST_BOOT: "1",
    // No network: what tries to leave the machine is refused at once, on a port where nobody listens.
    npm_config_offline: "true",
    npm_config_fetch_retries: "0",
    HTTP_PROXY: "http://127.0.0.1:9",
    HTTPS_PROXY: "http://127.0.0.1:9",
    NO_PROXY: "127.0.0.1,localhost",
  }
}

let built: string | undefined

/** The plugin of this checkout as a host's config names it; built first (once per process) where that is needed. */
export function pluginPath(): string {
  if (built) return built
  const build = spawnSync("node", ["scripts/build.mjs", "--quiet"], { cwd: checkout, encoding: "utf8" })
  if (build.status !== 0) {
    throw new Error(`the build failed:\n${build.stdout ?? ""}${build.stderr ?? ""}${build.error ?? ""}`)
  }
  return (built = pathToFileURL(checkout).href)
}
