import { writeFileSync } from "node:fs"
import { lstat, mkdtemp, readFile, readdir, readlink, rm, rmdir, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import { isAlive, isGroupAlive } from "./alive.ts"
import { joinNul, pathIn, splitNul } from "./bytes.ts"
import { inTheWay } from "./checkout.ts"
import { fail, ioFailure, nameSome, type GitResult } from "./failure.ts"
import { changedFiles, resolveCommit, type ChangedFile } from "./history.ts"
import { explainBlocked, guardPrograms, type ProgramGuard } from "./programs.ts"
import type { Repository } from "./repository.ts"
import { whileLocked } from "./runner.ts"
import { gitLink } from "./worktree-state.ts"

/** A branch that is being moved, and the checkout that moves along. */
export interface Advance {
  readonly target: string
  readonly from: string
  readonly to: string
  readonly checkout?: string
}

/** What is written into the checkout's git folder while git changes its files, so that a crash can be mended. */
interface Note extends Advance {
  readonly checkout: string
  readonly pid: number
  readonly group?: number
}

const NOTE = "kagan-advancing.json"
/** For moving a branch without files. */
const NO_GUARD: ProgramGuard = { args: [], blocked: [] }

/** Moves a branch from one commit to a later one; where it is checked out, by a fast-forward in that checkout. */
export async function advance(repo: Repository, wanted: Advance, guard: ProgramGuard): GitResult<void> {
  const { target, from, to, checkout } = wanted
  const ref = `refs/heads/${target}`
  if (checkout === undefined) {
    const set = await whileLocked(repo.git.clock, () =>
      repo.git.run(["update-ref", "-m", "kagan: merge", ref, to, from], { cwd: repo.commonDir }),
    )
    if (set.ok) return ok()
    const now = await resolveCommit(repo, ref)
    return now.ok && now.value !== from ? moved(target, from, now.value) : set
  }
  const head = await repo.git.run(["rev-parse", "HEAD", "--symbolic-full-name", "HEAD"], { cwd: checkout })
  if (!head.ok) return head
  const [commit, name] = head.value.stdout.trim().split("\n") as [string, string]
  if (name !== ref) {
    return fail("target_moved", `${checkout} was switched to another branch meanwhile`, { target, expected: from })
  }
  if (commit !== from) return moved(target, from, commit)
  return fastForward(repo, { ...wanted, checkout }, guard)
}

async function fastForward(
  repo: Repository,
  wanted: Advance & { readonly checkout: string },
  guard: ProgramGuard,
): GitResult<void> {
  const { target, to, checkout } = wanted
  const file = join(await gitDirOf(checkout), NOTE)
  const note: Note = { ...wanted, pid: process.pid }
  try {
    await writeFile(file, JSON.stringify(note), { flush: true })
  } catch (error) {
    return ioFailure(file, "writing", error)
  }
  const args = [...guard.args, "merge", "--quiet", "--ff-only", "--no-autostash", "--no-overwrite-ignore", to]
  const merged = await whileLocked(repo.git.clock, () =>
    repo.git.run(args, {
      cwd: checkout,
      asPerson: true,
      timeoutMs: 300_000,
      onStart: (group) => writeFileSync(file, JSON.stringify({ ...note, group })),
    }),
  )
  const after = await resolveCommit(repo, `refs/heads/${target}`)
  // What a post-merge hook says comes too late to matter.
  if (after.ok && after.value === to) {
    await rm(file, { force: true })
    return ok()
  }
  const cut = !merged.ok && ["killed", "timed_out", "output_too_large"].includes(merged.error.kind)
  const mended = cut ? await mend(repo, file, note) : ok()
  if (!cut) await rm(file, { force: true })
  if (!mended.ok) return mended
  if (merged.ok) return fail("target_moved", `${target} moved while it was merged into`, { target, expected: to })
  const files = filesInWords(merged.error.stderr ?? "")
  if (files.length > 0) return inTheWay(checkout, { changed: [], untracked: files, ignored: [] })
  return explainBlocked(merged, guard) as typeof merged
}

/**
 * After a crash: finishes a fast-forward of this branch whose files all came to lie there, or takes back the files of
 * one that was cut off. What is not exactly ours is left alone and named.
 */
export async function mendAdvance(repo: Repository, target: string): GitResult<void> {
  const linked = await readdir(join(repo.commonDir, "worktrees")).catch(() => [])
  for (const folder of [repo.commonDir, ...linked.map((name) => join(repo.commonDir, "worktrees", name))]) {
    const file = join(folder, NOTE)
    const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => error)
    if (text instanceof Error) {
      if (text.code === "ENOENT" || text.code === "ENOTDIR") continue
      return ioFailure(file, "reading", text)
    }
    const note = decode(text)
    // Cut off while it was written, which is before anything was touched.
    if (note === undefined) await rm(file, { force: true })
    else if (note.target === target) {
      const mended = await mend(repo, file, note)
      if (!mended.ok) return mended
    }
  }
  return ok()
}

