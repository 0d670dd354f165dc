import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { fail, type GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"

/** A file as a commit or an index has it. */
export interface TreeEntry {
  readonly mode: string
  readonly object: string
}

export interface StatusEntry {
  readonly path: string
  /** The old name of a staged rename or copy. */
  readonly from?: string
  readonly kind: "changed" | "unmerged" | "untracked" | "ignored"
  readonly staged: boolean
  /** The checkout differs from the index. */
  readonly unstaged: boolean
  /** It is a folder with its own repository inside (a submodule, or an untracked one). */
  readonly repository: boolean
  /** What the index has there; absent for what it does not have, and for what is not resolved. */
  readonly indexed?: TreeEntry
}

export interface StatusOptions {
  readonly indexFile?: string
  /** Default "all". */
  readonly untracked?: "all" | "no"
  /** Default true; off, a rename is a deletion and an addition. */
  readonly renames?: boolean
  readonly ignored?: boolean
  /** Changes inside a submodule that its own commit does not hold: default false. */
  readonly insideSubmodules?: boolean
  /** Only these files, and what lies below them. */
  readonly paths?: readonly string[]
  /** Arguments of a program guard. */
  readonly guard?: readonly string[]
}

export interface Status {
  readonly entries: readonly StatusEntry[]
  /** The commit that the index was compared with; absent where there is none. */
  readonly head?: string
}

/** `git status` of a checkout as data: what a person would lose or merge. Writes nothing, not even the index. */
export async function readStatus(
  git: Git,
  checkout: string,
  options: StatusOptions = {},
): GitResult<readonly StatusEntry[]> {
  const status = await readStatusAndHead(git, checkout, options)
  return status.ok ? ok(status.value.entries) : status
}

/** The same with the commit that it was measured against. */
export async function readStatusAndHead(git: Git, checkout: string, options: StatusOptions): GitResult<Status> {
  const answer = await git.run(
    [
      ...(options.guard ?? []),
      "status",
      "--porcelain=v2",
      "--branch",
      "-z",
      `--untracked-files=${options.untracked ?? "all"}`,
      `--ignore-submodules=${options.insideSubmodules ? "none" : "dirty"}`,
      options.renames === false ? "--no-renames" : "--find-renames",
      ...(options.ignored ? ["--ignored=matching"] : []),
      ...(options.paths ? ["--", ...options.paths] : []),
    ],
    {
      cwd: checkout,
      timeoutMs: 300_000,
      ...(options.indexFile === undefined ? {} : { env: { GIT_INDEX_FILE: options.indexFile } }),
    },
  )
  if (!answer.ok) return answer
  const status = parseStatus(answer.value.bytes)
  return status === undefined
    ? fail("unreadable", "git status answered something unknown", { what: "status" })
    : ok(status)
}

/** Reads `git status --porcelain=v2 -z`; `undefined` when it is anything else. */
export function parseStatus(bytes: Uint8Array): Status | undefined {
  const fields = splitNul(bytes)
  let head: string | undefined
  const entries: StatusEntry[] = []
  for (let i = 0; i < fields.length; i++) {
    const field = fields[i]!
    const mark = field[0]
    if (mark === "#") {
      head ??= /^# branch\.oid ([0-9a-f]{40,64})$/.exec(field)?.[1]
      continue
    }
    if (mark === "?" || mark === "!") {
      const path = field.slice(2)
      entries.push({
        path: path.replace(/\/$/, ""),
        kind: mark === "?" ? "untracked" : "ignored",
        staged: false,
        unstaged: true,
        // Only with every file listed: then a folder that is still shown as one is a repository of its own.
        repository: mark === "?" && path.endsWith("/"),
      })
      continue
    }
    const before = mark === "1" ? 8 : mark === "2" ? 9 : mark === "u" ? 10 : -1
    const parts = cutFields(field, before)
    if (parts === undefined) return undefined
    const [, xy, submodule, , mode, , , object] = parts as [string, string, string, ...string[]]
    const path = parts[before]!
    const from = mark === "2" ? fields[++i] : undefined
    if (mark === "2" && from === undefined) return undefined
    entries.push({
      path,
      ...(from === undefined ? {} : { from }),
      kind: mark === "u" ? "unmerged" : "changed",
      staged: xy[0] !== ".",
      unstaged: xy[1] !== ".",
      repository: submodule.startsWith("S"),
      // An unmerged entry has three, and its fields stand elsewhere.
      ...(mark === "u" || mode === "000000" ? {} : { indexed: { mode: mode!, object: object! } }),
    })
  }
  return { entries, ...(head === undefined ? {} : { head }) }
}

/** The first `count` space-separated fields and the rest, which may hold spaces. */
function cutFields(text: string, count: number): string[] | undefined {
  if (count < 0) return undefined
  const parts: string[] = []
  let at = 0
  for (let i = 0; i < count; i++) {
    const space = text.indexOf(" ", at)
    if (space === -1) return undefined
    parts.push(text.slice(at, space))
    at = space + 1
  }
  return [...parts, text.slice(at)]
}
