import { lstat, readdir, readFile, rm } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import { isAlive } from "./alive.ts"
import { joinNul, pathIn, splitNul } from "./bytes.ts"
import { fail, ioFailure, nameSome, type GitResult } from "./failure.ts"
import { hostConfigPaths, withHostSchema } from "./host-config.ts"
import { explainBlocked, guardPrograms, type ProgramGuard } from "./programs.ts"
import { seedIndex } from "./private-index.ts"
import type { Git } from "./runner.ts"
import { readStatusAndHead, type TreeEntry } from "./status.ts"
import { editTree, openTree, type TreeEdits } from "./tree-edit.ts"

export interface TreeRequest {
  readonly git: Git
  readonly worktree: string
  /** Where the private index is kept while the tree is written: beside the task, not in the worktree. */
  readonly indexFile: string
  /** Files that were brought along and are not the task's work. */
  readonly exclude?: readonly string[]
  /** The commit whose config files the host's `$schema` line is measured against; default the worktree's HEAD. */
  readonly base?: string | GitResult<string>
  /** When the settings are read already, or will be. */
  readonly guard?: ProgramGuard | GitResult<ProgramGuard>
  /** A tree that the repository has and that this one may equal. */
  readonly known?: GitResult<string>
  readonly limits?: UntrackedLimits
  /** Untracked files beyond the limits were named to the person, who wants them in. */
  readonly allowLarge?: boolean
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
 * Reads a private name of the index, so neither index nor HEAD nor any file of the worktree is touched, and an index
 * that another git replaces meanwhile is not half old and half new.
 */
export async function writeWorkingTree(wanted: TreeRequest): GitResult<WorkingTree> {
  const index = `${wanted.indexFile}.${process.pid}-${++calls}`
  const small = `${index}s`
  try {
    await sweep(wanted.indexFile)
    const [seeded, guard] = await Promise.all([seedIndex(wanted.git, wanted.worktree, index), guardOf(wanted)])
    if (!seeded.ok) return seeded
    if (!guard.ok) return guard
    return explainBlocked(await writeFrom(wanted, { index, small, guard: guard.value.args }), guard.value)
  } catch (error) {
    return ioFailure(index, "keeping", error)
  } finally {
    for (const file of [index, `${index}.lock`, small, `${small}.lock`]) await rm(file, { force: true })
  }
}

function guardOf({ git, worktree, guard }: TreeRequest): GitResult<ProgramGuard> {
  if (guard === undefined) return guardPrograms(git, worktree)
  return "args" in guard ? Promise.resolve(ok(guard)) : guard
}

interface Place {
  /** What stands for the worktree's index. */
  readonly index: string
  /** Where an index of only what changed is made. */
  readonly small: string
  readonly guard: readonly string[]
}

async function writeFrom(wanted: TreeRequest, place: Place): GitResult<WorkingTree> {
  const looked = await look(wanted, place)
  if (!looked.ok) return looked
  const { unmerged, changed, staged, head } = looked.value
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
  const paths = [...[...changed.keys()].filter((path) => !excluded.has(path)), ...files]
  const { git, worktree } = wanted
  const [stored, kept, opened, known] = await Promise.all([
    storeFiles(wanted, place, changed, paths),
    asInBase(wanted, excluded),
    openTree(git, worktree, head, [...staged.keys(), ...paths, ...excluded, ...hostConfigPaths]),
    wanted.known,
  ])
  if (!stored.ok) return stored
  if (!kept.ok) return kept
  if (!opened.ok) return opened
  const edits = new Map([...staged, ...stored.value, ...kept.value])
  const tree = await editTree(git, worktree, opened.value, edits, known?.ok ? known.value : undefined)
  return tree.ok ? ok({ tree: tree.value, nested }) : tree
}

interface Looked {
  /** The commit that the index was compared with; an empty tree where there is none. */
  readonly head: string
  readonly unmerged: readonly string[]
  /** What differs on disk from the index, as the index has it. */
  readonly changed: ReadonlyMap<string, TreeEntry | undefined>
  /** What differs in the index from the commit, as the index has it. */
  readonly staged: TreeEdits
  /** A repository inside the worktree ends in a slash. */
  readonly untracked: readonly string[]
}

async function look({ git, worktree }: TreeRequest, { index, guard }: Place): GitResult<Looked> {
  const status = await readStatusAndHead(git, worktree, { indexFile: index, renames: false, guard })
  if (!status.ok) return status
  const head = status.value.head === undefined ? await emptyTree(git, worktree) : ok(status.value.head)
  if (!head.ok) return head
  const unmerged: string[] = []
  const untracked: string[] = []
  const changed = new Map<string, TreeEntry | undefined>()
  const staged = new Map<string, TreeEntry | undefined>()
  for (const { path, kind, repository, indexed, ...entry } of status.value.entries) {
    if (kind === "unmerged") unmerged.push(path)
    else if (kind === "untracked") untracked.push(repository ? `${path}/` : path)
    if (kind !== "changed") continue
    if (entry.staged) staged.set(path, indexed)
    if (entry.unstaged) changed.set(path, indexed)
  }
  return ok({ head: head.value, unmerged, changed, staged, untracked })
}

/** A tree with nothing in it, by the repository's own kind of hash. */
async function emptyTree(git: Git, cwd: string): GitResult<string> {
  const made = await git.run(["hash-object", "-t", "tree", "--stdin"], { cwd })
  return made.ok ? ok(made.value.stdout.trim()) : made
}

/**
 * Stores files as they lie on disk, by git's own rules for what it adds: through an index that holds nothing else, with
 * what the worktree's index says of them. A file that is gone comes back as `undefined`.
 */
async function storeFiles(
  { git, worktree }: TreeRequest,
  { small, guard }: Place,
  known: ReadonlyMap<string, TreeEntry | undefined>,
  paths: readonly string[],
): GitResult<TreeEdits> {
  const edits = new Map<string, TreeEntry | undefined>(paths.map((path) => [path, undefined]))
  if (paths.length === 0) return ok(edits)
  const run = (args: readonly string[], stdin: Buffer) =>
    git.run([...guard, ...args], { cwd: worktree, env: { GIT_INDEX_FILE: small }, stdin, timeoutMs: 300_000 })
  const seeds = paths.flatMap((path) => {
    const entry = known.get(path)
    return entry ? [`${entry.mode} ${entry.object}\t${path}`] : []
  })
  if (seeds.length > 0) {
    const seeded = await run(["update-index", "-z", "--index-info"], joinNul(seeds))
    if (!seeded.ok) return seeded
  }
  const added = await run(["update-index", "--add", "--remove", "--replace", "-z", "--stdin"], joinNul(paths))
  if (!added.ok) return added
  const listed = await run(["ls-files", "--stage", "-z"], Buffer.alloc(0))
  if (!listed.ok) return listed
  for (const line of splitNul(listed.value.bytes)) {
    const tab = line.indexOf("\t")
    const [mode, object] = line.slice(0, tab).split(" ") as [string, string]
    edits.set(line.slice(tab + 1), { mode, object })
  }
  return ok(edits)
}

/** Excluded files, and config files that only the host touched, stand in the tree as they stand in the base. */
async function asInBase(wanted: TreeRequest, excluded: ReadonlySet<string>): GitResult<TreeEdits> {
  const { git, worktree } = wanted
  const configs = new Map<string, string>()
  for (const path of hostConfigPaths) {
    const now = await readFile(join(worktree, path), "utf8").catch(() => undefined)
    if (now?.includes('"$schema"') && !excluded.has(path)) configs.set(path, now)
  }
  const edits = new Map<string, TreeEntry | undefined>()
  if (excluded.size === 0 && configs.size === 0) return ok(edits)
  const base = typeof wanted.base === "object" ? await wanted.base : ok(wanted.base ?? "HEAD")
  if (!base.ok) return base
  const entries = await treeEntries(git, worktree, base.value, [...excluded, ...configs.keys()])
  if (!entries.ok) return entries
  for (const path of excluded) edits.set(path, entries.value.get(path))
  for (const [path, now] of configs) {
    const entry = entries.value.get(path)
    if (!entry) continue
    const before = await git.run(["cat-file", "blob", entry.object], { cwd: worktree })
    if (!before.ok) return before
    if (withHostSchema(before.value.stdout) === now) edits.set(path, entry)
  }
  return ok(edits)
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
  const sized = large.map(({ path, bytes }) => `${path} (${Math.round(bytes / 1_000_000)} MB)`)
  if (sized.length > 0) parts.push(`large untracked files: ${nameSome(sized)}`)
  return fail("untracked_too_much", `${parts.join("; ")}: ignore them, or say that they belong to the task`, {
    count: files.length,
    large,
  })
}

/** Removes private indexes that a process which is gone left behind. */
async function sweep(indexFile: string): Promise<void> {
  const names = await readdir(dirname(indexFile)).catch(() => [])
  for (const name of names) {
    const pid = name.startsWith(`${basename(indexFile)}.`) ? /\.(\d+)-\d+s?(?:\.lock)?$/.exec(name)?.[1] : undefined
    if (pid !== undefined && !isAlive(Number(pid))) await rm(join(dirname(indexFile), name), { force: true })
  }
}
