import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { join } from "node:path"
import { contextMark, type TailMessage } from "../../src/core/turn.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model, type RecordedRequest } from "../kit/model.ts"
import { makeProbe, type Probe, type ProbeHalf } from "../kit/probe/probe.ts"
import type { InServer } from "../kit/probe/server.ts"
import { checkout, makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { KILL_POINTS, type Rig } from "./gate/rig.ts"

/*
 * The gate and injection on the real host, called in the host's own thread. `npm run repro` runs exactly this: a fix of
 * a race is not done on a green run of the rest.
 */

let model: Model
let probe: Probe
let box: Sandbox
let server: HostServer
let half: ProbeHalf<InServer>
/** Answers that a test holds back, by a word of the prompt. */
const held = new Map<string, Promise<unknown>>()

const RIG = join(checkout, "test/host/gate/rig.ts")

beforeAll(async () => {
  model = await startModel(async (request) => {
    const said = request.messages.filter((message) => message.role === "user").map((message) => message.text)
    for (const [word, wait] of held) if (said.some((line) => line.includes(word))) await wait
    const tools = /(\d) tools/.exec(said.join("\n"))
    if (tools && request.toolResults.length === 0 && !request.messages.some((message) => message.role === "tool")) {
      // Each reads another part: three equal calls in a row make the host ask whether the model is in a loop.
      const read = (offset: number) => ({ name: "read", args: { filePath: "README.md", offset } })
      const calls = Array.from({ length: Number(tools[1]) }, (_, n) => read(n))
      return toolCalls(...calls)
    }
    return text("Done.")
  })
  box = await makeSandbox({ plugin: false, model })
  probe = await makeProbe(box.root, "gate")
  await box.writeConfig({ plugin: [probe.spec] })
  await start()
})

afterAll(async () => {
  await server?.stop()
  await box?.dispose()
  await model?.dispose()
})

async function start() {
  server = await startServer(box)
  await server.client.path.get()
  half = await wired(server)
}

async function wired(host: HostServer): Promise<ProbeHalf<InServer>> {
  await probe.waitFor((record) => record.type === "init" && record.pid === host.pid, "server half")
  const made = await probe.server(box.repo.dir)
  await made.run(async (p, path) => (await p.import(path)).wire(p), RIG)
  return made
}

async function session(title: string): Promise<string> {
  const made = await server.client.session.create({ title })
  await rig("track", made.data!.id, box.repo.dir)
  return made.data!.id
}

/** Calls the rig inside the host. */
async function rig<K extends keyof Rig>(call: K, ...args: Parameters<Rig[K]>): Promise<Awaited<ReturnType<Rig[K]>>> {
  return (await half.run((p, name, given) => p.state.rig[name](...given), call as string, args)) as never
}

const messages = async (id: string) => (await server.client.session.messages({ sessionID: id })).data!
const asTail = (all: unknown) => all as TailMessage[]

async function counts(id: string) {
  const all = asTail(await messages(id))
  const contexts = all.filter((message) => contextMark(message)).length
  const users = all.filter((message) => message.info.role === "user").length - contexts
  return { users, contexts, answers: all.filter((message) => message.info.role === "assistant").length }
}

/** Waits until the condition holds; fails after a minute with what was seen last. */
async function until<T>(what: string, look: () => Promise<T>, holds: (seen: T) => boolean): Promise<T> {
  for (const end = Date.now() + 60_000; ;) {
    const seen = await look()
    if (holds(seen)) return seen
    if (Date.now() > end) throw new Error(`${what}: ${JSON.stringify(seen)?.slice(0, 2_000)}`)
    await Bun.sleep(20)
  }
}

const status = async () => (await server.client.session.status({ directory: box.repo.dir })).data!
const idle = (id: string) => until("idle", status, (all) => all[id] === undefined)
const finished = (id: string, answers: number) =>
  until(
    "finished",
    () => messages(id),
    (all) => {
      const done = all.filter(({ info }) => info.role === "assistant" && info.time.completed)
      return done.length === answers
    },
  )

function hold(word: string) {
  const { promise, resolve } = Promise.withResolvers<void>()
  held.set(word, promise)
  return () => {
    held.delete(word)
    resolve()
  }
}

const requestsOf = (word: string): RecordedRequest[] =>
  model.requests.filter((request) => request.messages.some((message) => message.text.includes(word)))

describe("wakes", () => {
  test("50 at once are one turn", async () => {
    const id = await session("fifty")
    const before = model.count()
    const results = await rig("wakes", id, 50)
    expect(results.filter((one) => one === "dispatched").length).toBe(1)
    expect(results.filter((one) => one === "reserved").length).toBe(49)
    await finished(id, 1)
    await idle(id)
    expect(await counts(id)).toEqual({ users: 1, contexts: 0, answers: 1 })
    expect(model.count() - before).toBe(1)
  })

  test("during a user's turn there is none", async () => {
    const id = await session("busy")
    const release = hold("I am at it")
    await server.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: "I am at it" }] })
    expect(await rig("wake", id)).toBe("active")
    await until(
      "the request",
      async () => requestsOf("I am at it").length,
      (n) => n === 1,
    )
    expect(await rig("wake", id)).toBe("active")
    release()
    await finished(id, 1)
    await idle(id)
    expect(await counts(id)).toEqual({ users: 1, contexts: 0, answers: 1 })
    expect(requestsOf("I am at it").length).toBe(1)
  })

  test("the next one is for after the end of the turn, and then it goes", async () => {
    const id = await session("twice")
    expect(await rig("wake", id)).toBe("dispatched")
    await finished(id, 1)
    await idle(id)
    await until(
      "the second",
      () => rig("wake", id),
      (one) => one === "dispatched",
    )
    await finished(id, 2)
    expect(await counts(id)).toMatchObject({ users: 2, answers: 2 })
  })
})

