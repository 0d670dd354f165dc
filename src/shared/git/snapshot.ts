import { err, ok } from "../../core/result.ts"
import { returnBorrowed } from "./borrow.ts"
import { decodePath } from "./bytes.ts"
import { explainCommit, KAGAN_IDENTITY } from "./commit.ts"
import { fail, type GitResult } from "./failure.ts"
import {
  baseAmong,
  changedFiles,
  lookUp,
  mergeBase,
  namesOfBase,
  resolveBase,
  treeOfCommit,
  type ChangedFile,
} from "./history.ts"
import { onOwnRef } from "./left-locks.ts"
import { readRecord } from "./ownership.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"
import { writeWorkingTree, type TreeRequest, type UntrackedLimits } from "./tree.ts"

export interface Snapshot {
  /** A commit whose parent is the worktree's HEAD and whose tree is exactly what lay on disk. */
  readonly commit: string
  readonly tree: string
  readonly ref: string
  /** The worktree's HEAD. */
  readonly head: string
  /** The merge base of the base and the work: where the diff starts. */
  readonly base: string
  /** Commits of the base that the work does not have yet. */
  readonly behind: number
  readonly nested: readonly string[]
}

export interface TakeSnapshot {
  readonly repo: Repository
  readonly worktree: string
  /** The task's number. */
  readonly n: number
  readonly generation: number
  readonly indexFile: string
  /** The base branch, or a commit. */
  readonly base: string
  readonly exclude?: readonly string[]
  readonly limits?: UntrackedLimits
  readonly allowLarge?: boolean
  readonly message?: string
}

/** Under which name a snapshot is kept from git's clean-up. */
export function snapshotRef(n: number, generation: number): string {
  return `refs/kagan/${n}/${generation}`
}

/**
 * Takes the exact tree of a task's worktree as a commit under `refs/kagan/`. Refuses unmerged entries, names nested
 * repositories, and touches neither index nor HEAD nor files. The same work gives the same snapshot again.
 */
export async function takeSnapshot(wanted: TakeSnapshot): GitResult<Snapshot> {
  const { repo, worktree, n, generation } = wanted
  const returned = await returnBorrowed(repo, worktree)
  if (!returned.ok) return returned
  const exclude = await excludeOf(wanted)
  if (!exclude.ok) return exclude
  const ref = snapshotRef(n, generation)
  const places = findPlaces(repo, wanted, ref)
  const [place, tree] = await Promise.all([
    places,
    writeWorkingTree({
      ...treeRequest(wanted, exclude.value),
      base: places.then((found) => (found.ok ? ok(found.value.start) : found)),
    }),
  ])
  if (!place.ok) return place
  if (!tree.ok) return tree
  const { head, start, behind, existing } = place.value
  const commit =
    existing?.tree === tree.value.tree && existing.parent === head
      ? ok(existing.commit)
      : await commitAs(repo, worktree, {
          ref,
          tree: tree.value.tree,
          head,
          message: wanted.message ?? `Kagan: task ${n}, snapshot ${generation}`,
        })
  if (!commit.ok) return commit
  return ok({
    commit: commit.value,
    tree: tree.value.tree,
    ref,
    head,
    base: start,
    behind,
    nested: tree.value.nested,
  })
}

interface Places {
  readonly head: string
  /** Where the work parted from the base. */
  readonly start: string
  /** Commits of the base that the work does not have. */
  readonly behind: number
  /** The snapshot that is kept under this name already. */
  readonly existing?: { readonly commit: string; readonly tree?: string; readonly parent?: string }
}

async function findPlaces(
  repo: Repository,
  wanted: Pick<TakeSnapshot, "worktree" | "base">,
  ref: string,
): GitResult<Places> {
  const { worktree } = wanted
  const names = ["HEAD^{commit}", `${ref}^{commit}`, `${ref}^{tree}`, `${ref}^1`, ...namesOfBase(wanted.base)]
  const found = await lookUp(repo, names, worktree)
  if (!found.ok) return found
  const [head, commit, tree, parent, ...bases] = found.value
  if (head === undefined) return branchGone(repo, worktree)
  const base = baseAmong(repo, wanted.base, bases)
  if (!base.ok) return base
  const start = await mergeBase(repo, base.value, head)
  if (!start.ok) return start
  const behind = start.value === base.value ? ok(0) : await behindOf(repo, head, base.value)
  if (!behind.ok) return behind
  const kept = commit === undefined ? undefined : { commit, ...(tree ? { tree } : {}), ...(parent ? { parent } : {}) }
  return ok({ head, start: start.value, behind: behind.value, ...(kept ? { existing: kept } : {}) })
}

/** The tree that the worktree has now, by the same rules as a snapshot. */
export async function treeOf(wanted: Omit<TakeSnapshot, "n" | "generation" | "message">): GitResult<string> {
  const { repo, worktree } = wanted
  const returned = await returnBorrowed(repo, worktree)
  if (!returned.ok) return returned
  const exclude = await excludeOf(wanted)
  if (!exclude.ok) return exclude
  const head = await resolveHead(repo, worktree)
  if (!head.ok) return head
  const base = await resolveBase(repo, wanted.base)
  const start = base.ok ? await mergeBase(repo, base.value, head.value) : base
  // Only the host's own edits of config files are measured against it; a base that is gone must not hide the work.
  const tree = await writeWorkingTree({
    ...treeRequest(wanted, exclude.value),
    base: start.ok ? start.value : head.value,
  })
  return tree.ok ? ok(tree.value.tree) : tree
}

