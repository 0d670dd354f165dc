import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { existsSync } from "node:fs"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import type { TaskMeta, ValidatorMeta } from "../../src/core/task.ts"
import type { Board } from "../kit/board.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe, type Probe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openTasks, type SeenTasks } from "../kit/tasks.ts"
import { openWindow } from "../kit/window.ts"

let model: Model
let box: Sandbox
let probe: Probe
let host: HostServer
let board: Board
let seen: SeenTasks

beforeAll(async () => {
  // One file per task, or a later one would change nothing after an earlier one was merged.
  model = await startModel(
    defaultKaganScript({
      file: (request) => `task-${/#(\d+)/.exec(request.messages.map(({ text }) => text).join("\n"))?.[1]}.txt`,
    }),
  )
  // The project's config is untracked, so that a worktree has none of its own.
  box = await makeSandbox({ plugin: false, model, where: "project" })
  probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [pluginPath(), probe.spec] })
  ;({ host, board, seen } = await openWindow(box, probe))
})

afterAll(async () => {
  await host?.stop()
  await box?.dispose()
  await model?.dispose()
})

const create = async (title: string, description = "") => {
  const made = await board.get("task.create", { draftID: `d-${title.replace(/\W/g, "-")}`, title, description })
  return made.sessionID
}
const history = async (meta: TaskMeta) =>
  (await readFile(join(box.repo.dir, ".git/kagan", meta.sessionID, "history.jsonl"), "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).text as string)

describe("the life of a task", () => {
  test("from Backlog to Done, each gate in its place", async () => {
    const id = await create("Greet the reader", "A greeting in greeting.txt.")
    const ready = await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
    expect(ready).toMatchObject({
      status: "backlog",
      lastGatedStatus: "backlog",
      branch: "kagan/1-greet-the-reader",
      sessionID: id,
      repo: board.repo,
    })

    const early = await board.ask("task.move", { sessionID: id, to: "in_progress" })
    expect(early).toMatchObject({ ok: false, error: { refusal: { kind: "decisions_open", open: 1 } } })
    expect((await seen.read(id)).lastGatedStatus).toBe("backlog")

    await board.get("intake.answer", { sessionID: id, answers: [{ decision: 0, kind: "approved" }] })
    expect(await board.get("task.move", { sessionID: id, to: "in_progress" })).toMatchObject({ verdict: "accepted" })
    const review = await seen.until(id, "reviewed", (meta) => meta.review?.validator?.state === "done")
    const snapshot = review.review!.snapshot!
    expect(snapshot).toMatchObject({ generation: 1, files: 1 })

    const helper = await seen.helper<ValidatorMeta>(review.review!.validator!.sessionID!)
    expect(helper.findings).toHaveLength(1)
    expect(helper.findings![0]).toMatchObject({ id: "F1", citation: "verified" })

    const unruled = await board.ask("task.approve", { sessionID: id, snapshot: snapshot.commit })
    expect(unruled).toMatchObject({ ok: false, error: { refusal: { kind: "findings_open" } } })
    const rulings = helper.findings!.map(({ id: finding }) => ({
      finding,
      disposition: "intended" as const,
      reason: "asked for like this",
    }))
    await board.get("findings.rule", { sessionID: id, rulings })
    const before = (await box.repo.git("rev-parse", "main")).trim()
    const { commit } = await board.get("task.approve", { sessionID: id, snapshot: snapshot.commit })

    expect((await box.repo.git("rev-parse", "main")).trim()).toBe(commit)
    expect((await box.repo.git("rev-parse", `${commit}^`)).trim()).toBe(before)
    expect(await box.repo.git("diff", "--stat", snapshot.commit, commit)).toBe("")
    expect(existsSync(join(box.repo.dir, "task-1.txt"))).toBe(true)
    expect(await seen.read(id)).toMatchObject({
      status: "done",
      lastGatedStatus: "done",
      merge: { state: "merged", commit },
    })
    expect(model.requests.filter((request) => request.kind === "title")).toHaveLength(0)
    expect(
      ["intake", "work", "validator"].map((kind) => model.requests.filter((request) => request.kind === kind).length),
    ).toEqual([2, 2, 2])
    expect(await history(await seen.read(id))).toEqual([
      "created from main",
      "intake started",
      "intake reported: 2 decisions, 1 required",
      "In Progress refused: 1 required decision is open (i answers)",
      expect.stringContaining("approved"),
      "Backlog → In Progress, accepted",
      "woken once: start",
      "entered Review: turn finished",
      expect.stringMatching(/^snapshot [0-9a-f]{7}: 1 file, /),
      "reviewer started",
      "reviewer reported 1 finding",
      "F1 ruled intended: asked for like this",
      expect.stringMatching(/^approved [0-9a-f]{7}$/),
      expect.stringMatching(/^merged into main as [0-9a-f]{7}$/),
      "Review → Done, approved",
    ])
  })

  test("the worktree has the main checkout's provider and our plugin, and no file of ours", async () => {
    const id = await create("Look around")
    const meta = await seen.until(id, "intake done", (task) => task.intake?.state === "done")
    expect(await box.repo.git("-C", meta.worktree, "status", "--porcelain", "--ignored")).toBe("")
    const config = (await host.clientFor(meta.worktree).config.get()).data
    expect(config).toMatchObject({ model: "mock/m1", command: { "kagan-task": expect.anything() } })
  })

  test("a wish written by somebody else takes the same gate, and a refusal writes the old value back with its reason", async () => {
    const id = await create("Written from outside")
    await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
    await seen.write(id, { status: "done" })
    const denied = await seen.until(id, "denied", (meta) => meta.denied !== undefined)
    expect(denied).toMatchObject({
      status: "backlog",
      lastGatedStatus: "backlog",
      denied: { wish: "done", kind: "not_a_move" },
    })

    await board.get("intake.waive", { sessionID: id, reason: "a trifle" })
    await seen.write(id, { status: "in_progress" })
    const accepted = await seen.until(id, "in review", (meta) => meta.lastGatedStatus === "review")
    expect(accepted.denied).toBeUndefined()
  })

  test("what is sent back is done by the same session, with the findings before the prompt", async () => {
    const id = await create("Needs a second round")
    await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
    await board.get("intake.waive", { sessionID: id, reason: "already agreed" })
    await board.get("task.move", { sessionID: id, to: "in_progress" })
    const first = await seen.until(id, "reviewed", (meta) => meta.review?.validator?.state === "done")
    const nothing = await board.ask("task.sendBack", { sessionID: id })
    expect(nothing).toMatchObject({ ok: false, error: { refusal: { kind: "nothing_to_fix" } } })
    await board.get("findings.rule", {
      sessionID: id,
      rulings: [{ finding: "F1", disposition: "fix", reason: "use the name" }],
    })
    await board.get("task.sendBack", { sessionID: id, note: "Keep it short." })
    const second = await seen.until(
      id,
      "reviewed again",
      (meta) => meta.generation === 2 && meta.review?.validator?.state === "done",
    )
    expect(second.review!.snapshot!.commit).not.toBe(first.review!.snapshot!.commit)
    const messages = (await host.client.session.messages({ sessionID: id })).data!
    const mine = messages
      .filter((message) => message.info.role === "user")
      .map((message) => message.parts.map((part) => (part.type === "text" ? part.text : "")).join(""))
    expect(mine).toHaveLength(4)
    expect(mine[1]).toBe("Please do task #4: Needs a second round")
    expect(mine[2]).toContain("The person: use the name")
    expect(mine[2]).toContain("Keep it short.")
    expect(mine[3]).toBe("Please fix what the review of task #4 found (listed above).")
  })
})

describe("what is not a task", () => {
  test("an ordinary session and a fork of a task's session are not touched", async () => {
    const id = await create("To be forked")
    await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
    const ordinary = (await host.client.session.create({ title: "Just talking" })).data!
    const fork = (await host.client.session.fork({ sessionID: id })).data!
    await host.client.session.prompt({ sessionID: ordinary.id, parts: [{ type: "text", text: "hello" }] })
    await board.get("board.facts", {})
    const after = (await host.client.session.get({ sessionID: fork.id })).data!
    expect(after.metadata).toEqual(fork.metadata)
    expect((await host.client.session.get({ sessionID: ordinary.id })).data!.metadata).toBeUndefined()
    const known = (await board.get("board.facts", {})).facts.map((facts) => facts.sessionID)
    expect(known).toContain(id)
    expect(known).not.toContain(fork.id)
    expect(known).not.toContain(ordinary.id)
  })
})

describe("a task that was never gated", () => {
  test("is seeded and not judged: when it is created, at the first update, and after a restart", async () => {
    const created = await seen.plant({ status: "done", taskNumber: 901 })
    expect(await seen.until(created, "seeded", (meta) => meta.lastGatedStatus !== undefined)).toMatchObject({
      status: "done",
      lastGatedStatus: "done",
    })

    const updated = await seen.plant({ status: "in_progress", taskNumber: 902 }, "update")
    expect(await seen.until(updated, "seeded", (meta) => meta.lastGatedStatus !== undefined)).toMatchObject({
      lastGatedStatus: "in_progress",
    })

    await host.stop()
    const offline = await startServer(box, { env: { OPENCODE_PURE: "1" } })
    const planted = await openTasks(offline, board.repo).plant({ status: "review", taskNumber: 903 })
    await offline.stop()
    ;({ host, board, seen } = await openWindow(box, probe))
    expect(await seen.until(planted, "seeded", (meta) => meta.lastGatedStatus !== undefined)).toMatchObject({
      status: "review",
      lastGatedStatus: "review",
    })
  })

  test("and after the restart the others are as they were", async () => {
    const columns = (await seen.all())
      .filter((task) => task.taskNumber < 900)
      .map((task) => [task.taskNumber, task.lastGatedStatus])
    expect(columns).toEqual([
      [1, "done"],
      [2, "backlog"],
      [3, "review"],
      [4, "review"],
      [5, "backlog"],
    ])
  })
})
