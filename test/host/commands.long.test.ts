import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import type { TaskMeta } from "../../src/core/task.ts"
import { pluginPath } from "../kit/sandbox.ts"
import { CHECKS, commandsRig, patience, type Rig } from "./commands-rig.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let rig: Rig

beforeAll(async () => {
  rig = await commandsRig({ ".opencode/opencode.json": '{\n  "instructions": []\n}\n' })
})
afterAll(() => rig?.dispose())

test("one that changes tracked files counts as not run, and the card says what changed", async () => {
  const meta = await rig.reviewed("Rewriting check", "touch out/rewrite task-y.txt")
  expect(await rig.checked(meta.sessionID)).toMatchObject({ passed: 1, failed: 1, notRun: 2 })
  const { results } = await rig.board.get("review.checks", { sessionID: meta.sessionID })
  expect(results.find(({ name }) => name === "rewrites")).toMatchObject({
    outcome: "not_run",
    text: "exit 0, but the worktree is not the snapshot: seed.txt changed",
  })
  await vi.waitFor(
    async () => expect((await rig.state(meta.sessionID)).text).toBe("changed since review: seed.txt"),
    patience,
  )
})

test("a branch cannot configure them, and what changes in the configuration later runs nothing", async () => {
  const planted = JSON.stringify({ plugin: [[pluginPath(), { checks: [{ name: "evil", command: "touch evil" }] }]] })
  const meta = await rig.reviewed("Plants a config", `printf %s '${planted}' > opencode.json`)
  await rig.checked(meta.sessionID)
  const { results } = await rig.board.get("review.checks", { sessionID: meta.sessionID })
  expect(results.map(({ name }) => name)).toEqual(["fine", "rewrites", "slow"])
  expect(existsSync(join(meta.worktree, "evil"))).toBe(false)
  const kept = await readFile(join(rig.box.repo.dir, ".git/kagan", meta.sessionID, "commands.json"), "utf8")
  expect(JSON.parse(kept).checks).toEqual(CHECKS)
})

