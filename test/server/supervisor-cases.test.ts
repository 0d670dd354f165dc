import { afterEach, describe, expect, test, vi } from "vitest"
import { runState } from "../../src/core/board.ts"
import { DEFAULT_OPTIONS, type Options } from "../../src/core/options.ts"
import type { LookFacts } from "../../src/core/decide.ts"
import { wakeAgain } from "../../src/core/moves.ts"
import { err, ok } from "../../src/core/result.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { contextMark } from "../../src/core/turn.ts"
import { execute, type ActionParts } from "../../src/server/actions.ts"
import { columnIn, makeWorld, plantTask, type Process, type World } from "../kit/model-world.ts"
import { agreed, over, report } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 120_000 })

/* Races and crashes as others met them, by the number of the case. */

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.dispose()
})

async function begin(options: Partial<Options> = {}, over_: Partial<TaskMeta> = { intake: agreed }) {
  const world = makeWorld({ seed: 5, options })
  worlds.push(world)
  const process = world.start()
  await world.settle()
  const id = await process.run(() => over(world, plantTask(process, over_)))
  await world.advance(500)
  return { world, process, id }
}

async function working(options: Partial<Options> = {}) {
  const all = await begin(options)
  await over(
    all.world,
    all.process.run(() => all.process.handlers["task.move"]({ sessionID: all.id, to: "in_progress" })),
  )
  await all.world.advance(1_000)
  expect(all.process.turns.get(all.id)?.begun).toBe(true)
  return all
}

async function reviewing(options: Partial<Options> = {}) {
  const all = await working(options)
  all.world.edit(all.world.task(all.id)!.worktree)
  all.process.run(() => all.process.end(all.id, "stop"))
  await all.world.advance(2_000)
  const reviewer = all.world.task(all.id)!.review!.validator!.sessionID!
  expect(all.process.turns.get(reviewer)?.begun).toBe(true)
  return { ...all, reviewer }
}

const stateOf = (world: World, process: Process, id: string) =>
  runState(
    { title: "", meta: world.task(id)! },
    process.run(() => process.supervision.supervisor.factsOf(id)),
    world.now(),
  )
const tell = (process: Process, type: string, properties: object) =>
  process.run(() => process.supervision.observe({ type, properties }))
const history = (world: World, id: string) =>
  (world.disk.lines.get(`/store/${id}/history.jsonl`) ?? []).map((line) => (line as { text: string }).text)
const reviewers = (world: World, id: string) =>
  [...world.db.sessions.values()].filter(
    (session) => session.parentID === id && (session.metadata?.kagan as { role?: string })?.role === "validator",
  )

test("C054 one end of turn that is told three times is one transition and one reviewer", async () => {
  const { world, process, id } = await working()
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  for (let n = 0; n < 3; n++) tell(process, "session.idle", { sessionID: id })
  await world.advance(23)
  tell(process, "session.status", { sessionID: id, status: { type: "idle" } })
  await world.advance(5_000)
  expect(history(world, id).filter((text) => text.startsWith("entered Review"))).toHaveLength(1)
  expect(reviewers(world, id)).toHaveLength(1)
})

test("C056 a prompt that is taken and lost is sent again once, and then the card says why", async () => {
  const { world, process, id } = await begin()
  process.losing = { name: "ProviderAuthError", data: { message: "no key for this provider" } }
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(300_000)
  expect(world.db.lost).toEqual([id, id])
  expect(stateOf(world, process, id)).toMatchObject({
    kind: "failed",
    text: "the prompt was lost: no key for this provider",
    needsYou: true,
  })
  delete process.losing
  await over(
    world,
    process.run(() => process.handlers["task.resume"]({ sessionID: id })),
  )
  await world.advance(2_000)
  expect(process.turns.get(id)?.begun).toBe(true)
})

const texts = (world: World, id: string) =>
  (world.db.transcripts.get(id) ?? []).flatMap(({ parts }) =>
    parts.flatMap((part) => ("text" in part ? [part.text] : [])),
  )
const kinds = (world: World, id: string) =>
  (world.db.transcripts.get(id) ?? []).map((message) => contextMark(message)?.kind ?? message.info.role)

