import { afterEach, describe, expect, test, vi } from "vitest"
import type { Options } from "../../src/core/options.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { columnIn, makeWorld, plantTask, type Process, type World } from "../kit/model-world.ts"
import { agreed, heal, judgeChange, living, over, take } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 300_000 })

/*
 * A life from Backlog to Done, killed at each single call that the server half makes on the way, and two windows that
 * want the same at the same time, in many orders.
 */

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world.dispose()
})

function begin(seed: number, options: Partial<Options> = {}): { world: World; wrong: string[] } {
  const wrong: string[] = []
  const helpers = new Set<string>()
  const world: World = makeWorld({
    seed,
    options: { inProgressLimit: 2, resume: "auto", ...options },
    changed: (before, after) => judgeChange(world, before, after, helpers, wrong),
  })
  open.push(world)
  return { world, wrong }
}

/** Brings the first card on until it is in `column`, whatever happens to the processes. */
async function driveTo(world: World, id: string, column: string) {
  const ids = [id]
  for (let round = 0; round < 60 && columnIn(world, id) !== column; round++) {
    if (living(world).length === 0) world.start()
    await world.advance(400)
    // A turn that died is gone on with by itself: nobody has to ask for it.
    const turns = living(world).flatMap((process) => [...process.turns.keys()])
    if (columnIn(world, id) !== "in_progress" || turns.length > 0)
      await take(world, ids, { do: "next", by: 0, task: 0, fix: 3 })
    await world.advance(round % 4 === 3 ? 16_000 : 400)
  }
  expect(columnIn(world, id)).toBe(column)
}

const children = (world: World, id: string, role: string) =>
  [...world.db.sessions.values()].filter(
    (session) => session.parentID === id && (session.metadata?.kagan as { role?: string })?.role === role,
  )
const wakes = (world: World, id: string) =>
  (world.db.transcripts.get(id) ?? []).filter(
    ({ info, parts }) => info.role === "user" && parts.every((part) => !(part.type === "text" && part.synthetic)),
  )

async function lifeKilledAt(n: number): Promise<void> {
  const { world, wrong } = begin(7 * n + 1)
  const first = world.start()
  await world.settle()
  const id = await first.run(() => over(world, plantTask(first)))
  world.kill(first, n)
  await driveTo(world, id, "done")
  await heal(world)
  expect([...world.db.wrong, ...wrong], `killed at call ${n}`).toEqual([])
  expect([...world.merges.values()], `killed at call ${n}`).toEqual([1])
  for (const role of ["intake", "validator"]) {
    expect(children(world, id, role).length, `${role}s after a kill at call ${n}`).toBe(1)
  }
  expect(wakes(world, id).length, `wakes after a kill at call ${n}`).toBeLessThanOrEqual(2)
}

describe("a process that dies at any call", () => {
  // Shards run one after the other; a single test of all would say less about where it stands.
  test.each([0, 1, 2, 3, 4])(
    "leaves a card that goes on to Done, by one helper of each role and one merge (%i)",
    async (shard) => {
      for (let n = shard + 1; n <= 700; n += 5) {
        await lifeKilledAt(n)
        for (const world of open.splice(0)) await world.dispose()
      }
    },
  )

  test("between session and record: the limit still counts what the record does not say", async () => {
    for (let n = 1; n <= 60; n++) {
      const { world, wrong } = begin(n, { inProgressLimit: 1 })
      const one = world.start()
      const other = world.start()
      await world.settle()
      const a = await one.run(() => over(world, plantTask(one, { intake: agreed })))
      const b = await one.run(() => over(world, plantTask(one, { intake: agreed })))
      await world.advance(1_000)
      world.kill(one, n)
      void one.run(() => one.handlers["task.move"]({ sessionID: a, to: "in_progress" }))
      await world.advance(300)
      void other.run(() => other.handlers["task.move"]({ sessionID: b, to: "in_progress" }))
      await world.advance(3_000)
      expect([...world.db.wrong, ...wrong], `killed at call ${n}`).toEqual([])
      await world.dispose()
    }
  })
})

const SEEDS = Array.from({ length: 40 }, (_, n) => n * 7919 + 1)

