import { existsSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import type { Events } from "../kit/events.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model, type RecordedRequest } from "../kit/model.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { helperRules, taskRules } from "../../src/server/permissions.ts"
import { must } from "./contract/bench.ts"
import { ask, worktreeWith, writeParts, type Parts } from "./parts.ts"

let model: Model
let box: Sandbox
let parts: Parts

beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({
    model,
    plugin: false,
    files: { "a.txt": "a\n", ".env": "SECRET=1\n", "src/b.txt": "b\n", "AGENTS.md": "Be kind.\n" },
    config: {
      agent: {
        open: { mode: "primary", prompt: "You may do all.", permission: { "*": "allow" } },
        word: { mode: "primary", prompt: "You may do all.", permission: "allow" },
      },
    },
  })
  parts = await writeParts(box)
})
afterAll(async () => {
  await box?.dispose()
  await model?.dispose()
})

/** What the model is offered and told, in the order of the request. */
function offer({ body }: RecordedRequest) {
  const messages = body["messages"] as { role: string; content: unknown }[]
  return {
    tools: JSON.stringify(body["tools"]),
    system: JSON.stringify(messages.filter((message) => message.role === "system")),
    rest: Object.keys(body).toSorted(),
  }
}

describe("host-facts §13 ordinary sessions", () => {
  const agents = ["build", "plan", "open", "word"]

  async function offers(server: HostServer, directory: string) {
    const all: Record<string, ReturnType<typeof offer>> = {}
    for (const agent of agents) {
      const session = await must(server.clientFor(directory).session.create({ title: "Ordinary" }))
      const from = model.requests.length
      await ask(server, directory, session.id, "Hello", agent)
      all[agent] = offer(model.requests[from]!)
    }
    return all
  }

  test("are offered and told the same, byte for byte, with and without the plugin, here and in a linked worktree", async () => {
    const wt = await worktreeWith(box, "ordinary", {})
    const seen: Record<string, ReturnType<typeof offer>>[][] = []
    for (const plugin of [false, pluginPath()]) {
      await box.writeConfig({ plugin })
      const server = await startServer(box)
      try {
        if (plugin) expect(JSON.stringify(await must(server.client.config.get()))).toContain("kagan-helper")
        seen.push([await offers(server, box.repo.dir), await offers(server, wt)])
      } finally {
        await server.stop()
      }
    }
    const [without, withPlugin] = seen
    expect(JSON.parse(without![0]!["build"]!.tools).length).toBeGreaterThan(5)
    expect(withPlugin).toEqual(without)
  })
})

