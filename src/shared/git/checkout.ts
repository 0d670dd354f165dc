import { lstat, readFile, stat } from "node:fs/promises"
import { join } from "node:path"
import { ok } from "../../core/result.ts"
import { joinNul, pathIn, splitNul } from "./bytes.ts"
import { fail, nameSome, type GitResult, type Operation } from "./failure.ts"
import { changedFiles, lookUp, type ChangedFile } from "./history.ts"
import { explainBlocked, type ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import { readStatus } from "./status.ts"
import { foldersAbove } from "./tree-edit.ts"
import { adminFolder, type WorktreeEntry } from "./worktree-state.ts"

/** More than these and the whole checkout is looked at. */
const MOST_PATHS = 500

/** What a person has begun in a checkout and not finished; `branch` is the one it will move when it ends. */
export interface UnderWay {
  readonly operation: Operation
  readonly branch?: string
}

/** Whether a merge, rebase, bisect or the like is under way in a checkout, by its git folder. */
export async function operationIn(gitDir: string): Promise<UnderWay | undefined> {
  for (const [folder, operation] of [
    ["rebase-merge", "rebase"],
    ["rebase-apply", "rebase"],
  ] as const) {
    if (!(await exists(join(gitDir, folder)))) continue
    const name = await readFile(join(gitDir, folder, "head-name"), "utf8").catch(() => "")
    const am = folder === "rebase-apply" && (await exists(join(gitDir, folder, "applying")))
    return { operation: am ? "am" : operation, ...branchOf(name) }
  }
  if (await exists(join(gitDir, "MERGE_HEAD"))) return { operation: "merge" }
  if (await exists(join(gitDir, "CHERRY_PICK_HEAD"))) return { operation: "cherry-pick" }
  if (await exists(join(gitDir, "REVERT_HEAD"))) return { operation: "revert" }
  if (await exists(join(gitDir, "BISECT_LOG"))) {
    const start = await readFile(join(gitDir, "BISECT_START"), "utf8").catch(() => "")
    return { operation: "bisect", ...branchOf(start.trim() === "" ? "" : `refs/heads/${start.trim()}`) }
  }
  return undefined
}

/**
 * The checkout in which a branch stands, or `undefined`. Refused while an operation is under way there, or elsewhere
 * for that branch.
 */
export async function targetCheckout(
  repo: Repository,
  branch: string,
  entries: readonly WorktreeEntry[],
): GitResult<string | undefined> {
  const found: string[] = []
  for (const [i, entry] of entries.entries()) {
    if (entry.bare) continue
    // The main checkout is listed by its git folder's parent, which is not where core.worktree may put it.
    const path = i === 0 ? repo.root : entry.path
    const gitDir = i === 0 ? repo.commonDir : await adminFolder(repo.commonDir, entry.path)
    if (gitDir === undefined || !(await exists(path))) continue
    const begun = await operationIn(gitDir)
    if (begun && (entry.branch === branch || begun.branch === branch)) {
      return fail("under_way", `a ${begun.operation} is under way in ${path}: finish or abort it first`, {
        operation: begun.operation,
        checkout: path,
      })
    }
    if (entry.branch === branch) found.push(path)
  }
  if (found.length > 1) {
    return fail("branch_taken", `${branch} is checked out more than once: ${nameSome(found)}`, {
      branch,
      by: found[0]!,
    })
  }
  return ok(found[0])
}

/**
 * Which of a checkout's own files a fast-forward from one commit to another would overwrite: changed or staged ones,
 * and untracked or ignored ones at the place of a new file.
 */
export async function refuseInTheWay(
  repo: Repository,
  checkout: string,
  from: string,
  to: string,
  guard: ProgramGuard,
): GitResult<void> {
  const changes = await changedFiles(repo, from, to)
  if (!changes.ok) return changes
  const folders = await newFolders(repo, from, changes.value)
  if (!folders.ok) return folders
  const paths = [...changes.value.map((change) => change.path), ...folders.value]
  const only = paths.length <= MOST_PATHS ? { paths } : {}
  const status = await readStatus(repo.git, checkout, { untracked: "no", renames: false, guard: guard.args, ...only })
  if (!status.ok) return explainBlocked(status, guard) as typeof status
  const touches = overlap(changes.value.map((change) => change.path))
  const changed = status.value.filter((entry) => touches(entry.path)).map((entry) => entry.path)

  const lying = new Set<string>()
  const dirty = new Set(status.value.map((entry) => entry.path))
  for (const { path } of changes.value.filter((change) => change.kind === "added" && !dirty.has(change.path))) {
    const found = await lyingAt(repo, checkout, path)
    if (!found.ok) return found
    for (const name of found.value) lying.add(name)
  }
  if (changed.length === 0 && lying.size === 0) return ok()
  const ignored = await ignoredOf(repo, checkout, [...lying])
  if (!ignored.ok) return ignored
  const untracked = [...lying].filter((name) => !ignored.value.has(name))
  return inTheWay(checkout, { changed, untracked, ignored: [...ignored.value] })
}

/** The folders that a change makes: a file of such a name would be in its way. */
async function newFolders(
  repo: Repository,
  from: string,
  changes: readonly ChangedFile[],
): GitResult<readonly string[]> {
  const parents = [
    ...new Set(changes.filter((change) => change.kind === "added").flatMap((change) => foldersAbove(change.path))),
  ]
  if (parents.length === 0) return ok([])
  const found = await lookUp(
    repo,
    parents.map((parent) => `${from}:${parent}`),
  )
  return found.ok ? ok(parents.filter((_, i) => found.value[i] === undefined)) : found
}

/**
 * Whether a path is one of these, lies below one, or is a folder above one: git drops a staged file without a word when
 * a merge brings a file of its folder's name.
 */
function overlap(paths: readonly string[]): (path: string) => boolean {
  const exact = new Set(paths)
  const above = new Set(paths.flatMap(foldersAbove))
  return (path) => exact.has(path) || above.has(path) || foldersAbove(path).some((parent) => exact.has(parent))
}

export function inTheWay(
  checkout: string,
  files: {
    readonly changed: readonly string[]
    readonly untracked: readonly string[]
    readonly ignored: readonly string[]
  },
) {
  const parts: string[] = []
  if (files.changed.length > 0) parts.push(`uncommitted changes in ${nameSome(files.changed)}`)
  if (files.untracked.length > 0) parts.push(`untracked ${nameSome(files.untracked)}`)
  if (files.ignored.length > 0) parts.push(`ignored ${nameSome(files.ignored)}`)
  const what = parts.length === 0 ? "files" : parts.join("; ")
  return fail("in_the_way", `in the way in ${checkout}: ${what}. Commit, stash or move them, then merge again`, {
    checkout,
    ...files,
  })
}

/** What lies where a new file has to go: the file itself, what fills a folder of its name, or a file above it. */
async function lyingAt(repo: Repository, checkout: string, path: string): GitResult<readonly string[]> {
  const parts = path.split("/")
  for (let i = 1; i < parts.length; i++) {
    const parent = parts.slice(0, i).join("/")
    const above = await lstat(pathIn(checkout, parent)).catch(() => undefined)
    if (above === undefined) return ok([])
    if (above.isDirectory()) continue
    const tracked = await repo.git.run(["ls-files", "-z", "--", parent], { cwd: checkout })
    // A tracked one is removed by the change itself, or was named as changed.
    return tracked.ok ? ok(tracked.value.bytes.length > 0 ? [] : [parent]) : tracked
  }
  const there = await lstat(pathIn(checkout, path)).catch(() => undefined)
  if (there === undefined) return ok([])
  if (!there.isDirectory()) return ok([path])
  const inside = await repo.git.run(["ls-files", "-z", "--others", "--", path], { cwd: checkout })
  return inside.ok ? ok(splitNul(inside.value.bytes)) : inside
}

async function ignoredOf(repo: Repository, checkout: string, paths: readonly string[]): GitResult<ReadonlySet<string>> {
  if (paths.length === 0) return ok(new Set())
  // The command cannot take names literally; behind "./" none is anything but a name.
  const answer = await repo.git.run(["check-ignore", "-z", "--stdin", "--no-index"], {
    cwd: checkout,
    stdin: joinNul(paths.map((path) => `./${path}`)),
    okCodes: [0, 1],
    env: { GIT_LITERAL_PATHSPECS: "0" },
  })
  return answer.ok ? ok(new Set(splitNul(answer.value.bytes).map((path) => path.slice(2)))) : answer
}

function branchOf(ref: string): { branch?: string } {
  const found = /^refs\/heads\/(.+?)\n?$/.exec(ref)?.[1]
  return found === undefined ? {} : { branch: found }
}

async function exists(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined)) !== undefined
}
