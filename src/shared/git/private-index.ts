import { copyFile, link, lstat, mkdir, readFile, stat, utimes } from "node:fs/promises"
import { dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import { decodePath, joinNul, pathIn } from "./bytes.ts"
import type { GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"
import { gitLink } from "./worktree-state.ts"

/** What `ls-files -v` puts before an entry without a flag. */
const PLAIN = "H".charCodeAt(0)

/**
 * Makes a private index for a worktree: a second name of its own, which stays what it is when git replaces that one, or
 * a copy without the flags that hide edits. Where it has none, the last commit.
 */
export async function seedIndex(git: Git, worktree: string, index: string): GitResult<void> {
  await mkdir(dirname(index), { recursive: true })
  const source = join((await gitLink(worktree)) ?? join(worktree, ".git"), "index")
  const named = await nameIndex(source, index).catch((error: NodeJS.ErrnoException) => error)
  if (named instanceof Error) {
    if (named.code !== "ENOENT") throw named
    const read = await git.run(["read-tree", "HEAD"], { cwd: worktree, env: { GIT_INDEX_FILE: index } })
    return read.ok ? ok() : read
  }
  return mayHide(await readFile(index)) ? reveal(git, worktree, index) : ok()
}

/** Git never writes into an index file but puts a new one in its place. */
async function nameIndex(from: string, to: string): Promise<void> {
  const linked = await link(from, to).catch((error: NodeJS.ErrnoException) => error)
  if (linked === undefined) return
  if (linked.code === "ENOENT") throw linked
  // A file system without links, or one of many.
  await copyIndex(from, to)
}

/**
 * Copies an index so that git trusts the copy no further than the original. Git trusts an entry whose file is older than
 * the index; a younger copy would hide an edit made in the instant in which the index was written.
 */
export async function copyIndex(from: string, to: string): Promise<void> {
  const before = await stat(from, { bigint: true })
  await copyFile(from, to)
  const seconds = (Number(before.mtimeNs / 1_000n) - 1) / 1e6
  await utimes(to, seconds, seconds)
}

/** Whether an entry may be flagged as assumed unchanged or as skipped. What cannot be told is for git to say. */
export function mayHide(index: Buffer): boolean {
  const version = index.length < 12 ? 0 : index.readUInt32BE(4)
  if (index.toString("latin1", 0, 4) !== "DIRC" || (version !== 2 && version !== 3)) return true
  // The id at the end and in each entry is as long as the hash; only SHA-1 is read here.
  const [fixed, count] = [62, index.readUInt32BE(8)]
  let at = 12
  for (let i = 0; i < count; i++) {
    if (at + fixed > index.length) return true
    const flags = index.readUInt16BE(at + 60)
    // Assumed unchanged, or with further flags of which "skip" is one.
    if ((flags & 0xc000) !== 0) return true
    const length = flags & 0x0fff
    const end = length < 0x0fff ? at + fixed + length : index.indexOf(0, at + fixed)
    if (end === -1 || index[end] !== 0) return true
    at += (end - at + 8) & ~7
  }
  // A shared index beside this one holds entries that were not seen.
  return at + 24 <= index.length && index.toString("latin1", at, at + 4) === "link"
}

/** Clears the flags that hide edits, and adds nothing. */
async function reveal(git: Git, worktree: string, index: string): GitResult<void> {
  const env = { GIT_INDEX_FILE: index }
  const listed = await git.run(["ls-files", "-v", "-z"], { cwd: worktree, env })
  if (!listed.ok) return listed
  const bytes = listed.value.bytes
  const assumed: string[] = []
  const skipped: string[] = []
  for (let at = 0, end = 0; at < bytes.length; at = end + 1) {
    end = bytes.indexOf(0, at)
    if (bytes[at] === PLAIN) continue
    const mark = String.fromCharCode(bytes[at]!)
    const path = decodePath(bytes.subarray(at + 2, end))
    if (mark !== mark.toUpperCase()) assumed.push(path)
    if (mark === "S" || mark === "s") skipped.push(path)
  }
  const visible = await visibleOf(git, worktree, skipped)
  if (!visible.ok) return visible
  const shown = await flag(git, worktree, env, "--no-skip-worktree", visible.value)
  return shown.ok ? flag(git, worktree, env, "--no-assume-unchanged", assumed) : shown
}

/** In a sparse checkout an absent file is not a deleted one. */
async function visibleOf(git: Git, worktree: string, skipped: readonly string[]): GitResult<readonly string[]> {
  if (skipped.length === 0) return ok([])
  const args = ["config", "--type=bool", "--default=false", "--get", "core.sparseCheckout"]
  const setting = await git.run(args, { cwd: worktree })
  if (!setting.ok) return setting
  if (setting.value.stdout.trim() !== "true") return ok(skipped)
  const visible: string[] = []
  for (const path of skipped) {
    if ((await lstat(pathIn(worktree, path)).catch(() => undefined)) !== undefined) visible.push(path)
  }
  return ok(visible)
}

async function flag(
  git: Git,
  cwd: string,
  env: Record<string, string>,
  option: string,
  paths: readonly string[],
): GitResult<void> {
  if (paths.length === 0) return ok()
  const done = await git.run(["update-index", option, "-z", "--stdin"], { cwd, env, stdin: joinNul(paths) })
  return done.ok ? ok() : done
}
