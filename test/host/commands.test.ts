import { existsSync } from "node:fs"
import { readFile, rm, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import { commandsRig, patience, SETUP, type Rig } from "./commands-rig.ts"

vi.setConfig({ testTimeout: 300_000, hookTimeout: 120_000 })

let rig: Rig

beforeAll(async () => {
  rig = await commandsRig()
})
afterAll(() => rig?.dispose())

test("run between snapshot and reviewer; only those that match; results reach card, request and reviewer", async () => {
  const meta = await rig.held("Held in a check")
  const running = await rig.board.get("review.checks", { sessionID: meta.sessionID })
  expect(running).toMatchObject({
    results: [{ name: "fine" }, { name: "broken" }, { name: "rewrites" }],
    running: { name: "slow", output: "step 1\rstep 2" },
  })
  expect(rig.model.count("validator")).toBe(0)
  await writeFile(join(meta.worktree, "out/go"), "")
  expect(await rig.checked(meta.sessionID)).toMatchObject({ passed: 3, failed: 1, notRun: 0, failing: ["broken"] })
  const { results, running: over } = await rig.board.get("review.checks", { sessionID: meta.sessionID })
  expect(over).toBeUndefined()
  expect(results).toMatchObject([
    { name: "fine", outcome: "passed", output: "all good\n" },
    { name: "broken", outcome: "failed", text: "exit 3", output: "a.ts: no such thing\n" },
    { name: "rewrites", outcome: "passed" },
    { name: "slow", outcome: "passed", output: "step 1\rstep 2" },
  ])
  expect(existsSync(join(meta.worktree, "out/never"))).toBe(false)
  await rig.seen.until(meta.sessionID, "reviewed", (now) => now.review?.validator?.state === "done")
  const asked = rig.model.requests.find((request) => request.kind === "validator")!
  const material = asked.messages.map(({ text: said }) => said).join("\n")
  expect(material).toContain("a.ts: no such thing")
  expect(material).toMatch(/broken \(.*\): failed, exit 3/)
})

test("a status that somebody else writes ends running checks with everything that they started", async () => {
  const meta = await rig.held("Written from outside")
  expect(rig.isHeld(meta)).toBe(true)
  await rig.seen.write(meta.sessionID, { status: "backlog" })
  await vi.waitFor(() => expect(rig.isHeld(meta)).toBe(false), patience)
  const back = await rig.seen.until(meta.sessionID, "in Backlog", (now) => now.lastGatedStatus === "backlog")
  expect(back.denied).toBeUndefined()
})

test("a worktree that went is put back as it was made, and set up again before anything else, in Review too", async () => {
  const meta = await rig.reviewed(
    "Loses its folder",
    "touch hold-setup; git add hold-setup; git commit -qm held; echo l > task-l.txt",
  )
  await rig.checked(meta.sessionID)
  await rm(meta.worktree, { recursive: true })
  const again = await rig.board.get("task.resume", { sessionID: meta.sessionID })
  expect(again.text).toBe("its worktree is back; its setup runs again")
  // What its agent committed holds it up.
  await vi.waitFor(async () => expect((await rig.state(meta.sessionID)).text).toBe("setting up · preparing"), patience)
  expect(await readFile(join(meta.worktree, ".env"), "utf8")).toBe("SECRET=1\n")
  expect(await readFile(join(meta.worktree, "notes.local"), "utf8")).toBe("mine\n")
  await rm(join(meta.worktree, "hold-setup"))
  await rig.seen.until(meta.sessionID, "set up", (now) => now.setup?.state === "done")
  expect(await readFile(join(meta.worktree, ".setup"), "utf8")).toBe("done\n")
  expect((await rig.board.get("setup.output", { sessionID: meta.sessionID })).results).toMatchObject([
    { name: SETUP, outcome: "passed" },
  ])
  expect((await rig.state(meta.sessionID)).kind).toBe("changed_since_review")
})

test("C096 has the files that were to come along, and nothing starts before its setup is done", async () => {
  await rig.box.repo.write("hold-setup", "")
  await rig.box.repo.commit("tasks are held in their setup")
  const { sessionID, text: said } = await rig.board.get("task.create", {
    draftID: "d-setup",
    title: "Waits for its setup",
    description: "do:echo s > task-s.txt; cat .setup .env notes.local > out/seen",
    start: { waiver: "a test of the setup" },
  })
  expect(said).toMatch(/^#\d+ created but queued$/)
  await vi.waitFor(async () => expect((await rig.state(sessionID)).text).toBe("setting up · preparing"), patience)
  const meta = await rig.seen.read(sessionID)
  expect(await rig.board.get("setup.output", { sessionID })).toMatchObject({
    results: [],
    running: { name: SETUP, output: "preparing\n" },
  })
  const before = rig.model.requests.filter((request) => request.kind === "work").length
  await rm(join(meta.worktree, "hold-setup"))
  await rig.seen.until(sessionID, "a snapshot", (now) => now.review?.snapshot !== undefined)
  expect(await readFile(join(meta.worktree, "out/seen"), "utf8")).toBe("done\nSECRET=1\nmine\n")
  expect(rig.model.requests.filter((request) => request.kind === "work").length).toBeGreaterThan(before)
  expect((await rig.board.get("setup.output", { sessionID })).results).toMatchObject([{ outcome: "passed" }])
  // What was brought along is not the task's.
  const files = (await rig.board.get("review.files", { sessionID, since: "base" })).files.map(({ path }) => path)
  expect(files.toSorted()).toEqual(["hold-setup", "task-s.txt"])
})