/** Both windows ask in the same instant. */
async function both<T>(
  world: World,
  processes: readonly Process[],
  ask: (process: Process) => Promise<T>,
): Promise<T[]> {
  const answers = processes.map((process) => process.run(() => ask(process)))
  return over(world, Promise.all(answers))
}

async function twoWindows(seed: number, over_: Partial<TaskMeta>, options: Partial<Options> = {}) {
  const { world, wrong } = begin(seed, options)
  const windows = [world.start(), world.start()]
  await world.settle()
  const first = windows[0]!
  const id = await first.run(() => over(world, plantTask(first, over_)))
  await world.advance(1_000)
  return { world, wrong, windows, id }
}

describe("two windows that want the same at once (C108)", () => {
  test("start one turn", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, windows, id } = await twoWindows(seed, { intake: agreed })
      await both(world, windows, (p) => p.handlers["task.move"]({ sessionID: id, to: "in_progress" }))
      await world.advance(5_000)
      expect(wakes(world, id)).toHaveLength(1)
      expect([...world.db.begun.values()]).toEqual([1])
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })

  test("keep the limit", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, windows, id } = await twoWindows(seed, { intake: agreed }, { inProgressLimit: 1 })
      const other = await windows[1]!.run(() => over(world, plantTask(windows[1]!, { intake: agreed })))
      await world.advance(500)
      const answers = await Promise.all([
        both(world, [windows[0]!], (p) => p.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
        both(world, [windows[1]!], (p) => p.handlers["task.move"]({ sessionID: other, to: "in_progress" })),
      ])
      const verdicts = answers.flat().map((answer) => (answer.ok ? answer.value.verdict : answer.error.text))
      expect(verdicts.toSorted()).toEqual(["accepted", "queued"])
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })

  test("make one intake helper and one reviewer", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, id } = await twoWindows(seed, {})
      await driveTo(world, id, "review")
      await world.advance(20_000)
      expect(children(world, id, "intake")).toHaveLength(1)
      expect(children(world, id, "validator")).toHaveLength(1)
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })

  test("merge once", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, windows, id } = await twoWindows(seed, { intake: agreed })
      await driveTo(world, id, "review")
      for (let n = 0; n < 20 && world.task(id)?.review?.validator?.state !== "done"; n++) {
        await take(world, [id], { do: "next", by: 0, task: 0, fix: 3 })
        await world.advance(1_000)
      }
      await over(
        world,
        windows[0]!.run(() =>
          windows[0]!.handlers["findings.rule"]({
            sessionID: id,
            rulings: [{ finding: "F1", disposition: "intended" }],
          }),
        ),
      )
      const { snapshot } = world.task(id)!.review!
      const answers = await both(world, windows, (p) =>
        p.handlers["task.approve"]({ sessionID: id, snapshot: snapshot!.commit }),
      )
      expect(answers.filter((answer) => answer.ok)).toHaveLength(1)
      expect([...world.merges.values()]).toEqual([1])
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })

  test("send back into one fresh session", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, windows, id } = await twoWindows(seed, { intake: agreed })
      await driveTo(world, id, "review")
      await both(world, windows, (p) => p.handlers["task.sendBack"]({ sessionID: id, mode: "fresh", note: "Anew." }))
      await world.advance(20_000)
      const workers = [...world.db.sessions.values()].filter(
        (session) => (session.metadata?.kagan as { role?: string })?.role === "worker",
      )
      expect(workers).toHaveLength(1)
      expect(world.task(id)).toMatchObject({ generation: 2, run: { workerID: workers[0]!.id } })
      expect(wakes(world, workers[0]!.id)).toHaveLength(1)
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })

  test("go on by themselves with one turn when a third died", async () => {
    for (const seed of SEEDS) {
      const { world, wrong, id } = await twoWindows(seed, { intake: agreed })
      const third = world.start()
      await world.settle()
      await over(
        world,
        third.run(() => third.handlers["task.move"]({ sessionID: id, to: "in_progress" })),
      )
      await world.advance(2_000)
      const runs = world.processes.find((process) => process.turns.has(id))!
      world.kill(runs)
      await world.advance(150_000)
      expect(wakes(world, id)).toHaveLength(2)
      expect([...world.db.wrong, ...wrong]).toEqual([])
      await world.dispose()
    }
  })
})
