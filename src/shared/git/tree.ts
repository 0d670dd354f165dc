import { copyFile, lstat, mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import { isAlive } from "./alive.ts"
import { decodePath, joinNul, pathIn, splitNul } from "./bytes.ts"
import { fail, ioFailure, nameSome, type GitResult } from "./failure.ts"
import { hostConfigPaths, withHostSchema } from "./host-config.ts"
import { explainBlocked, guardPrograms, type ProgramGuard } from "./programs.ts"
import type { Git } from "./runner.ts"
import { gitLink } from "./worktree-state.ts"

export interface TreeRequest {
  readonly git: Git
  readonly worktree: string
  /** Where the private index is kept while the tree is written: beside the task, not in the worktree. */
  readonly indexFile: string
  /** Files that were brought along and are not the task's work. */
  readonly exclude?: readonly string[]
  /** The commit whose config files the host's `$schema` line is measured against; default the worktree's HEAD. */
  readonly base?: string
  readonly limits?: UntrackedLimits
  /** Untracked files beyond the limits were named to the person, who wants them in. */
  readonly allowLarge?: boolean
  readonly trustedFilters?: readonly string[]
}

export interface UntrackedLimits {
  readonly bytes: number
  readonly count: number
}

export interface WorkingTree {
  readonly tree: string
  /** Repositories inside the worktree that it does not know: their content is not in the tree. */
  readonly nested: readonly string[]
}

const LIMITS: UntrackedLimits = { bytes: 10 * 1024 * 1024, count: 2_000 }
/** What `ls-files -v` puts before an entry without a flag. */
const PLAIN = "H".charCodeAt(0)
let calls = 0

/**
 * Writes the exact tree of a worktree: tracked and untracked files as they lie on disk, ignored and excluded ones out.
 * Works on a private copy of the index, so neither index nor HEAD nor any file of the worktree is touched.
 */
export async function writeWorkingTree(wanted: TreeRequest): GitResult<WorkingTree> {
  const index = `${wanted.indexFile}.${process.pid}-${++calls}`
  try {
    await sweep(wanted.indexFile)
    const seeded = await seed(wanted, index)
    if (!seeded.ok) return seeded
    const guard = await guardPrograms(wanted.git, wanted.worktree, wanted.trustedFilters)
    if (!guard.ok) return guard
    return explainBlocked(await writeFrom(wanted, index, guard.value), guard.value)
  } catch (error) {
    return ioFailure(index, "keeping", error)
  } finally {
    await rm(index, { force: true })
    await rm(`${index}.lock`, { force: true })
  }
}

async function writeFrom(wanted: TreeRequest, index: string, guard: ProgramGuard): GitResult<WorkingTree> {
  const { git, worktree } = wanted
  const env = { GIT_INDEX_FILE: index }
  const looked = await look(wanted, index, guard)
  if (!looked.ok) return looked
  const { unmerged, changed } = looked.value
  if (unmerged.length > 0) {
    return fail("unmerged", `a merge is not resolved: ${nameSome(unmerged)}`, { files: unmerged })
  }
  const excluded = new Set(wanted.exclude ?? [])
  const untracked = looked.value.untracked.filter((path) => !excluded.has(path))
  const nested = untracked.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1))
  const files = untracked.filter((path) => !path.endsWith("/"))
  if (!wanted.allowLarge) {
    const small = await withinLimits(wanted, files)
    if (!small.ok) return small
  }
  const paths = [...changed.filter((path) => !excluded.has(path)), ...files]
  if (paths.length > 0) {
    const updated = await git.run([...guard.args, "update-index", "--add", "--remove", "--replace", "-z", "--stdin"], {
      cwd: worktree,
      env,
      stdin: joinNul(paths),
      timeoutMs: 300_000,
    })
    if (!updated.ok) return updated
  }
  const kept = await putBack(wanted, index, excluded)
  if (!kept.ok) return kept
  const written = await git.run(["write-tree"], { cwd: worktree, env })
  return written.ok ? ok({ tree: written.value.stdout.trim(), nested }) : written
}

