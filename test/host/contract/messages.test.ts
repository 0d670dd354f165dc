import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { hang, text, toolCalls } from "../../kit/model.ts"
import { must, openBench, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"
import { talkTo } from "./talk.ts"

const { fact, compare } = contract("messages")

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    sandbox: { config: { agent: { other: { mode: "primary", description: "another agent" } } } },
    setup(p) {
      p.tool("probe_tool", "For the test.", () => "the tool's answer")
      const store = (sessionID: string, words: string) =>
        p.client.session.prompt({ sessionID, noReply: true, parts: [{ type: "text", text: words, synthetic: true }] })
      p.state.flight = { now: 0, most: 0 }
      for (const hook of ["tool.execute.before", "tool.execute.after"]) {
        p.on(hook, async (input) => {
          if (input.tool !== "probe_tool" || p.state.storeIn !== input.sessionID) return
          p.state.flight.now++
          p.state.flight.most = Math.max(p.state.flight.most, p.state.flight.now)
          await store(input.sessionID, `stored in ${hook}`)
          p.state.flight.now--
          p.record("stored", { hook, callID: input.callID })
        })
      }
      p.on("chat.message", async (input) => {
        if (p.state.storeInChat !== input.sessionID) return
        p.state.storeInChat = undefined
        await store(input.sessionID, "stored in chat.message")
      })
      p.on("chat.message", async (input) => {
        if (p.state.holdChat !== input.sessionID) return
        p.state.holdChat = undefined
        const { promise, resolve } = Promise.withResolvers<void>()
        p.state.letChat = resolve
        p.record("held in chat.message", { sessionID: input.sessionID })
        await promise
      })
    },
  })
})
afterAll(() => bench?.dispose())
beforeEach(() => bench.model.script(() => text("Done.")))

const { create, say, store, turn, idle, isIdle, told, messages, texts, requests, asked, held } = talkTo(() => bench)
const part = (words: string, more: object = {}) => ({ type: "text" as const, text: words, ...more })
let ids = 0
/** Ids that grow like the host's own. */
const mint = (prefix: "msg" | "prt") =>
  `${prefix}_${(BigInt(Date.now()) * 0x1000n + BigInt(++ids)).toString(16).padStart(12, "0").slice(-12)}00000000000000`

fact("M5, facts §5", "a noReply message to an idle session is stored and costs no model request", async () => {
  const id = await create()
  const before = bench.model.count()
  await store(id, "only stored")
  expect(await texts(id)).toEqual(["user: only stored"])
  expect((await must(bench.client.session.status()))[id]).toBeUndefined()
  await turn(id, "now answer")
  expect(bench.model.count()).toBe(before + 1)
  expect(bench.model.requests.at(-1)!.messages.map((message) => message.text)).toEqual(
    expect.arrayContaining(["only stored", "now answer"]),
  )
  return "0 requests; the next turn's one request has both messages"
})

fact("M5", "a noReply message during the final step makes the loop ask the model once more", async () => {
  const id = await create()
  const gate = held()
  await say(id, "the final step")
  await asked("the final step")
  await store(id, "stored in the final step")
  gate.let()
  await idle(id)
  expect(requests("the final step").length).toBe(2)
  expect(requests("the final step")[1]!.lastUser).toBe("stored in the final step")
  return "2 requests instead of 1"
})

fact("M5", "that extra request does not come when the step is aborted; the message stays", async () => {
  const id = await create()
  bench.model.script(() => hang("thinking"))
  await say(id, "the aborted step")
  await asked("the aborted step")
  await store(id, "stored before the abort")
  const from = bench.mark()
  await must(bench.client.session.abort({ sessionID: id }))
  await until("both idles of the abort", () => bench.heard(id, from).filter(isIdle(id)).length >= 2)
  expect(requests("the aborted step").length).toBe(1)
  expect(await texts(id)).toContain("user: stored before the abort")
  return "1 request; the message is in the transcript"
})

