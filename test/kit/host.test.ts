import { afterAll, beforeAll, expect, test } from "vitest"
import { startServer, type HostServer } from "./host.ts"
import { startModel, text, type Model } from "./model.ts"
import { isAlive, markedProcesses } from "./processes.ts"
import { makeSandbox, type Sandbox } from "./sandbox.ts"

let model: Model
let sandbox: Sandbox
let server: HostServer

beforeAll(async () => {
  model = await startModel((request) => text(`You said: ${request.lastUser}`))
  sandbox = await makeSandbox({ plugin: false, model })
  server = await startServer(sandbox)
})
afterAll(async () => {
  await server?.stop()
  await sandbox?.dispose()
  await model?.dispose()
})

test("a prompt to the real host is answered by the scripted model, and its events are heard", async () => {
  const events = await server.events(sandbox.repo.dir)
  const session = (await server.client.session.create({ title: "Bench" })).data!
  const answer = await server.client.session.prompt({ sessionID: session.id, parts: [{ type: "text", text: "Ping" }] })
  const said = answer.data!.parts.find((part) => part.type === "text")
  expect(said).toMatchObject({ text: "You said: Ping" })
  await events.waitFor((event) => event.type === "session.idle" && event.properties.sessionID === session.id)
  expect(model.count()).toBe(1)
  expect(model.count("work")).toBe(1)
})

test("a killed server leaves nothing behind, and a new one on the same home knows the session", async () => {
  const before = (await server.client.session.list()).data!
  await server.kill9()
  expect(isAlive(server.pid)).toBe(false)
  server = await startServer(sandbox)
  expect((await server.client.session.list()).data!.map((session) => session.id)).toEqual(
    before.map((session) => session.id),
  )
  await server.stop()
  expect(markedProcesses(sandbox.root)).toEqual([])
})