export interface ChangedSince extends Omit<TakeSnapshot, "n" | "generation" | "message" | "base"> {
  readonly snapshot: string
  /** Not needed: the snapshot says what the task's files were. */
  readonly base?: string
  readonly guard?: TreeRequest["guard"]
  /** The snapshot's tree, when it is looked up already. */
  readonly snapshotTree?: GitResult<string>
}

/** What differs between the worktree and a snapshot; nothing when it still equals it. */
export async function changedSince(wanted: ChangedSince): GitResult<readonly ChangedFile[]> {
  const { repo, worktree, snapshot } = wanted
  const returned = await returnBorrowed(repo, worktree)
  if (!returned.ok) return returned
  const exclude = await excludeOf(wanted)
  if (!exclude.ok) return exclude
  const known = wanted.snapshotTree ?? treeOfCommit(repo, snapshot)
  const request = {
    ...treeRequest(wanted, exclude.value),
    base: snapshot,
    allowLarge: true,
    known,
    ...(wanted.guard ? { guard: wanted.guard } : {}),
  }
  const [tree, before] = await Promise.all([writeWorkingTree(request), known])
  if (!tree.ok) return tree
  if (!before.ok) return before
  return tree.value.tree === before.value ? ok([]) : changedFiles(repo, snapshot, tree.value.tree)
}

/** Forgets a task's snapshots, so that git may clean them up. */
export async function dropSnapshots(repo: Repository, n: number): GitResult<void> {
  const listed = await repo.git.run(
    ["for-each-ref", "--format=delete %(refname)%00%(objectname)%00", `refs/kagan/${n}/`],
    {
      cwd: repo.commonDir,
    },
  )
  if (!listed.ok) return listed
  const commands = listed.value.stdout.replaceAll("\n", "")
  if (commands === "") return ok()
  const done = await whileLocked(repo.git.clock, () =>
    repo.git.run(["update-ref", "-z", "--stdin"], { cwd: repo.commonDir, stdin: commands }),
  )
  return done.ok ? ok() : done
}

function treeRequest(wanted: Omit<TakeSnapshot, "n" | "generation" | "base">, exclude: readonly string[]): TreeRequest {
  return {
    git: wanted.repo.git,
    worktree: wanted.worktree,
    indexFile: wanted.indexFile,
    exclude,
    ...(wanted.limits ? { limits: wanted.limits } : {}),
    ...(wanted.allowLarge ? { allowLarge: true } : {}),
  }
}

/** What the worktree's own record says was brought along is out, whoever asks. */
async function excludeOf(wanted: Pick<TakeSnapshot, "repo" | "worktree" | "exclude">): GitResult<readonly string[]> {
  const record = await readRecord(wanted.repo.commonDir, wanted.worktree)
  if (!record.ok) return record
  return ok([...new Set([...(record.value?.copied ?? []), ...(wanted.exclude ?? [])])])
}

async function resolveHead(repo: Repository, worktree: string): GitResult<string> {
  const found = await lookUp(repo, ["HEAD^{commit}"], worktree)
  if (!found.ok) return found
  return found.value[0] === undefined ? branchGone(repo, worktree) : ok(found.value[0])
}

async function branchGone(repo: Repository, worktree: string) {
  return fail("branch_missing", `the branch of ${worktree} is gone`, { branch: await headBranch(repo, worktree) })
}

async function behindOf(repo: Repository, head: string, base: string): GitResult<number> {
  const counted = await repo.git.run(["rev-list", "--count", `${head}..${base}`], { cwd: repo.commonDir })
  return counted.ok ? ok(Number(counted.value.stdout.trim())) : counted
}

async function headBranch(repo: Repository, worktree: string): Promise<string> {
  const name = await repo.git.run(["symbolic-ref", "--short", "HEAD"], { cwd: worktree })
  return name.ok ? decodePath(name.value.bytes).trim() : ""
}

async function commitAs(
  repo: Repository,
  worktree: string,
  wanted: { readonly ref: string; readonly tree: string; readonly head: string; readonly message: string },
): GitResult<string> {
  const { git } = repo
  const { ref, tree, head } = wanted
  const commitTree = (env?: Record<string, string>) =>
    git.run(["commit-tree", tree, "-p", head, "-F", "-"], {
      cwd: worktree,
      stdin: `${wanted.message}\n`,
      ...(env ? { env } : {}),
    })
  // The person's name where they have set one; a snapshot is not published, so ours does where they have not.
  const theirs = await commitTree()
  const made =
    !theirs.ok && explainCommit(theirs.error, false).kind === "no_identity" ? await commitTree(KAGAN_IDENTITY) : theirs
  if (!made.ok) return made
  const id = made.value.stdout.trim()
  const kept = await onOwnRef(repo, ref, () =>
    git.run(["update-ref", "-m", "kagan: snapshot", ref, id], { cwd: repo.commonDir }),
  )
  return kept.ok ? ok(id) : err(kept.error)
}