describe("with our configuration in force", () => {
  let server: HostServer
  let events: Events
  beforeAll(async () => {
    await box.writeConfig({ plugin: parts.spec })
    server = await startServer(box)
    events = await server.events()
  })
  afterAll(() => server?.stop())

  const client = () => server.clientFor(box.repo.dir)
  const asks = () => events.of("permission.asked")

  /** Lets the model make these calls, one answer each, and gives their results in order. */
  async function obey(sessionID: string, agent: string, calls: readonly { name: string; args: unknown }[]) {
    let next = 0
    const results: string[] = []
    model.script((request) => {
      results.push(...request.toolResults)
      const call = calls[next++]
      return call ? toolCalls(call) : text("Done.")
    })
    await ask(server, box.repo.dir, sessionID, "Go on", agent)
    model.script(() => text("Done."))
    return results
  }

  test("our agents stand in no list of a person or a model, and the command in the list of commands", async () => {
    const agents = await must(client().app.agents())
    const ours = agents.filter((agent) => agent.name.startsWith("kagan"))
    expect(ours.map(({ name, mode, hidden }) => ({ name, mode, hidden }))).toEqual([
      { name: "kagan-helper", mode: "primary", hidden: true },
      { name: "kagan-plan", mode: "primary", hidden: true },
    ])
    expect((await must(client().command.list())).map((command) => command.name)).toContain("kagan-task")
  })

  test.each(["intake", "validator"] as const)(
    "a helper (%s) is offered read, grep, glob and its one tool",
    async (role) => {
      const session = await must(client().session.create({ title: "Helper", permission: helperRules(role) }))
      const from = model.requests.length
      await ask(server, box.repo.dir, session.id, "Report", "kagan-helper")
      const request = model.requests[from]!
      const own = role === "intake" ? "kagan_intake" : "kagan_findings"
      expect(request.tools.toSorted()).toEqual(["glob", "grep", own, "read"])
      expect(request.system).toContain("You are a careful reader of code.")
    },
  )

  test("a helper that obeys an injected order does nothing but read and report, and nobody is asked", async () => {
    const outside = join(box.root, "outside.txt")
    await writeFile(outside, "outside text")
    const session = await must(client().session.create({ title: "Helper", permission: helperRules("validator") }))
    const before = await box.repo.git("status", "--porcelain")
    const asked = asks().length
    const inRepo = (path: string) => join(box.repo.dir, path)
    const results = await obey(session.id, "kagan-helper", [
      { name: "read", args: { filePath: inRepo("a.txt") } },
      { name: "read", args: { filePath: inRepo(".env") } },
      { name: "read", args: { filePath: outside } },
      { name: "write", args: { filePath: inRepo("evil.txt"), content: "x" } },
      { name: "edit", args: { filePath: inRepo("a.txt"), oldString: "a", newString: "evil" } },
      { name: "bash", args: { command: `touch ${inRepo("evil.txt")}`, description: "x" } },
      { name: "webfetch", args: { url: "http://127.0.0.1:9/", format: "text" } },
      { name: "task", args: { description: "x", prompt: "x", subagent_type: "general" } },
      { name: "kagan_create_tasks", args: { tasks: [{ title: "evil" }] } },
      { name: "kagan_intake", args: { understanding: "evil" } },
      { name: "kagan_findings", args: { Findings: [] } },
      { name: "kagan_findings", args: { summary: "Read.", findings: '[{"title":"x","confidence":0.9}]' } },
    ])
    expect(results).toHaveLength(12)
    expect(results[0]).toContain("a")
    expect(results[1]).not.toContain("SECRET")
    expect(results[2]).not.toContain("outside text")
    expect(results[10]).toMatch(/^Not recorded: `findings` is missing/)
    expect(results[11]).toBe("Recorded.")
    const mine = parts.records().filter((record) => record.sessionID === session.id)
    expect(mine.map(({ type, tool }) => [type, tool])).toEqual([
      ["unreadable", "kagan_findings"],
      ["report", "findings"],
    ])
    expect(existsSync(inRepo("evil.txt"))).toBe(false)
    expect(await readFile(inRepo("a.txt"), "utf8")).toBe("a\n")
    expect(await box.repo.git("status", "--porcelain")).toBe(before)
    expect(asks()).toHaveLength(asked)
  })

  test("C076 six identical wrong calls: the host lets them all through, each is refused and counted, nothing recorded", async () => {
    const session = await must(client().session.create({ title: "Helper", permission: helperRules("validator") }))
    const asked = asks().length
    const wrong = { name: "kagan_findings", args: { Findings: [] } }
    const results = await obey(session.id, "kagan-helper", [wrong, wrong, wrong, wrong, wrong, wrong])
    expect(results).toHaveLength(6)
    for (const result of results) expect(result).toMatch(/^Not recorded: .* Call the tool again like this: \{"summary"/)
    const mine = parts.records().filter((record) => record.sessionID === session.id)
    expect(mine.map((record) => record.type)).toEqual(Array.from({ length: 6 }, () => "unreadable"))
    expect(asks()).toHaveLength(asked)
  })

  test("a task's session cannot push politely, and asks before it changes how the host is set up", async () => {
    const rules = taskRules({ root: join(box.root, "elsewhere"), pushGuard: true })
    const session = await must(client().session.create({ title: "Task", permission: rules }))
    const asked = asks().length
    const [pushed] = await obey(session.id, "build", [
      { name: "bash", args: { command: "git push origin HEAD", description: "Push" } },
    ])
    expect(pushed).toMatch(/rule|denied|prevent/i)
    for (const path of ["opencode.json", ".opencode/plugin/x.ts", "src/opencode.jsonc"]) {
      const from = events.all.length
      model.script((request) =>
        request.toolResults.length > 0
          ? text("Done.")
          : toolCalls({ name: "write", args: { filePath: join(box.repo.dir, path), content: "{}" } }),
      )
      const turn = ask(server, box.repo.dir, session.id, `Write ${path}`, "build")
      const event = await events.waitFor((one) => one.type === "permission.asked", 60_000, from)
      expect(event.properties).toMatchObject({ permission: "edit", patterns: [path] })
      await must(client().permission.reply({ requestID: event.properties.id, reply: "reject" }))
      await turn
      expect(existsSync(join(box.repo.dir, path))).toBe(false)
    }
    expect(asks()).toHaveLength(asked + 3)
    const [written] = await obey(session.id, "build", [
      { name: "write", args: { filePath: join(box.repo.dir, "src/c.txt"), content: "c" } },
    ])
    expect(written).not.toMatch(/reject|denied/i)
    expect(asks()).toHaveLength(asked + 3)
  })

  test("/kagan-task offers the plan agent's tools for that command only", async () => {
    const session = await must(client().session.create({ title: "Conversation" }))
    const from = model.requests.length
    await must(
      client().session.command({ sessionID: session.id, command: "kagan-task", arguments: "Two small things" }),
    )
    await ask(server, box.repo.dir, session.id, "And now?", "build")
    const [planned, after] = [model.requests[from]!, model.requests.at(-1)!]
    expect(planned.tools).toEqual(expect.arrayContaining(["kagan_board", "kagan_create_tasks", "read"]))
    for (const tool of ["write", "edit", "bash", "kagan_intake", "kagan_findings"]) {
      expect(planned.tools).not.toContain(tool)
    }
    expect(planned.lastUser).toContain("Two small things")
    expect(after.tools.filter((tool) => tool.startsWith("kagan"))).toEqual([])
    expect(after.tools).toContain("write")
  })
})
