import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, expect, test, vi } from "vitest"
import { runState } from "../../src/core/board.ts"
import { decide } from "../../src/core/decide.ts"
import { parseFindings } from "../../src/core/findings.ts"
import { DEFAULT_OPTIONS } from "../../src/core/options.ts"
import { validatorPrompt } from "../../src/core/prompts.ts"
import { holderOf } from "../../src/shared/gate/slots.ts"
import { intakeDone, lookFacts, NOW, sampleMeta, shownFacts, snapshot } from "../core/sample.ts"
import { get, openWorld, type World } from "../kit/running-world.ts"

/** Options whose effect no other test is about, each seen where it counts. */
vi.setConfig({ testTimeout: 120_000 })
const patience = { timeout: 90_000, interval: 20 }
let world: World | undefined
afterEach(async () => {
  await world?.dispose()
  world = undefined
})

/** The first prompt of a session, once the gate has let go of it. */
async function firstPrompt(sessionID: () => Promise<string | undefined>) {
  return vi.waitFor(async () => {
    const id = await sessionID()
    const [prompt] = world!.promptsOf(id ?? "")
    expect(prompt).toBeDefined()
    expect(holderOf(id!)).toBeUndefined()
    return { id: id!, prompt: prompt! }
  }, patience)
}

test("worktree.*, intake.agent and intake.model: where it stands, what it is called, what it brings, who asks", async () => {
  world = await openWorld({
    worktree: { branchPrefix: "bot", copy: ["local.txt"], setup: ["cat local.txt > made.txt"] },
    intake: { agent: "reader", model: "test/test" },
  })
  await world.repo.write("local.txt", "mine\n")
  const id = await world.make()
  const meta = await world.metaOf(id)
  expect(meta.branch).toBe("bot/1-sample")
  // The world's own root: beside the repository.
  expect(meta.worktree.startsWith(join(world.repo.dir, "../worktrees"))).toBe(true)
  await vi.waitFor(async () => expect((await world!.metaOf(id)).setup?.state).toBe("done"), patience)
  expect(await readFile(join(meta.worktree, "made.txt"), "utf8")).toBe("mine\n")
  const { prompt } = await firstPrompt(async () => (await world!.metaOf(id)).intake?.sessionID)
  expect(prompt).toMatchObject({ agent: "reader", model: { providerID: "test", modelID: "test" } })
})

test("worktree.setupTimeout ends a setup command that does not end", async () => {
  world = await openWorld({ worktree: { setup: ["sleep 60"], setupTimeout: 1 }, intake: { enabled: false } })
  const id = await world.make()
  await vi.waitFor(
    async () =>
      expect((await world!.metaOf(id)).setup).toMatchObject({
        state: "failed",
        text: expect.stringContaining("timed out after 1 s"),
      }),
    patience,
  )
})

test("inProgressLimit, validator.agent, validator.models, sendBack.mode and merge.strategy: who reads, who goes on, what is merged", async () => {
  world = await openWorld({
    intake: { enabled: false },
    inProgressLimit: 1,
    validator: { agent: "judge", models: ["test/test"] },
    sendBack: { mode: "fresh" },
    merge: { strategy: "merge" },
  })
  const { handlers, host, running } = world
  const id = await world.make()
  const second = await world.make("draft-2")
  get(await handlers["task.move"]({ sessionID: id, to: "in_progress" }))
  await firstPrompt(async () => id)
  expect(get(await handlers["task.move"]({ sessionID: second, to: "in_progress" }))).toMatchObject({
    verdict: "queued",
  })
  // Or it would take the place, and the send back would wait for it.
  get(await handlers["task.move"]({ sessionID: second, to: "backlog" }))

  async function reviewed(working: string, text: string) {
    const { worktree } = await world!.metaOf(id)
    await Bun.write(join(worktree, "a.txt"), text)
    const before = (await world!.metaOf(id)).review?.validator?.sessionID
    host.endTurn(working)
    const reader = await firstPrompt(async () => {
      const now = (await world!.metaOf(id)).review?.validator?.sessionID
      return now === before ? undefined : now
    })
    expect(reader.prompt).toMatchObject({ agent: "judge", model: { providerID: "test", modelID: "test" } })
    get(await running.reports.findings(reader.id, get(parseFindings({ summary: "Fine.", findings: [] }))))
    host.endTurn(reader.id)
    await vi.waitFor(async () => expect((await world!.metaOf(id)).review?.validator?.state).toBe("done"), patience)
  }
  await reviewed(id, "two\n")
  get(await handlers["task.sendBack"]({ sessionID: id, note: "Once more." }))
  const worker = await firstPrompt(async () => (await world!.metaOf(id)).run?.workerID)
  expect(worker.id).not.toBe(id)

  await reviewed(worker.id, "three\n")
  const snapshot = (await world.metaOf(id)).review!.snapshot!.commit
  get(await handlers["task.approve"]({ sessionID: id, snapshot }))
  expect((await world.repo.git("rev-list", "--parents", "-1", "main")).trim().split(" ")).toHaveLength(3)
})

