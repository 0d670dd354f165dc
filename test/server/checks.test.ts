import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test, vi } from "vitest"
import type { Check } from "../../src/core/check-paths.ts"
import type { CheckResult } from "../../src/core/checks.ts"
import type { Live } from "../../src/core/live.ts"
import { ok } from "../../src/core/result.ts"
import type { Task, TaskMeta } from "../../src/core/task.ts"
import { PROCESS_ENDS, readChecks, runChecks } from "../../src/server/checks.ts"
import { makeLiveOutput } from "../../src/server/live.ts"
import { gitTrees } from "../../src/server/trees.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { openStore } from "../../src/shared/store.ts"
import type { Tasks } from "../../src/shared/tasks.ts"
import { options, sampleMeta } from "../core/sample.ts"
import { bench, type TaskTree } from "../shared/git/throwaway.ts"

interface Stage {
  readonly tree: TaskTree
  meta(): TaskMeta
  /** Another window, or the person, changes the card. */
  change(edit: (meta: TaskMeta) => TaskMeta): void
  /** `seen`: the card as it was when this was decided. */
  run(checks: readonly Check[], signal?: AbortSignal, seen?: TaskMeta): Promise<readonly CheckResult[]>
  readonly history: string[]
  /** What was told of a running check, in order. */
  readonly said: readonly (Live | undefined)[]
  readonly checksDir: string
  [Symbol.asyncDispose](): Promise<void>
}

/** A card in Review over a real worktree with a real snapshot in it. */
async function reviewed(work: Readonly<Record<string, string>> = { "src/a.ts": "2\n" }): Promise<Stage> {
  const it = await bench({ ".gitignore": "out/\nlink\n", "src/a.ts": "1\n", "docs/b.md": "b\n" })
  const tree = await it.task()
  for (const [path, text] of Object.entries(work)) await tree.write(path, text)
  const store = openStore(it.opened.commonDir, { clock: systemClock })
  const trees = gitTrees(it.opened, store, () => ({ branchPrefix: "kagan", copy: [] }))
  let task: Task = {
    title: "Checked",
    meta: sampleMeta({ status: "review", lastGatedStatus: "review", worktree: tree.dir, branch: tree.branch }),
  }
  const taken = await trees.take(task)
  if (!taken.ok) throw new Error(taken.error.text)
  const { commit, tree: treeID, base } = taken.value
  const snapshot = { commit, tree: treeID, base, generation: 1, files: 1, insertions: 1, deletions: 1, at: 1 }
  task = { ...task, meta: { ...task.meta, review: { snapshot, findings: 0, ruled: 0, fix: 0 } } }
  const update: Tasks["update"] = async (_, edit) => {
    const next = await edit(task.meta, { title: task.title, siblings: async () => [] })
    if (next) task = { ...task, meta: next }
    return ok({ task, changed: next !== undefined }) as Awaited<ReturnType<Tasks["update"]>>
  }
  const history: string[] = []
  const said: (Live | undefined)[] = []
  return {
    said,
    tree,
    history,
    checksDir: store.paths.session(task.meta.sessionID).checks,
    meta: () => task.meta,
    change: (edit) => void (task = { ...task, meta: edit(task.meta) }),
    async run(checks, signal, seen = task.meta) {
      const project = {
        tasks: { update, self: { pid: process.pid, start: "s", host: "h" } } as unknown as Tasks,
        clock: systemClock,
        store,
        trees,
        remember: async (_: string, entry: { readonly text: string }) => void history.push(entry.text),
        options: () => options({ checks: [...checks] }),
        live: makeLiveOutput(systemClock, (_, live) => void said.push(live)),
      }
      const ran = await runChecks(project, { ...task, meta: seen }, signal)
      if (!ran.ok) throw new Error(ran.error.text)
      const report = await readChecks(project, task.meta.sessionID, { commit })
      if (!report.ok) throw new Error(report.error.text)
      return report.value?.results ?? []
    },
    [Symbol.asyncDispose]: () => it[Symbol.asyncDispose](),
  }
}

const check = (command: string, over: Partial<Check> = {}): Check => ({ name: "c", command, ...over })
const limit = { timeout: 120_000 }

