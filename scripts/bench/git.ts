import { execFile } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { Result } from "../../src/core/result.ts"
import { diffCommits } from "../../src/shared/git/diff.ts"
import { mergeSnapshot } from "../../src/shared/git/merge.ts"
import { openRepository, type Repository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { takeSnapshot } from "../../src/shared/git/snapshot.ts"
import { createWorktree } from "../../src/shared/git/worktree.ts"
import { gitEnv } from "../../test/kit/repo.ts"
import { median, report, timed, type Figure } from "./report.ts"

/*
 * What the git layer costs over git alone, on one repository of 50,000 files. Ours and git's turns alternate, so that a
 * busy machine slows both.
 */

const FOLDERS = 500
const EACH = 100
const ROUNDS = 5

const lines = (of: string, change?: string) =>
  Array.from({ length: 10 }, (_, i) => (i === 5 && change ? change : `line ${i} of ${of}`)).join("\n") + "\n"

const run = promisify(execFile)
const git = async (cwd: string, ...args: string[]) =>
  (await run("git", args, { cwd, env: gitEnv(), maxBuffer: 1 << 30 })).stdout

function must<T>(result: Result<T, { readonly text: string }>): T {
  if (!result.ok) throw new Error(result.error.text)
  return result.value
}

/** Alternates the two and answers the ratio of their middles. */
async function ratio(
  name: string,
  budget: number,
  ours: (i: number) => Promise<unknown>,
  theirs: (i: number) => Promise<unknown>,
  rounds = ROUNDS,
) {
  const [mine, gits]: [number[], number[]] = [[], []]
  for (let i = 0; i < rounds; i++) {
    gits.push(await timed(() => theirs(i)))
    mine.push(await timed(() => ours(i)))
  }
  const figures: Figure[] = [
    { name, value: median(mine) / median(gits), unit: "×", budget },
    { name: `${name}: ours`, value: median(mine), unit: "ms" },
    { name: `${name}: git alone`, value: median(gits), unit: "ms" },
  ]
  return figures
}

async function makeBigRepository(dir: string): Promise<void> {
  await mkdir(dir)
  await git(dir, "init", "-q", "-b", "main")
  await git(dir, "config", "gc.auto", "0")
  for (let folder = 0; folder < FOLDERS; folder++) {
    await mkdir(join(dir, `d${folder}`))
    const files = Array.from({ length: EACH }, (_, file) => `d${folder}/f${file}.ts`)
    await Promise.all(files.map((file) => writeFile(join(dir, file), lines(file))))
  }
  await git(dir, "add", "-A")
  await git(dir, "commit", "-q", "-m", "base")
}

async function measure(side: string): Promise<Figure[]> {
  const dir = join(side, "repo")
  await makeBigRepository(dir)
  const repo: Repository = must(await openRepository(makeGit({ env: gitEnv() }), dir))
  const tree = (i: number) => join(side, "ours", String(i))
  const plain = (i: number) => join(side, "plain", String(i))
  const snapshotOf = async (worktree: string, n: number) =>
    must(await takeSnapshot({ repo, worktree, n, generation: 1, indexFile: join(side, "index"), base: "main" }))

  const created = await ratio(
    "create a worktree, over git worktree add",
    1.25,
    async (i) => must(await createWorktree({ repo, branch: `kagan/${i}`, base: "main", path: tree(i) })),
    (i) => git(dir, "worktree", "add", "-q", "--no-track", "-b", `plain/${i}`, plain(i), "main"),
    3,
  )

  for (let i = 0; i < 10; i++) await writeFile(join(tree(0), `d${i}/f1.ts`), "edited\n")
  const snapshots = await ratio(
    "snapshot of 50,000 files with 10 edits, over git status",
    1.5,
    (i) => snapshotOf(tree(0), i + 1),
    () => git(tree(0), "--no-optional-locks", "status", "--porcelain"),
  )

  for (let folder = 0; folder < 50; folder++) {
    const files = Array.from({ length: EACH }, (_, file) => `d${folder}/f${file}.ts`)
    await Promise.all(files.map((file) => writeFile(join(tree(1), file), lines(file, "changed"))))
  }
  const { base, commit } = await snapshotOf(tree(1), 100)
  const diffs = await ratio(
    "diff and hunks of 5,000 changed files, over git diff",
    1.2,
    async () => must(await diffCommits(repo, base, commit)),
    () => git(dir, "diff", base, commit),
  )

  let merges = 0
  const edit = async (worktree: string) => {
    await git(worktree, "reset", "-q", "--hard", "main")
    await writeFile(join(worktree, "d7/f7.ts"), lines("d7/f7.ts", `merge ${merges++}`))
  }
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let i = 0; i < ROUNDS; i++) {
    await edit(plain(0))
    await git(plain(0), "commit", "-q", "-a", "-m", "task")
    theirs.push(
      await timed(async () => {
        await git(dir, "merge", "-q", "--squash", "plain/0")
        await git(dir, "commit", "-q", "-m", "merged")
      }),
    )
    await edit(tree(2))
    const snapshot = await snapshotOf(tree(2), 200 + i)
    const wanted = { repo, target: "main", snapshot: snapshot.commit, strategy: "squash", message: "merged" } as const
    ours.push(await timed(async () => must(await mergeSnapshot({ ...wanted, worktree: tree(2), branch: "kagan/2" }))))
  }
  return [
    ...created,
    ...snapshots,
    ...diffs,
    { name: "merge, over git merge --squash and commit", value: median(ours) / median(theirs), unit: "×", budget: 1.5 },
    { name: "merge: ours", value: median(ours), unit: "ms" },
    { name: "merge: git alone", value: median(theirs), unit: "ms" },
  ]
}

const side = await realpath(await mkdtemp(join(tmpdir(), "kagan-bench-git-")))
try {
  report(await measure(side))
} finally {
  await rm(side, { recursive: true, force: true, maxRetries: 5 })
}
