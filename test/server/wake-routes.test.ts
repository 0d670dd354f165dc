import { afterEach, describe, expect, test, vi } from "vitest"
import { parseFindings } from "../../src/core/findings.ts"
import { holderOf } from "../../src/shared/gate/slots.ts"
import { get, openWorld, type World } from "../kit/running-world.ts"

/*
 * Each route of the table of wake sources by its own trigger: one prompt, into the right session, said by that source.
 * Titles name the route as `source <route>`; a guard asks for one of each.
 */

vi.setConfig({ testTimeout: 120_000 })

const cleanUp: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const clean of cleanUp.splice(0).toReversed()) await clean()
})

const patience = { timeout: 90_000, interval: 20 }

async function open(options: object = {}) {
  const world = await openWorld(options)
  cleanUp.push(() => world.dispose())
  return world
}

/** Nothing more is sent, however often the task is looked at. */
async function staysAt(world: World, sessionID: string, task: string, count: number) {
  for (let look = 0; look < 3; look++) await world.running.supervisor.look(task)
  expect(world.promptsOf(sessionID)).toHaveLength(count)
}

const noIntake = { intake: { enabled: false } }

/** A task whose agent works. */
async function started(world: World) {
  const task = await world.make()
  expect(get(await world.handlers["task.move"]({ sessionID: task, to: "in_progress" }))).toMatchObject({
    verdict: "accepted",
  })
  await vi.waitFor(() => expect(world.promptsOf(task)).toHaveLength(1), patience)
  await vi.waitFor(() => expect(holderOf(task)).toBeUndefined(), patience)
  return task
}

/** A task in Review, and the session of its validator. */
async function underReview(world: World) {
  const task = await started(world)
  const { worktree } = await world.metaOf(task)
  await Bun.write(`${worktree}/a.txt`, "two\n")
  world.host.endTurn(task)
  const validator = await vi.waitFor(async () => {
    const pointer = (await world.metaOf(task)).review?.validator
    expect(pointer?.state).toBe("running")
    expect(world.promptsOf(pointer!.sessionID!)).toHaveLength(1)
    return pointer!.sessionID!
  }, patience)
  return { task, validator }
}

const report = get(
  parseFindings({
    summary: "One thing.",
    findings: [
      { kind: "bug", severity: "high", confidence: 8, title: "Wrong", detail: "It is two.", location: "a.txt:1" },
    ],
  }),
)

describe("one trigger, one turn", () => {
  test("source intake: a new task in Backlog", async () => {
    const world = await open()
    const task = await world.make()
    const child = await vi.waitFor(async () => {
      const pointer = (await world.metaOf(task)).intake
      expect(world.promptsOf(pointer?.sessionID ?? "")).toHaveLength(1)
      return pointer!.sessionID!
    }, patience)
    expect(world.sourcesOf(child)).toEqual([`intake:${task}`])
    await staysAt(world, child, task, 1)
    expect(world.promptsOf(task)).toEqual([])
  })

  test("source task-start: an accepted move to In Progress", async () => {
    const world = await open(noIntake)
    const task = await started(world)
    expect(world.sourcesOf(task)).toEqual([`task-start:${task}`])
    await staysAt(world, task, task, 1)
  })

  test("source validator: a snapshot of finished work", async () => {
    const world = await open(noIntake)
    const { task, validator } = await underReview(world)
    expect(world.sourcesOf(validator)).toEqual([`validator:${task}`])
    await staysAt(world, validator, task, 1)
    expect(world.promptsOf(task)).toHaveLength(1)
  })

  test("source task-send-back: findings ruled fix", async () => {
    const world = await open(noIntake)
    const { task, validator } = await underReview(world)
    get(await world.running.reports.findings(validator, report))
    world.host.endTurn(validator)
    await vi.waitFor(async () => expect((await world.metaOf(task)).review?.validator?.state).toBe("done"), patience)
    const { review } = await world.metaOf(task)
    expect(review?.findings).toBe(1)
    const [finding] = (get(await world.host.host.session(validator)).metadata!.kagan as { findings: { id: string }[] })
      .findings
    const rulings = [{ finding: finding!.id, disposition: "fix" as const }]
    get(await world.handlers["findings.rule"]({ sessionID: task, rulings }))
    get(await world.handlers["task.sendBack"]({ sessionID: task, mode: "continue" }))
    await vi.waitFor(() => expect(world.promptsOf(task)).toHaveLength(2), patience)
    expect(world.sourcesOf(task)).toEqual([`task-start:${task}`, `task-send-back:${task}`])
    await staysAt(world, task, task, 2)
  })

  test("source task-resume: the person goes on with an interrupted task", async () => {
    const world = await open(noIntake)
    const task = await started(world)
    get(await world.handlers["task.stop"]({ sessionID: task }))
    await staysAt(world, task, task, 1)
    get(await world.handlers["task.resume"]({ sessionID: task }))
    await vi.waitFor(() => expect(world.promptsOf(task)).toHaveLength(2), patience)
    expect(world.sourcesOf(task)).toEqual([`task-start:${task}`, `task-resume:${task}`])
    await staysAt(world, task, task, 2)
  })

  test("source task-tell: words to an agent that is idle", async () => {
    const world = await open(noIntake)
    const task = await started(world)
    get(await world.handlers["task.stop"]({ sessionID: task }))
    get(await world.handlers["task.tell"]({ sessionID: task, text: "Use the other file." }))
    await vi.waitFor(() => expect(world.promptsOf(task)).toHaveLength(2), patience)
    expect(world.promptsOf(task)[1]!.parts[0]!.text).toBe("Use the other file.")
    expect(world.sourcesOf(task)).toEqual([`task-start:${task}`, `task-tell:${task}`])
    await staysAt(world, task, task, 2)
  })
})