fact("M6", "a noReply send awaited inside a tool hook does not deadlock, costs nothing, is read next", async () => {
  const id = await create()
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p, session) => void (p.state["storeIn"] = session), id)
  bench.model.script((request) =>
    request.messages.some((message) => message.role === "tool")
      ? text("Done.")
      : toolCalls({ name: "probe_tool", args: {} }),
  )
  await turn(id, "one tool call")
  const [, second, ...more] = requests("one tool call")
  expect(more).toEqual([])
  const tail = second!.messages.slice(-4).map((message) => `${message.role}: ${message.text}`)
  expect(tail.slice(1)).toEqual([
    "tool: the tool's answer",
    "user: stored in tool.execute.before",
    "user: stored in tool.execute.after",
  ])
  return "2 requests as without it; both messages stand after the tool's result in the second"
})

fact("M6", "the hooks of parallel tool calls run concurrently", async () => {
  const id = await create()
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p, session) => void Object.assign(p.state, { storeIn: session, flight: { now: 0, most: 0 } }), id)
  // Three equal calls would be taken for a loop and asked about.
  const call = (count: number) => ({ name: "probe_tool", args: { count } })
  bench.model.script((request) =>
    request.messages.some((message) => message.role === "tool") ? text("Done.") : toolCalls(call(1), call(2), call(3)),
  )
  await turn(id, "three tool calls")
  expect(await half.run((p) => p.state["flight"].most as number)).toBeGreaterThan(1)
  expect(requests("three tool calls").length).toBe(2)
  const second = requests("three tool calls")[1]!.messages.map((message) => message.role)
  expect(second.slice(-9)).toEqual(["tool", "tool", "tool", "user", "user", "user", "user", "user", "user"])
  return "more than one hook in flight; the stored messages stand after all three results, still 2 requests"
})

fact("M4", "two prompts at once on an idle session: both stored, and answered together", async () => {
  const id = await create()
  await Promise.all([say(id, "twin one"), say(id, "twin two")])
  await idle(id)
  await until("an answer", async () => (await messages(id)).some((one) => (one.info as any).finish === "stop"))
  const all = await messages(id)
  expect(all.filter((one) => one.info.role === "user").length).toBe(2)
  expect(
    requests("twin")
      .at(-1)!
      .messages.filter((message) => message.text.startsWith("twin")).length,
  ).toBe(2)
  return "2 user messages; the last request holds both"
})

fact("M7", "a message without agent rewrites the session's agent", async () => {
  const id = await create()
  await turn(id, "as other", { agent: "other" })
  expect((await must(bench.client.session.get({ sessionID: id }))).agent).toBe("other")
  await store(id, "nobody said which agent")
  const agent = (await must(bench.client.session.get({ sessionID: id }))).agent
  expect(agent).toBe("build")
  return `other becomes ${agent} by one noReply message`
})

fact("M8", "any message makes an active revert permanent", async () => {
  const id = await create()
  await turn(id, "first")
  await turn(id, "second")
  const second = (await messages(id)).findLast((one) => one.info.role === "user")!
  await must(bench.client.session.revert({ sessionID: id, messageID: second.info.id }))
  expect((await must(bench.client.session.get({ sessionID: id }))).revert).toBeDefined()
  await store(id, "a context")
  expect((await must(bench.client.session.get({ sessionID: id }))).revert).toBeUndefined()
  await bench.client.session.unrevert({ sessionID: id })
  expect(await texts(id)).toEqual(["user: first", "assistant: Done.", "user: a context"])
  return "the reverted messages are gone, unrevert brings nothing back"
})

fact("M9", "a synthetic noReply message keeps title generation, a plain one suppresses it", async () => {
  const titled = async (synthetic: boolean) => {
    const before = bench.model.count("title")
    const id = await create({ title: undefined })
    await store(id, "context first", { parts: [part("context first", synthetic ? { synthetic: true } : {})] })
    await turn(id, "and then the prompt")
    if (synthetic) await bench.model.waitForRequest((request) => request.kind === "title" && request.n > before)
    return bench.model.count("title") - before
  }
  expect(await titled(false)).toBe(0)
  expect(await titled(true)).toBe(1)
  return "title requests: plain 0, synthetic 1"
})