test("a prompt that never arrived is what a word or r sends, once, with all that it brought along", async () => {
  const { world, process, id } = await begin()
  process.losing = { name: "UnknownError", data: { message: "no such agent" } }
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(300_000)
  expect(texts(world, id).filter((text) => text.startsWith("Please do task"))).toEqual([])
  delete process.losing
  await over(
    world,
    process.run(() => process.handlers["task.tell"]({ sessionID: id, text: "Mind the gap." })),
  )
  await world.advance(2_000)
  expect(kinds(world, id)).toEqual(["task", "tell", "user", "assistant"])
  expect(texts(world, id).slice(1, 3)).toEqual(["Mind the gap.", "Please do task #1: Task 1"])
})

test("a claim of our own that was given up half way is taken up again by ourselves", async () => {
  const world = makeWorld({ seed: 5 })
  worlds.push(world)
  const process = world.start()
  await world.settle()
  const { host } = process.supervision
  const { config } = host
  Object.assign(host, { config: async () => err({ kind: "timeout", text: "no answer" }) })
  const id = await process.run(() => over(world, plantTask(process)))
  await world.advance(20_000)
  expect(world.task(id)!.intake).toMatchObject({ state: "claimed", claim: { pid: process.pid } })
  Object.assign(host, { config })
  await world.advance(20_000)
  expect(world.task(id)!.intake).toMatchObject({ state: "running", attempt: 1 })
})

test("a resume that was decided on older facts does not take the place of what was asked for since", async () => {
  const { world, process, id } = await working({ resume: "auto" })
  const { project } = process.supervision
  const stale = { title: "Task 1", meta: world.task(id)! }
  await over(
    world,
    process.run(() =>
      project.tasks.update(id, (meta) => wakeAgain(meta, "tell", { now: world.now(), seed: "newer" }, "Mind the gap.")),
    ),
  )
  const action = { kind: "resume", died: { messageID: "msg_old", at: world.now() } } as const
  await over(
    world,
    process.run(() => execute({ project } as ActionParts, action, stale, {} as LookFacts)),
  )
  expect(world.task(id)!.run!.intent).toMatchObject({ id: "newer", purpose: "tell" })
})

describe("what the person tells into a running turn", () => {
  const tellIt = (world: World, process: Process, id: string) =>
    over(
      world,
      process.run(() => process.handlers["task.tell"]({ sessionID: id, text: "Mind the gap." })),
    )

  test("is read before Review, also when the turn was in its last step", async () => {
    const { world, process, id } = await working()
    await tellIt(world, process, id)
    process.run(() => process.end(id, "stop"))
    await world.advance(5_000)
    expect(columnIn(world, id)).toBe("in_progress")
    expect(process.turns.get(id)?.begun).toBe(true)
    expect(kinds(world, id)).toEqual(["task", "user", "assistant", "tell", "user", "assistant"])
    process.run(() => process.end(id, "stop"))
    await world.advance(5_000)
    expect(columnIn(world, id)).toBe("review")
    expect(kinds(world, id)).toHaveLength(6)
  })

  test("and read by the turn itself costs no request", async () => {
    const { world, process, id } = await working()
    await tellIt(world, process, id)
    // The hooks around a tool call bring it in; the next step reads it.
    await over(
      world,
      process.run(() => process.supervision.inject.aroundTool(id, "call_1")),
    )
    process.run(() => process.step(id))
    process.run(() => process.end(id, "stop"))
    await world.advance(5_000)
    expect(columnIn(world, id)).toBe("review")
    expect(kinds(world, id)).toEqual(["task", "user", "assistant", "tell", "assistant"])
  })

  test.each(Array.from({ length: 12 }, (_, n) => n * 4))(
    "is read once, whatever dies after %i calls",
    async (calls) => {
      const { world, process, id } = await working({ resume: "auto" })
      await tellIt(world, process, id)
      world.kill(process, calls)
      process.run(() => process.end(id, "stop"))
      await world.advance(5_000)
      if (process.alive) world.kill(process)
      const next = world.start()
      await world.advance(60_000)
      expect(columnIn(world, id)).toBe("in_progress")
      expect(next.turns.get(id)?.begun).toBe(true)
      next.run(() => next.end(id, "stop"))
      await world.advance(20_000)
      expect(columnIn(world, id)).toBe("review")
      expect(kinds(world, id).filter((kind) => kind === "tell")).toHaveLength(1)
      expect(world.db.wrong).toEqual([])
    },
  )
})

