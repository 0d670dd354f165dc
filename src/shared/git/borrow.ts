import { existsSync, writeFileSync } from "node:fs"
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { err, ok } from "../../core/result.ts"
import { isAlive, isGroupAlive } from "./alive.ts"
import { operationIn } from "./checkout.ts"
import { explainCommit, withNewline, type CommitHooks } from "./commit.ts"
import { fail, ioFailure, nameSome, type GitFailure, type GitResult } from "./failure.ts"
import { diskTree, hookEdits, keepAside, treeWithEdits, type HookEdits } from "./hook-edits.ts"
import { resolveCommit } from "./history.ts"
import { hostConfigPaths, withHostSchema } from "./host-config.ts"
import { dropLeftLock, onOwnRef } from "./left-locks.ts"
import { copyIndex } from "./private-index.ts"
import type { Repository } from "./repository.ts"
import { treeEntries } from "./tree.ts"
import { gitLink } from "./worktree-state.ts"

/**
 * Where commit hooks exist, the merge commit is made in the task's own worktree, because its dependencies and generated
 * hook folders are there. The worktree is borrowed: its HEAD is detached at the target, its files become the merged
 * tree, git commits with the person's hooks and signing, and then HEAD, index and files are put back. The note in the
 * worktree's git folder is written first and removed last, so whoever looks after a crash can put it back too.
 */
export interface Borrowed {
  readonly worktree: string
  readonly gitDir: string
  /** What the HEAD file said. */
  readonly head: string
  /** The tree that lay on disk and comes back. */
  readonly tree: string
  readonly mergedTree: string
  /** The target's commit. */
  readonly from: string
  readonly pid: number
  /** A branch that is moved together with the files: where it is there already, the rest is finished. */
  readonly forward?: { readonly branch: string; readonly commit: string }
  /** The process group of the commit and its hooks, which outlive a killed host. */
  readonly group?: number
}

export interface BorrowWanted {
  readonly repo: Repository
  readonly worktree: string
  readonly tree: string
  readonly mergedTree: string
  readonly from: string
  readonly parents: readonly string[]
  readonly message: string
  readonly hooks: CommitHooks
  readonly signed: boolean
  readonly timeoutMs: number
}

const NOTE = "kagan-borrowed.json"
const BACKUP = "kagan-index"
/** Of the git that is gone: nobody else works in a borrowed worktree. */
const LOCKS = ["index.lock", "HEAD.lock"]
const OURS = ["MERGE_HEAD", "MERGE_MODE", "MERGE_MSG", "kagan-message"]

/** What this process has borrowed just now: a look that comes meanwhile must not put it back. */
const inUse = new Set<string>()

async function borrowing<T>(gitDir: string, worktree: string, work: () => GitResult<T>): GitResult<T> {
  if (inUse.has(gitDir)) return beingUsed(gitDir, worktree)
  inUse.add(gitDir)
  try {
    return await work()
  } catch (error) {
    return ioFailure(gitDir, "borrowing", error)
  } finally {
    inUse.delete(gitDir)
  }
}

/** Where a git of ours is killed at its work, the locks that it made go with it. */
async function withoutLeftLocks<T>(gitDir: string, work: () => GitResult<T>): GitResult<T> {
  const locks = LOCKS.map((name) => join(gitDir, name))
  const foreign = locks.filter((lock) => existsSync(lock))
  const done = await work()
  if (!done.ok && (done.error.kind === "killed" || done.error.kind === "timed_out")) {
    for (const lock of locks) if (!foreign.includes(lock)) await rm(lock, { force: true })
  }
  return done
}

function beingUsed(gitDir: string, worktree: string) {
  return fail("locked", `a merge is under way in ${worktree}`, { path: join(gitDir, NOTE) })
}

/** Makes the commit with the person's hooks. Whatever happens, the worktree is as it was; a hook's own edits are kept. */
export async function borrowForCommit(wanted: BorrowWanted): GitResult<string> {
  const { repo, worktree } = wanted
  const gitDir = await gitLink(worktree)
  if (gitDir === undefined) {
    return fail("folder_missing", `the folder ${worktree} is missing: restore it, the commit hooks run there`, {
      path: worktree,
    })
  }
  const begun = await operationIn(gitDir)
  if (begun) {
    return fail("under_way", `a ${begun.operation} is under way in ${worktree}: finish or abort it first`, {
      operation: begun.operation,
      checkout: worktree,
    })
  }
  return borrowing(gitDir, worktree, async () => {
    const head = await readFile(join(gitDir, "HEAD"), "utf8")
    const { tree, mergedTree, from } = wanted
    const borrowed: Borrowed = { worktree, gitDir, head, tree, mergedTree, from, pid: process.pid }
    await copyIndex(join(gitDir, "index"), join(gitDir, BACKUP))
    await writeFile(join(gitDir, NOTE), JSON.stringify(borrowed), { flush: true })
    const made = await withoutLeftLocks(gitDir, () => commitThere(wanted, borrowed))
    const edits = await hookEdits(repo, borrowed)
    const back = await giveBack(repo, borrowed, edits.ok ? edits.value : undefined)
    if (!back.ok) return back
    if (!edits.ok) return edits
    if (edits.value === undefined) return made.ok ? made : err(refusal(wanted, made.error))
    const { files } = edits.value
    const where = back.value.applied
      ? "its edits are in the task's worktree: review again"
      : "its edits were kept aside"
    return fail(
      "hook_changed_files",
      `a commit hook changed ${nameSome(files)}; nothing was merged, and ${where}`,
      { files, applied: back.value.applied },
      made.ok ? undefined : made.error.stderr,
    )
  })
}

