import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { failure, hang, sequence, text, toolCalls } from "../../kit/model.ts"
import { must, openBench, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"
import { talkTo } from "./talk.ts"

const { fact, compare } = contract("turns")

let bench: Bench
let tree: string
beforeAll(async () => {
  bench = await openBench({
    sandbox: { config: { snapshot: true } },
    setup(p) {
      p.tool("probe_tool", "For the test.", () => "the tool's answer")
      p.on("event", async ({ event }) => {
        if (event.type !== "session.idle" || p.state.wakeAtIdle !== event.properties.sessionID) return
        p.state.wakeAtIdle = undefined
        await p.client.session.promptAsync({
          sessionID: event.properties.sessionID,
          parts: [{ type: "text", text: "wake from idle" }],
        })
      })
    },
  })
  tree = await bench.worktree("tree-1")
})
afterAll(() => bench?.dispose())
beforeEach(() => bench.model.script(() => text("Done.")))

const { create, say, turn, idle, isIdle, told, messages, last, requests, asked, held } = talkTo(() => bench)

fact("M1", "the first prompt of a process is stored before its turn is busy", async () => {
  const id = await create()
  await turn(id, "the very first")
  const order = bench
    .heard(id)
    .map((event) => (event.type === "session.status" ? event.properties.status.type : event.type))
  expect(order.indexOf("message.updated")).toBeLessThan(order.indexOf("busy"))
  return "message.updated of the user message, then session.status busy"
})

fact(
  "facts §0",
  "a session created without a title makes a title request, one with a title none, a child none",
  async () => {
    const titles = () => bench.model.count("title")
    const before = titles()
    await turn(await create({ title: "Titled" }), "hello")
    const parent = await create()
    await turn(await create({ title: undefined, parentID: parent }), "hello from a child")
    expect(titles()).toBe(before)
    await turn(await create({ title: undefined }), "hello without title")
    await bench.model.waitForRequest((request) => request.kind === "title")
    expect(titles()).toBe(before + 1)
    return "title requests: with a title 0, child without a title 0, root without a title 1"
  },
)

fact(
  "facts §5",
  "a normal end: finish stop, completed, no error, tokens on the session, idle told twice over",
  async () => {
    const id = await create()
    const from = bench.mark()
    await turn(id, "hello")
    const answer = (await last(id)).info
    expect(answer).toMatchObject({ role: "assistant", finish: "stop", time: { completed: expect.any(Number) } })
    expect((answer as any).error).toBeUndefined()
    const session = await must(bench.client.session.get({ sessionID: id }))
    expect(session.tokens).toMatchObject({ input: 10, output: 5 })
    expect(session.cost).toBe(0)
    const idles = bench
      .heard(id, from)
      .filter((event) => isIdleish(event))
      .map((event) => event.type)
    expect(idles).toEqual(["session.status", "session.idle"])
    return "finish stop; session.status idle and session.idle, once each"
  },
)

function isIdleish(event: { type: string; properties: any }): boolean {
  return event.type === "session.idle" || (event.type === "session.status" && event.properties.status.type === "idle")
}

fact("M3", "status is per directory, and absent means idle", async () => {
  const id = await create({ directory: tree })
  const gate = held()
  await say(id, "hold this")
  await asked("hold this")
  expect((await must(bench.client.session.status({ directory: tree })))[id]).toEqual({ type: "busy" })
  expect((await must(bench.client.session.status()))[id]).toBeUndefined()
  gate.let()
  await idle(id)
  expect((await must(bench.client.session.status({ directory: tree })))[id]).toBeUndefined()
  return "while busy: its own directory says busy, the main directory nothing; after the turn: nothing"
})

fact("M2", "aborting a running turn emits two idle pairs, the first before the message is final", async () => {
  const id = await create()
  bench.model.script(() => hang("thinking"))
  await say(id, "abort me")
  await told("message.part.delta", id)
  const from = bench.mark()
  await must(bench.client.session.abort({ sessionID: id }))
  const pairs = () => bench.heard(id, from).filter((event) => event.type === "session.idle").length
  await until("two idle events", () => pairs() >= 2)
  const heard = bench.heard(id, from)
  const final = heard.findIndex(
    (event) => event.type === "message.updated" && event.properties.info.error?.name === "MessageAbortedError",
  )
  expect(heard.findIndex(isIdle(id))).toBeLessThan(final)
  expect(heard.some((event) => event.type === "session.error")).toBe(true)
  expect((await last(id)).info).toMatchObject({
    error: { name: "MessageAbortedError" },
    time: { completed: expect.any(Number) },
  })
  expect(pairs()).toBe(2)
  return "idle, then the message with MessageAbortedError and time.completed, then idle again"
})

fact("M2", "aborting an idle session emits one spurious pair", async () => {
  const id = await create()
  await turn(id, "hello")
  const from = bench.mark()
  expect(await must(bench.client.session.abort({ sessionID: id }))).toBe(true)
  await idle(id, from)
  return "session.idle comes although nothing ran"
})

fact("facts §6", "abort works without the session's directory and ends a running tool", async () => {
  const id = await create({ directory: tree })
  bench.model.script((request) =>
    request.toolResults.length > 0
      ? text("Done.")
      : toolCalls({ name: "bash", args: { command: "sleep 300", description: "waits" } }),
  )
  await say(id, "run something long")
  await bench.events.waitFor(
    (event) =>
      event.type === "message.part.updated" &&
      event.properties.part.sessionID === id &&
      event.properties.part.state?.status === "running",
  )
  await must(bench.client.session.abort({ sessionID: id }))
  const ended = await until("the message is final", async () => {
    const message = (await messages(id)).at(-1)!
    return (message.info as any).time.completed ? message : undefined
  })
  const tool = ended.parts.find((part) => part.type === "tool")!
  expect(["completed", "error"]).toContain(tool.state.status)
  return "true; the tool part leaves the state running"
})

fact("M12", "giving up on the HTTP request of a prompt does not stop its turn", async () => {
  const id = await create()
  const gate = held()
  const giveUp = new AbortController()
  const sent = bench.client.session
    .prompt({ sessionID: id, parts: [{ type: "text", text: "given up" }] }, { signal: giveUp.signal })
    .catch((cause: unknown) => cause)
  await asked("given up")
  giveUp.abort()
  await sent
  gate.let()
  await idle(id)
  expect((await last(id)).info).toMatchObject({ finish: "stop" })
  return "the turn ends with finish stop"
})

fact("M13", "promptAsync answers 204 and reports an unknown agent later; nothing is stored", async () => {
  const id = await create()
  const answer = await say(id, "hello", { agent: "nobody" })
  expect(answer.response?.status).toBe(204)
  const error = await told("session.error", id)
  expect(JSON.stringify(error.properties.error)).toContain("nobody")
  expect(await messages(id)).toEqual([])
  const sync = await bench.client.session.prompt({
    sessionID: id,
    agent: "nobody",
    parts: [{ type: "text", text: "x" }],
  })
  expect(sync.response?.status).toBeGreaterThanOrEqual(400)
  return `204, then session.error, no message; the sync prompt answers ${sync.response?.status}`
})

fact("M13", "promptAsync answers 204 for an unknown model, and a session.error and an idle follow", async () => {
  const id = await create()
  const answer = await say(id, "hello", { model: { providerID: "mock", modelID: "no-such-model" } })
  expect(answer.response?.status).toBe(204)
  const error = await told("session.error", id)
  await idle(id)
  return `204, session.error ${error.properties.error.name}, idle; stored messages: ${(await messages(id)).length}`
})

fact("M14", "the SDK resolves a refusal as {error, response} instead of throwing", async () => {
  const gone = await bench.client.session.get({ sessionID: "ses_00000000000000000000000000" })
  expect([gone.response?.status, gone.data, gone.error === undefined]).toEqual([404, undefined, false])
  const prompt = await say("ses_00000000000000000000000000", "hello")
  expect(prompt.error).toBeDefined()
  const id = await create()
  const bad = await bench.client.session.promptAsync({ sessionID: id } as any)
  expect(bad.error).toBeDefined()
  return `unknown session: get ${gone.response?.status}, promptAsync ${prompt.response?.status}; no parts: ${bad.response?.status}`
})

fact("facts §5", "a rate limit is retried by the host, which says when", async () => {
  const id = await create()
  bench.model.script(sequence(failure(429, { retryAfter: 1 }), text("Done.")))
  await turn(id, "try again")
  const retry = bench.heard(id).find((event) => event.properties.status?.type === "retry")!
  expect(retry.properties.status).toMatchObject({ attempt: 1, message: expect.any(String), next: expect.any(Number) })
  expect((await last(id)).info).toMatchObject({ finish: "stop" })
  return `session.status {${Object.keys(retry.properties.status).toSorted().join(", ")}}, then finish stop`
})

fact(
  "facts §5, like M2",
  "a failed turn emits two idle pairs, the first before its message has the error",
  async () => {
    const id = await create()
    bench.model.script(() => failure(401, { message: "no such key" }))
    await say(id, "let me in")
    const { properties } = await told("session.error", id)
    expect(properties.error).toMatchObject({ name: "APIError", data: { statusCode: 401, isRetryable: false } })
    await until("two idle events", () => bench.heard(id).filter(isIdle(id)).length >= 2)
    const heard = bench.heard(id).filter((event) => isIdle(id)(event) || event.properties.info?.error !== undefined)
    expect(heard.map((event) => event.type)).toEqual(["session.idle", "message.updated", "session.idle"])
    expect((await last(id)).info).toMatchObject({ error: properties.error, time: { completed: expect.any(Number) } })
    return "session.error (APIError 401) and idle, then the message with the same error and time.completed, then idle again"
  },
)

fact("idioms §1", "todo.updated carries the whole list", async () => {
  const id = await create()
  const todos = [
    { content: "first", status: "completed", priority: "high" },
    { content: "second", status: "pending", priority: "low" },
  ]
  bench.model.script((request) =>
    request.toolResults.length > 0 ? text("Done.") : toolCalls({ name: "todowrite", args: { todos } }),
  )
  await turn(id, "plan it")
  expect((await told("todo.updated", id)).properties).toEqual({ sessionID: id, todos })
  return "{sessionID, todos}"
})

fact("M18", "the /api routes do not know of a running turn", async () => {
  const id = await create()
  const gate = held()
  await say(id, "seen by one engine only")
  await asked("seen by one engine only")
  const active = await (await fetch(`${bench.server.url}/api/session/active`)).text()
  expect(active).not.toContain(id)
  gate.let()
  await idle(id)
  return "/api/session/active does not list a session that is busy"
})

fact("M19", "a wake sent from the idle handler gets exactly one answer", async () => {
  const id = await create()
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p, session) => void (p.state["wakeAtIdle"] = session), id)
  await turn(id, "first turn")
  await until("both turns are answered", async () => {
    const all = await messages(id)
    return all.length === 4 && (all.at(-1)!.info as any).finish === "stop"
  })
  expect(requests("wake from idle").filter((request) => request.lastUser === "wake from idle").length).toBe(1)
  return "two turns, one model request for the wake"
})