test("C076 a reviewer that repeats a report that cannot be read is ended, and the review counts as not done", async () => {
  const { world, process, id, reviewer } = await reviewing()
  for (let n = 0; n < 4; n++) process.run(() => process.call(reviewer, "kagan_findings", "Not recorded: no summary"))
  await world.advance(2_000)
  expect(process.turns.has(reviewer)).toBe(true)
  process.run(() => process.call(reviewer, "kagan_findings", "Not recorded: no summary"))
  await world.advance(20_000)
  expect(process.turns.has(reviewer)).toBe(false)
  expect(stateOf(world, process, id)).toMatchObject({
    kind: "review_failed",
    text: "review failed: its report could not be read 5 times: Not recorded: no summary",
  })
  expect(reviewers(world, id)).toHaveLength(1)
  const approved = await over(
    world,
    process.run(() =>
      process.handlers["task.approve"]({ sessionID: id, snapshot: world.task(id)!.review!.snapshot!.commit }),
    ),
  )
  expect(approved).toMatchObject({ ok: false, error: { refusal: { kind: "review_failed" } } })
})

test("C056 a helper whose prompt is lost fails with the host's words, and opens nothing", async () => {
  const world = makeWorld({ seed: 5 })
  worlds.push(world)
  const process = world.start()
  process.losing = { name: "UnknownError", data: { message: "no such agent" } }
  await world.settle()
  const id = await process.run(() => over(world, plantTask(process)))
  await world.advance(300_000)
  expect(world.db.lost).toHaveLength(2)
  expect(world.task(id)!.intake).toMatchObject({ state: "failed", reason: "no such agent" })
  const moved = await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  expect(moved).toMatchObject({ ok: false, error: { refusal: { kind: "intake_failed" } } })
})

test("C058 the person's own turn is waited for, not disturbed, and not read as the end of ours", async () => {
  const { world, process, id } = await begin()
  // The person types into the task's session before it is started.
  await over(
    world,
    process.run(async () => {
      process.turns.set(id, { messageID: "msg_person", begun: false })
    }),
  )
  await world.settle()
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(5_000)
  expect(world.task(id)!.run!.intent!.deliveredAt).toBeUndefined()
  process.run(() => process.end(id, "stop"))
  await world.advance(20_000)
  expect(columnIn(world, id)).toBe("in_progress")
  expect([...world.db.begun.values()]).toEqual([1, 1])
})

test("C060 a compaction is no end, and is never answered by a prompt", async () => {
  const { world, process, id } = await working()
  for (let n = 0; n < 5; n++) {
    tell(process, "session.compacted", { sessionID: id })
    tell(process, "session.idle", { sessionID: id })
    await world.advance(5)
    tell(process, "session.status", { sessionID: id, status: { type: "busy" } })
    await world.advance(9_000)
  }
  expect(columnIn(world, id)).toBe("in_progress")
  expect([...world.db.begun.values()]).toEqual([1])
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  await world.advance(3_000)
  expect(reviewers(world, id)).toHaveLength(1)
})

test("C061 a reviewer that waits for five hours is shown as waiting, can be stopped, and stays the only one", async () => {
  const { world, process, id, reviewer } = await reviewing()
  process.run(() => process.retry(reviewer, world.now() + 17_880_000))
  await world.advance(3_600_000)
  expect(stateOf(world, process, id)).toMatchObject({ kind: "retrying", needsYou: false })
  expect(reviewers(world, id)).toHaveLength(1)
  await over(
    world,
    process.run(() => process.handlers["task.stop"]({ sessionID: id })),
  )
  await world.advance(20_000)
  expect(process.turns.has(reviewer)).toBe(false)
  expect(world.task(id)!.review!.validator).toMatchObject({ state: "failed", reason: "stopped by you" })
})

test("C063 without a single event the card reaches Review within one interval", async () => {
  const { world, process, id } = await working()
  world.events = { drop: 100, twice: 0 }
  await world.advance(40_000)
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  await world.advance(16_000)
  expect(columnIn(world, id)).toBe("review")
  expect(reviewers(world, id)).toHaveLength(1)
})

test("C064 what a helper asks is refused at once; what the task asks stands on its card", async () => {
  const { world, process, id, reviewer } = await reviewing()
  const ask = (sessionID: string, name: string) =>
    process.asks.push({ id: name, sessionID, permission: "bash", patterns: ["ls"], metadata: {}, always: [] } as never)
  ask(reviewer, "per_reviewer")
  tell(process, "permission.asked", { sessionID: reviewer })
  await world.advance(500)
  expect(process.answers).toEqual(["per_reviewer: reject"])
  expect(stateOf(world, process, id).kind).toBe("reviewing")

  const other = await process.run(() => over(world, plantTask(process, { intake: agreed })))
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: other, to: "in_progress" })),
  )
  await world.advance(1_000)
  ask(other, "per_task")
  tell(process, "permission.asked", { sessionID: other })
  await world.advance(500)
  expect(stateOf(world, process, other)).toMatchObject({ kind: "asks_permission", text: "asks: run ls" })
  // After an abort the host keeps the ask; nobody waits for its answer any more.
  await over(
    world,
    process.run(() => process.handlers["task.stop"]({ sessionID: other })),
  )
  await world.advance(1_000)
  expect(process.asks).toHaveLength(1)
  expect(stateOf(world, process, other).kind).toBe("interrupted")
})

