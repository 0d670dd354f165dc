import { readFile, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { isAbsolute, join, relative, resolve, sep } from "node:path"
import { parseJsonc } from "../core/jsonc.ts"
import { isObject } from "../core/loose.ts"
import { err, ok, type Result } from "../core/result.ts"

/*
 * With which configuration a worktree's instance is booted: the main checkout's, and nothing of the branch's own. The
 * host reads these variables at each boot of an instance (measured on 1.18.33), and a worktree booted without them runs
 * the plugins, and obeys the permissions, that the branch brought.
 */

export const RECIPE_VARIABLES = [
  "OPENCODE_DISABLE_PROJECT_CONFIG",
  "OPENCODE_CONFIG_DIR",
  "OPENCODE_CONFIG_CONTENT",
  "npm_config_offline",
] as const
export type RecipeVariable = (typeof RECIPE_VARIABLES)[number]
export type RecipeEnv = Readonly<Record<RecipeVariable, string | undefined>>

export type RecipeInput = {
  /** The main checkout. */
  readonly root: string
  /** Where in it the host was started; the root itself when absent. */
  readonly from?: string
  /** The plugins in force there, spelled as the host's own config shows them: another spelling loads one twice. */
  readonly plugins: readonly unknown[]
  /** The environment as the person started the host: what they set themselves stays in force. */
  readonly env: Readonly<Record<string, string | undefined>>
}

/** The values of the recipe's variables. Fails when a config file of the main checkout cannot be read. */
export async function recipeEnv(input: RecipeInput): Promise<Result<RecipeEnv, string>> {
  const { root, env } = input
  const theirContent = env["OPENCODE_CONFIG_CONTENT"]
  const theirFolder = env["OPENCODE_CONFIG_DIR"]
  const projectOff = /^(1|true)$/i.test(env["OPENCODE_DISABLE_PROJECT_CONFIG"] ?? "")
  const ownFolder = join(root, ".opencode")
  const useOwn = !projectOff && (await isFolder(ownFolder))

  let config: Record<string, unknown> = {}
  const files = [
    ...(projectOff ? [] : foldersBetween(root, input.from ?? root).flatMap((folder) => configFiles(folder))),
    // The folder itself is loaded by the host, but below the content; here once more, so that it wins as it should.
    ...(useOwn ? configFiles(ownFolder) : []),
    ...(useOwn && theirFolder ? configFiles(theirFolder) : []),
  ]
  for (const file of files) {
    const read = await readConfig(file.path, file.folder)
    if (!read.ok) return read
    config = mergeConfig(config, read.value)
  }
  if (theirContent) {
    const read = configText(theirContent, input.from ?? root)
    if (!read.ok) return err(`OPENCODE_CONFIG_CONTENT: ${read.error}`)
    config = mergeConfig(config, read.value)
  }
  return ok({
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_CONFIG_DIR: useOwn ? ownFolder : theirFolder,
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...config, plugin: input.plugins }),
    npm_config_offline: "true",
  })
}

function configFiles(folder: string): readonly { path: string; folder: string }[] {
  return ["opencode.json", "opencode.jsonc"].map((name) => ({ path: join(folder, name), folder }))
}

async function readConfig(path: string, folder: string): Promise<Result<Record<string, unknown>, string>> {
  const text = await readFile(path, "utf8").catch((cause: NodeJS.ErrnoException) => cause)
  if (typeof text !== "string") {
    return text.code === "ENOENT" || text.code === "ENOTDIR" ? ok({}) : err(`${path}: ${text.message}`)
  }
  const read = configText(text, folder)
  return read.ok ? read : err(`${path}: ${read.error}`)
}

/** A config text with `{file:…}` made absolute. `{env:…}` stays for the host, except where it stands for no string. */
export function configText(text: string, folder: string): Result<Record<string, unknown>, string> {
  if (text.trim() === "") return ok({})
  const placed = text.replace(/\{file:([^}]+)\}/g, (whole, path: string) =>
    path.startsWith("~/") || isAbsolute(path) ? whole : `{file:${JSON.stringify(resolve(folder, path)).slice(1, -1)}}`,
  )
  const parsed = parseJsonc(placed)
  const read = parsed.ok
    ? parsed
    : parseJsonc(placed.replace(/\{env:([^}]+)\}/g, (_, name: string) => process.env[name] ?? ""))
  if (!read.ok) return err(parsed.ok ? read.error : parsed.error)
  return isObject(read.value) ? ok(read.value) : err("it is no object")
}

/** As the host merges: objects into each other, `instructions` joined, everything else replaced. */
export function mergeConfig(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  const merged = mergeDeep({ ...below, ...permissionsOf(below) }, { ...above, ...permissionsOf(above) })
  const lists = [below["instructions"], above["instructions"]]
  if (lists.every((list) => Array.isArray(list))) merged["instructions"] = [...new Set(lists.flat())]
  return merged
}

/** A word for all tools is the rule for `*`, which must not be lost when rules for single tools come on top. */
function permissionsOf(config: Record<string, unknown>): Record<string, unknown> {
  const permission = config["permission"]
  return typeof permission === "string" ? { permission: { "*": permission } } : {}
}

function mergeDeep(below: Record<string, unknown>, above: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const old = Object.hasOwn(merged, key) ? merged[key] : undefined
    // Defined, not assigned: `__proto__` is an ordinary key in a config file.
    Object.defineProperty(merged, key, {
      value: isObject(old) && isObject(value) ? mergeDeep(old, value) : value,
      enumerable: true,
      configurable: true,
      writable: true,
    })
  }
  return merged
}

/** The root and the folders down to `from`; only the root when `from` is elsewhere. */
export function foldersBetween(root: string, from: string): readonly string[] {
  const way = relative(root, from)
  if (way === "" || way.startsWith("..") || isAbsolute(way)) return [root]
  const folders = [root]
  for (const part of way.split(sep)) folders.push(join(folders.at(-1)!, part))
  return folders
}

async function isFolder(path: string): Promise<boolean> {
  // The home's own `.opencode` is loaded for every instance anyway.
  if (path === join(homedir(), ".opencode")) return false
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