describe("injection costs no request and stands in the right place", () => {
  test("I1 I8 I41 while idle", async () => {
    const id = await session("idle")
    const before = model.count()
    await rig("inject", id, "Context of the idle session")
    await rig("whenIdle")
    expect(await counts(id)).toEqual({ users: 0, contexts: 1, answers: 0 })
    expect(model.count() - before).toBe(0)
    expect(await rig("wake", id)).toBe("dispatched")
    await finished(id, 1)
    const [request, ...more] = requestsOf("Context of the idle session")
    expect(more).toEqual([])
    // I41: two user messages in a row reach the model endpoint, contexts first.
    const said = request!.messages.filter((message) => message.role === "user").map((message) => message.text)
    expect(said.join("\n")).toMatch(/Context of the idle session[^]*Please go on/)
  })

  test("I2 in the final step: nothing before its end, and no further request", async () => {
    const id = await session("final")
    const release = hold("Finish at once")
    await server.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: "Finish at once" }] })
    await until(
      "the request",
      async () => requestsOf("Finish at once").length,
      (n) => n === 1,
    )
    await rig("inject", id, "Context of the final step")
    expect(await counts(id)).toMatchObject({ contexts: 0 })
    release()
    await finished(id, 1)
    await until(
      "delivered",
      () => rig("waiting", id),
      (n) => n === 0,
    )
    await idle(id)
    expect(await counts(id)).toEqual({ users: 1, contexts: 1, answers: 1 })
    expect(requestsOf("Finish at once").length).toBe(1)
  })

  test.each([
    ["I3 before a tool call", 1, "before"],
    ["I4 while a tool runs", 1, "running"],
    ["I5 before three parallel calls", 3, "before"],
    ["I5 while three parallel calls run", 3, "running"],
  ] as const)("%s", async (name, tools, when) => {
    const id = await session(name)
    await rig("injectAtTool", id, `Context: ${name}`, when)
    const prompt = `${tools} tools, ${name}`
    await server.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: prompt }] })
    await finished(id, 2)
    await idle(id)
    expect(await counts(id)).toEqual({ users: 1, contexts: 1, answers: 2 })
    const requests = requestsOf(prompt)
    expect(requests.length).toBe(2)
    const roles = requests[1]!.messages.filter((message) => message.role !== "system").map((message) => message.role)
    expect(roles).toEqual(["user", "assistant", ...Array.from({ length: tools }, () => "tool"), "user"])
    expect(requests[1]!.lastUser).toContain(`Context: ${name}`)
  })
})

