import { ok, type Result } from "../../core/result.ts"
import { encodePath, splitNul } from "./bytes.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"

/**
 * The ids that names have (`main^{commit}`, `main:a.txt`); `undefined` for a name of nothing. One call for all. `HEAD` is
 * that of `cwd`.
 */
export async function lookUp(
  repo: Repository,
  names: readonly string[],
  cwd = repo.commonDir,
): GitResult<readonly (string | undefined)[]> {
  // A line break would begin another name; no ref has one.
  const lines = names.map((name) => (/[\n\0]/.test(name) ? "" : name))
  const answer = await repo.git.run(["cat-file", "--batch-check=%(objectname)"], {
    cwd,
    stdin: encodePath(`${lines.join("\n")}\n`),
  })
  if (!answer.ok) return answer
  const ids = answer.value.stdout.split("\n").slice(0, -1)
  if (ids.length !== names.length)
    return fail("unreadable", "git cat-file answered something unknown", { what: "cat-file" })
  return ok(ids.map((id) => (/^[0-9a-f]{40,64}$/.test(id) ? id : undefined)))
}

/** The commit that a branch, tag or id names. */
export async function resolveCommit(repo: Repository, name: string): GitResult<string> {
  const found = await lookUp(repo, [`${name}^{commit}`])
  if (!found.ok) return found
  if (found.value[0] !== undefined) return ok(found.value[0])
  return fail("branch_missing", `there is no branch or commit ${name.replace(/^refs\/heads\//, "")}`, { branch: name })
}

/** The commit that a base names: a local branch before a remote-tracking one before anything else. */
export async function resolveBase(repo: Repository, base: string): GitResult<string> {
  const found = await lookUp(repo, namesOfBase(base))
  return found.ok ? baseAmong(repo, base, found.value) : found
}

/** What to look up for a base, and what it is by the answers. */
export function namesOfBase(base: string): string[] {
  const tried = base.startsWith("refs/") ? [base] : [`refs/heads/${base}`, `refs/remotes/${base}`, base]
  return tried.map((name) => `${name}^{commit}`)
}

export function baseAmong(
  repo: Repository,
  base: string,
  found: readonly (string | undefined)[],
): Result<string, GitFailure> {
  const commit = found.find((id) => id !== undefined)
  if (commit !== undefined) return ok(commit)
  if (!repo.hasCommit) {
    return fail("no_commit", `${repo.root} has no commit yet: a task needs one to start from`, { path: repo.root })
  }
  return fail("base_gone", `there is no branch ${base}`, { branch: base })
}

export interface ChangedFile {
  readonly path: string
  readonly kind: "added" | "deleted" | "modified" | "type"
}

/** The files that differ between two trees or commits, without looking for renames. */
export async function changedFiles(repo: Repository, from: string, to: string): GitResult<readonly ChangedFile[]> {
  const answer = await repo.git.run(
    ["diff-tree", "-r", "-z", "--name-status", "--no-renames", "--ignore-submodules=none", "-O/dev/null", from, to],
    { cwd: repo.commonDir },
  )
  if (!answer.ok) return answer
  const fields = splitNul(answer.value.bytes)
  const kinds = { A: "added", D: "deleted", M: "modified", T: "type" } as const
  const changed: ChangedFile[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const kind = kinds[fields[i] as keyof typeof kinds]
    if (kind === undefined)
      return fail("unreadable", `git named an unknown change "${fields[i]}"`, { what: "diff-tree" })
    changed.push({ path: fields[i + 1]!, kind })
  }
  return ok(changed)
}

/** Where two histories part. A shallow clone that cannot know is a failure, never an empty answer. */
export async function mergeBase(repo: Repository, one: string, other: string): GitResult<string> {
  if (one === other) return ok(one)
  const answer = await repo.git.run(["merge-base", one, other], { cwd: repo.commonDir, okCodes: [0, 1] })
  if (!answer.ok) return answer
  if (answer.value.code === 0) return ok(answer.value.stdout.trim().split("\n")[0]!)
  const shallow = await repo.git.run(["rev-parse", "--is-shallow-repository"], { cwd: repo.commonDir })
  if (!shallow.ok) return shallow
  return shallow.value.stdout.trim() === "true"
    ? fail("no_merge_base", "this clone is shallow and lacks the common history: git fetch --unshallow", {
        shallow: true,
      })
    : fail("no_merge_base", "the base and the task have no common history", { shallow: false })
}

/** The tree of a commit. */
export async function treeOfCommit(repo: Repository, commit: string): GitResult<string> {
  const found = await lookUp(repo, [`${commit}^{tree}`])
  if (!found.ok) return found
  return found.value[0] === undefined ? noCommit(commit) : ok(found.value[0])
}

export function noCommit(commit: string) {
  return fail("branch_missing", `there is no commit ${commit}`, { branch: commit })
}