interface Looked {
  readonly unmerged: readonly string[]
  readonly changed: readonly string[]
  /** A repository inside the worktree ends in a slash. */
  readonly untracked: readonly string[]
}

/** The two halves of a `git status`, side by side, and beside them the search for flags that would hide something. */
async function look(wanted: TreeRequest, index: string, guard: ProgramGuard): GitResult<Looked> {
  const { git, worktree } = wanted
  const run = (args: readonly string[]) =>
    git.run([...guard.args, ...args], { cwd: worktree, env: { GIT_INDEX_FILE: index }, timeoutMs: 300_000 })
  const differing = () =>
    run(["diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty", "-O/dev/null"])
  const [first, others, flagged] = await Promise.all([
    differing(),
    run(["ls-files", "-z", "--others", "--exclude-standard"]),
    run(["ls-files", "-z", "-v"]),
  ])
  if (!others.ok) return others
  if (!flagged.ok) return flagged
  const revealed = await reveal(wanted, index, flagged.value.bytes)
  if (!revealed.ok) return revealed
  const files = revealed.value ? await differing() : first
  if (!files.ok) return files
  const fields = splitNul(files.value.bytes)
  const unmerged = new Set<string>()
  const changed = new Set<string>()
  for (let i = 0; i + 1 < fields.length; i += 2) (fields[i] === "U" ? unmerged : changed).add(fields[i + 1]!)
  return ok({ unmerged: [...unmerged], changed: [...changed], untracked: splitNul(others.value.bytes) })
}

/** The worktree's own index, so that only what changed is read; without one, the last commit. */
async function seed(wanted: TreeRequest, index: string): GitResult<void> {
  const { git, worktree } = wanted
  const source = join((await gitLink(worktree)) ?? join(worktree, ".git"), "index")
  await mkdir(dirname(index), { recursive: true })
  const before = await stat(source, { bigint: true }).catch((error: NodeJS.ErrnoException) => error)
  if (before instanceof Error) {
    if (before.code !== "ENOENT") throw before
    const read = await git.run(["read-tree", "HEAD"], { cwd: worktree, env: { GIT_INDEX_FILE: index } })
    return read.ok ? ok() : read
  }
  await copyFile(source, index)
  // Git trusts an entry whose file is older than the index. A younger copy would hide an edit that was made in the
  // instant in which the index was written, so the copy is made a little older than the original.
  const microseconds = Number(before.mtimeNs / 1_000n) - 1
  await utimes(index, microseconds / 1e6, microseconds / 1e6)
  return ok()
}