fact("M22", "deleting a busy session does not stop its run: it fails, or is tried again and again", async () => {
  const id = await create()
  const gate = held()
  await say(id, "delete me")
  await asked("delete me")
  await must(bench.client.session.delete({ sessionID: id }))
  const deletedAt = bench.mark()
  expect(requests("delete me")[0]!.outcome).toBeUndefined()
  gate.let()
  await bench.events.waitFor(
    (event) =>
      (event.type === "session.error" && event.properties.sessionID === id) ||
      (event.type === "session.status" &&
        event.properties.sessionID === id &&
        event.properties.status.type === "retry"),
    60_000,
    deletedAt,
  )
  expect((await say(id, "hello")).response?.status).toBe(404)
  return "after session.deleted comes session.error with idle, or status retry, for the deleted id; a prompt answers 404"
})

fact("M22", "aborted first, a busy session's run is over before it is deleted", async () => {
  const id = await create()
  bench.model.script(() => hang("thinking"))
  await say(id, "abort, then delete")
  await told("message.part.delta", id)
  await must(bench.client.session.abort({ sessionID: id }))
  await until("the request is given up", () => requests("abort, then delete")[0]!.outcome === "client gone")
  await must(bench.client.session.delete({ sessionID: id }))
  expect(requests("abort, then delete").length).toBe(1)
  return "the model request is given up by the abort"
})

fact("M22", "a prompt to an archived session runs a turn", async () => {
  const id = await create()
  await must(bench.client.session.update({ sessionID: id, time: { archived: Date.now() } }))
  await turn(id, "are you there")
  expect((await last(id)).info).toMatchObject({ finish: "stop" })
  return "finish stop"
})

compare()