async function mend(repo: Repository, file: string, note: Note): GitResult<void> {
  const { target, from, to, checkout } = note
  const busy = (note.pid !== process.pid && isAlive(note.pid)) || (note.group !== undefined && isGroupAlive(note.group))
  if (busy) return fail("locked", `a merge into ${target} is under way in ${checkout}`, { path: file })
  const tip = await resolveCommit(repo, `refs/heads/${target}`)
  if (tip.ok && tip.value === from && (await lstat(checkout).catch(() => undefined))) {
    const lock = join(dirname(file), "index.lock")
    const held = await lstat(lock).catch(() => undefined)
    if (held) {
      const seconds = Math.max(0, Math.round((repo.git.clock.now() - held.mtimeMs) / 1000))
      const text = `a merge into ${target} was cut off and left ${lock} (${seconds} s old): if no git runs there, remove it`
      return fail("locked", text, { path: lock, ageMs: seconds * 1000 })
    }
    const indexed = await repo.git.run(["diff-index", "--cached", "--quiet", "--ignore-submodules=none", to], {
      cwd: checkout,
      okCodes: [0, 1],
    })
    if (!indexed.ok) return indexed
    // The index is written when all files lie there; only the branch is behind.
    const done =
      indexed.value.code === 0 ? await advance(repo, { target, from, to }, NO_GUARD) : await takeBack(repo, note)
    if (!done.ok) return done
  }
  await rm(file, { force: true })
  return ok()
}

/** Puts the files of `from` back where those of `to`, or the beginning of one, lie. */
async function takeBack(repo: Repository, note: Note): GitResult<void> {
  const { from, to, checkout } = note
  const changes = await changedFiles(repo, from, to)
  if (!changes.ok) return changes
  const guard = await guardPrograms(repo.git, checkout)
  if (!guard.ok) return guard
  const folder = await mkdtemp(join(tmpdir(), "kagan-mend-"))
  try {
    const run = (index: string, args: readonly string[], stdin?: Buffer) =>
      repo.git.run([...guard.value.args, ...args], {
        cwd: checkout,
        env: { GIT_INDEX_FILE: join(folder, index) },
        okCodes: [0, 1],
        ...(stdin ? { stdin } : {}),
      })
    const differing: Record<string, ReadonlySet<string>> = {}
    for (const [index, commit] of Object.entries({ from, to })) {
      for (const args of [
        ["read-tree", commit],
        ["update-index", "-q", "--refresh"],
      ]) {
        const done = await run(index, args)
        if (!done.ok) return done
      }
      const differs = await run(index, ["diff-files", "-z", "--name-only", "-O/dev/null"])
      if (!differs.ok) return differs
      differing[index] = new Set(splitNul(differs.value.bytes))
    }
    const ours: ChangedFile[] = []
    const foreign: string[] = []
    for (const change of changes.value) {
      const there = await lstat(pathIn(checkout, change.path)).catch(() => undefined)
      const asBefore = change.kind === "added" ? there === undefined : !differing.from!.has(change.path)
      if (asBefore) continue
      const asAfter = change.kind === "deleted" ? there === undefined : !differing.to!.has(change.path)
      if (asAfter || there === undefined || (await isBeginning(repo, to, checkout, change.path))) ours.push(change)
      else foreign.push(change.path)
    }
    for (const change of ours.filter((one) => one.kind === "added")) await removeFile(checkout, change.path)
    const back = ours.filter((one) => one.kind !== "added").map((one) => one.path)
    if (back.length > 0) {
      const done = await run("from", ["checkout-index", "--force", "-z", "--stdin"], joinNul(back))
      if (!done.ok) return done
    }
    if (foreign.length === 0) return ok()
    const text = `a merge was cut off in ${checkout}, and ${nameSome(foreign)} changed since: it was left as it is`
    return fail("in_the_way", text, { checkout, changed: foreign, untracked: [], ignored: [] })
  } catch (error) {
    return ioFailure(checkout, "mending", error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Whether what lies there is the first part of what git was writing. */
async function isBeginning(repo: Repository, commit: string, checkout: string, path: string): Promise<boolean> {
  const file = pathIn(checkout, path)
  const stat = await lstat(file)
  const wanted = await repo.git.run(["cat-file", "blob", `${commit}:${path}`], { cwd: checkout })
  if (!wanted.ok) return false
  if (stat.isSymbolicLink()) return (await readlink(file)) === wanted.value.stdout
  if (!stat.isFile()) return false
  const bytes = await readFile(file)
  return bytes.length < wanted.value.bytes.length && wanted.value.bytes.subarray(0, bytes.length).equals(bytes)
}

async function removeFile(checkout: string, path: string): Promise<void> {
  await rm(pathIn(checkout, path), { force: true })
  for (let parent = dirname(path); parent !== "."; parent = dirname(parent)) {
    const emptied = await rmdir(pathIn(checkout, parent)).then(
      () => true,
      () => false,
    )
    if (!emptied) return
  }
}

async function gitDirOf(checkout: string): Promise<string> {
  return (await gitLink(checkout)) ?? join(checkout, ".git")
}

export function moved(target: string, expected: string, actual: string, commits = 0) {
  const by = commits > 0 ? ` by ${commits} ${commits === 1 ? "commit" : "commits"}` : ""
  return fail("target_moved", `${target} moved${by} since it was looked at: look again, then merge`, {
    target,
    expected,
    actual,
  })
}

/** The files that git lists, one a line behind a tab, when it refuses to overwrite. */
function filesInWords(words: string): string[] {
  return words
    .split("\n")
    .filter((line) => line.startsWith("\t"))
    .map((line) => line.slice(1))
}

function decode(text: string): Note | undefined {
  try {
    const value = JSON.parse(text) as Partial<Note> | null
    const whole = [value?.target, value?.from, value?.to, value?.checkout].every((field) => typeof field === "string")
    return whole && typeof value?.pid === "number" ? (value as Note) : undefined
  } catch {
    return undefined
  }
}