/** Puts back a worktree that a process which is gone had borrowed; one that is in use is left alone and named. */
export async function returnBorrowed(repo: Repository, worktree: string): GitResult<void> {
  const gitDir = await gitLink(worktree)
  if (gitDir === undefined) return ok()
  if (inUse.has(gitDir)) return beingUsed(gitDir, worktree)
  const note = join(gitDir, NOTE)
  const text = await readFile(note, "utf8").catch((error: NodeJS.ErrnoException) => error)
  if (text instanceof Error) return text.code === "ENOENT" ? ok() : ioFailure(note, "reading", text)
  const borrowed = decode(text)
  if (borrowed === undefined) {
    // Cut off while it was written, which is before anything of the worktree was touched.
    await rm(note, { force: true })
    return ok()
  }
  const busy =
    (borrowed.pid !== process.pid && isAlive(borrowed.pid)) ||
    (borrowed.group !== undefined && isGroupAlive(borrowed.group))
  if (busy) return beingUsed(gitDir, worktree)
  const back = await giveBack(repo, borrowed)
  return back.ok ? ok() : back
}

async function commitThere(wanted: BorrowWanted, borrowed: Borrowed): GitResult<string> {
  const { git } = wanted.repo
  const { worktree: cwd, gitDir, tree, mergedTree, from } = borrowed
  const detached = await onDisk(wanted.repo, cwd, tree, mergedTree, from)
  if (!detached.ok) return detached
  const onStart = (group: number) => writeFileSync(join(gitDir, NOTE), JSON.stringify({ ...borrowed, group }))
  const message = join(gitDir, "kagan-message")
  await writeFile(message, withNewline(wanted.message))
  if (wanted.parents.length > 1) {
    // `git merge` runs it, and the `git commit` that ends a merge does not.
    const checked = await git.run(["hook", "run", "--ignore-missing", "pre-merge-commit"], {
      cwd,
      asPerson: true,
      timeoutMs: wanted.timeoutMs,
      onStart,
    })
    if (!checked.ok) return checked
    await writeFile(join(gitDir, "MERGE_HEAD"), `${wanted.parents.slice(1).join("\n")}\n`)
    await writeFile(join(gitDir, "MERGE_MODE"), "no-ff")
  }
  const committed = await git.run(["commit", "--quiet", "--cleanup=verbatim", "--no-status", "-F", message], {
    cwd,
    asPerson: true,
    timeoutMs: wanted.timeoutMs,
    onStart,
  })
  if (!committed.ok) return committed
  const made = await git.run(["rev-parse", "--verify", "HEAD^{commit}"], { cwd })
  return made.ok ? ok(made.value.stdout.trim()) : made
}

/** Moves index and files from the tree that lies there to another one; refuses where something else lies there. */
async function onDisk(repo: Repository, cwd: string, tree: string, next: string, head?: string): GitResult<void> {
  const undone = await withoutHostSchema(repo, cwd, tree, next)
  if (!undone.ok) return undone
  const detach = head === undefined ? [] : [["update-ref", "--no-deref", "-m", "kagan: merge commit", "HEAD", head]]
  for (const args of [
    ["read-tree", "--reset", tree],
    ["update-index", "-q", "--refresh"],
    ...detach,
    ["read-tree", "-m", "-u", tree, next],
  ]) {
    // A refresh answers 1 when a file differs; whether that matters is for the last step to say.
    const done = await repo.git.run(args, {
      cwd,
      okCodes: args[0] === "update-index" ? [0, 1] : [0],
      timeoutMs: 300_000,
    })
    if (!done.ok) return done
  }
  return ok()
}

/** The host's `$schema` line is no edit, and must not keep a config file from being merged. */
async function withoutHostSchema(repo: Repository, cwd: string, tree: string, next: string): GitResult<void> {
  const [now, then] = [
    await treeEntries(repo.git, cwd, tree, hostConfigPaths),
    await treeEntries(repo.git, cwd, next, hostConfigPaths),
  ]
  if (!now.ok) return now
  if (!then.ok) return then
  for (const [path, entry] of now.value) {
    if (then.value.get(path)?.object === entry.object) continue
    const blob = await repo.git.run(["cat-file", "blob", entry.object], { cwd })
    if (!blob.ok) return blob
    const there = await readFile(join(cwd, path), "utf8").catch(() => undefined)
    if (there !== undefined && there === withHostSchema(blob.value.stdout))
      await writeFile(join(cwd, path), blob.value.bytes)
  }
  return ok()
}

