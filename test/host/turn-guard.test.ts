import { join } from "node:path"
import { afterAll, beforeAll, expect, test, vi } from "vitest"
import type { ServerChannel } from "../../src/server/channel.ts"
import { enterInstance } from "../../src/server/instances.ts"
import type { Handlers } from "../../src/server/requests.ts"
import { openRunning } from "../../src/server/running.ts"
import { systemClock } from "../../src/shared/clock.ts"
import { doorsOf } from "../../src/shared/host.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, type Model } from "../kit/model.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { guardTurns } from "../kit/turn-guard.ts"

/*
 * The whole server half over a client that throws at every raw prompt but the gate's: from the creation of a task to
 * its snapshot, on the real host. What types cannot see would throw here.
 */

let model: Model
let box: Sandbox
let server: HostServer

beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ plugin: false, model })
  server = await startServer(box)
})
afterAll(async () => {
  await server?.stop()
  await box?.dispose()
  await model?.dispose()
})

const patience = { timeout: 120_000, interval: 100 }

test("R1: a task is created, worked on and snapshotted without a raw read outside the gate", async () => {
  const guard = guardTurns(server.client)
  const raw = doorsOf(guard.client, systemClock)
  // Our half runs in this process, so it is at home in every directory that the host boots for it.
  const boot = async (directory: string) => {
    enterInstance(directory, guard)
    return raw.host.boot(directory)
  }
  const doors = { ...raw, host: { ...raw.host, boot }, turns: guard.forGate(raw.turns) }
  let handlers: Handlers | undefined
  const channel: ServerChannel = {
    serve: (_, given) => (handlers = given),
    retire: () => {},
    push: () => {},
    announce: () => {},
    watched: () => false,
    onWatched: () => () => {},
    heard: () => false,
    close: () => {},
  }
  const options = { intake: { enabled: false }, worktree: { root: join(box.root, "trees") } }
  const opened = await openRunning({ doors, directory: box.repo.dir, options, channel, version: "test" })
  if (!opened.ok) throw new Error(opened.error.text)
  const running = opened.value
  const events = await server.events()
  let heard = 0
  const feed = () => {
    for (; heard < events.all.length; heard++) running.observe(events.all[heard]!)
  }
  const metaOf = async (sessionID: string) => {
    feed()
    const session = await doors.host.session(sessionID)
    return (session.ok ? session.value.metadata?.kagan : {}) as { review?: { snapshot?: { files: number } } }
  }
  try {
    await running.start()
    const draft = { draftID: "draft-1", title: "Sample", description: "Do it." }
    const created = await handlers!["task.create"](draft)
    if (!created.ok) throw new Error(created.error.text)
    const { sessionID } = created.value
    const moved = await handlers!["task.move"]({ sessionID, to: "in_progress" })
    expect(moved).toMatchObject({ ok: true, value: { verdict: "accepted" } })
    await vi.waitFor(async () => expect((await metaOf(sessionID)).review?.snapshot?.files).toBe(0), patience)
    expect(model.count("work")).toBe(1)
    expect(guard.refused).toEqual([])
    expect(() => guard.client.session.promptAsync({ sessionID, parts: [] })).toThrow(/only the gate/)
  } finally {
    events.close()
    await running.dispose()
  }
})
