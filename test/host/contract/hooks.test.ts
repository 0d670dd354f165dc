import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { text, toolCalls } from "../../kit/model.ts"
import { must, openBench, sessionOf, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"

const { fact, compare } = contract("hooks")

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    options: { side: "server" },
    sandbox: { config: { permission: { bash: { "ls *": "allow" } } } },
    setup(p) {
      p.on("config", (config) => {
        config.permission.bash["first *"] = "ask"
        config.command = { ...config.command, "by-first": { template: "from the first", agent: "hidden-one" } }
        config.agent = {
          ...config.agent,
          "hidden-one": { mode: "primary", hidden: true, prompt: "You are hidden-one." },
        }
      })
      p.on("event", async ({ event }) => {
        const title = event.properties?.info?.title
        if (event.type !== "session.updated") return
        if (title === "throw") throw new Error("thrown in an event handler")
        if (title?.startsWith("slow")) {
          await p.sleep(300)
          p.record("slow handler is done", { title })
        }
      })
      p.on("chat.message", (_, output) => {
        if (output.parts[0]?.text === "throw") throw new Error("thrown in chat.message")
      })
      p.on("tool.execute.before", async (input, output) => {
        if (output.args.command === "forbidden") throw new Error("not with this plugin")
        if (input.tool !== "probe_tool") return
        await p.sleep(50)
        output.args.title = `${output.args.title}, first`
      })
      p.on("shell.env", (_, output) => void (output.env.PROBE_VALUE = "from the hook"))
      p.tool("probe_tool", "For the test.", (args, context) => {
        p.record("tool", { args, context: Object.keys(context).toSorted() })
        return { title: "A title", output: "the answer", metadata: { kept: true } }
      })
      p.tool("sync_tool", "For the test.", () => "answered")
    },
    more: {
      "probe-b": async (p) => {
        const call = p.client.session.list({ limit: 1 }).then(() => p.record("call of init", { answered: true }))
        const first = await Promise.race([
          call.then(() => "the answer"),
          p.sleep(500).then(() => "the end of the wait"),
        ])
        p.record("init goes on", { first })
        p.on("config", (config) => {
          p.record("config seen by the second", { bash: config.permission.bash, agents: Object.keys(config.agent) })
          config.permission.bash["second *"] = "ask"
        })
        p.on("tool.execute.before", (input, output) => {
          if (input.tool === "probe_tool") output.args.title += ", second"
        })
      },
    },
  })
})
afterAll(() => bench?.dispose())
beforeEach(() => bench.model.script(() => text("Done.")))

const create = async (title = "A session") => (await must(bench.client.session.create({ title }))).id
const prompt = (sessionID: string, words: string, more: object = {}) =>
  bench.client.session.prompt({ sessionID, parts: [{ type: "text", text: words }], ...more })
/** Runs one turn in which the model makes this call once, and answers the tool's part. */
async function callTool(name: string, args: unknown, sessionID?: string): Promise<any> {
  const id = sessionID ?? (await create())
  bench.model.script((request) => (request.toolResults.length > 0 ? text("Done.") : toolCalls({ name, args })))
  await must(prompt(id, "call the tool"))
  const messages = await must(bench.client.session.messages({ sessionID: id }))
  return messages.flatMap((one) => one.parts).findLast((part) => part.type === "tool")
}

fact("idioms §5", "the config hooks of two plugins change one config in place, in order of the list", async () => {
  await must(bench.client.config.get())
  const second = bench.probes["probe-b"]!
  const seen = await second.waitFor((one) => one.type === "config seen by the second")
  expect(seen["bash"]).toEqual({ "ls *": "allow", "first *": "ask" })
  const config = await must(bench.client.config.get())
  expect((config.permission as any).bash).toEqual({ "ls *": "allow", "first *": "ask", "second *": "ask" })
  expect(Object.keys(config.command ?? {})).toContain("by-first")
  return "the second sees what the first added; config.get has the user's, the first's and the second's"
})

fact("M16, facts §0", "a client call made while a plugin starts is answered only when all have started", async () => {
  await must(bench.client.session.list({ limit: 1 }))
  const second = bench.probes["probe-b"]!
  await second.waitFor((one) => one.type === "call of init")
  expect(second.records().find((one) => one.type === "init goes on")!["first"]).toBe("the end of the wait")
  return "no answer while init waits, one afterwards: to await it in init would hang the instance"
})

fact("facts §0", "a v2 client over the given client's address and fetch works in the server half", async () => {
  const half = await bench.probe.server(bench.box.repo.dir)
  const listed = await half.run(async (p) => (await p.client.session.list({ limit: 1 })).response?.status)
  expect(listed).toBe(200)
  return "session.list answers 200"
})

fact("facts §2", "options come from the entry in the half's own file, undefined without", async () => {
  const dir = bench.box.repo.dir
  const first = await (await bench.probe.server(dir)).run((p) => p.options as any)
  const second = await (
    await bench.probes["probe-b"]!.server(dir)
  ).run((p) => (p.options === undefined ? "undefined" : "given"))
  expect([first, second]).toEqual([{ side: "server" }, "undefined"])
  return "[spec, options] in opencode.json: the options; spec alone: undefined"
})