describe("checks on a snapshot", limit, () => {
  test("only those run whose paths match; each is counted, and kept with its output", async () => {
    await using it = await reviewed()
    const results = await it.run([
      check("echo fine; cat src/a.ts", { name: "tests", paths: ["/src/"] }),
      check("echo broken >&2; exit 3", { name: "lint" }),
      check("touch out-of-bounds", { name: "docs", paths: ["*.md"] }),
    ])
    expect(results).toMatchObject([
      { name: "tests", outcome: "passed", text: "exit 0", output: "fine\n2\n", folder: it.tree.dir },
      { name: "lint", outcome: "failed", text: "exit 3", output: "broken\n" },
    ])
    expect(it.meta().review?.checks).toMatchObject({
      state: "done",
      passed: 1,
      failed: 1,
      notRun: 0,
      failing: ["lint"],
    })
    expect(it.meta().review?.checks?.claim).toBeUndefined()
    expect(it.history).toEqual([expect.stringContaining("1 passed, 1 failed, 0 not run")])
  })

  test("a window that decided on what was known before does nothing", async () => {
    await using it = await reviewed()
    const before = it.meta()
    await it.run([check("exit 0")])
    const { checks } = it.meta().review!
    await it.run([check("mkdir -p out; touch out/late")], undefined, before)
    await expect(readFile(join(it.tree.dir, "out/late"))).rejects.toThrow("ENOENT")
    expect(it.meta().review?.checks).toEqual(checks)
  })

  test("one that writes ignored files counts; one that changes tracked or new files counts as not run", async () => {
    await using it = await reviewed()
    expect(await it.run([check("mkdir -p out; echo x >out/report")])).toMatchObject([{ outcome: "passed" }])
    it.change((meta) => ({ ...meta, review: { ...meta.review!, checks: undefined } }))
    const results = await it.run([check("echo fixed >src/a.ts", { name: "fixer" }), check("exit 0", { name: "next" })])
    expect(results).toMatchObject([
      { name: "fixer", outcome: "not_run", text: "exit 0, but the worktree is not the snapshot: src/a.ts changed" },
      { name: "next", outcome: "not_run", text: "the worktree is not the snapshot: src/a.ts changed" },
    ])
    expect(it.meta().review?.checks).toMatchObject({ state: "done", passed: 0, failed: 0, notRun: 2 })
  })

  test("a tree that moves meanwhile by other hands makes it count as not run", async () => {
    await using it = await reviewed()
    const running = it.run([check("mkdir -p out; touch out/begun; until test -e out/go; do sleep 0.05; done; exit 1")])
    await vi.waitFor(() => readFile(join(it.tree.dir, "out/begun")), { timeout: 60_000, interval: 50 })
    await it.tree.write("neu.txt", "by the agent\n")
    await it.tree.write("out/go", "")
    expect(await running).toMatchObject([
      { outcome: "not_run", text: "exit 1, but the worktree is not the snapshot: neu.txt changed" },
    ])
  })

  test("what came back as a card that went on is not written over it", async () => {
    await using it = await reviewed()
    const running = it.run([check("mkdir -p out; touch out/begun; until test -e out/go; do sleep 0.05; done")])
    await vi.waitFor(() => readFile(join(it.tree.dir, "out/begun")), { timeout: 60_000, interval: 50 })
    expect(it.meta().review?.checks).toMatchObject({ state: "running" })
    it.change((meta) => ({ ...meta, status: "in_progress", lastGatedStatus: "in_progress", generation: 2 }))
    const went = it.meta()
    await it.tree.write("out/go", "")
    await running
    expect(it.meta()).toEqual(went)
    expect(it.history).toEqual([])
  })

  test("the folder of a check lies in the worktree, whatever links the branch holds", async () => {
    await using it = await reviewed({ "src/a.ts": "2\n", "sub dir/x": "x\n" })
    await symlink("/", join(it.tree.dir, "link"))
    const results = await it.run([
      check("pwd", { cwd: "sub dir" }),
      check("pwd", { cwd: "nowhere" }),
      check("pwd", { cwd: ".." }),
      check("pwd", { cwd: "link/tmp" }),
    ])
    expect(results).toMatchObject([
      { outcome: "passed", output: `${join(it.tree.dir, "sub dir")}\n` },
      { outcome: "not_run", text: "the folder nowhere is missing in the worktree" },
      { outcome: "not_run", text: "the folder .. lies outside the worktree" },
      { outcome: "not_run", text: "the folder link/tmp lies outside the worktree" },
    ])
  })
})

