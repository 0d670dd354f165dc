import { afterEach, expect, test, vi } from "vitest"
import { columnIn, makeWorld, plantTask, type World } from "../kit/model-world.ts"
import { agreed, bringToReview, over } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 60_000 })

/* What the person sent back waits with its card, goes with it, and with nothing else. */

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.dispose()
})

/** A task whose send back waits for the place that another one holds. */
async function queued() {
  const world = makeWorld({ seed: 5, options: { inProgressLimit: 1 } })
  worlds.push(world)
  const process = world.start()
  await world.settle()
  const say = <T>(work: () => Promise<T>) => over(world, process.run(work))
  const plant = () => say(() => plantTask(process, { intake: agreed }))
  const move = (sessionID: string, to: "in_progress" | "review") =>
    say(() => process.handlers["task.move"]({ sessionID, to }))
  const [id, other] = [await plant(), await plant()]
  await move(id, "in_progress")
  await bringToReview(world, process, id, { disposition: "fix" })
  await move(other, "in_progress")
  await world.advance(1_000)
  const text = "Only what I wrote here."
  const sent = await say(() => process.handlers["task.sendBack"]({ sessionID: id, text, mode: "continue" }))
  expect(sent).toMatchObject({ ok: true, value: { verdict: "queued" } })
  await world.advance(1_000)
  /** The place is free, and what waits has had its time. */
  const free = async () => {
    await say(() => process.handlers["task.trash"]({ sessionID: other, trashed: true }))
    await world.advance(20_000)
    expect([columnIn(world, id), world.task(id)?.generation]).toEqual(["in_progress", 2])
  }
  const told = () =>
    (world.db.transcripts.get(id) ?? [])
      .flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")))
      .join("\n")
  /** Somebody writes the wish into the session, past the board. */
  const write = (status: "in_progress" | "review") =>
    say(() => process.supervision.tasks.update(id, (meta) => ({ ...meta, status })))
  const files = () => [...world.disk.files.keys()].filter((path) => /(send-back|note)-2\.md$/.test(path))
  return { world, process, id, move, free, told, write, files }
}

test("a send back that waited goes with the text that was sent", async () => {
  const { free, told, files } = await queued()
  expect(files()).toHaveLength(2)
  await free()
  expect(told()).toContain("Only what I wrote here.")
  expect(told()).not.toContain("A thing")
})

test.each(["the board", "a script"])(
  "one that %s takes back is gone: a later one says what the review says",
  async (by) => {
    const { world, id, move, write, free, told, files } = await queued()
    await (by === "the board" ? move(id, "review") : write("review"))
    await world.advance(20_000)
    expect(world.task(id)).toMatchObject({ status: "review", lastGatedStatus: "review" })
    expect(world.task(id)?.awaiting).toBeUndefined()
    expect(files()).toEqual([])
    await write("in_progress")
    await free()
    expect(told()).toContain("A thing")
    expect(told()).not.toContain("Only what I wrote here.")
  },
)

test("one that never began, because the process died in between, does not go with another one", async () => {
  const { world, process, id, move, write, free, told } = await queued()
  await move(id, "review")
  const { project } = process.supervision
  const path = project.store.paths.session(id).sendBack(2)
  await over(
    world,
    process.run(() => project.store.writeText(path, "Only what I wrote here.")),
  )
  await write("in_progress")
  await free()
  expect(told()).toContain("A thing")
  expect(told()).not.toContain("Only what I wrote here.")
})

test("words alone are sent back without speaking of findings, as the preview says", async () => {
  const world = makeWorld({ seed: 5 })
  worlds.push(world)
  const process = world.start()
  await world.settle()
  const say = <T>(work: () => Promise<T>) => over(world, process.run(work))
  const id = await say(() => plantTask(process, { intake: agreed }))
  await say(() => process.handlers["task.move"]({ sessionID: id, to: "in_progress" }))
  await bringToReview(world, process, id, { disposition: "intended", reason: "That is how it should be" })
  const preview = await say(() => process.handlers["sendBack.preview"]({ sessionID: id }))
  const prompt = preview.ok ? preview.value.prompt : ""
  expect(prompt).toContain("what is wanted stands above")
  await say(() =>
    process.handlers["task.sendBack"]({ sessionID: id, note: "Name it after what it does.", mode: "continue" }),
  )
  await world.advance(20_000)
  const said = (world.db.transcripts.get(id) ?? [])
    .flatMap(({ parts }) => parts.map((part) => ("text" in part ? part.text : "")))
    .slice(-3)
    .join("\n")
  expect(said).toContain("Name it after what it does.")
  expect(said).toContain(prompt)
  expect(said).not.toMatch(/listed (above|here)/)
})
