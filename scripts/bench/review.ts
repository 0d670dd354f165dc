import "@opentui/solid/preload"
import { execFile } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import type { ReplyOf, RequestOf } from "../../src/core/protocol.ts"
import type { Result } from "../../src/core/result.ts"
import { countChanges, fileChange, listChanges } from "../../src/shared/git/file-diff.ts"
import { openRepository, type Repository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { gitEnv } from "../../test/kit/repo.ts"
import { median, report, timed, type Figure } from "./report.ts"

/*
 * Opening the review of a change of 5,000 files and 200,000 lines: how soon the list is there, whether keys are answered
 * while it loads, and what it holds in memory.
 */

const FILES = 5_000
const LINES = 40
const ROUNDS = 7
const KEYS = 300

const run = promisify(execFile)
const git = async (cwd: string, ...args: string[]) =>
  (await run("git", args, { cwd, env: gitEnv(), maxBuffer: 1 << 30 })).stdout

function must<T>(result: Result<T, { readonly text: string }>): T {
  if (!result.ok) throw new Error(result.error.text)
  return result.value
}

const pathOf = (i: number) => `src/d${Math.floor(i / 100)}/f${i}.ts`

/** A repository with the change as its last commit. */
async function makeChange(dir: string): Promise<void> {
  const write = async (mark: string) => {
    for (let from = 0; from < FILES; from += 100) {
      await mkdir(join(dir, `src/d${from / 100}`), { recursive: true })
      const files = Array.from({ length: 100 }, (_, i) => pathOf(from + i))
      const text = (path: string) =>
        Array.from({ length: LINES }, (_, i) => `export const ${mark}${i} = "${path}"`).join("\n")
      await Promise.all(files.map((path) => writeFile(join(dir, path), `${text(path)}\n`)))
    }
    await git(dir, "add", "-A")
    await git(dir, "commit", "-q", "-m", mark)
  }
  await mkdir(dir, { recursive: true })
  await git(dir, "init", "-q", "-b", "main")
  await git(dir, "config", "gc.auto", "0")
  await write("before")
  await write("after")
}

async function measureGit(dir: string): Promise<Figure[]> {
  const repo: Repository = must(await openRepository(makeGit({ env: gitEnv() }), dir))
  const [from, to] = [(await git(dir, "rev-parse", "HEAD~")).trim(), (await git(dir, "rev-parse", "HEAD")).trim()]
  const [ours, theirs]: [number[], number[]] = [[], []]
  for (let i = 0; i < ROUNDS; i++) {
    theirs.push(await timed(() => git(dir, "diff", "--raw", from, to)))
    ours.push(await timed(async () => must(await listChanges(repo, from, to))))
  }
  const sizes = await timed(async () => must(await countChanges(repo, from, to)))
  const first = await timed(async () => must(await fileChange(repo, from, to, { path: pathOf(4_321) })))
  Bun.gc(true)
  const before = process.memoryUsage().rss
  const list = must(await listChanges(repo, from, to))
  const counted = must(await countChanges(repo, from, to))
  for (let i = 0; i < 100; i++) must(await fileChange(repo, from, to, { path: pathOf(i * 50) }))
  Bun.gc(true)
  const grown = (process.memoryUsage().rss - before) / 1024 / 1024
  if (list.length !== FILES || counted.size !== FILES) throw new Error("the list is not whole")
  return [
    { name: "list of 5,000 files, over git diff --raw", value: median(ours) / median(theirs), unit: "×", budget: 1.2 },
    { name: "list: ours", value: median(ours), unit: "ms" },
    { name: "list: git alone", value: median(theirs), unit: "ms" },
    { name: "sizes of all files", value: sizes, unit: "ms" },
    { name: "lines of one file", value: first, unit: "ms" },
    { name: "memory for list, sizes and 100 files that were looked at", value: grown, unit: "MiB", budget: 64 },
  ]
}

/** The review screen with so many files, of which only the list has come. */
async function openReview(count: number) {
  const { openStage } = await import("../../test/tui/stage.tsx")
  const { workingDay } = await import("../../test/tui/cards.ts")
  const files = Array.from({ length: count }, (_, i) => ({ path: pathOf(i), kind: "modified", object: String(i) }))
  return openStage({
    width: 160,
    height: 45,
    route: { name: "kagan.review", params: { sessionID: "ses_26" } },
    ...workingDay(),
    answers: {
      "review.files": (): ReplyOf<"review.files"> => ({
        from: "a".repeat(40),
        to: "b".repeat(40),
        files,
        left: [],
        viewed: [],
        since: ["base"],
      }),
      "review.sizes": () => new Promise<never>(() => {}),
      "review.file": ({ path }: RequestOf<"review.file">) =>
        count === FILES && path === pathOf(1)
          ? new Promise<never>(() => {})
          : {
              path,
              kind: "modified",
              insertions: LINES,
              deletions: 0,
              patch: `@@ -0,0 +1,${LINES} @@\n${"+export const a = 1\n".repeat(LINES)}`,
            },
    },
  })
}

/** From key to frame, in milliseconds, sorted. */
async function keyTimes(count: number): Promise<number[]> {
  const stage = await openReview(count)
  await stage.press("tab")
  const times: number[] = []
  for (let i = 0; i < KEYS; i++) {
    const start = performance.now()
    await stage.keyToFrame(i % 10 === 9 ? "k" : "j")
    if (i >= 20) times.push(performance.now() - start)
  }
  stage.close()
  return times.toSorted((a, b) => a - b)
}

const p95 = (times: readonly number[]) => times[Math.floor(times.length * 0.95)]!

async function measureKeys(): Promise<Figure[]> {
  const few = await keyTimes(10)
  const many = await keyTimes(FILES)
  return [
    { name: "key to frame with 5,000 files while they load, p95", value: p95(many), unit: "ms", budget: 16 },
    { name: "the same over 10 files, middles", value: median(many) / median(few), unit: "×", budget: 1.5 },
    { name: "key to frame with 10 files, p95", value: p95(few), unit: "ms" },
  ]
}

const side = await realpath(await mkdtemp(join(tmpdir(), "kagan-bench-review-")))
try {
  const dir = join(side, "repo")
  await makeChange(dir)
  report([...(await measureGit(dir)), ...(await measureKeys())])
} finally {
  await rm(side, { recursive: true, force: true, maxRetries: 5 })
}
process.exit(0)
