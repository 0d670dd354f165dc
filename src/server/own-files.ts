import { lstat, readdir, readFile } from "node:fs/promises"
import { join } from "node:path"

/*
 * OpenCode files of a worktree that are not the main checkout's: what the host would run or obey there, were it to boot
 * the folder by itself. Instances of such worktrees are booted before anybody opens them.
 */

const FILES = ["opencode.json", "opencode.jsonc"]
const FOLDER = ".opencode"
/** Written by the host itself into its folders. */
const HOSTS_OWN = new Set([".gitignore", "package-lock.json", "bun.lock"])
const MOST = 300

/** The first OpenCode file of the worktree that the main checkout does not have just so, if any; links are not followed. */
export async function foreignConfig(worktree: string, root: string): Promise<string | undefined> {
  for (const name of FILES) {
    if (await differs(join(worktree, name), join(root, name))) return name
  }
  let left = MOST
  async function walk(folder: string): Promise<string | undefined> {
    const entries = await readdir(join(worktree, folder), { withFileTypes: true }).catch(absent)
    for (const entry of entries ?? []) {
      const path = join(folder, entry.name)
      if (HOSTS_OWN.has(entry.name)) continue
      // What plugins import from here is code as well.
      if (entry.name === "node_modules") {
        if ((await readdir(join(worktree, path)).catch(absent))?.length) return path
      } else if (entry.isDirectory()) {
        const found = await walk(path)
        if (found) return found
      } else if (left-- <= 0 || (await differs(join(worktree, path), join(root, path)))) return path
    }
    return undefined
  }
  const folder = await lstat(join(worktree, FOLDER)).catch(absent)
  if (!folder) return undefined
  return folder.isDirectory() ? walk(FOLDER) : FOLDER
}

async function differs(path: string, other: string): Promise<boolean> {
  const here = await lstat(path).catch(absent)
  if (!here) return false
  if (!here.isFile()) return true
  const there = await lstat(other).catch(absent)
  if (!there?.isFile() || there.size !== here.size) return true
  return !(await readFile(path)).equals(await readFile(other))
}

/** Not there is an answer; whatever else keeps a file from being looked at is not. */
function absent(cause: NodeJS.ErrnoException): undefined {
  if (cause.code === "ENOENT" || cause.code === "ENOTDIR") return undefined
  throw cause
}