fact("idioms §1", "event handlers are neither awaited nor ordered across plugins", async () => {
  const id = await create()
  await must(bench.client.session.update({ sessionID: id, title: "slow one" }))
  await must(bench.client.session.update({ sessionID: id, title: "slow two" }))
  const has = (probe: "probe-a" | "probe-b", title: string) =>
    bench.probes[probe]!.records().find(
      (one) =>
        one.type === "event" && one.event.type === "session.updated" && one.event.properties.info.title === title,
    )
  const done = await bench.probe.waitFor((one) => one.type === "slow handler is done" && one["title"] === "slow one")
  const toSecond = await until("the second plugin has heard", () => has("probe-b", "slow one"))
  const again = await until("the first plugin has heard the next", () => has("probe-a", "slow two"))
  expect(toSecond.at).toBeLessThan(done.at)
  expect(again.at).toBeLessThan(done.at)
  return "while the first plugin's handler waits, the second has the event, and the first has the next one"
})

fact("facts §10", "an exception in an event handler of a server half does the host no harm", async () => {
  const id = await create()
  await must(bench.client.session.update({ sessionID: id, title: "throw" }))
  await bench.probe.waitFor((one) => one.type === "event" && one.event.properties.info?.title === "throw")
  await must(bench.client.session.update({ sessionID: id, title: "after the throw" }))
  await bench.probe.waitFor((one) => one.type === "event" && one.event.properties.info?.title === "after the throw")
  return "the next event is delivered"
})

fact("idioms §1", "hooks with input and output are awaited one after the other over one output", async () => {
  const part = await callTool("probe_tool", { title: "asked" })
  const call = bench.probe.records().findLast((one) => one.type === "tool")!
  expect(call["args"].title).toBe("asked, first, second")
  expect(part.state.status).toBe("completed")
  return "tool.execute.before of both plugins: title became asked, first, second"
})

fact("facts §10", "the arguments of a tool are not validated and get no defaults", async () => {
  await callTool("probe_tool", { count: "no number", unknown: true })
  const { args } = bench.probe.records().findLast((one) => one.type === "tool") as any
  expect(args).toMatchObject({ count: "no number", unknown: true })
  await callTool("probe_tool", {})
  expect((bench.probe.records().findLast((one) => one.type === "tool") as any).args.count).toBeUndefined()
  const request = bench.model.requests.find((one) => one.tools.includes("probe_tool"))!
  const schema = (request.body["tools"] as any[]).find((tool) => tool.function.name === "probe_tool").function
    .parameters
  expect(schema.properties.count).toMatchObject({ type: "number", default: 3 })
  return "a string for a number and an unknown key reach execute, the default does not; the schema in the request is right"
})

fact("facts §10", "a tool may answer {title, output, metadata}; its context", async () => {
  const part = await callTool("probe_tool", { title: "x" })
  expect(part.state).toMatchObject({ title: "A title", output: "the answer", metadata: { kept: true } })
  const { context } = bench.probe.records().findLast((one) => one.type === "tool") as any
  expect(context).toEqual(
    expect.arrayContaining([
      "abort",
      "agent",
      "ask",
      "callID",
      "directory",
      "messageID",
      "metadata",
      "sessionID",
      "worktree",
    ]),
  )
  return `all three arrive in the part; context has ${context.filter((key: string) => key !== "extra").join(", ")}`
})

fact("facts §10", "a tool whose execute answers no promise fails", async () => {
  const half = await bench.probe.server(bench.box.repo.dir)
  await half.run((p) => void (p.tools["sync_tool"]!.execute = (() => "answered at once") as any))
  const part = await callTool("sync_tool", {})
  expect(part.state.status).toBe("error")
  return "execute must be async: a string answered at once is a tool error"
})

fact("facts §13", "a throw in tool.execute.before refuses that call and the turn goes on", async () => {
  const id = await create()
  const part = await callTool("bash", { command: "forbidden", description: "x" }, id)
  expect(part.state).toMatchObject({ status: "error", error: expect.stringContaining("not with this plugin") })
  const last = (await must(bench.client.session.messages({ sessionID: id }))).at(-1)!.info
  expect(last).toMatchObject({ finish: "stop" })
  return "the tool part is an error with the thrown text; the turn ends with finish stop"
})

fact("facts §1", "shell.env adds variables to the commands of the bash tool", async () => {
  const id = (
    await must(
      bench.client.session.create({ title: "x", permission: [{ permission: "*", pattern: "*", action: "allow" }] }),
    )
  ).id
  const part = await callTool("bash", { command: 'echo "$PROBE_VALUE"', description: "x" }, id)
  expect(part.state.output.trim()).toBe("from the hook")
  return "the command sees it"
})

fact("M13", "a throw in chat.message: 204 and a later session.error, nothing stored; the sync prompt 500", async () => {
  const id = await create()
  const answer = await bench.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: "throw" }] })
  await bench.events.waitFor((event) => event.type === "session.error" && sessionOf(event) === id)
  const sync = await prompt(id, "throw")
  expect([answer.response?.status, sync.response?.status]).toEqual([204, 500])
  expect(await must(bench.client.session.messages({ sessionID: id }))).toEqual([])
  return "204 and session.error; 500; 0 messages"
})

fact("facts §13", "a command with an agent runs as that agent for one turn only", async () => {
  const id = await create()
  await must(prompt(id, "as usual"))
  await must(bench.client.session.command({ sessionID: id, command: "by-first", arguments: "" }))
  await must(prompt(id, "as usual again", { agent: "build" }))
  const systems = ["as usual", "from the first", "as usual again"].map(
    (words) => bench.model.requests.find((request) => request.kind === "work" && request.lastUser === words)!.system,
  )
  expect(systems.map((system) => system.includes("You are hidden-one."))).toEqual([false, true, false])
  return "hidden-one's prompt in the command's request only, when the next prompt names its agent"
})

compare()
