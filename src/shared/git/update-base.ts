import { join } from "node:path"
import { ok } from "../../core/result.ts"
import { bringForward, returnBorrowed } from "./borrow.ts"
import { operationIn } from "./checkout.ts"
import { commitTree, KAGAN_IDENTITY } from "./commit.ts"
import { fail, nameSome, type GitResult } from "./failure.ts"
import { resolveBase, resolveCommit, treeOfCommit } from "./history.ts"
import { mergeTrees } from "./merge-tree.ts"
import type { Repository } from "./repository.ts"
import { isOn, readSettings } from "./settings.ts"
import { treeOf } from "./snapshot.ts"
import { gitLink, worktreeState } from "./worktree-state.ts"

export interface UpdateFromBase {
  readonly repo: Repository
  readonly worktree: string
  /** The task's branch, on which the worktree must stand. */
  readonly branch: string
  readonly base: string
}

/** `commit`: the task branch's new tip; absent when it had all of the base already. */
export interface UpdatedFromBase {
  readonly commit?: string
}

/**
 * Merges the base into a task's branch. Uncommitted work stays uncommitted and is merged too; a conflict is named per
 * file and nothing is touched. No turn may be running in the worktree.
 */
export async function updateFromBase(wanted: UpdateFromBase): GitResult<UpdatedFromBase> {
  const { repo, worktree, branch } = wanted
  const returned = await returnBorrowed(repo, worktree)
  if (!returned.ok) return returned
  const standing = await refuseUnlessOn(repo, worktree, branch)
  if (!standing.ok) return standing
  const { head, gitDir } = standing.value
  const base = await resolveBase(repo, wanted.base)
  if (!base.ok) return base
  const has = await repo.git.run(["merge-base", "--is-ancestor", base.value, head], {
    cwd: repo.commonDir,
    okCodes: [0, 1],
  })
  if (!has.ok) return has
  if (has.value.code === 0) return ok({})

  const tree = await treeOf({
    repo,
    worktree,
    indexFile: join(gitDir, "kagan-private"),
    base: wanted.base,
    allowLarge: true,
  })
  if (!tree.ok) return tree
  const committed = await treeOfCommit(repo, head)
  if (!committed.ok) return committed
  const files = await mergedWith(repo, base.value, head, tree.value, wanted.base)
  if (!files.ok) return files
  const index =
    tree.value === committed.value ? files : await mergedWith(repo, base.value, head, committed.value, wanted.base)
  if (!index.ok) return index
  const settings = await readSettings(repo.git, worktree)
  if (!settings.ok) return settings
  const commit = await commitTree({
    git: repo.git,
    cwd: worktree,
    tree: index.value,
    parents: [head, base.value],
    message: `Merge ${wanted.base} into ${branch}`,
    timeoutMs: 60_000,
    signed: isOn(settings.value, "commit.gpgsign"),
  })
  if (!commit.ok) return commit
  const moved = await bringForward(repo, {
    worktree,
    tree: tree.value,
    mergedTree: files.value,
    from: head,
    commit: commit.value,
    branch: `refs/heads/${branch}`,
  })
  return moved.ok ? ok({ commit: commit.value }) : moved
}

async function refuseUnlessOn(
  repo: Repository,
  worktree: string,
  branch: string,
): GitResult<{ head: string; gitDir: string }> {
  const state = await worktreeState(repo, worktree, branch)
  if (!state.ok) return state
  const gitDir = await gitLink(worktree)
  if (state.value.kind === "missing" || gitDir === undefined) {
    return fail("folder_missing", `the folder ${worktree} is missing`, { path: worktree })
  }
  if (state.value.kind !== "ready") {
    const actual = "branch" in state.value ? state.value.branch : undefined
    const text = `${worktree} is no longer on ${branch}`
    return fail("branch_switched", text, { expected: branch, ...(actual === undefined ? {} : { actual }) })
  }
  const begun = await operationIn(gitDir)
  if (begun) {
    const text = `a ${begun.operation} is under way in ${worktree}: finish or abort it first`
    return fail("under_way", text, { operation: begun.operation, checkout: worktree })
  }
  const head = await resolveCommit(repo, `refs/heads/${branch}`)
  return head.ok ? ok({ head: head.value, gitDir }) : head
}

/** What the base and a tree on top of `head` make together. */
async function mergedWith(repo: Repository, base: string, head: string, tree: string, name: string): GitResult<string> {
  const args = ["commit-tree", tree, "-p", head, "-m", "kagan"]
  const made = await repo.git.run(args, { cwd: repo.commonDir, env: KAGAN_IDENTITY })
  if (!made.ok) return made
  const merged = await mergeTrees(repo, made.value.stdout.trim(), base)
  if (!merged.ok) return merged
  const files = merged.value.conflicts
  if (files.length === 0) return ok(merged.value.tree)
  return fail("conflicts", `conflict with ${name} in ${nameSome(files)}`, { files, target: name })
}