test("C109 loaded again ten times in five seconds: one timer, one setup, one reviewer, and the review ends once", async () => {
  let setups = 0
  const world = makeWorld({
    seed: 5,
    options: { worktree: { ...DEFAULT_OPTIONS.worktree, setup: ["make"] } },
    work: {
      async runSetup(task, signal) {
        setups++
        const { sessionID } = task.meta
        const { tasks, clock } = process.supervision.project
        const claim = { ...tasks.self, at: clock.now() }
        await tasks.update(sessionID, (meta) => ({ ...meta, setup: { state: "running", claim, at: clock.now() } }))
        await new Promise((resolve) => signal.addEventListener("abort", resolve))
        setups--
        return ok()
      },
    },
  })
  worlds.push(world)
  const process: Process = world.start()
  await world.settle()
  const id = await process.run(() => over(world, plantTask(process, { intake: agreed })))
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(1_000)
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  await world.advance(2_000)
  const reviewer = world.task(id)!.review!.validator!.sessionID!
  const other = await process.run(() => over(world, plantTask(process, { intake: agreed, setup: undefined })))
  await world.advance(1_000)
  expect([world.task(other)!.setup?.state, setups]).toEqual(["running", 1])

  for (let n = 0; n < 10; n++) {
    await over(
      world,
      process.run(() => process.reload()),
    )
    await world.advance(200)
  }
  await world.advance(2_000)
  expect(setups).toBe(1)
  expect(world.timers(process)).toBe(1)
  expect(process.turns.has(reviewer)).toBe(true)
  await over(
    world,
    process.run(() => report(process, reviewer)),
  )
  process.run(() => process.end(reviewer, "stop"))
  await world.advance(5_000)
  expect(world.task(id)!.review).toMatchObject({ validator: { state: "done" }, findings: 1 })
  expect(reviewers(world, id)).toHaveLength(1)
  expect(history(world, id).filter((text) => text.startsWith("reviewer started"))).toHaveLength(1)
  expect(world.db.wrong).toEqual([])
})

test("C057 two reviewers report within a moment while the person's turn runs: both are kept, one counts, one wake tells of it", async () => {
  const {
    world,
    process,
    id,
    reviewer: first,
  } = await reviewing({ validator: { ...DEFAULT_OPTIONS.validator, retries: 1 } })
  process.run(() => process.end(first, "network"))
  await world.advance(30_000)
  const second = world.task(id)!.review!.validator!.sessionID!
  expect(second).not.toBe(first)
  // The person types into the task's session: a turn of theirs runs.
  process.turns.set(id, { messageID: "msg_person", begun: false })
  await world.advance(100)
  const before = kinds(world, id).length
  await Promise.all([first, second].map((one) => over(world, Promise.resolve(process.run(() => report(process, one))))))
  process.run(() => process.end(second, "stop"))
  await world.advance(300)
  const stored = (one: string) => (world.db.sessions.get(one)!.metadata!.kagan as { findings?: unknown[] }).findings
  expect([stored(first), stored(second)]).toMatchObject([[{ id: "F1" }], [{ id: "F1" }]])
  expect(world.task(id)!.review).toMatchObject({ findings: 1, ruled: 0 })
  expect(kinds(world, id)).toHaveLength(before)
  const say = (work: () => Promise<unknown>) => over(world, process.run(work))
  const rulings = [{ finding: "F1", disposition: "fix" as const }]
  await say(() => process.handlers["findings.rule"]({ sessionID: id, rulings }))
  await say(() => process.handlers["task.sendBack"]({ sessionID: id, mode: "continue" }))
  // Nothing is sent into the running turn; when it has ended, one prompt goes, with the findings.
  expect(kinds(world, id)).toHaveLength(before)
  process.run(() => process.end(id, "stop"))
  await world.advance(20_000)
  expect(kinds(world, id).slice(before)).toEqual(["findings", "user", "assistant"])
})

