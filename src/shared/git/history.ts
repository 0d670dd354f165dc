import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { fail, type GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"

/** The commit that a branch, tag or id names. */
export async function resolveCommit(repo: Repository, name: string): GitResult<string> {
  const answer = await repo.git.run(["rev-parse", "--verify", "--quiet", "--end-of-options", `${name}^{commit}`], {
    cwd: repo.commonDir,
    okCodes: [0, 1],
  })
  if (!answer.ok) {
    if (answer.error.kind === "failed" && answer.error.data.code === 128) return missing(name)
    return answer
  }
  return answer.value.code === 0 ? ok(answer.value.stdout.trim()) : missing(name)
}

function missing(name: string) {
  return fail("branch_missing", `there is no branch or commit ${name.replace(/^refs\/heads\//, "")}`, { branch: name })
}

/** The commit that a base names: a local branch before a remote-tracking one before anything else. */
export async function resolveBase(repo: Repository, base: string): GitResult<string> {
  const tried = base.startsWith("refs/") ? [base] : [`refs/heads/${base}`, `refs/remotes/${base}`, base]
  for (const name of tried) {
    const commit = await resolveCommit(repo, name)
    if (commit.ok || commit.error.kind !== "branch_missing") return commit
  }
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
  const answer = await repo.git.run(["rev-parse", "--verify", "--end-of-options", `${commit}^{tree}`], {
    cwd: repo.commonDir,
  })
  return answer.ok ? ok(answer.value.stdout.trim()) : answer
}
