import { open, readFile, realpath, rename, rm, stat } from "node:fs/promises"
import { homedir } from "node:os"
import { dirname, isAbsolute, join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { randomUUID } from "node:crypto"
import { entryParts, writtenEntries } from "../core/config-edit.ts"
import { isObject } from "../core/loose.ts"
import { err, ok, type Result } from "../core/result.ts"
import type { Half } from "../core/settings.ts"
import { foldersBetween } from "./recipe.ts"

/*
 * The host's config files, and our entry in them. The host reads them in this order, and of several entries of one plugin
 * the last one counts (measured on 1.18.33).
 */

export const PACKAGE = "opencode-kagan"

export type ConfigPlaces = {
  /** The main checkout. */
  readonly root: string
  /** Where in it the host was started. */
  readonly from: string
  /** The module that runs. */
  readonly url: string
  readonly env: Readonly<Record<string, string | undefined>>
}

export type OwnEntry = { readonly index: number; readonly spec: string; readonly options?: unknown }

export type ConfigFile = {
  readonly path: string
  readonly half: Half
  readonly scope: "global" | "project"
  /** Absent: there is no such file. */
  readonly text?: string
  /** Why it cannot be read. */
  readonly problem?: string
  readonly entry?: OwnEntry
}

/** The folder of the host's global config files. */
export function globalFolder(env: ConfigPlaces["env"]): string {
  return join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "opencode")
}

/** Every config file that the host may read here, those that are not there too; what counts more comes later. */
export async function configFiles(places: ConfigPlaces): Promise<readonly ConfigFile[]> {
  return Promise.all(placesOf(places).map((place) => readPlace(place, places)))
}

/** The file whose entry of ours counts. */
export function inForce(files: readonly ConfigFile[], half: Half): ConfigFile | undefined {
  return files.findLast((file) => file.half === half && file.entry)
}

type Place = Pick<ConfigFile, "path" | "half" | "scope">

function placesOf({ root, from, env }: ConfigPlaces): readonly Place[] {
  const home = globalFolder(env)
  const off = /^(1|true)$/i.test(env["OPENCODE_DISABLE_PROJECT_CONFIG"] ?? "")
  const folders = off ? [] : foldersBetween(root, from)
  const both = (folder: string, scope: Place["scope"]): Place[] => [
    ...["opencode.json", "opencode.jsonc"].map((name): Place => ({ path: join(folder, name), half: "server", scope })),
    ...["tui.json", "tui.jsonc"].map((name): Place => ({ path: join(folder, name), half: "tui", scope })),
  ]
  const named = (name: string, half: Half): Place[] =>
    env[name] ? [{ path: resolve(env[name]), half, scope: "global" }] : []
  return [
    { path: join(home, "config.json"), half: "server", scope: "global" },
    ...both(home, "global"),
    ...named("OPENCODE_CONFIG", "server"),
    ...named("OPENCODE_TUI_CONFIG", "tui"),
    ...folders.flatMap((folder) => both(folder, "project")),
    ...folders.toReversed().flatMap((folder) => both(join(folder, ".opencode"), "project")),
    ...(env["OPENCODE_CONFIG_DIR"] ? both(resolve(env["OPENCODE_CONFIG_DIR"]), "global") : []),
  ]
}

async function readPlace(place: Place, { url }: ConfigPlaces): Promise<ConfigFile> {
  const text = await readFile(place.path, "utf8").catch((cause: NodeJS.ErrnoException) => cause)
  if (typeof text !== "string") {
    const absent = text.code === "ENOENT" || text.code === "ENOTDIR"
    return absent ? place : { ...place, problem: text.message }
  }
  const entries = writtenEntries(text.trim() === "" ? "{}" : text)
  if (!entries.ok) return { ...place, text, problem: entries.error }
  for (const [index, written] of entries.value.entries()) {
    const parts = entryParts(written)
    if (parts && (await isOurs(parts.spec, dirname(place.path), url)))
      return { ...place, text, entry: { index, ...parts } }
  }
  return { ...place, text }
}

/** `@scope/name@1.2.3` without its version. */
export function packageName(spec: string): string {
  const at = spec.indexOf("@", 1)
  return at === -1 ? spec : spec.slice(0, at)
}

/** The folder or file that a spec names; `undefined` for a package of a registry. */
export function pathOf(spec: string, folder: string): string | undefined {
  if (spec.startsWith("file://")) return fileURLToPath(spec)
  if (spec.startsWith("~/")) return join(homedir(), spec.slice(2))
  return isAbsolute(spec) || /^\.\.?[\\/]/.test(spec) ? resolve(folder, spec) : undefined
}

async function isOurs(spec: string, folder: string, url: string): Promise<boolean> {
  const path = pathOf(spec, folder)
  if (path === undefined) return packageName(spec) === PACKAGE
  const target = await realpath(path).catch(() => path)
  const running = await realpath(fileURLToPath(url)).catch(() => fileURLToPath(url))
  if (running === target || running.startsWith(`${target.replace(/[\\/]$/, "")}/`)) return true
  const manifest = await readFile(join(target, "package.json"), "utf8").catch(() => undefined)
  if (manifest === undefined) return false
  try {
    const read: unknown = JSON.parse(manifest)
    return isObject(read) && read["name"] === PACKAGE
  } catch {
    // Another plugin's folder, whatever is in it.
    return false
  }
}

/**
 * Replaces the text of a config file in one step: links stay links, and who may read it stays as it was. Refused when it
 * is not what it was when it was read, so that an edit of somebody else's is not lost.
 */
export async function replaceConfig(
  path: string,
  before: string | undefined,
  after: string,
): Promise<Result<void, string>> {
  const target = await realpath(path).catch(() => path)
  const temp = `${target}.${randomUUID()}.tmp`
  let made = false
  try {
    const mode = await stat(target).then(
      (found) => found.mode & 0o777,
      () => 0o644,
    )
    const file = await open(temp, "wx", mode)
    made = true
    try {
      await file.writeFile(after)
      await file.chmod(mode)
      await file.sync()
    } finally {
      await file.close()
    }
    const now = await readFile(target, "utf8").catch((cause: NodeJS.ErrnoException) => cause)
    const text = typeof now === "string" ? now : now.code === "ENOENT" ? undefined : now
    if (text !== before) return err(`${path} was changed meanwhile: nothing was written`)
    await rename(temp, target)
    made = false
    return ok()
  } catch (cause) {
    return err(`${path}: ${cause instanceof Error ? cause.message : String(cause)}`)
  } finally {
    if (made) await rm(temp, { force: true })
  }
}
