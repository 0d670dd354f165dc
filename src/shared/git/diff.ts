import { stat } from "node:fs/promises"
import { join } from "node:path"
import { findFile, verifyCitation, type Diff, type DiffFile } from "../../core/diff.ts"
import { ok } from "../../core/result.ts"
import type { Citation, Location } from "../../core/task.ts"
import { splitNul } from "./bytes.ts"
import { DIFF_LIMITS, DiffParser, type DiffLimits } from "./diff-parser.ts"
import type { GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"
import { treeEntries } from "./tree.ts"

export interface DiffOptions {
  readonly limits?: Partial<DiffLimits>
  readonly signal?: AbortSignal
}

/** As a bare repository git reads no attribute file of a checkout or index, so the branch cannot say what is shown. */
export const NO_ATTRIBUTES = ["-c", "core.bare=true", "-c", "core.attributesFile=/dev/null"]

/** What every reading of a diff asks for, whatever the person's settings are. */
export const DIFF_OPTIONS = [
  "--full-index",
  "--no-color",
  "--no-ext-diff",
  "--no-textconv",
  "--no-relative",
  "--diff-algorithm=myers",
  "--indent-heuristic",
  "--find-renames=50%",
  "--find-copies=50%",
  "-l1000",
  "--ignore-submodules=none",
  "-O/dev/null",
]
const PATCH_OPTIONS = [
  "--src-prefix=a/",
  "--dst-prefix=b/",
  "--unified=3",
  "--inter-hunk-context=0",
  "--submodule=short",
]

/** Everything that differs between two commits, as one model. An unreadable answer is an error, never "no changes". */
export async function diffCommits(
  repo: Repository,
  from: string,
  to: string,
  options: DiffOptions = {},
): GitResult<Diff> {
  const limits = { ...DIFF_LIMITS, ...options.limits }
  const read = await readPatch(repo, from, to, limits, options.signal ? { signal: options.signal } : {})
  if (!read.ok) return read
  const uncovered = await uncover(repo, from, to, limits, read.value)
  if (!uncovered.ok) return uncovered
  const files = await labelMoved(repo, from, to, uncovered.value)
  if (!files.ok) return files
  return ok({
    from,
    to,
    files: files.value,
    insertions: sum(files.value, (file) => file.insertions),
    deletions: sum(files.value, (file) => file.deletions),
  })
}

/** The changes between two commits with their lines; `paths`: of these files only. */
export async function readPatch(
  repo: Repository,
  from: string,
  to: string,
  limits: DiffLimits,
  options: { readonly text?: true; readonly paths?: readonly string[]; readonly signal?: AbortSignal } = {},
): GitResult<readonly DiffFile[]> {
  const parser = new DiffParser(limits)
  const only = options.paths ? ["--", ...options.paths] : []
  const command = [
    "diff-tree",
    "-r",
    "-z",
    "--raw",
    "--patch",
    ...DIFF_OPTIONS,
    ...PATCH_OPTIONS,
    ...(options.text ? ["--text"] : []),
  ]
  const answer = await repo.git.run([...NO_ATTRIBUTES, ...command, from, to, ...only], {
    cwd: repo.commonDir,
    env: { GIT_ATTR_NOSYSTEM: "1", GIT_LITERAL_PATHSPECS: "1" },
    onStdout: (chunk) => parser.push(chunk),
    maxBytes: 4 * 1024 * 1024 * 1024,
    timeoutMs: 300_000,
    ...(options.signal ? { signal: options.signal } : {}),
  })
  return answer.ok ? parser.end() : answer
}

/**
 * The attribute files of the shared git folder are still read. Where one is there, what git calls binary is read again
 * as text, and only what holds a NUL stays binary.
 */
async function uncover(
  repo: Repository,
  from: string,
  to: string,
  limits: DiffLimits,
  files: readonly DiffFile[],
): GitResult<readonly DiffFile[]> {
  if (!files.some((file) => file.nature === "binary")) return ok(files)
  const places = [join(repo.commonDir, "info", "attributes"), join(repo.commonDir, ".gitattributes")]
  const found = await Promise.all(places.map((place) => stat(place).catch(() => undefined)))
  if (found.every((one) => one === undefined)) return ok(files)
  const again = await readPatch(repo, from, to, limits, { text: true })
  if (!again.ok) return again
  const shown = new Map(again.value.map((file) => [file.path, file]))
  return ok(files.map((file) => (file.nature === "binary" ? (shown.get(file.path) ?? file) : file)))
}

/** A file that only moved has no patch that could say whether it is binary. */
async function labelMoved(
  repo: Repository,
  from: string,
  to: string,
  files: readonly DiffFile[],
): GitResult<readonly DiffFile[]> {
  const moved = files.filter(
    (file) => file.oldPath !== undefined && file.nature === "text" && file.oldObject === file.newObject,
  )
  const binary = new Set<string>()
  for (let i = 0; i < moved.length; i += 500) {
    const paths = moved.slice(i, i + 500).map((file) => file.path)
    const args = [
      ...NO_ATTRIBUTES,
      "diff-tree",
      "-r",
      "-z",
      "--numstat",
      "--no-renames",
      "-O/dev/null",
      from,
      to,
      "--",
      ...paths,
    ]
    const counted = await repo.git.run(args, { cwd: repo.commonDir, env: { GIT_ATTR_NOSYSTEM: "1" } })
    if (!counted.ok) return counted
    for (const field of splitNul(counted.value.bytes)) if (field.startsWith("-\t-\t")) binary.add(field.slice(4))
  }
  if (binary.size === 0) return ok(files)
  return ok(files.map((file) => (binary.has(file.path) ? asBinary(file) : file)))
}

function asBinary(file: DiffFile): DiffFile {
  const { insertions: _, deletions: __, ...rest } = file
  return { ...rest, nature: "binary" }
}

/** Judges cited places against a diff; asks git only about what the hunks do not settle. */
export async function verifyLocations(
  repo: Repository,
  diff: Diff,
  locations: readonly (Location | undefined)[],
): GitResult<readonly Citation[]> {
  const first = locations.map((location) => verifyCitation(diff, location))
  const open = new Map<string, string>()
  for (const [i, location] of locations.entries()) {
    if (location === undefined || !["no_file", "unchanged_line"].includes(first[i]!)) continue
    const path = findFile(diff, location.path)?.path ?? location.path.replace(/^\.\//, "")
    if (staysInside(path)) open.set(location.path, path)
  }
  if (open.size === 0) return ok(first)
  const lines = await lineCounts(repo, diff.to, [...open.values()])
  if (!lines.ok) return lines
  return ok(
    locations.map((location, i) => {
      const path = location === undefined ? undefined : open.get(location.path)
      if (path === undefined) return first[i]!
      return verifyCitation(diff, location, { lines: lines.value.get(path), looked: true })
    }),
  )
}

/** How long these files are in a commit; what is not a plain file there (a link, a folder, nothing) is absent. */
async function lineCounts(
  repo: Repository,
  commit: string,
  paths: readonly string[],
): GitResult<ReadonlyMap<string, number>> {
  const entries = await treeEntries(repo.git, repo.commonDir, commit, [...new Set(paths)])
  if (!entries.ok) return entries
  const lines = new Map<string, number>()
  for (const [path, entry] of entries.value) {
    if (!entry.mode.startsWith("100")) continue
    const counted = await countLines(repo, entry.object)
    if (!counted.ok) return counted
    lines.set(path, counted.value)
  }
  return ok(lines)
}

async function countLines(repo: Repository, object: string): GitResult<number> {
  let lines = 0
  let last = 10
  const answer = await repo.git.run(["cat-file", "blob", object], {
    cwd: repo.commonDir,
    maxBytes: 1024 * 1024 * 1024,
    onStdout(chunk) {
      for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines++
      last = chunk.at(-1) ?? last
    },
  })
  return answer.ok ? ok(last === 10 ? lines : lines + 1) : answer
}

function staysInside(path: string): boolean {
  return (
    path !== "" &&
    !path.startsWith("/") &&
    !path.includes("\0") &&
    !path.split("/").some((part) => part === ".." || part === "")
  )
}

function sum(files: readonly DiffFile[], of: (file: DiffFile) => number | undefined): number {
  return files.reduce((total, file) => total + (of(file) ?? 0), 0)
}