/** Safe to repeat, and after a crash at any point: what is neither the task's nor the merge's is kept aside first. */
async function giveBack(
  repo: Repository,
  borrowed: Borrowed,
  edits?: HookEdits,
): GitResult<{ readonly applied: boolean }> {
  const { git } = repo
  const { worktree: cwd, gitDir, tree, mergedTree, head } = borrowed
  try {
    for (const name of OURS) await rm(join(gitDir, name), { force: true })
    for (const name of LOCKS) await dropLeftLock(join(gitDir, name), git.clock)
    if (borrowed.forward) {
      const tip = await resolveCommit(repo, borrowed.forward.branch)
      if (tip.ok && tip.value === borrowed.forward.commit) return await settleForward(repo, borrowed)
    }
    const disk = await diskTree(repo, borrowed)
    if (!disk.ok) return disk
    let target = tree
    if (disk.value !== tree) {
      if (disk.value !== mergedTree) {
        const kept = await keepAside(repo, borrowed, disk.value)
        if (!kept.ok) return kept
      }
      if (edits) {
        const carried = await treeWithEdits(repo, mergedTree, tree, edits.tree)
        if (!carried.ok) return carried
        target = carried.value ?? tree
      }
      const moved = await onDisk(repo, cwd, disk.value, target)
      if (!moved.ok) return moved
    }
    const branch = /^ref: (.+?)\n?$/.exec(head)?.[1]
    const pointed = await git.run(
      branch === undefined
        ? ["update-ref", "--no-deref", "-m", "kagan: back from the merge", "HEAD", head.trim()]
        : ["symbolic-ref", "-m", "kagan: back from the merge", "HEAD", branch],
      { cwd },
    )
    if (!pointed.ok) return pointed
    const backup = join(gitDir, BACKUP)
    if ((await stat(backup).catch(() => undefined)) !== undefined) await rename(backup, join(gitDir, "index"))
    await rm(join(gitDir, NOTE), { force: true })
    return ok({ applied: target !== tree })
  } catch (error) {
    return ioFailure(gitDir, "putting back", error)
  }
}

/**
 * Brings a worktree forward: its files to another tree, its branch to a commit whose tree the index then has. All of it
 * or, after a crash, what a look makes of it.
 */
export async function bringForward(
  repo: Repository,
  wanted: Pick<Borrowed, "worktree" | "tree" | "mergedTree" | "from"> & {
    readonly commit: string
    readonly branch: string
  },
): GitResult<void> {
  const { worktree, tree, mergedTree, from, commit, branch } = wanted
  const gitDir = await gitLink(worktree)
  if (gitDir === undefined) return fail("folder_missing", `the folder ${worktree} is missing`, { path: worktree })
  return borrowing(gitDir, worktree, async () => {
    const head = await readFile(join(gitDir, "HEAD"), "utf8")
    const forward = { branch, commit }
    const borrowed: Borrowed = { worktree, gitDir, head, tree, mergedTree, from, pid: process.pid, forward }
    await copyIndex(join(gitDir, "index"), join(gitDir, BACKUP))
    await writeFile(join(gitDir, NOTE), JSON.stringify(borrowed), { flush: true })
    const laid = await withoutLeftLocks(gitDir, () => onDisk(repo, worktree, tree, mergedTree))
    const moved = laid.ok
      ? await onOwnRef(repo, branch, () =>
          repo.git.run(["update-ref", "-m", "kagan: update from base", branch, commit, from], { cwd: worktree }),
        )
      : laid
    const back = await giveBack(repo, borrowed)
    if (!back.ok) return back
    return moved.ok ? ok() : moved
  })
}

async function settleForward(repo: Repository, borrowed: Borrowed): GitResult<{ readonly applied: boolean }> {
  const { worktree: cwd, gitDir, forward } = borrowed
  for (const args of [
    ["read-tree", "--reset", forward!.commit],
    ["update-index", "-q", "--refresh"],
  ]) {
    const done = await repo.git.run(args, { cwd, okCodes: [0, 1] })
    if (!done.ok) return done
  }
  await rm(join(gitDir, BACKUP), { force: true })
  await rm(join(gitDir, NOTE), { force: true })
  return ok({ applied: true })
}

function refusal({ hooks, signed }: BorrowWanted, error: GitFailure): GitFailure {
  const explained = explainCommit(error, signed)
  if (explained !== error || error.kind !== "failed" || !/^git (commit|hook) /.test(error.data.command))
    return explained
  const merging = error.data.command.startsWith("git hook")
  const hook = merging ? "pre-merge-commit" : hooks.names.length === 1 ? hooks.names[0]! : "a commit hook"
  const output = error.stderr ?? ""
  const last = output.trim().split("\n").at(-1)
  return fail("hook_refused", `${hook} refused the merge${last ? `: ${last}` : ""}`, { hook, output }, output).error
}

function decode(text: string): Borrowed | undefined {
  try {
    const value = JSON.parse(text) as Partial<Borrowed> | null
    const texts = [value?.worktree, value?.gitDir, value?.head, value?.tree, value?.mergedTree, value?.from]
    return texts.every((field) => typeof field === "string") && typeof value?.pid === "number"
      ? (value as Borrowed)
      : undefined
  } catch {
    return undefined
  }
}