describe("C087: a check that never ends", limit, () => {
  test("ends at its limit and has failed", async () => {
    await using it = await reviewed()
    expect(await it.run([check("echo so far; tail -f /dev/null", { timeout: 1 })])).toMatchObject([
      { outcome: "failed", text: "timed out after 1 s", output: "so far\n" },
    ])
  })

  test("the person's stop ends it and those after it; none of them counts", async () => {
    await using it = await reviewed()
    const stop = new AbortController()
    const running = it.run([check("mkdir -p out; touch out/begun; tail -f /dev/null"), check("exit 0")], stop.signal)
    await vi.waitFor(() => readFile(join(it.tree.dir, "out/begun")), { timeout: 60_000, interval: 50 })
    stop.abort()
    expect(await running).toMatchObject([
      { outcome: "not_run", text: "stopped" },
      { outcome: "not_run", text: "stopped" },
    ])
    expect(it.meta().review?.checks).toMatchObject({ state: "done", notRun: 2 })
  })

  test("the end of the process is no stop: the claim stays, and whoever comes next runs them again", async () => {
    await using it = await reviewed()
    const end = new AbortController()
    const endless = check("mkdir -p out; touch out/begun; test -e out/second || tail -f /dev/null")
    const running = it.run([endless], end.signal)
    await vi.waitFor(() => readFile(join(it.tree.dir, "out/begun")), { timeout: 60_000, interval: 50 })
    end.abort(PROCESS_ENDS)
    expect(await running).toEqual([])
    expect(it.meta().review?.checks).toMatchObject({ state: "running", claim: { pid: process.pid } })
    await it.tree.write("out/second", "")
    expect(await it.run([endless])).toMatchObject([{ outcome: "passed" }])
    expect(it.meta().review?.checks).toMatchObject({ state: "done", passed: 1 })
  })
})

test("C087: children that ignore TERM and hold the pipe end with the check, at its limit", limit, async () => {
  await using it = await reviewed()
  const stubborn = "trap '' TERM; (trap '' TERM; while :; do echo still here; sleep 0.2; done) & echo $! >out/pid; wait"
  const results = await it.run([
    check(`mkdir -p out; ${stubborn}`, { timeout: 1 }),
    check("echo next", { name: "next" }),
  ])
  expect(results).toMatchObject([
    { outcome: "failed", text: "timed out after 1 s", output: expect.stringContaining("still here") },
    { name: "next", outcome: "passed" },
  ])
  const pid = Number(await readFile(join(it.tree.dir, "out/pid"), "utf8"))
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"), { timeout: 60_000, interval: 50 })
})

test(
  "C087: while it runs its last line is told, progress lines as they stand, and the end is told too",
  limit,
  async () => {
    await using it = await reviewed()
    const begun = "mkdir -p out; touch out/begun; until test -e out/go; do sleep 0.05; done"
    const running = it.run([
      check("true", { name: "lint" }),
      check(`printf 'starting\\n10 %%\\r50 %%\\377'; ${begun}`, { name: "tests" }),
    ])
    await vi.waitFor(() => expect(it.said.at(-1)?.line).toBe("50 %\uFFFD"), { timeout: 60_000, interval: 50 })
    expect(it.said.at(-1)).toMatchObject({ what: "checks", name: "tests", index: 2, of: 2 })
    await it.tree.write("out/go", "")
    expect(await running).toMatchObject([
      { outcome: "passed" },
      { outcome: "passed", output: "starting\n10 %\r50 %\uFFFD" },
    ])
    expect(it.said.at(-1)).toBeUndefined()
  },
)

