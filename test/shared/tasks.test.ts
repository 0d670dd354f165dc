import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, describe, expect, test } from "vitest"
import type { TaskMeta } from "../../src/core/task.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { openStore, type Store } from "../../src/shared/store.ts"
import { makeTasks, type Tasks } from "../../src/shared/tasks.ts"
import { sampleMeta } from "../core/sample.ts"
import { memoryHost, type MemoryHost } from "../kit/memory-host.ts"

let dir: string
let store: Store
let host: MemoryHost
let tasks: Tasks

beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "kagan-tasks-"))
  store = openStore(dir, { clock: systemClock })
  host = memoryHost()
  tasks = makeTasks({ host: host.host, metadata: host.metadata, store, repo: "repo-1" })
})
afterEach(() => rm(dir, { recursive: true, force: true }))

async function create(taskNumber = 1): Promise<string> {
  const { sessionID: _, ...meta } = sampleMeta({ taskNumber })
  const prepared = await tasks.prepareTask({ directory: `/w/${taskNumber}`, title: `Task ${taskNumber}` }, meta)
  const made = prepared.ok ? await tasks.adoptTask(prepared.value, meta) : prepared
  if (!made.ok) throw new Error(made.error.text)
  return made.value.meta.sessionID
}
const metadata = async (sessionID: string) => {
  const session = await host.host.session(sessionID)
  return session.ok ? session.value.metadata! : undefined
}
const record = async (n: number) => JSON.parse(await readFile(store.paths.record(n), "utf8"))
const order = (to: number) => (meta: TaskMeta) => ({ ...meta, order: to })

describe("the one writer", () => {
  test("keeps every foreign key, and writes session and record alike", async () => {
    const id = await create()
    await host.metadata.write(id, { ...(await metadata(id)), other: { deep: [1] } })
    await tasks.update(id, order(7))
    expect(await metadata(id)).toMatchObject({ other: { deep: [1] }, kagan: { order: 7, sessionID: id } })
    expect(await record(1)).toMatchObject({ title: "Task 1", sessionID: id, kagan: { order: 7 } })
  })

  test("a change that fails does not block the next one", async () => {
    const id = await create()
    const bug = () => {
      throw new Error("a bug")
    }
    await expect(tasks.update(id, bug)).rejects.toThrow("a bug")
    expect(await tasks.update("ses_nobody", order(1))).toMatchObject({ ok: false, error: { kind: "gone" } })
    expect(await tasks.update(id, order(3))).toMatchObject({ ok: true, value: { changed: true } })
  })

  test("who else is where is asked of the sessions, not of the records alone: a crash came between the two", async () => {
    const project = { root: "/w", since: () => 0 }
    const counting = makeTasks({ host: host.host, metadata: host.metadata, store, repo: "repo-1", project })
    const [first, second] = [await create(1), await create(2)]
    const kagan = (await metadata(first))!.kagan as object
    await host.metadata.write(first, { kagan: { ...kagan, status: "in_progress", lastGatedStatus: "in_progress" } })
    expect((await record(1)).kagan.lastGatedStatus).toBe("backlog")
    const seen: string[] = []
    await counting.update(second, async (_meta, { siblings }) => {
      for (const one of await siblings()) seen.push(`#${one.kagan.taskNumber} ${one.kagan.lastGatedStatus}`)
      return undefined
    })
    expect(seen.toSorted()).toEqual(["#1 in_progress", "#2 backlog"])
  })

  test("many changes at once are all kept", async () => {
    const id = await create()
    const add = (meta: TaskMeta) => ({ ...meta, order: meta.order + 1 })
    await Promise.all(Array.from({ length: 30 }, () => tasks.update(id, add)))
    expect(await metadata(id)).toMatchObject({ kagan: { order: 31 } })
  })

  test("two processes' writers do not lose each other's changes", async () => {
    const id = await create()
    const other = makeTasks({
      host: host.host,
      metadata: host.metadata,
      store: openStore(dir, { clock: systemClock }),
      repo: "repo-1",
    })
    const add = (meta: TaskMeta) => ({ ...meta, order: meta.order + 1 })
    await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? other : tasks).update(id, add)))
    expect(await metadata(id)).toMatchObject({ kagan: { order: 21 } })
    expect(await record(1)).toMatchObject({ kagan: { order: 21 } })
  })

  test("a session that is no task of this repository is not written", async () => {
    const id = await create()
    const copy = await host.metadata.create({ directory: "/w/x", title: "fork", metadata: (await metadata(id))! })
    const foreign = sampleMeta({ repo: "another", sessionID: "" })
    const clone = await host.metadata.create({ directory: "/w/y", title: "clone", metadata: { kagan: foreign } })
    for (const session of [copy, clone]) {
      if (!session.ok) throw new Error("not made")
      const before = await metadata(session.value.id)
      expect(await tasks.update(session.value.id, order(9))).toMatchObject({ ok: false, error: { kind: "not_ours" } })
      expect(await metadata(session.value.id)).toEqual(before)
    }
  })

  test("a number that belongs to another session is not taken over", async () => {
    const id = await create(1)
    const thief = await host.metadata.create({ directory: "/w/t", title: "thief", metadata: {} })
    if (!thief.ok) throw new Error("not made")
    const kagan = sampleMeta({ taskNumber: 1, sessionID: thief.value.id })
    await host.metadata.write(thief.value.id, { kagan })
    expect(await tasks.update(thief.value.id, order(5))).toMatchObject({ ok: false, error: { kind: "not_ours" } })
    expect(await record(1)).toMatchObject({ sessionID: id })
  })

  test("a newer version is read and never written", async () => {
    const id = await create()
    await host.metadata.write(id, { kagan: { ...((await metadata(id))!.kagan as object), v: 99 } })
    expect(await tasks.read(id)).toMatchObject({ ok: true, value: { readOnly: true } })
    expect(await tasks.update(id, order(2))).toMatchObject({ ok: false, error: { kind: "read_only" } })
  })
})

