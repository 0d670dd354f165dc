import { lstat, readFile, readdir } from "node:fs/promises"
import { basename, dirname, join, resolve } from "node:path"
import { ok } from "../../core/result.ts"
import { decodePath, splitNul } from "./bytes.ts"
import { ioFailure, type GitResult } from "./failure.ts"
import { resolveCommit } from "./history.ts"
import { readRecord } from "./ownership.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"

export interface WorktreeEntry {
  readonly path: string
  readonly head?: string
  /** Without `refs/heads/`; absent when detached. */
  readonly branch?: string
  readonly bare: boolean
  readonly locked?: string
  readonly prunable?: string
}

/** Every checkout of the repository, the main one first, stale entries included. */
export async function listWorktrees(repo: Pick<Repository, "git" | "commonDir">): GitResult<readonly WorktreeEntry[]> {
  const answer = await whileLocked(repo.git.clock, () =>
    repo.git.run(["worktree", "list", "--porcelain", "-z"], { cwd: repo.commonDir }),
  )
  if (!answer.ok) return answer
  const entries: WorktreeEntry[] = []
  let fields: Record<string, string> = {}
  for (const field of [...splitNul(answer.value.bytes), ""]) {
    if (field !== "") {
      const space = field.indexOf(" ")
      fields[space === -1 ? field : field.slice(0, space)] = space === -1 ? "" : field.slice(space + 1)
      continue
    }
    if (fields.worktree === undefined) continue
    entries.push({
      path: fields.worktree,
      ...(fields.HEAD === undefined || /^0+$/.test(fields.HEAD) ? {} : { head: fields.HEAD }),
      ...(fields.branch === undefined ? {} : { branch: fields.branch.replace(/^refs\/heads\//, "") }),
      bare: fields.bare !== undefined,
      ...(fields.locked === undefined ? {} : { locked: fields.locked }),
      ...(fields.prunable === undefined ? {} : { prunable: fields.prunable }),
    })
    fields = {}
  }
  return ok(entries)
}

/** Where a linked worktree's `.git` file points. */
export async function gitLink(path: string): Promise<string | undefined> {
  const text = await readFile(join(path, ".git")).catch(() => undefined)
  const found = text === undefined ? undefined : /^gitdir: (.*?)\n?$/s.exec(decodePath(text))?.[1]
  return found === undefined ? undefined : resolve(path, found)
}

/** Git's own folder for the worktree at `path`, found by what it says and not by its name. */
export async function adminFolder(commonDir: string, path: string): Promise<string | undefined> {
  const names = await readdir(join(commonDir, "worktrees")).catch(() => [])
  for (const name of names) {
    const folder = join(commonDir, "worktrees", name)
    const text = await readFile(join(folder, "gitdir")).catch(() => undefined)
    if (text !== undefined && resolve(folder, decodePath(text).replace(/\n$/, "")) === join(path, ".git")) return folder
  }
  return undefined
}

export type WorktreeState =
  /** On its branch (or on any, when none was asked for). */
  | { readonly kind: "ready"; readonly head: string; readonly branch?: string }
  | { readonly kind: "missing"; readonly locked?: string; readonly registered: boolean }
  /** Something is there, but not this worktree. */
  | { readonly kind: "foreign" }
  /** The folder is ours and git's link to it is broken: `git worktree repair` mends it. */
  | { readonly kind: "broken"; readonly command: string }
  | { readonly kind: "detached"; readonly head: string }
  | { readonly kind: "switched"; readonly branch: string; readonly head?: string }
  /** The branch was renamed: no branch of the old name is left. */
  | { readonly kind: "renamed"; readonly branch: string; readonly head: string }
  | { readonly kind: "branch_gone"; readonly branch: string; readonly last?: string }

/** What is true of the worktree at `path`, whatever people and agents did to it by hand. */
export async function worktreeState(
  repo: Repository,
  path: string,
  branch?: string,
  known?: readonly WorktreeEntry[],
): GitResult<WorktreeState> {
  const entries = known ? ok(known) : await listWorktrees(repo)
  if (!entries.ok) return entries
  const entry = entries.value.find((candidate) => candidate.path === path)
  const there = await lstat(path).catch((error: NodeJS.ErrnoException) => error)
  if (there instanceof Error && there.code !== "ENOENT" && there.code !== "ENOTDIR")
    return ioFailure(path, "reading", there)
  if (there instanceof Error) {
    const locked = entry?.locked
    return ok({ kind: "missing", registered: entry !== undefined, ...(locked === undefined ? {} : { locked }) })
  }
  const link = there.isDirectory() ? await gitLink(path) : undefined
  if (link === undefined) return ok({ kind: "foreign" })
  if (entry === undefined || dirname(dirname(link)) !== repo.commonDir) {
    const ours = await readRecord(repo.commonDir, path)
    if (!ours.ok) return ours
    const isWorktree = ours.value !== undefined || basename(dirname(link)) === "worktrees"
    return ok(isWorktree ? { kind: "broken", command: `git worktree repair ${path}` } : { kind: "foreign" })
  }
  if (entry.branch === undefined) return ok({ kind: "detached", head: entry.head ?? "" })
  if (entry.head === undefined) {
    const last = await lastCommit(link)
    return ok({ kind: "branch_gone", branch: entry.branch, ...(last === undefined ? {} : { last }) })
  }
  if (branch === undefined || branch === entry.branch)
    return ok({ kind: "ready", head: entry.head, branch: entry.branch })
  const old = await resolveCommit(repo, `refs/heads/${branch}`)
  if (!old.ok && old.error.kind !== "branch_missing") return old
  return ok({ kind: old.ok ? "switched" : "renamed", branch: entry.branch, head: entry.head })
}

/** The newest commit in a worktree's own log of its HEAD. */
async function lastCommit(gitDir: string): Promise<string | undefined> {
  const log = await readFile(join(gitDir, "logs", "HEAD"), "utf8").catch(() => "")
  const ids = log
    .split("\n")
    .map((line) => line.split(" ")[1])
    .filter((id) => id !== undefined && !/^0+$/.test(id))
  return ids.at(-1)
}