test.each<[string, (meta: TaskMeta) => Promise<unknown>]>([
  ["a move to Backlog", ({ sessionID }) => rig.board.get("task.move", { sessionID, to: "backlog" })],
  ["the trash", ({ sessionID }) => rig.board.get("task.trash", { sessionID, trashed: true })],
  ["a stop", ({ sessionID }) => rig.board.get("task.stop", { sessionID })],
])("%s ends running ones with everything that they started", async (how, act) => {
  const meta = await rig.held(`Ended by ${how}`)
  expect(rig.isHeld(meta)).toBe(true)
  await act(meta)
  await vi.waitFor(() => expect(rig.isHeld(meta)).toBe(false), patience)
  if (how === "a stop") return expect(await rig.checked(meta.sessionID)).toMatchObject({ notRun: 1 })
  if (how !== "the trash")
    await rig.seen.until(meta.sessionID, "in Backlog", (now) => now.lastGatedStatus === "backlog" && !now.awaiting)
})
test("more untracked than belongs to a task is named on the card, and taken in once the person says so", async () => {
  const meta = await rig.reviewed("Large", "head -c 11000000 /dev/zero > big.bin")
  const { sessionID } = meta
  await vi.waitFor(async () => {
    expect(await rig.state(sessionID)).toMatchObject({ kind: "asks_large", text: expect.stringContaining("big.bin") })
  }, patience)
  await rig.board.get("review.allowLarge", { sessionID })
  const taken = await rig.seen.until(sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
  expect(taken.review).not.toHaveProperty("problem")
  const files = (await rig.board.get("review.files", { sessionID, since: "base" })).files.map(({ path }) => path)
  expect(files).toContain("big.bin")
  expect(await rig.board.ask("review.allowLarge", { sessionID })).toMatchObject({ ok: false })
})
test("what the host wrote into a tracked config file is not the task's; a repository inside is named, and a merge that is not resolved is refused", async () => {
  const schema = `sed -i '1s|.*|{\\n  "$schema": "https://opencode.ai/config.json",|' .opencode/opencode.json`
  const none = await rig.reviewed("Only the schema", schema)
  await vi.waitFor(async () => expect((await rig.state(none.sessionID)).text).toBe("no changes"), patience)
  expect(await readFile(join(none.worktree, ".opencode/opencode.json"), "utf8")).toContain("$schema")

  const nested = await rig.reviewed("A repository inside", "git init -q inner && touch inner/x && echo n > task-n.txt")
  const taken = await rig.seen.until(nested.sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
  expect(taken.review!.snapshot!.nested).toEqual(["inner"])
  const diff = await rig.board.get("review.files", { sessionID: nested.sessionID, since: "base" })
  expect(diff).toMatchObject({ files: [{ path: "task-n.txt" }], left: ["inner"] })
  await rig.board.get("validator.waive", { sessionID: nested.sessionID, reason: "a test of the snapshot" })
  await vi.waitFor(async () => {
    const said = await rig.state(nested.sessionID)
    expect(said.text).toBe("no findings: approve · without inner (a repository of its own)")
  }, patience)

  const both = "git branch other && echo a > seed.txt && git commit -qam a && git switch -q other"
  const conflict = `${both} && echo b > seed.txt && git commit -qam b && git switch -q - && git merge -q other; true`
  const unmerged = await rig.reviewed("In the middle of a merge", conflict)
  await vi.waitFor(async () => {
    const said = await rig.state(unmerged.sessionID)
    expect(said).toMatchObject({ kind: "problem", text: "a merge is not resolved: seed.txt", needsYou: true })
  }, patience)
  await rig.box.repo.git("-C", unmerged.worktree, "checkout", "--ours", "seed.txt")
  await rig.box.repo.git("-C", unmerged.worktree, "add", "seed.txt")
  await rig.board.get("review.again", { sessionID: unmerged.sessionID })
  await rig.seen.until(unmerged.sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
})

test("a base that is gone is named with the way out, and another one takes its place: the work is reviewed against it", async () => {
  const { repo } = rig.box
  await repo.git("branch", "next")
  const { sessionID } = await rig.board.get("task.create", {
    draftID: "d-next",
    title: "From a branch that goes",
    description: "do:touch task-n.txt",
    baseBranch: "next",
    start: { waiver: "a test of its base" },
  })
  const before = await rig.seen.until(sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
  await rig.checked(sessionID)
  expect(await rig.board.ask("task.update", { sessionID, base: "main" })).toMatchObject({
    ok: false,
    error: { text: "its base next is there: only one that is gone is replaced" },
  })
  await repo.git("branch", "-D", "next")
  const words = "there is no branch next any more (U gives the task another base)"
  expect(await rig.board.ask("task.update", { sessionID })).toMatchObject({
    ok: false,
    error: { kind: "refused", refusal: { kind: "base_gone", base: "next" }, text: words },
  })
  await rig.board.get("review.again", { sessionID })
  await vi.waitFor(
    async () => expect(await rig.state(sessionID)).toMatchObject({ kind: "problem", text: words }),
    patience,
  )
  for (const base of ["no-such", before.branch]) {
    expect(await rig.board.ask("task.update", { sessionID, base })).toMatchObject({ ok: false })
  }
  await repo.write("later.txt", "later\n")
  const later = await repo.commit("the base that takes its place goes on")
  const done = await rig.board.get("task.update", { sessionID, base: "main" })
  expect(done.text).toBe("main is in its branch now; it is reviewed again")
  const after = await rig.seen.until(sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
  expect(after).toMatchObject({ baseBranch: "main", review: { snapshot: { base: later, files: 1 } } })
})

test("C096 a stopped setup starts nothing; r runs it again, w goes on without it", async () => {
  await rig.box.repo.write("hold-setup", "")
  await rig.box.repo.commit("tasks are held in their setup")
  const { sessionID } = await rig.board.get("task.create", {
    draftID: "d-stopped",
    title: "Stopped in its setup",
    description: "do:touch task-t.txt",
    start: { waiver: "a test of the setup" },
  })
  await vi.waitFor(async () => expect((await rig.state(sessionID)).text).toBe("setting up · preparing"), patience)
  await rig.board.get("task.stop", { sessionID })
  await vi.waitFor(async () => {
    expect(await rig.state(sessionID)).toMatchObject({
      kind: "setup_failed",
      text: expect.stringContaining("stopped · preparing (mkdir"),
    })
  }, patience)
  const again = await rig.board.get("task.resume", { sessionID })
  expect(again.text).toBe("the setup runs again")
  await vi.waitFor(async () => expect((await rig.state(sessionID)).text).toBe("setting up · preparing"), patience)
  await rig.board.get("task.stop", { sessionID })
  await vi.waitFor(async () => expect((await rig.state(sessionID)).kind).toBe("setup_failed"), patience)
  expect((await rig.seen.read(sessionID)).lastGatedStatus).toBe("backlog")
  expect(await rig.board.ask("setup.waive", { sessionID, reason: "ok" })).toMatchObject({ ok: false })
  await rig.board.get("setup.waive", { sessionID, reason: "made ready by hand" })
  // The wish to start still stood.
  await rig.seen.until(sessionID, "in Review", (now) => now.lastGatedStatus === "review")
})