test.each([
  ["intake.retries", 0, false],
  ["intake.retries", 1, true],
] as const)("%s %i: a helper that failed once is asked again: %s", (_, retries, again) => {
  const meta = sampleMeta({
    intake: { state: "running", sessionID: "ses_i", generation: 1, attempt: 1, required: 0, answered: 0, at: NOW },
  })
  const helpers = { intake: { activity: { kind: "gone" } } } as never
  const actions = decide(meta, lookFacts({ helpers }), { ...DEFAULT_OPTIONS, intake: { enabled: true, retries } })
  expect(actions.some(({ kind }) => kind === "spawn_helper")).toBe(again)
})

test.each([
  ["validator.retries", 0, false],
  ["validator.retries", 1, true],
] as const)("%s %i: a reviewer that failed once is asked again: %s", (_, retries, again) => {
  const validator = { state: "running", sessionID: "ses_v", generation: 1, attempt: 1, at: NOW } as const
  const review = { snapshot: snapshot(), validator, findings: 0, ruled: 0, fix: 0 }
  const meta = sampleMeta({ status: "review", lastGatedStatus: "review", intake: intakeDone(), review })
  const helpers = { validator: { activity: { kind: "gone" } } } as never
  const chosen = { ...DEFAULT_OPTIONS, validator: { ...DEFAULT_OPTIONS.validator, retries } }
  const actions = decide(meta, lookFacts({ helpers, changed: [] } as never), chosen)
  expect(actions.some(({ kind }) => kind === "spawn_helper")).toBe(again)
})

test.each([
  ["ask", false],
  ["auto", true],
] as const)("resume %s: work that OpenCode's end interrupted goes on by itself: %s", (resume, goesOn) => {
  const intent = {
    id: "start:1",
    purpose: "start",
    messageID: "msg_1",
    partID: "prt_1",
    text: "Do it",
    at: NOW,
    deliveredAt: NOW,
  }
  const meta = sampleMeta({
    status: "in_progress",
    lastGatedStatus: "in_progress",
    intake: intakeDone(),
    run: { intent } as never,
  })
  const end = { kind: "interrupted", reason: "host_died", at: NOW, messageID: "msg_2" } as never
  const actions = decide(meta, lookFacts({ end }), { ...DEFAULT_OPTIONS, resume })
  expect(actions.some(({ kind }) => kind === "resume")).toBe(goesOn)
})

test.each([
  [600, "working"],
  [60, "stalled"],
] as const)("stallAfter %i: two minutes without a sign of life are %s", (stallAfter, kind) => {
  const meta = sampleMeta({
    status: "in_progress",
    lastGatedStatus: "in_progress",
    intake: intakeDone(),
    run: {
      intent: { id: "start:1", purpose: "start", messageID: "m", partID: "p", text: "t", at: NOW, deliveredAt: NOW },
    } as never,
  })
  const facts = shownFacts({ activity: { kind: "busy" }, lastSign: NOW - 120_000 })
  expect(runState({ title: "T", meta }, facts, NOW, stallAfter).kind).toBe(kind)
})

test("validator.maxTokens bounds what the reviewer is given", () => {
  const files = Array.from({ length: 40 }, (_, i) => ({
    path: `f${i}.ts`,
    kind: "text",
    insertions: 200,
    deletions: 0,
    patch: `@@ -0,0 +1,200 @@\n${"+some words that fill a line of the diff\n".repeat(200)}`,
  }))
  const prompt = (maxTokens: number) =>
    validatorPrompt({
      taskNumber: 1,
      title: "T",
      description: "",
      answers: [],
      priorRulings: [],
      files: files as never,
      generation: 1,
      maxTokens,
      nonce: "n",
    })
  expect(prompt(10_000).shown).toBeLessThan(prompt(60_000).shown)
})