fact("M9, facts §5", "part metadata, part ids and message ids are kept as given", async () => {
  const id = await create()
  const messageID = mint("msg")
  const partID = mint("prt")
  const metadata = { kagan: { inject: 1, source: "a|b", list: [1, null] } }
  await store(id, "x", {
    messageID,
    parts: [{ ...part("with provenance", { synthetic: true, metadata }), id: partID }],
  })
  const [only] = await messages(id)
  expect(only!.info.id).toBe(messageID)
  expect(only!.parts).toMatchObject([{ id: partID, synthetic: true, metadata, text: "with provenance" }])
  const found = await bench.client.session.message({ sessionID: id, messageID })
  const missing = await bench.client.session.message({ sessionID: id, messageID: mint("msg") })
  expect([found.response?.status, missing.response?.status]).toEqual([200, 404])
  return "verbatim; GET of the message id 200, of an unknown one 404"
})

fact("M10", "the same message id twice is one message and one request; without part ids its text doubles", async () => {
  const id = await create()
  const input = { messageID: mint("msg"), parts: [{ ...part("sent twice"), id: mint("prt") }] }
  await turn(id, "", input)
  await must(bench.client.session.prompt({ sessionID: id, ...input }))
  expect(await texts(id)).toEqual(["user: sent twice", "assistant: Done."])
  expect(requests("sent twice").length).toBe(1)
  const loose = { messageID: mint("msg"), parts: [part("no part id")] }
  await turn(id, "", loose)
  await must(bench.client.session.prompt({ sessionID: id, ...loose }))
  expect(await texts(id)).toContain("user: no part idno part id")
  return "answered, then sent again: 1 message, 1 request; with an id per part the text stands once, without twice"
})

fact("M10", "an answered message sent again after a later turn runs another request", async () => {
  const id = await create()
  const input = { messageID: mint("msg"), parts: [{ ...part("answered long ago"), id: mint("prt") }] }
  await turn(id, "", input)
  await turn(id, "a later turn")
  const before = bench.model.count("work")
  await turn(id, "", input)
  expect(bench.model.count("work")).toBe(before + 1)
  return "1 more request"
})

fact("M10", "a message can be deleted while idle, not while busy", async () => {
  const id = await create()
  await turn(id, "first")
  const [first] = await messages(id)
  const gate = held()
  await say(id, "hold on")
  await asked("hold on")
  const busy = await bench.client.session.deleteMessage({ sessionID: id, messageID: first!.info.id })
  const from = bench.mark()
  gate.let()
  await idle(id, from)
  await until("it is idle", async () => (await must(bench.client.session.status()))[id] === undefined)
  const rested = await bench.client.session.deleteMessage({ sessionID: id, messageID: first!.info.id })
  expect([busy.response?.status, rested.response?.status]).toEqual([409, 200])
  return "409 while busy, 200 when idle"
})

fact("M11", "a message id lower than the existing ones still gets its turn", async () => {
  const id = await create()
  await turn(id, "first")
  await turn(id, "late in an early name", { messageID: "msg_000000000001aaaaaaaaaaaaaa" })
  expect(requests("late in an early name").length).toBe(1)
  return "1 request"
})

fact("M20", "a noReply message that loses the race against a prompt to an idle session costs a request", async () => {
  const id = await create()
  const gate = held()
  await say(id, "the prompt was first")
  // The race as the host sees it when the message is late: the first request is on its way.
  await asked("the prompt was first")
  await store(id, "stored behind the prompt")
  gate.let()
  await idle(id)
  expect(requests("the prompt was first").map((request) => request.lastUser)).toEqual([
    "the prompt was first",
    "stored behind the prompt",
  ])
  return "2 requests instead of 1"
})