test("C089: it has neither input nor a terminal, and nothing of it asks", limit, async () => {
  await using it = await reviewed()
  const results = await it.run([
    check('read -p "Continue? " x; echo got=$x'),
    check('[ -t 0 ] || { echo "not a TTY" >&2; exit 1; }'),
    check("git fetch -q https://127.0.0.1:9/private", { timeout: 60 }),
    check("(: </dev/tty) 2>/dev/null && echo reached"),
  ])
  expect(results).toMatchObject([
    { outcome: "passed", output: expect.stringContaining("got=") },
    { outcome: "failed", output: "not a TTY\n" },
    { outcome: "failed" },
    { outcome: "failed", output: "" },
  ])
})

test("C088: of endless output the end is kept, the cut is said, the file is small", limit, async () => {
  await using it = await reviewed()
  // What the first run of anything costs is not what output costs.
  await it.run([check("yes | head -c 5000000")])
  it.change((meta) => ({ ...meta, review: { ...meta.review!, checks: undefined } }))
  Bun.gc(true)
  const before = process.memoryUsage().rss
  let most = before
  const sampling = setInterval(() => {
    // What is held, and not what waits to be collected.
    Bun.gc(true)
    most = Math.max(most, process.memoryUsage().rss)
  }, 250)
  const [result] = await it.run([check("yes | head -c 104857600; echo LAST >&2; exit 3")])
  clearInterval(sampling)
  expect(result).toMatchObject({ outcome: "failed", text: "exit 3", bytes: 104_857_605 })
  expect(result?.output).toMatch(/^\(the last part of 104857605 bytes\)\n[^]*LAST\n$/)
  const [file] = await readdir(it.checksDir)
  expect((await readFile(join(it.checksDir, file!))).length).toBeLessThan(160 * 1024)
  expect(most - before).toBeLessThan(20 * 1024 * 1024)
})

test("C091: a signal is never a pass", limit, async () => {
  await using it = await reviewed()
  expect(await it.run([check("kill -9 $$"), check("exit 130"), check("sh -c 'kill -SEGV $$'; true")])).toMatchObject([
    { outcome: "failed", text: "killed by SIGKILL" },
    { outcome: "failed", text: "exit 130" },
    { outcome: "passed" },
  ])
})

test("C092: what cannot be found is said with shell and folder; no command is no pass", limit, async () => {
  await using it = await reviewed()
  const results = await it.run([check("definitely-not-a-command"), check(""), check("   ")])
  expect(results).toMatchObject([
    { outcome: "failed", text: expect.stringMatching(/^exit 127: command not found \(\/.+ in \/.+\)$/) },
    { outcome: "none", text: "no command is configured" },
    { outcome: "none", text: "no command is configured" },
  ])
  expect(it.meta().review?.checks).toMatchObject({ passed: 0, failed: 1, notRun: 0 })
})

describe("C093: the worktree is gone", limit, () => {
  test("is said, and nothing runs anywhere else", async () => {
    await using it = await reviewed()
    await rm(it.tree.dir, { recursive: true })
    const missing = { outcome: "not_run", text: `the worktree folder ${it.tree.dir} is missing` }
    expect(await it.run([check("exit 0")])).toMatchObject([missing])
    await writeFile(it.tree.dir, "a file")
    it.change((meta) => ({ ...meta, review: { ...meta.review!, checks: undefined } }))
    expect(await it.run([check("exit 0")])).toMatchObject([missing])
  })

  test("while one runs makes it count as not run", async () => {
    await using it = await reviewed()
    expect(await it.run([check('cd /; rm -rf "$OLDPWD"')])).toMatchObject([
      { outcome: "not_run", text: `exit 0, but the worktree folder ${it.tree.dir} is missing` },
    ])
  })
})

test("results that are not readable are said to be, and never taken for passes", limit, async () => {
  await using it = await reviewed()
  await mkdir(it.checksDir, { recursive: true })
  await writeFile(join(it.checksDir, `${it.meta().review!.snapshot!.commit}.json`), '{"results": [')
  it.change((meta) => ({ ...meta, lastGatedStatus: "backlog" }))
  await expect(it.run([])).rejects.toThrow("holds no results of checks")
})
