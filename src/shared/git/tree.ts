import { lstat, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ok, type Result } from "../../core/result.ts"
import { isAlive } from "./alive.ts"
import { joinNul, pathIn, splitNul } from "./bytes.ts"
import { fail, ioFailure, nameSome, type GitFailure, type GitResult } from "./failure.ts"
import { hostConfigPaths, withHostSchema } from "./host-config.ts"
import { explainBlocked, guardPrograms, type ProgramGuard } from "./programs.ts"
import { seedIndex } from "./private-index.ts"
import type { Git } from "./runner.ts"

export interface TreeRequest {
  readonly git: Git
  readonly worktree: string
  /** Where the private index is kept while the tree is written: beside the task, not in the worktree. */
  readonly indexFile: string
  /** Files that were brought along and are not the task's work. */
  readonly exclude?: readonly string[]
  /** The commit whose config files the host's `$schema` line is measured against; default the worktree's HEAD. */
  readonly base?: string | Promise<Result<string, GitFailure>>
  /** When the settings were read already. */
  readonly guard?: ProgramGuard
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
let calls = 0

/**
 * Writes the exact tree of a worktree: tracked and untracked files as they lie on disk, ignored and excluded ones out.
 * Works on a private copy of the index, so neither index nor HEAD nor any file of the worktree is touched.
 */
export async function writeWorkingTree(wanted: TreeRequest): GitResult<WorkingTree> {
  const index = `${wanted.indexFile}.${process.pid}-${++calls}`
  try {
    await sweep(wanted.indexFile)
    const [seeded, guard] = await Promise.all([
      seedIndex(wanted.git, wanted.worktree, index),
      wanted.guard ? ok(wanted.guard) : guardPrograms(wanted.git, wanted.worktree, wanted.trustedFilters),
    ])
    if (!seeded.ok) return seeded
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

/** The two halves of a `git status`, side by side. */
async function look(wanted: TreeRequest, index: string, guard: ProgramGuard): GitResult<Looked> {
  const { git, worktree } = wanted
  const run = (args: readonly string[]) =>
    git.run([...guard.args, ...args], { cwd: worktree, env: { GIT_INDEX_FILE: index }, timeoutMs: 300_000 })
  const [files, others] = await Promise.all([
    run(["diff-files", "-z", "--name-status", "--no-renames", "--ignore-submodules=dirty", "-O/dev/null"]),
    run(["ls-files", "-z", "--others", "--exclude-standard"]),
  ])
  if (!files.ok) return files
  if (!others.ok) return others
  const fields = splitNul(files.value.bytes)
  const unmerged = new Set<string>()
  const changed = new Set<string>()
  for (let i = 0; i + 1 < fields.length; i += 2) (fields[i] === "U" ? unmerged : changed).add(fields[i + 1]!)
  return ok({ unmerged: [...unmerged], changed: [...changed], untracked: splitNul(others.value.bytes) })
}

/** Excluded files, and config files that only the host touched, stand in the tree as they stand in the base. */
async function putBack(wanted: TreeRequest, index: string, excluded: ReadonlySet<string>): GitResult<void> {
  const { git, worktree } = wanted
  const asBase = [...excluded]
  const configs = new Map<string, string>()
  for (const path of hostConfigPaths) {
    const now = await readFile(join(worktree, path), "utf8").catch(() => undefined)
    if (now?.includes('"$schema"') && !excluded.has(path)) configs.set(path, now)
  }
  if (asBase.length === 0 && configs.size === 0) return ok()
  const base = typeof wanted.base === "object" ? await wanted.base : ok(wanted.base ?? "HEAD")
  if (!base.ok) return base
  const entries = await treeEntries(git, worktree, base.value, [...asBase, ...configs.keys()])
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
    return entry
      ? `${entry.mode} ${entry.object}\t${path}`
      : `0 ${"0".repeat(base.value.length === 64 ? 64 : 40)}\t${path}`
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