describe("C111 a damaged record", () => {
  test.each([
    ["cut in half", (text: string) => text.slice(0, text.length / 2)],
    ["empty", () => ""],
    ["all NUL", (text: string) => "\0".repeat(text.length)],
    ["of another shape", () => '{"cards": []}'],
  ])("%s: is kept beside the mended one", async (_what, damage) => {
    const id = await create()
    const path = store.paths.record(1)
    const damaged = damage(await readFile(path, "utf8"))
    await writeFile(path, damaged)
    expect(await tasks.repair(id)).toMatchObject({ ok: true })
    expect(await record(1)).toMatchObject({ sessionID: id })
    expect(await readFile(`${path}.damaged`, "utf8")).toBe(damaged)
    expect(await store.nextTaskNumber()).toMatchObject({ ok: true, value: 2 })
  })

  test("whose session is gone too is named and left, and its number is not given again", async () => {
    await mkdir(store.paths.tasks, { recursive: true })
    await writeFile(store.paths.record(4), "{")
    expect(await tasks.records()).toEqual([])
    expect(host.logs).toContainEqual(expect.objectContaining({ message: expect.stringContaining("#4 cannot be read") }))
    expect(await store.nextTaskNumber()).toMatchObject({ ok: true, value: 5 })
    expect(await readFile(store.paths.record(4), "utf8")).toBe("{")
  })
})

describe("a card whose metadata is gone", () => {
  test("comes back on the same session, with what others wrote there", async () => {
    const id = await create()
    await host.metadata.write(id, { other: 1 })
    expect(await tasks.read(id)).toMatchObject({ ok: false, error: { kind: "not_ours" } })
    const restored = await tasks.restore(id, { directory: "/w/1" }, (meta) => meta)
    expect(restored).toMatchObject({ ok: true, value: { title: "Task 1", meta: { sessionID: id, taskNumber: 1 } } })
    expect(await metadata(id)).toMatchObject({ other: 1, kagan: { taskNumber: 1 } })
    expect(await tasks.restore(id, { directory: "/w/1" }, (meta) => meta)).toMatchObject({ ok: false })
  })
})