/** Clears the flags that hide edits, and adds nothing else; says whether there were any. */
async function reveal(wanted: TreeRequest, index: string, listed: Buffer): GitResult<boolean> {
  const { git, worktree } = wanted
  const env = { GIT_INDEX_FILE: index }
  const assumed: string[] = []
  const skipped: string[] = []
  for (let at = 0, end = 0; at < listed.length; at = end + 1) {
    end = listed.indexOf(0, at)
    if (listed[at] === PLAIN) continue
    const mark = String.fromCharCode(listed[at]!)
    const path = decodePath(listed.subarray(at + 2, end))
    if (mark !== mark.toUpperCase()) assumed.push(path)
    if (mark === "S" || mark === "s") skipped.push(path)
  }
  if (skipped.length === 0 && assumed.length === 0) return ok(false)
  if (skipped.length > 0) {
    const setting = await git.run(["config", "--type=bool", "--default=false", "--get", "core.sparseCheckout"], {
      cwd: worktree,
    })
    if (!setting.ok) return setting
    const sparse = setting.value.stdout.trim() === "true"
    const visible: string[] = []
    for (const path of skipped) {
      // In a sparse checkout an absent file is not a deleted one.
      const there = await lstat(pathIn(worktree, path)).catch(() => undefined)
      if (!sparse || there !== undefined) visible.push(path)
    }
    const shown = await flag(git, worktree, env, "--no-skip-worktree", visible)
    if (!shown.ok) return shown
  }
  const cleared = await flag(git, worktree, env, "--no-assume-unchanged", assumed)
  return cleared.ok ? ok(true) : cleared
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

/** Excluded files, and config files that only the host touched, stand in the tree as they stand in the base. */
async function putBack(wanted: TreeRequest, index: string, excluded: ReadonlySet<string>): GitResult<void> {
  const { git, worktree } = wanted
  const base = wanted.base ?? "HEAD"
  const asBase = [...excluded]
  const configs = new Map<string, string>()
  for (const path of hostConfigPaths) {
    const now = await readFile(join(worktree, path), "utf8").catch(() => undefined)
    if (now?.includes('"$schema"') && !excluded.has(path)) configs.set(path, now)
  }
  if (asBase.length === 0 && configs.size === 0) return ok()
  const entries = await treeEntries(git, worktree, base, [...asBase, ...configs.keys()])
  if (!entries.ok) return entries
  for (const [path, now] of configs) {
    const entry = entries.value.get(path)
    if (!entry) continue
    const before = await git.run(["cat-file", "blob", entry.object], { cwd: worktree })
    if (!before.ok) return before
    if (withHostSchema(before.value.stdout) === now) asBase.push(path)
  }
  if (asBase.length === 0) return ok()
  const lines = asBase.map((path) => {
    const entry = entries.value.get(path)
    return entry ? `${entry.mode} ${entry.object}\t${path}` : `0 ${"0".repeat(base.length === 64 ? 64 : 40)}\t${path}`
  })
  const done = await git.run(["update-index", "-z", "--index-info"], {
    cwd: worktree,
    env: { GIT_INDEX_FILE: index },
    stdin: joinNul(lines),
  })
  return done.ok ? ok() : done
}

export interface TreeEntry {
  readonly mode: string
  readonly object: string
}

/** What a commit has at exactly these paths; a path that it lacks is absent from the answer. */
export async function treeEntries(
  git: Git,
  cwd: string,
  commit: string,
  paths: readonly string[],
): GitResult<ReadonlyMap<string, TreeEntry>> {
  const found = new Map<string, TreeEntry>()
  for (let i = 0; i < paths.length; i += 500) {
    const answer = await git.run(["ls-tree", "-z", "--full-tree", commit, "--", ...paths.slice(i, i + 500)], { cwd })
    if (!answer.ok) return answer
    for (const line of splitNul(answer.value.bytes)) {
      const tab = line.indexOf("\t")
      const [mode, , object] = line.slice(0, tab).split(" ") as [string, string, string]
      if (mode !== "040000") found.set(line.slice(tab + 1), { mode, object })
    }
  }
  return ok(found)
}

async function withinLimits(wanted: TreeRequest, files: readonly string[]): GitResult<void> {
  const limits = wanted.limits ?? LIMITS
  const large: { path: string; bytes: number }[] = []
  for (const path of files.length > limits.count ? files.slice(0, limits.count) : files) {
    const found = await lstat(pathIn(wanted.worktree, path)).catch(() => undefined)
    if (found?.isFile() && found.size > limits.bytes) large.push({ path, bytes: found.size })
  }
  if (large.length === 0 && files.length <= limits.count) return ok()
  const parts: string[] = []
  if (files.length > limits.count) parts.push(`${files.length} untracked files`)
  if (large.length > 0) parts.push(`large untracked files: ${nameSome(large.map((file) => file.path))}`)
  return fail("untracked_too_much", `${parts.join("; ")}: ignore them, or say that they belong to the task`, {
    count: files.length,
    large,
  })
}

/** Removes private indexes that a process which is gone left behind. */
async function sweep(indexFile: string): Promise<void> {
  const names = await readdir(dirname(indexFile)).catch(() => [])
  for (const name of names) {
    const pid = name.startsWith(`${basename(indexFile)}.`) ? /\.(\d+)-\d+(?:\.lock)?$/.exec(name)?.[1] : undefined
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dirname(indexFile), name), { force: true })
  }
}
