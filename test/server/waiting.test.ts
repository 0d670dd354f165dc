import { afterEach, expect, test, vi } from "vitest"
import type { Options } from "../../src/core/options.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { columnIn, makeWorld, plantTask, type World } from "../kit/model-world.ts"
import { agreed, bringToReview, over } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 60_000 })

/* Who waits in the queue goes on as soon as what it waits for is there: not at some later look. */

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.dispose()
})

function begin(options: Partial<Options> = {}) {
  const world = makeWorld({ seed: 5, options })
  worlds.push(world)
  const process = world.start()
  const say = <T>(work: () => Promise<T>) => over(world, process.run(work))
  const plant = (more: Partial<TaskMeta> = {}) => say(() => plantTask(process, { intake: agreed, ...more }))
  const start = (sessionID: string) => say(() => process.handlers["task.move"]({ sessionID, to: "in_progress" }))
  return { world, process, say, plant, start }
}

/** A task that is in Review, with nothing open. */
async function reviewed({ world, process, start }: ReturnType<typeof begin>, id: string) {
  await start(id)
  await bringToReview(world, process, id, { disposition: "intended", reason: "as it was asked for" })
}

/** Nothing looks by itself until 15 s after this: the task that is queued sets the only timer. */
async function queue({ world, process, start }: ReturnType<typeof begin>, id: string) {
  await world.advance(40_000)
  expect(world.timers(process)).toBe(0)
  const at = world.now()
  await start(id)
  await world.advance(5_000)
  expect(world.task(id)).toMatchObject({ status: "in_progress", lastGatedStatus: "backlog" })
  return { relooked: () => world.now() - at >= 15_000 }
}

test("a task that waits for another starts when that is merged, without a later look", async () => {
  const all = begin()
  const { world, process, say } = all
  const first = await all.plant()
  const second = await all.plant({ dependsOn: [1] })
  await reviewed(all, first)
  const queued = await queue(all, second)
  const { commit } = world.task(first)!.review!.snapshot!
  await say(() => process.handlers["task.approve"]({ sessionID: first, snapshot: commit }))
  await world.advance(2_000)
  expect([columnIn(world, first), columnIn(world, second)]).toEqual(["done", "in_progress"])
  expect(process.turns.get(second)?.begun).toBe(true)
  expect(queued.relooked()).toBe(false)
})

test("and when it is left without a merge, in another window", async () => {
  const all = begin()
  const { world } = all
  const first = await all.plant()
  const second = await all.plant({ dependsOn: [1] })
  await reviewed(all, first)
  const other = world.start()
  await world.settle()
  const queued = await queue(all, second)
  const left = other.run(() => other.handlers["task.leave"]({ sessionID: first, reason: "done by hand" }))
  expect(await over(world, left)).toMatchObject({ ok: true })
  await world.advance(2_000)
  expect([columnIn(world, first), columnIn(world, second)]).toEqual(["done", "in_progress"])
  expect(queued.relooked()).toBe(false)
})

test("a task that waits for a place takes it when the one in progress goes to the trash", async () => {
  const all = begin({ inProgressLimit: 1 })
  const { world, process, say, start } = all
  const first = await all.plant()
  const second = await all.plant()
  await start(first)
  await world.advance(1_000)
  await say(() => process.handlers["task.stop"]({ sessionID: first }))
  const queued = await queue(all, second)
  await say(() => process.handlers["task.trash"]({ sessionID: first, trashed: true }))
  await world.advance(2_000)
  expect(columnIn(world, second)).toBe("in_progress")
  expect(queued.relooked()).toBe(false)
})
