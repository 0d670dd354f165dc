import { afterEach, expect, test, vi } from "vitest"
import { splitTasks } from "../../src/core/assessment.ts"
import type { Assessment, TaskMeta } from "../../src/core/task.ts"
import { storeAssessment } from "../../src/server/intake.ts"
import { splitDraft, takePlaces } from "../../src/server/split.ts"
import { boardStatistics, costsByTask } from "../../src/server/statistics.ts"
import type { Session } from "../../src/shared/host.ts"
import { makeWorld, plantTask, type World } from "../kit/model-world.ts"
import { sampleTask } from "../core/sample.ts"
import { agreed, over } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 120_000 })

let world: World | undefined
afterEach(() => world?.dispose())

const assessment: Assessment = {
  understanding: "u",
  decisions: [{ question: "Which?", assumption: "This", required: true }],
  instruction: "i",
  mode: "assisted",
  modeReason: "r",
  split: [
    { title: "One", description: "first" },
    { title: "Two", description: "second", dependsOn: [0] },
    { title: "Three", description: "", dependsOn: [0] },
  ],
}

async function stage(over_: Partial<TaskMeta> = {}) {
  world = makeWorld({ seed: 3 })
  const process = world.start()
  await world.settle()
  const play = <T>(work: () => Promise<T>) => over(world!, process.run(work))
  const id = await play(() => plantTask(process, over_))
  await world.advance(1_000)
  return { world, process, play, id, meta: () => world!.task(id)! }
}

test("the parts take over what the whole had, say of what they are a part, and only the first wait for what it waited for", () => {
  const { title, meta } = sampleTask({ dependsOn: [7], scope: "app", model: { providerID: "p", modelID: "m" } }, "Big")
  const answers = [{ decision: 0, kind: "overridden", text: "That", at: 1 }] as const
  const parts = splitTasks({ title, meta, description: "As a whole." }, assessment, answers)
  const n = meta.taskNumber
  expect(parts.map(({ title, after, dependsOn }) => ({ title, after, dependsOn }))).toEqual([
    { title: "One", after: undefined, dependsOn: [7] },
    { title: "Two", after: [0], dependsOn: undefined },
    { title: "Three", after: [0], dependsOn: undefined },
  ])
  for (const part of parts)
    expect(part).toMatchObject({ baseBranch: meta.baseBranch, scope: "app", model: { providerID: "p", modelID: "m" } })
  expect(parts[0]!.description).toBe(
    `first\n\nPart 1 of 3 of #${n} (Big); the other parts are tasks of their own.\n\nWhat was asked for as a whole:\nAs a whole.\n\nDecided for the whole:\n- Which?\n  That`,
  )
  expect(parts[2]!.description).toMatch(/^Part 3 of 3/)
})

test("a split starts nothing while a required decision is open, and is made once under one id", async () => {
  const { play, process, id, world, meta } = await stage()
  const { project } = process.supervision
  const intake = meta().intake!.sessionID!
  const before = await play(() => splitDraft(project, { title: "Big", meta: meta() }, false))
  expect(before).toMatchObject({ ok: false, error: { refusal: { kind: "intake_running" } } })
  await play(() => storeAssessment(project, intake, assessment))
  process.run(() => process.end(intake, "stop"))
  await world.advance(20_000)
  const task = { title: "Big", meta: meta() }
  expect(await play(() => splitDraft(project, task, true))).toMatchObject({
    error: { refusal: { kind: "decisions_open", open: 1 } },
  })
  const drafts = await Promise.all([1, 2].map(() => play(() => splitDraft(project, task, false))))
  expect(drafts.map((draft) => draft.ok && draft.value.id)).toEqual([`split-${id}`, `split-${id}`])
})

test("the task goes to the archive, and who waited for it waits for the parts at its end", async () => {
  const { play, process, id, world, meta } = await stage({ intake: agreed })
  const { project } = process.supervision
  const whole = meta().taskNumber
  const waiting = await play(() => plantTask(process, { intake: agreed, dependsOn: [whole, 40] }))
  const ids = [
    await play(() => plantTask(process)),
    await play(() => plantTask(process)),
    await play(() => plantTask(process)),
  ]
  const parts = ids.map((part) => ({ title: "part", meta: world.task(part)! }))
  const tasks = splitTasks({ title: "Big", meta: meta(), description: "" }, assessment, [])
  const draft = { id: `split-${id}`, tasks, splitOf: id, at: 1 }
  await play(() => takePlaces(project, draft, parts))
  expect(meta()).toMatchObject({ archivedAt: expect.any(Number), status: "backlog", lastGatedStatus: "backlog" })
  const [, two, three] = parts.map((part) => part.meta.taskNumber)
  expect(world.task(waiting)!.dependsOn).toEqual([40, two, three])
  const lines = world.disk.lines.get(`/store/${id}/history.jsonl`) as { text: string }[]
  expect(lines.at(-1)!.text).toBe(`split into ${parts.map((part) => `#${part.meta.taskNumber}`).join(", ")}`)
  // Once more, as after a crash in the middle: nothing changes.
  const again = JSON.stringify([meta(), world.task(waiting)])
  await play(() => takePlaces(project, draft, parts))
  expect(JSON.stringify([meta(), world.task(waiting)])).toBe(again)
})

test("costs are told by what a session was for, sub-agents with the one that started them", () => {
  const session = (id: string, cost: number, kagan?: object, parentID?: string) =>
    ({
      id,
      cost,
      ...(parentID ? { parentID } : {}),
      metadata: kagan ? { kagan: { sessionID: id, ...kagan } } : {},
    }) as Session
  const costs = costsByTask([
    session("t", 1, { boardTask: true }),
    session("sub", 2, undefined, "t"),
    session("w", 4, { role: "worker", workerParent: "t" }),
    session("i", 0.5, { role: "intake", intakeParent: "t" }, "t"),
    session("v", 0.25, { role: "validator", validatorParent: "t" }, "t"),
    session("subv", 0.25, undefined, "v"),
    session("mine", 9),
    session("fork", 9, { sessionID: "t", boardTask: true }),
    session("loop", 9, undefined, "loop"),
  ])
  expect([...costs]).toEqual([["t", { work: 7, intake: 0.5, validator: 0.5 }]])
})

test("the statistics of a board are read from what its tasks left behind", async () => {
  const { play, process, id } = await stage({ intake: agreed })
  await play(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" }))
  const read = await play(() => boardStatistics(process.supervision.project))
  expect(read).toMatchObject({ ok: true, value: { tasks: 1, left: 0 } })
  const row = read.ok ? read.value.rows.find(({ label }) => label === "Time in Backlog") : undefined
  expect(row).toMatchObject({ of: "median of 1" })
})