test("C111 after a backup of yesterday what is merged is known as merged, and what it does not know can be brought back", async () => {
  const { world, process, id } = await begin()
  const ids = [id]
  for (let n = 0; n < 4; n++) ids.push(await process.run(() => over(world, plantTask(process, { intake: agreed }))))
  await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(1_000)
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  await world.advance(2_000)
  const reviewer = world.task(id)!.review!.validator!.sessionID!
  await over(
    world,
    process.run(() => report(process, reviewer)),
  )
  process.run(() => process.end(reviewer, "stop"))
  await world.advance(2_000)
  const yesterday = new Map(world.db.sessions)
  const ruled = [{ finding: "F1", disposition: "intended" as const, reason: "as it was asked for" }]
  await over(
    world,
    process.run(() => process.handlers["findings.rule"]({ sessionID: id, rulings: ruled })),
  )
  const { commit } = world.task(id)!.review!.snapshot!
  await over(
    world,
    process.run(() => process.handlers["task.approve"]({ sessionID: id, snapshot: commit })),
  )
  expect(columnIn(world, id)).toBe("done")
  world.kill(process)
  world.db.sessions.clear()
  for (const [key, session] of yesterday) if (key !== ids[3] && key !== ids[4]) world.db.sessions.set(key, session)

  const next = world.start()
  await world.advance(5_000)
  expect(stateOf(world, next, id).kind).toBe("in_base")
  for (const gone of [ids[3]!, ids[4]!]) {
    const facts = next.run(() => next.supervision.supervisor.factsOf(gone))!
    expect(runState({ title: "", meta: facts.record!.meta }, facts, world.now()).kind).toBe("session_gone")
    const back = await over(
      world,
      next.run(() => next.handlers["task.restore"]({ sessionID: gone })),
    )
    expect(back).toMatchObject({ ok: true })
  }
  const made = await next.run(() => over(world, plantTask(next)))
  expect(world.task(made)!.taskNumber).toBe(6)
})

test("what is in the trash is known after a restart too, and comes back", async () => {
  const { world, process, id } = await begin()
  const trash = (by: Process, trashed: boolean) =>
    over(
      world,
      by.run(() => by.handlers["task.trash"]({ sessionID: id, trashed })),
    )
  await trash(process, true)
  world.kill(process)
  const next = world.start()
  await world.advance(5_000)
  const facts = next.run(() => next.supervision.supervisor.facts())
  expect(facts).toMatchObject([{ sessionID: id, source: "session", worktree: "present" }])
  expect(await trash(next, false)).toMatchObject({ ok: true })
  expect(world.task(id)?.trashedAt).toBeUndefined()
})

test("a base that is gone is said with the local branches that the work can go into instead", async () => {
  const { world, process, id } = await reviewing()
  const { trees } = process.supervision.project
  const gone = err({ kind: "base_gone", text: "there is no branch main" })
  const branches = async () => ok(["next"])
  Object.assign(trees, { landing: async () => gone, branches })
  const preview = process.run(() => process.handlers["merge.preview"]({ sessionID: id }))
  const value = { gone: "there is no branch main", branches: ["next"] }
  expect(await over(world, preview)).toMatchObject({ ok: true, value })
})

