import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { text, toolCalls } from "../../kit/model.ts"
import { must, openBench, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"
import { talkTo } from "./talk.ts"

const { fact, compare } = contract("permissions")

let bench: Bench
let tree: string
beforeAll(async () => {
  bench = await openBench({
    sandbox: {
      files: { "README.md": "# Sample\n", ".env": "SECRET=1\n", "a.env": "SECRET=2\n" },
      config: {
        agent: {
          open: { mode: "primary", permission: { "*": "allow" } },
          guarded: { mode: "primary", permission: { "*": "allow", "hidden_*": "deny" } },
          "hidden-primary": { mode: "primary", hidden: true, description: "never listed", prompt: "You are hidden." },
          "hidden-sub": { mode: "subagent", hidden: true, description: "listed all the same" },
        },
      },
    },
    setup(p) {
      p.tool("hidden_tool", "For the test.", () => "answered")
      p.on("config", (config) => void (config.permission = { ...config.permission, bash: "ask", "hidden_*": "deny" }))
    },
  })
  tree = await bench.worktree("tree-1")
})
afterAll(() => bench?.dispose())
beforeEach(() => bench.model.script(() => text("Done.")))

type Rule = { permission: string; pattern: string; action: "allow" | "deny" | "ask" }
const rule = (permission: string, action: Rule["action"], pattern = "*"): Rule => ({ permission, pattern, action })
const helperRules = [
  rule("*", "deny"),
  rule("read", "allow"),
  rule("read", "deny", "*.env"),
  rule("read", "deny", "*.env.*"),
  rule("grep", "allow"),
  rule("glob", "allow"),
  rule("hidden_tool", "allow"),
]

const { create, say, idle, told, last, lastTool } = talkTo(() => bench)
const prompt = (sessionID: string, words: string, more: object = {}) =>
  must(bench.client.session.prompt({ sessionID, parts: [{ type: "text", text: words }], ...more }))
const callOnce = (name: string, args: unknown) =>
  bench.model.script((request) => (request.toolResults.length > 0 ? text("Done.") : toolCalls({ name, args })))
/** The tools that one prompt's request offers. */
async function toolsOf(sessionID: string, more: object = {}): Promise<readonly string[]> {
  const words = `which tools has ${sessionID} ${bench.model.count()}`
  await prompt(sessionID, words, more)
  return bench.model.requests.find((request) => request.kind === "work" && request.lastUser === words)!.tools
}
let commands = 0
/** Starts a turn in the worktree whose model wants to run a command that has to be asked about. */
async function askOfCommand(): Promise<{ id: string; from: number; asked: any }> {
  const id = await create({ directory: tree })
  callOnce("bash", { command: `echo ${++commands}`, description: "says a number" })
  const from = bench.mark()
  await say(id, "run it")
  const asked = await told("permission.asked", id)
  return { id, from, asked: asked.properties }
}
async function askQuestion(): Promise<{ id: string; from: number; asked: any }> {
  const id = await create({ directory: tree })
  callOnce("question", {
    questions: [
      {
        question: "A or B?",
        header: "Choice",
        options: [
          { label: "A", description: "a" },
          { label: "B", description: "b" },
        ],
      },
    ],
  })
  const from = bench.mark()
  await say(id, "ask me")
  const asked = await told("question.asked", id)
  return { id, from, asked: asked.properties }
}

fact(
  "facts §5, facts §7",
  "an ask is the event permission.asked; the hook permission.ask is never called",
  async () => {
    const { id, from, asked } = await askOfCommand()
    expect(asked).toMatchObject({
      id: expect.stringMatching(/^per_/),
      sessionID: id,
      permission: "bash",
      patterns: expect.any(Array),
    })
    expect((await must(bench.client.session.status({ directory: tree })))[id]).toEqual({ type: "busy" })
    await must(bench.client.permission.reply({ directory: tree, requestID: asked.id, reply: "once" }))
    await idle(id, from)
    expect(bench.events.of("permission.updated")).toEqual([])
    expect(bench.probe.records().filter((one) => one["hook"] === "permission.ask")).toEqual([])
    return `{${Object.keys(asked).toSorted().join(", ")}}; the session stays busy; hook calls: 0`
  },
)

fact("facts §7", "a permission is listed and answered in its session's directory only", async () => {
  const { id, from, asked } = await askOfCommand()
  const listed = async (directory: string) => (await must(bench.client.permission.list({ directory }))).length
  expect([await listed(bench.box.repo.dir), await listed(tree)]).toEqual([0, 1])
  const astray = await bench.client.permission.reply({ requestID: asked.id, reply: "once" })
  expect(astray.response?.status).toBe(404)
  await must(bench.client.permission.reply({ directory: tree, requestID: asked.id, reply: "once" }))
  await idle(id, from)
  expect((await lastTool(id)).state.status).toBe("completed")
  return "main lists 0, the worktree 1; a reply without directory 404, with it the turn goes on"
})

fact("facts §7", "a rejection with a message is told to the model, without one it ends the turn", async () => {
  const told = await askOfCommand()
  await must(
    bench.client.permission.reply({ directory: tree, requestID: told.asked.id, reply: "reject", message: "use ls" }),
  )
  await idle(told.id, told.from)
  expect((await lastTool(told.id)).state.error).toContain("use ls")
  expect((await last(told.id)).info).toMatchObject({ finish: "stop" })
  const silent = await askOfCommand()
  await must(bench.client.permission.reply({ directory: tree, requestID: silent.asked.id, reply: "reject" }))
  await idle(silent.id, silent.from)
  const ended = (await last(silent.id)).info as any
  expect([ended.finish, ended.error]).toEqual(["tool-calls", undefined])
  expect((await lastTool(silent.id)).state.error).toContain("rejected permission")
  return "with: tool error with the words, then finish stop; without: idle with finish tool-calls, no error on the message, tool error (rejected permission)"
})

fact("facts §6", "abort leaves the permission pending", async () => {
  const { id, from, asked } = await askOfCommand()
  await must(bench.client.session.abort({ sessionID: id }))
  await idle(id, from)
  await until("the status is idle", async () => !(await must(bench.client.session.status({ directory: tree })))[id])
  const pending = await must(bench.client.permission.list({ directory: tree }))
  expect(pending.map((one) => one.id)).toContain(asked.id)
  return "the session is idle, permission.list still has it"
})

fact("facts §7", "a question is answered in its directory, and the turn goes on", async () => {
  const { id, from, asked } = await askQuestion()
  expect(asked).toMatchObject({ id: expect.stringMatching(/^que_/), sessionID: id })
  expect((await must(bench.client.session.status({ directory: tree })))[id]).toEqual({ type: "busy" })
  const astray = await bench.client.question.reply({ requestID: asked.id, answers: [["B"]] })
  expect(astray.response?.status).toBe(404)
  await must(bench.client.question.reply({ directory: tree, requestID: asked.id, answers: [["B"]] }))
  await idle(id, from)
  expect((await lastTool(id)).state.status).toBe("completed")
  expect((await last(id)).info).toMatchObject({ finish: "stop" })
  return "without directory 404; with it the tool completes and the turn ends with finish stop"
})

fact("facts §7", "a dismissed question ends the turn", async () => {
  const { id, from, asked } = await askQuestion()
  await must(bench.client.question.reject({ directory: tree, requestID: asked.id }))
  await idle(id, from)
  const ended = (await last(id)).info as any
  expect([ended.finish, ended.error]).toEqual(["tool-calls", undefined])
  expect((await lastTool(id)).state).toMatchObject({ status: "error", error: expect.stringContaining("dismissed") })
  return "idle with finish tool-calls, the tool part in error (dismissed)"
})

fact("facts §13", "a tool denied last in the config is absent, unless an agent allows everything itself", async () => {
  expect(await toolsOf(await create())).not.toContain("hidden_tool")
  expect(await toolsOf(await create(), { agent: "open" })).toContain("hidden_tool")
  expect(await toolsOf(await create(), { agent: "guarded" })).not.toContain("hidden_tool")
  return "config deny: absent; agent {*: allow}: present; agent with the deny as its own last key: absent"
})

fact("facts §13", "a session's own rules come after config and agent, and decide which tools are offered", async () => {
  const tools = await toolsOf(await create({ permission: helperRules }), { agent: "open" })
  expect(tools.toSorted()).toEqual(["glob", "grep", "hidden_tool", "read"])
  return `deny *, then allow: the request offers ${tools.toSorted().join(", ")}`
})

fact("facts §13", "such a helper cannot run what is not offered, and nothing is asked", async () => {
  const id = await create({ permission: helperRules })
  for (const [name, args] of [
    ["write", { filePath: "x", content: "x" }],
    ["bash", { command: "ls", description: "x" }],
  ] as const) {
    callOnce(name, args)
    const from = bench.mark()
    await prompt(id, "try it")
    expect((await lastTool(id)).state.status).toBe("error")
    expect(bench.heard(id, from).filter((event) => event.type === "permission.asked")).toEqual([])
  }
  return "write and bash fail as unavailable"
})

fact("facts §13", "read rules of a session keep .env files and the outside closed", async () => {
  await writeFile(join(bench.box.root, "outside.txt"), "outside\n")
  const id = await create({ permission: helperRules })
  const read = async (filePath: string) => {
    callOnce("read", { filePath })
    await prompt(id, "read it")
    return (await lastTool(id)).state.status
  }
  const dir = bench.box.repo.dir
  const results = [
    await read(join(dir, "README.md")),
    await read(join(dir, ".env")),
    await read(join(dir, "a.env")),
    await read(join(bench.box.root, "outside.txt")),
  ]
  expect(results).toEqual(["completed", "error", "error", "error"])
  return "README.md read; .env, a.env and a file outside the directory refused"
})

fact("facts §13", "session.update appends rules; a prompt's tools map replaces them for good", async () => {
  const id = await create({ permission: [rule("bash", "deny")] })
  await must(bench.client.session.update({ sessionID: id, permission: [rule("webfetch", "deny")] }))
  const tools = await toolsOf(id)
  expect([tools.includes("bash"), tools.includes("webfetch")]).toEqual([false, false])
  await prompt(id, "with a tools map", { tools: { grep: false } })
  const after = await toolsOf(id)
  expect([after.includes("bash"), after.includes("webfetch"), after.includes("grep")]).toEqual([true, true, false])
  return "update: both denials hold; tools {grep: false}: only that one is left"
})

fact("facts §13", "a remembered always undoes a pattern's deny in a later session, not a tool's removal", async () => {
  const ask = await create({ directory: tree, permission: [rule("bash", "ask")] })
  callOnce("bash", { command: "git status --short", description: "x" })
  await say(ask, "ask")
  const asked = await told("permission.asked", ask)
  const from = bench.mark()
  await must(bench.client.permission.reply({ directory: tree, requestID: asked.properties.id, reply: "always" }))
  await idle(ask, from)
  const denied = await create({
    directory: tree,
    permission: [rule("bash", "allow"), rule("bash", "deny", "git status*")],
  })
  await prompt(denied, "try")
  expect((await lastTool(denied)).state.status).toBe("completed")
  const removed = await create({ directory: tree, permission: [rule("bash", "deny")] })
  bench.model.script(() => text("Done."))
  expect(await toolsOf(removed)).not.toContain("bash")
  return "git status* denied in a new session: runs; bash denied as a whole: not offered"
})

fact(
  "facts §5, facts §13",
  "hidden primary agents are not in the task tool's description, hidden subagents are",
  async () => {
    await toolsOf(await create())
    const tools = bench.model.requests.at(-1)!.body["tools"] as any[]
    const description = tools.find((tool) => tool.function.name === "task").function.description as string
    expect([description.includes("hidden-primary"), description.includes("hidden-sub")]).toEqual([false, true])
    return "hidden primary: absent; hidden subagent: present"
  },
)

fact("facts §13", "an agent's prompt replaces the host's base prompt, and a prompt's system is appended", async () => {
  const id = await create()
  await prompt(id, "who are you", { agent: "hidden-primary", system: "And be brief." })
  const { system } = bench.model.requests.find((request) => request.lastUser === "who are you")!
  expect([
    system.includes("You are hidden."),
    system.includes("You are opencode"),
    system.includes("And be brief."),
  ]).toEqual([true, false, true])
  expect(system.indexOf("And be brief.")).toBeGreaterThan(system.indexOf("You are hidden."))
  return "system: the agent's prompt, not the base prompt, then the call's system"
})

fact("facts §13", "a task subagent inherits the session's deny rules", async () => {
  const id = await create({ permission: [rule("webfetch", "deny")] })
  bench.model.script((request) => {
    if (request.lastUser === "subagent work" || request.toolResults.length > 0) return text("Done.")
    return toolCalls({ name: "task", args: { description: "x", prompt: "subagent work", subagent_type: "general" } })
  })
  await prompt(id, "delegate")
  const sub = bench.model.requests.find((request) => request.lastUser === "subagent work")!
  expect(sub.tools).not.toContain("webfetch")
  expect(sub.tools).toContain("read")
  const children = await must(bench.client.session.children({ sessionID: id }))
  expect(children.map((child) => child.parentID)).toEqual([id])
  return "webfetch is not offered to it; it is a child session"
})

compare()
