import { execFile } from "node:child_process"
import { realpath } from "node:fs/promises"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, expect } from "vitest"
import { gitEnv } from "../../kit/repo.ts"
import { must, openBench, sessionOf, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"

const { fact, compare } = contract("sessions")

let bench: Bench
let tree: string
beforeAll(async () => {
  bench = await openBench({
    setup(p) {
      p.on("event", async ({ event }) => {
        if (event.type !== "session.created") return
        const found = await p.client.session.get({ sessionID: event.properties.info.id })
        p.record("get at created", {
          id: event.properties.info.id,
          status: found.response?.status,
          metadata: found.data?.metadata,
        })
      })
    },
  })
  tree = await bench.worktree("tree-1")
})
afterAll(() => bench?.dispose())

const create = (input: Parameters<Bench["client"]["session"]["create"]>[0] = {}) =>
  must(bench.client.session.create({ title: "A session", ...input }))

fact("facts §5", "created, updated and deleted carry the whole session and its id", async () => {
  const session = await create({ metadata: { kagan: { v: 1 } } })
  await must(bench.client.session.update({ sessionID: session.id, metadata: { kagan: { v: 2 } } }))
  await must(bench.client.session.delete({ sessionID: session.id }))
  const seen = []
  for (const type of ["created", "updated", "deleted"]) {
    const record = await bench.probe.waitFor(
      (one) =>
        one.type === "event" && one.event.type === `session.${type}` && one.event.properties.info.id === session.id,
      type,
    )
    const { sessionID, info } = record.event.properties
    expect(sessionID).toBe(session.id)
    expect(info).toMatchObject({ id: session.id, title: "A session", directory: bench.box.repo.dir })
    seen.push(`${type} with ${JSON.stringify(info.metadata)}`)
  }
  expect(seen).toEqual([
    'created with {"kagan":{"v":1}}',
    'updated with {"kagan":{"v":2}}',
    'deleted with {"kagan":{"v":2}}',
  ])
  return `properties {sessionID, info}: ${seen.join(", ")}`
})

fact("idioms §1", "session.created comes when the session can already be fetched", async () => {
  const session = await create({ metadata: { kagan: { v: 1 } } })
  const found = await bench.probe.waitFor((one) => one.type === "get at created" && one["id"] === session.id)
  expect(found).toMatchObject({ status: 200, metadata: { kagan: { v: 1 } } })
  return "get inside the event handler: 200, with the metadata"
})

fact("facts §5", "update replaces the metadata as a whole and moves time.updated", async () => {
  const session = await create({ metadata: { kagan: { v: 1 }, other: true } })
  await Bun.sleep(2)
  await must(bench.client.session.update({ sessionID: session.id, metadata: { other: 1 } }))
  const after = await must(bench.client.session.get({ sessionID: session.id }))
  expect(after.metadata).toEqual({ other: 1 })
  expect(after.time.updated).toBeGreaterThan(session.time.updated)
  return `${JSON.stringify({ kagan: { v: 1 }, other: true })} after update ${JSON.stringify({ other: 1 })}: ${JSON.stringify(after.metadata)}`
})

fact("facts §5", "create takes title, agent, model, rules and metadata", async () => {
  const permission = [{ permission: "bash", pattern: "*", action: "deny" as const }]
  const input = {
    agent: "plan",
    model: { providerID: "mock", id: "m2" },
    permission,
    metadata: { kagan: { v: 1 } },
  }
  const session = await create(input)
  expect(await must(bench.client.session.get({ sessionID: session.id }))).toMatchObject({
    title: "A session",
    ...input,
  })
  return "all of them stand in the session's row"
})

fact("facts §5", "a title update leaves the metadata alone", async () => {
  const session = await create({ metadata: { kagan: { v: 1 } } })
  await must(bench.client.session.update({ sessionID: session.id, title: "Another title" }))
  const after = await must(bench.client.session.get({ sessionID: session.id }))
  expect(after).toMatchObject({ title: "Another title", metadata: { kagan: { v: 1 } } })
  return "kept"
})

fact("facts §5", "metadata is kept verbatim, small and large", async () => {
  const odd = { "": null, nested: [[1.5, { "a.b": "ü🦀\u0000\u202e" }], []], big: Number.MAX_SAFE_INTEGER, no: false }
  const large = { text: "x".repeat(300_000) }
  const session = await create({ metadata: { odd } })
  expect((await must(bench.client.session.get({ sessionID: session.id }))).metadata).toEqual({ odd })
  await must(bench.client.session.update({ sessionID: session.id, metadata: { odd, large } }))
  expect((await must(bench.client.session.get({ sessionID: session.id }))).metadata).toEqual({ odd, large })
  return "nested values, null, control characters and 300 kB come back as they were"
})

fact("facts §5", "fork copies the metadata whole, without parent, into the session's directory", async () => {
  const parent = await create({ directory: tree, metadata: { kagan: { sessionID: "self", v: 1 } } })
  const copy = await must(bench.client.session.fork({ sessionID: parent.id, directory: bench.box.repo.dir }))
  expect(copy.metadata).toEqual(parent.metadata)
  expect(copy).toMatchObject({ title: "A session (fork #1)", directory: tree })
  expect(copy.parentID).toBeUndefined()
  return `"${copy.title}", parentID absent, metadata equal; the directory of the call does not matter`
})

fact("facts §5", "a session belongs to the directory that the call names, and is found by id from any", async () => {
  const session = await create({ directory: tree })
  expect(session.directory).toBe(tree)
  const found = await must(bench.client.session.get({ sessionID: session.id }))
  expect(found.directory).toBe(tree)
  await must(bench.client.session.update({ sessionID: session.id, title: "Renamed from elsewhere" }))
  expect((await must(bench.client.session.get({ sessionID: session.id }))).title).toBe("Renamed from elsewhere")
  return "get and update by id work without its directory"
})

fact("facts §5", "list without a scope is one directory, with scope project all worktrees", async () => {
  const here = await create({ title: "here" })
  const there = await create({ title: "there", directory: tree })
  const ids = async (input: Parameters<Bench["client"]["session"]["list"]>[0]) =>
    (await must(bench.client.session.list(input))).map((session) => session.id)
  expect(await ids({ limit: 1000 })).toContain(here.id)
  expect(await ids({ limit: 1000 })).not.toContain(there.id)
  expect(await ids({ directory: tree, limit: 1000 })).toContain(there.id)
  expect(await ids({ directory: tree, limit: 1000 })).not.toContain(here.id)
  expect(await ids({ scope: "project", limit: 1000 })).toEqual(expect.arrayContaining([here.id, there.id]))
  return "main lists main, worktree lists worktree, scope project lists both"
})

fact("facts §1", "another clone of the same repository is the same project", async () => {
  const clone = join(bench.box.root, "clone")
  await promisify(execFile)("git", ["clone", "-q", bench.box.repo.dir, clone], { env: gitEnv() })
  const here = await create({ title: "of main" })
  const there = await create({ title: "of the clone", directory: await realpath(clone) })
  expect(there.projectID).toBe(here.projectID)
  const listed = await must(bench.client.session.list({ scope: "project", limit: 1000 }))
  expect(listed.map((session) => session.id)).toContain(there.id)
  return "same projectID; listed with scope project"
})

fact("facts §5", "list has children and archived sessions in it, and their metadata", async () => {
  const parent = await create()
  const child = await create({ parentID: parent.id, metadata: { kagan: { role: "intake" } } })
  const archived = await create({ metadata: { kagan: { v: 1 } } })
  await must(bench.client.session.update({ sessionID: archived.id, time: { archived: 1000 } }))
  const listed = await must(bench.client.session.list({ scope: "project", limit: 1000 }))
  expect(listed.find((one) => one.id === child.id)).toMatchObject({
    parentID: parent.id,
    metadata: { kagan: { role: "intake" } },
  })
  expect(listed.find((one) => one.id === archived.id)).toMatchObject({ time: { archived: 1000 } })
  expect((await must(bench.client.session.children({ sessionID: parent.id }))).map((one) => one.id)).toEqual([child.id])
  return "both listed; children answers the child"
})

fact("facts §5", "list with start: what was updated since, whenever it was made", async () => {
  const old = await create({ title: "old" })
  const untouched = await create({ title: "untouched" })
  await Bun.sleep(5)
  const start = Date.now()
  await must(bench.client.session.update({ sessionID: old.id, metadata: { touched: true } }))
  const listed = (await must(bench.client.session.list({ scope: "project", start, limit: 1000 }))).map((one) => one.id)
  expect(listed).toContain(old.id)
  expect(listed).not.toContain(untouched.id)
  return "start compares time.updated"
})

fact("facts §5", "list stops at 100 unless asked for more", async () => {
  await Promise.all(Array.from({ length: 105 }, (_, i) => create({ title: `one of many ${i}` })))
  const short = await must(bench.client.session.list())
  const all = await must(bench.client.session.list({ limit: 1_000_000 }))
  expect(short.length).toBe(100)
  expect(all.length).toBeGreaterThan(105)
  return "more than 105 sessions: 100 without a limit, all with limit 1000000"
})

fact("facts §6", "delete takes children and grandchildren with it, deepest first", async () => {
  const top = await create()
  const middle = await create({ parentID: top.id })
  const deep = await create({ parentID: middle.id })
  const from = bench.mark()
  await must(bench.client.session.delete({ sessionID: top.id }))
  await bench.events.waitFor((event) => event.type === "session.deleted" && sessionOf(event) === top.id)
  const deleted = bench.events.all.slice(from).filter((event) => event.type === "session.deleted")
  expect(deleted.map(sessionOf)).toEqual([deep.id, middle.id, top.id])
  const answers = await Promise.all([top, middle, deep].map(({ id }) => bench.client.session.get({ sessionID: id })))
  expect(answers.map((answer) => answer.response?.status)).toEqual([404, 404, 404])
  return "one session.deleted each, grandchild, child, parent; then 404"
})

fact("facts §6", "events of a worktree reach its own server half only, and the stream of all", async () => {
  const own = await bench.probe.server(tree)
  const there = await create({ directory: tree })
  const here = await create()
  const createdIn = (directory: string, id: string) =>
    bench.probe
      .records()
      .some(
        (one) =>
          one.type === "event" &&
          one.directory === directory &&
          one.event.type === "session.created" &&
          one.event.properties.info.id === id,
      )
  await until("both halves heard their own", () =>
    Boolean(createdIn(tree, there.id) && createdIn(bench.box.repo.dir, here.id)),
  )
  await bench.events.waitFor((event) => event.type === "session.created" && sessionOf(event) === there.id)
  expect(createdIn(bench.box.repo.dir, there.id)).toBe(false)
  expect(createdIn(tree, here.id)).toBe(false)
  expect(own.init.directory).toBe(tree)
  return "main's half 0 of the worktree's, the worktree's half 0 of main's, the global stream both"
})

fact("facts §4", "server halves of all directories share one thread and one module", async () => {
  const main = await bench.probe.server(bench.box.repo.dir)
  const other = await bench.probe.server(tree)
  await main.run(() => ((globalThis as any).probeMark = "set by main"))
  expect(await other.run(() => (globalThis as any).probeMark)).toBe("set by main")
  expect([other.init.pid, other.init["threadId"], main.init.start < other.init.start]).toEqual([
    main.init.pid,
    main.init["threadId"],
    true,
  ])
  return "globalThis set by main's half is seen by the worktree's; module state counts both"
})

compare()