describe("injected context survives", () => {
  async function told(title: string): Promise<string> {
    const id = await session(title)
    await server.client.session.prompt({ sessionID: id, parts: [{ type: "text", text: `Begin: ${title}` }] })
    await idle(id)
    await rig("inject", id, `Context: ${title}`)
    await until("delivered", () => rig("waiting", id), none)
    return id
  }
  const none = (count: number) => count === 0

  test("I39 a fork: it has it once, and nothing is sent again", async () => {
    const id = await told("forked")
    const fork = (await server.client.session.fork({ sessionID: id })).data!.id
    await rig("track", fork, box.repo.dir)
    expect(await counts(fork)).toEqual({ users: 1, contexts: 1, answers: 1 })
    expect(await rig("waiting", fork)).toBe(0)
    await until(
      "a turn of the fork",
      () => rig("wake", fork),
      (one) => one === "dispatched",
    )
    await finished(fork, 2)
    expect(await counts(fork)).toEqual({ users: 2, contexts: 1, answers: 2 })
    expect(await counts(id)).toEqual({ users: 1, contexts: 1, answers: 1 })
  })

  test("I40 a compaction: it is read by it, and nothing is sent again", async () => {
    const id = await told("compacted")
    const before = requestsOf("Context: compacted").length
    await server.client.session.summarize({ sessionID: id, providerID: "mock", modelID: "m1" })
    await idle(id)
    expect(requestsOf("Context: compacted").length).toBe(before + 1)
    await until(
      "a turn",
      () => rig("wake", id),
      (one) => one === "dispatched",
    )
    const wakeOf = (all: Awaited<ReturnType<typeof messages>>) => {
      const at = all.findLastIndex(({ info }) => info.role === "user")
      return all.slice(at + 1).filter(({ info }) => info.role === "assistant" && info.time.completed).length
    }
    await until(
      "its answer",
      async () => wakeOf(await messages(id)),
      (count) => count === 1,
    )
    expect((await counts(id)).contexts).toBe(1)
    expect(await rig("waiting", id)).toBe(0)
  })

  test("I33 an empty session without a title: its first prompt still makes one", async () => {
    const id = (await server.client.session.create({})).data!.id
    await rig("track", id, box.repo.dir)
    await rig("inject", id, "Context of a session without a title")
    await until("delivered", () => rig("waiting", id), none)
    const before = model.count("title")
    await server.client.session.prompt({ sessionID: id, parts: [{ type: "text", text: "Begin: no title" }] })
    await until(
      "the title's request",
      async () => model.count("title"),
      (count) => count === before + 1,
    )
  })
})

describe("crashes", () => {
  let serial = 0
  const intent = (n: number) => {
    const time = (BigInt(Date.now()) * 0x1000n).toString(16).slice(-12)
    return { id: `intent${n}`, messageID: `msg_${time}Intent0000000${n}`, partID: `prt_${time}Intent0000000${n}` }
  }

  test.each(KILL_POINTS)("I38 killed at: %s; then one user message and one turn", async (point) => {
    const id = await session(`killed at ${point}`)
    // The connection to the host breaks; a kill after the send may still let the answer through.
    const outcome = rig("start", id, intent(serial++), point).catch(() => "killed")
    expect(await server.exited).not.toBe(0)
    expect(["killed", "dispatched"]).toContain(await outcome)
    await start()
    await rig("track", id, box.repo.dir)
    const dispatched = (one: string) => one === "dispatched"
    await until("resumed", () => rig("resume", id), dispatched)
    const answered = (seen: { answers: number }) => seen.answers > 0
    await until("a turn", () => counts(id), answered)
    await idle(id)
    await until("nothing left to do", () => rig("resume", id), dispatched)
    await idle(id)
    expect(await counts(id)).toEqual({ users: 1, contexts: 1, answers: 1 })
  })

  test("two processes race over one session: one turn", async () => {
    const id = await session("race")
    const other = await startServer(box)
    try {
      await other.client.path.get()
      const second = await wired(other)
      await second.run((p, sessionID, dir) => p.state.rig.track(sessionID, dir), id, box.repo.dir)
      const wanted = intent(serial++)
      const race = () =>
        Promise.all([
          rig("wake", id, wanted),
          second.run((p, sessionID, one) => p.state.rig.wake(sessionID, one) as Promise<string>, id, wanted),
        ])
      const release = hold("Please go on")
      const first = await race()
      expect(first.toSorted()).toEqual(["active", "dispatched"])
      expect((await race()).every((one) => one === "active" || one === "reserved" || one === "dispatched")).toBe(true)
      release()
      await finished(id, 1)
      await idle(id)
      await until("settled", race, (all) => all.every((one) => one === "dispatched"))
      expect(await counts(id)).toEqual({ users: 1, contexts: 0, answers: 1 })
    } finally {
      await other.stop()
    }
  })
})
