import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import type { Events } from "../../kit/events.ts"
import { startServer, type HostServer } from "../../kit/host.ts"
import { hang, text, toolCalls } from "../../kit/model.ts"
import { isAlive, kill } from "../../kit/processes.ts"
import { must, openBench, sessionOf, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"

const { fact, compare } = contract("processes")

let bench: Bench
/** A second process on the same home and repository; killed and started again below. */
let other: HostServer
let otherEvents: Events
beforeAll(async () => {
  bench = await openBench({ sandbox: { config: { permission: { "*": "allow" } } } })
  other = await startServer(bench.box)
  otherEvents = await hearing(other)
})
afterAll(async () => {
  await other?.stop()
  await bench?.dispose()
})
beforeEach(() => bench.model.script(() => text("Done.")))

async function hearing(server: HostServer): Promise<Events> {
  const events = await server.events()
  await until("the stream hears events", async () => {
    await server.client.session.create({ title: "Is the stream open?" })
    return events.of("session.created").length > 0
  })
  return events
}
const create = async (server: HostServer = bench.server, more: object = {}) =>
  (await must(server.client.session.create({ title: "A session", ...more }))).id
const say = (server: HostServer, sessionID: string, words: string, more: object = {}) =>
  server.client.session.promptAsync({ sessionID, parts: [{ type: "text", text: words }], ...more })
const messages = (server: HostServer, sessionID: string) => must(server.client.session.messages({ sessionID }))
const requests = (words: string) => bench.model.requests.filter((request) => request.lastUser === words)

fact("facts §6", "two processes share the sessions, in both directions", async () => {
  const id = await create()
  await must(bench.client.session.update({ sessionID: id, metadata: { from: "one" } }))
  expect((await must(other.client.session.get({ sessionID: id }))).metadata).toEqual({ from: "one" })
  await must(other.client.session.update({ sessionID: id, metadata: { from: "other" } }))
  expect((await must(bench.client.session.get({ sessionID: id }))).metadata).toEqual({ from: "other" })
  const listed = await must(other.client.session.list({ limit: 1000 }))
  expect(listed.map((session) => session.id)).toContain(id)
  return "get, list and metadata are seen at once"
})

fact("facts §6", "no event crosses processes", async () => {
  const id = await create()
  await must(bench.client.session.update({ sessionID: id, title: "Only told here" }))
  await bench.events.waitFor((event) => event.type === "session.updated" && sessionOf(event) === id)
  const own = await create(other)
  await otherEvents.waitFor((event) => event.type === "session.created" && sessionOf(event) === own)
  expect(otherEvents.all.filter((event) => sessionOf(event) === id)).toEqual([])
  return "the other process hears its own sessions, none of the first's"
})

fact(
  "facts §6, M17",
  "status is per process; the other sees the unfinished message and its writes are kept",
  async () => {
    const id = await create()
    const gate = Promise.withResolvers<void>()
    bench.model.script(async () => {
      await gate.promise
      return text("At last.")
    })
    await say(bench.server, id, "run here")
    await bench.model.waitForRequest((request) => request.lastUser === "run here")
    expect((await must(bench.client.session.status()))[id]).toEqual({ type: "busy" })
    expect((await must(other.client.session.status()))[id]).toBeUndefined()
    const last = (await messages(other, id)).at(-1)!.info
    expect([last.role, (last.time as any).completed]).toEqual(["assistant", undefined])
    await must(other.client.session.update({ sessionID: id, metadata: { written: "meanwhile" } }))
    gate.resolve()
    await bench.events.waitFor((event) => event.type === "session.idle" && sessionOf(event) === id)
    expect((await must(bench.client.session.get({ sessionID: id }))).metadata).toEqual({ written: "meanwhile" })
    return "busy here, {} there; time.completed absent there; metadata written there outlives the turn here"
  },
)

fact("M17", "the same message sent through another process starts a second loop", async () => {
  const id = await create()
  const messageID = "msg_" + "f".repeat(12) + "aaaaaaaaaaaaaa"
  bench.model.script(() => hang("thinking"))
  const more = { messageID, parts: [{ type: "text", text: "once, please", id: `prt_${"f".repeat(12)}aaaaaaaaaaaaaa` }] }
  await say(bench.server, id, "", more)
  await bench.model.waitForRequest((request) => request.lastUser === "once, please")
  await say(other, id, "", more)
  await until("a second request", () => requests("once, please").length > 1)
  await bench.client.session.abort({ sessionID: id })
  await other.client.session.abort({ sessionID: id })
  return "more than one model request for one message"
})

fact("facts §6", "after kill -9 the last message is unfinished, and the command of the bash tool goes on", async () => {
  const id = await create(other)
  const pidFile = join(bench.box.root, "orphan.pid")
  const command = `echo $$ > ${pidFile}; sleep 300`
  bench.model.script((request) =>
    request.toolResults.length > 0
      ? text("Done.")
      : toolCalls({ name: "bash", args: { command, description: "waits" } }),
  )
  await say(other, id, "run and be killed")
  const orphan = Number(await until("the command runs", () => readFile(pidFile, "utf8").catch(() => "")))
  await otherEvents.waitFor(
    (event) =>
      event.type === "message.part.updated" &&
      sessionOf(event) === id &&
      event.properties.part.state?.status === "running",
  )
  await other.kill9()
  try {
    expect(isAlive(orphan)).toBe(true)
  } finally {
    kill(orphan)
  }
  bench.model.script(() => text("Done."))
  other = await startServer(bench.box)
  otherEvents = await hearing(other)
  expect(await must(other.client.session.status())).toEqual({})
  const last = (await messages(other, id)).at(-1)!
  const { role, time, finish, error } = last.info as any
  expect([role, time.completed, finish, error]).toEqual(["assistant", undefined, undefined, undefined])
  expect(last.parts.findLast((part) => part.type === "tool")!.state.status).toBe("running")
  expect(requests("run and be killed").length).toBe(1)
  await must(other.client.session.prompt({ sessionID: id, parts: [{ type: "text", text: "and on" }] }))
  const finishes = (await messages(other, id)).map((one) => (one.info as any).finish)
  expect(finishes).toEqual([undefined, undefined, undefined, "stop"])
  return "status {}; no time.completed, no finish, no error; the tool part stays running; the child is alive; nothing resumes; a new prompt ends with finish stop"
})

compare()
