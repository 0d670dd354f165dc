import { afterEach, describe, expect, test } from "vitest"
import { columnIn, makeWorld, plantTask, type Process, type World } from "../kit/model-world.ts"

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.dispose()
})

function open(seed = 1, options: Parameters<typeof makeWorld>[0]["options"] = {}) {
  const world = makeWorld({ seed, options })
  worlds.push(world)
  return world
}

const noIntake = { intake: { enabled: false, retries: 1 } }

async function started(world: World, process: Process) {
  const id = await process.run(() => settled(world, plantTask(process)))
  await settled(
    world,
    process.run(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
  )
  await world.advance(1_000)
  return id
}

async function settled<T>(world: World, promise: Promise<T>): Promise<T> {
  let done = false
  void promise.finally(() => (done = true))
  for (let n = 0; n < 100 && !done; n++) await world.advance(100)
  return promise
}

describe("a task in one process", () => {
  test("goes from its start to Review by one turn and one reviewer", async () => {
    const world = open(1, noIntake)
    const process = world.start()
    await world.settle()
    const id = await started(world, process)
    expect([...world.db.begun.values()]).toEqual([1])
    world.edit(world.task(id)!.worktree)
    process.run(() => process.end(id, "stop"))
    await world.advance(2_000)
    expect(columnIn(world, id)).toBe("review")
    expect(world.task(id)!.review).toMatchObject({
      snapshot: { files: 1 },
      validator: { state: "running", attempt: 1 },
    })
    expect([...world.db.begun.values()]).toEqual([1, 1])
    expect(world.db.wrong).toEqual([])
  })
})