fact("M20", "one that is stored while the prompt still waits in chat.message costs none", async () => {
  const id = await create()
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p, session) => void (p.state["holdChat"] = session), id)
  await say(id, "the prompt waits")
  await bench.probe.waitFor((one) => one.type === "held in chat.message" && one["sessionID"] === id)
  await store(id, "stored before the prompt")
  expect(await texts(id)).toEqual(["user: stored before the prompt"])
  await half.run((p) => p.state["letChat"]())
  await idle(id)
  // The prompt's id was made before the hook, so that the message stands behind it all the same.
  expect(requests("the prompt waits").map((request) => request.lastUser)).toEqual(["stored before the prompt"])
  expect(await texts(id)).toEqual(["user: the prompt waits", "user: stored before the prompt", "assistant: Done."])
  return "1 request, which has both messages; the stored one stands behind the prompt"
})

fact("M21", "a noReply send inside chat.message does not deadlock and becomes the last user message", async () => {
  const id = await create()
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p, session) => void (p.state["storeInChat"] = session), id)
  await turn(id, "typed by a person")
  expect(await texts(id)).toEqual(["user: typed by a person", "user: stored in chat.message", "assistant: Done."])
  expect(requests("typed by a person").map((request) => request.lastUser)).toEqual(["stored in chat.message"])
  return "stored after the person's message, one request"
})

fact(
  "M21, facts §13",
  "chat.message fires for our own noReply messages too, with the id only where one was passed",
  async () => {
    const id = await create()
    const messageID = mint("msg")
    await store(id, "with an id", { messageID })
    await store(id, "without an id")
    const seen = bench.probe
      .records()
      .filter((one) => one.type === "hook" && one["hook"] === "chat.message" && one["input"].sessionID === id)
    expect(seen.map((one) => one["input"].messageID)).toEqual([messageID, undefined])
    return "input.messageID: the passed id, else absent"
  },
)

fact("facts §13", "chat.message fires at once, also while the session is busy", async () => {
  const id = await create()
  const gate = held()
  await say(id, "hold the line")
  await asked("hold the line")
  await say(id, "said meanwhile")
  await bench.probe.waitFor(
    (one) => one["hook"] === "chat.message" && one["output"].parts[0]?.text === "said meanwhile",
  )
  expect(requests("hold the line").length).toBe(1)
  gate.let()
  await until("both answered", () => requests("said meanwhile").length === 1)
  await until("it is idle", async () => (await must(bench.client.session.status()))[id] === undefined)
  return "the hook runs before the running step ends"
})

fact("facts §5", "a command typed with ! is a synthetic pair of messages and costs no model request", async () => {
  const id = await create()
  const before = bench.model.count()
  await must(bench.client.session.shell({ sessionID: id, agent: "build", command: "echo typed" }))
  const [user, assistant] = await messages(id)
  expect(user!.parts).toMatchObject([{ synthetic: true, text: "The following tool was executed by the user" }])
  expect(assistant!.parts.find((one) => one.type === "tool")).toMatchObject({
    tool: "bash",
    state: { status: "completed" },
  })
  expect(bench.model.count()).toBe(before)
  return `user: "${(user!.parts[0] as { text: string }).text}", assistant: a completed bash part; 0 requests`
})

fact(
  "facts §5",
  "a compaction is a user message with a compaction part, a summary, and session.compacted",
  async () => {
    const id = await create()
    await turn(id, "something to sum up")
    const from = bench.mark()
    await must(bench.client.session.summarize({ sessionID: id, providerID: "mock", modelID: "m1" }))
    await told("session.compacted", id, from)
    const all = await messages(id)
    const asked = all.findIndex((one) => one.parts.some((part) => part.type === "compaction"))
    expect([all[asked]!.info.role, (all[asked + 1]!.info as any).summary]).toEqual(["user", true])
    return "the compaction part stands in a user message, the answer to it has summary: true"
  },
)

compare()