test("C111 a disk that is full says so, damages nothing, and is caught up with", async () => {
  const { world, process, id } = await begin()
  const path = "/store/tasks/1.json"
  const before = world.disk.files.get(path)
  world.disk.full = true
  const moved = await over(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  expect(moved).toMatchObject({ ok: false, error: { text: expect.stringContaining("no space left on device") } })
  expect(world.disk.files.get(path)).toBe(before)
  world.disk.full = false
  await world.advance(20_000)
  expect(columnIn(world, id)).toBe("in_progress")
  expect(JSON.parse(world.disk.files.get(path)!)).toMatchObject({ kagan: { lastGatedStatus: "in_progress" } })
  expect(world.db.begun.size).toBe(1)
})

test("C109 a supervision that is put down leaves no timer, and the next one goes on once", async () => {
  const { world, process, id, reviewer } = await reviewing()
  for (let n = 0; n < 10; n++) {
    const next = world.start()
    await world.advance(200)
    await over(
      world,
      next.run(() => next.supervision.dispose()),
    )
    next.alive = false
  }
  await world.advance(20_000)
  expect(reviewers(world, id)).toHaveLength(1)
  expect(process.turns.has(reviewer)).toBe(true)
  expect(world.db.wrong).toEqual([])
})

test("C112 a card whose session is deleted says so, and goes on in a new one in the same worktree", async () => {
  const { world, process, id } = await working()
  process.run(() => process.end(id, "stop"))
  world.db.sessions.delete(id)
  tell(process, "session.deleted", { sessionID: id, info: { id } })
  await world.advance(1_000)
  const facts = process.run(() => process.supervision.supervisor.factsOf(id))
  expect(facts).toMatchObject({ source: "record", record: { title: "Task 1", meta: { taskNumber: 1 } } })

  const restored = await over(
    world,
    process.run(() => process.handlers["task.restore"]({ sessionID: id })),
  )
  expect(restored).toMatchObject({ ok: true, value: { taskNumber: 1 } })
  const back = restored.ok ? restored.value.sessionID : ""
  expect(back).not.toBe(id)
  expect(world.task(back)).toMatchObject({ sessionID: back, worktree: "/worktrees/1", lastGatedStatus: "in_progress" })
  await world.advance(1_000)
  await over(
    world,
    process.run(() => process.handlers["task.resume"]({ sessionID: back })),
  )
  await world.advance(2_000)
  expect(process.turns.get(back)?.begun).toBe(true)
})

test("C112 a card whose session is deleted can be discarded, and its number stays taken", async () => {
  const { world, process, id } = await begin()
  world.db.sessions.delete(id)
  await over(
    world,
    process.run(() => process.supervision.supervisor.refresh()),
  )
  expect(
    await over(
      world,
      process.run(() => process.handlers["task.discard"]({ sessionID: id })),
    ),
  ).toMatchObject({ ok: true })
  expect(process.run(() => process.supervision.supervisor.factsOf(id))).toBeUndefined()
  const next = await process.run(() => over(world, plantTask(process)))
  expect(world.task(next)!.taskNumber).toBe(2)
})

test("C112 a reviewer that is deleted in the middle is replaced, and the review counts as not done", async () => {
  const { world, process, id, reviewer } = await reviewing()
  process.turns.delete(reviewer)
  world.db.sessions.delete(reviewer)
  tell(process, "session.deleted", { sessionID: reviewer, info: { id: reviewer, parentID: id } })
  await world.advance(20_000)
  expect(world.task(id)!.review!.validator).toMatchObject({ state: "running", attempt: 2 })
})

test("a stop stays a stop, also for a turn that is only about to begin", async () => {
  const { world, process, id } = await begin()
  const moved = process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" }))
  await over(world, moved)
  await over(
    world,
    process.run(() => process.handlers["task.stop"]({ sessionID: id })),
  )
  await world.advance(60_000)
  expect(process.turns.size).toBe(0)
  expect(columnIn(world, id)).toBe("in_progress")
  expect(stateOf(world, process, id)).toMatchObject({ kind: "interrupted", text: "stopped by you" })
})

describe.each(["trash", "archive"] as const)("a card whose intake runs, put away (%s) and brought back", (way) => {
  async function away(meanwhile: (play: Awaited<ReturnType<typeof begin>>, child: string) => Promise<void>) {
    const play = await begin({}, {})
    const { world, process, id } = play
    await world.advance(2_000)
    const first = world.task(id)!.intake!.sessionID!
    expect(process.turns.get(first)?.begun).toBe(true)
    const put = (on: boolean) =>
      over(
        world,
        process.run(() =>
          way === "trash"
            ? process.handlers["task.trash"]({ sessionID: id, trashed: on })
            : process.handlers["task.archive"]({ sessionID: id, archived: on }),
        ),
      )
    expect(await put(true)).toMatchObject({ ok: true })
    await meanwhile(play, first)
    expect(await put(false)).toMatchObject({ ok: true })
    await world.advance(5_000)
    return { ...play, first }
  }

  test("its helper is stopped, and intake is owed again: no failure", async () => {
    const { world, process, id, first } = await away(async ({ world }) => world.advance(5_000))
    expect(process.turns.get(first)).toBeUndefined()
    expect(stateOf(world, process, id).kind).toBe("intake_running")
    const { intake } = world.task(id)!
    expect(intake).toMatchObject({ state: "running", attempt: 1 })
    expect(intake!.sessionID).not.toBe(first)
    expect(process.turns.get(intake!.sessionID!)?.begun).toBe(true)
    expect(history(world, id).filter((text) => text.includes("intake failed"))).toEqual([])
  })

  test("also at once", async () => {
    const { world, process, id } = await away(async () => undefined)
    expect(stateOf(world, process, id).kind).toBe("intake_running")
  })
})
