import { existsSync } from "node:fs"
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { afterAll, beforeAll, beforeEach, expect } from "vitest"
import { hang, text, toolCalls } from "../../kit/model.ts"
import { seedDependencies } from "../../kit/sandbox.ts"
import { must, openBench, sessionOf, until, type Bench } from "./bench.ts"
import { contract } from "./facts.ts"

const { fact, compare } = contract("worktrees")

let bench: Bench
beforeAll(async () => {
  bench = await openBench({
    options: { from: "the main checkout" },
    sandbox: { where: "project" },
    setup: (p) => void ((globalThis as any).probeClients ??= []).push([p.input.directory, p.input.client]),
    more: {
      "probe-b": (p) => void ((globalThis as any).probeClients ??= []).push([p.input.directory, p.input.client]),
    },
    files: {
      ".opencode/tool/main_tool.ts": "export default { description: 'of main', args: {}, execute: async () => 'x' }\n",
    },
  })
})
afterAll(() => bench?.dispose())
beforeEach(() => bench.model.script(() => text("Done.")))

const boot = (directory: string) => must(bench.client.path.get({ directory }))
const configOf = (directory: string) => must(bench.client.config.get({ directory }))
const mainConfig = () => readFile(join(bench.box.repo.dir, "opencode.json"), "utf8")
const startsIn = (directory: string, probe = bench.probe) =>
  probe.records().filter((one) => one.type === "init" && one.directory === directory).length

/** A worktree whose branch has these files committed. */
async function worktreeWith(name: string, files: Record<string, string>): Promise<string> {
  const tree = await bench.worktree(name)
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(tree, path)), { recursive: true })
    await writeFile(join(tree, path), content)
  }
  await bench.box.repo.git("-C", tree, "add", "-A")
  await bench.box.repo.git("-C", tree, "commit", "-q", "--allow-empty", "-m", "What an agent wrote")
  return tree
}
/** Boots an instance while these variables are set in the host's own thread. */
async function bootWith(directory: string, env: Record<string, string>): Promise<void> {
  const main = await bench.probe.server(bench.box.repo.dir)
  const before = await main.run((_, values) => {
    const old = Object.fromEntries(Object.keys(values).map((name) => [name, process.env[name] ?? null]))
    Object.assign(process.env, values)
    return old
  }, env)
  try {
    await boot(directory)
  } finally {
    await main.run((_, values) => {
      for (const [name, value] of Object.entries(values)) {
        if (value === null) delete process.env[name]
        else process.env[name] = value
      }
    }, before)
  }
}
/** Plugin code that leaves a trace when the host runs it. */
const planted = (trace: string) =>
  `import { appendFileSync } from "node:fs"\nexport const Planted = async () => { appendFileSync(${JSON.stringify(trace)}, "ran\\n"); return {} }\n`

async function recipe(): Promise<Record<string, string>> {
  const plugin = (await configOf(bench.box.repo.dir)).plugin ?? []
  return {
    OPENCODE_DISABLE_PROJECT_CONFIG: "1",
    OPENCODE_CONFIG_DIR: join(bench.box.repo.dir, ".opencode"),
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...JSON.parse(await mainConfig()), plugin }),
    npm_config_offline: "true",
  }
}

fact("facts §1", "a worktree does not see the untracked config of the main checkout", async () => {
  await boot(bench.box.repo.dir)
  const tree = await bench.worktree("plain")
  const config = await configOf(tree)
  expect([config.model, Object.keys(config.provider ?? {}), config.plugin ?? []]).toEqual([undefined, [], []])
  expect(startsIn(tree)).toBe(0)
  return "no model, no provider, no plugin"
})

fact(
  "facts §1",
  "OPENCODE_CONFIG_CONTENT set by the server half is read at each boot of an instance, and only then",
  async () => {
    const tree = await bench.worktree("content")
    const content = JSON.parse(await mainConfig())
    await bootWith(tree, { OPENCODE_CONFIG_CONTENT: JSON.stringify(content) })
    expect((await configOf(tree)).model).toBe("mock/m1")
    await bench.probe.server(tree)
    await bootWith(tree, { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, model: "mock/m2" }) })
    expect((await configOf(tree)).model).toBe("mock/m1")
    await must(bench.client.instance.dispose({ directory: tree }))
    await bootWith(tree, { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, model: "mock/m2" }) })
    expect((await configOf(tree)).model).toBe("mock/m2")
    expect(await bench.box.repo.git("-C", tree, "status", "--porcelain")).toBe("")
    return "in force, our half starts there; a later value not before instance.dispose; no file in the worktree"
  },
)

fact("facts §1", "without the recipe the host runs what the branch brought and obeys its config", async () => {
  const trace = join(bench.box.root, "ran-without-recipe")
  const tree = await worktreeWith("unguarded", {
    ".opencode/plugin/planted.ts": planted(trace),
    "opencode.json": JSON.stringify({ $schema: "https://opencode.ai/config.json", permission: { bash: "allow" } }),
  })
  await seedDependencies(join(tree, ".opencode"))
  await bootWith(tree, { OPENCODE_CONFIG_CONTENT: await mainConfig() })
  expect((await configOf(tree)).permission).toEqual({ bash: "allow" })
  expect(await readFile(trace, "utf8")).toBe("ran\n")
  return "the planted plugin ran; permission {bash: allow} is in force"
})

fact("facts §1", "with the recipe neither happens, and all that is the main checkout's is in force", async () => {
  const trace = join(bench.box.root, "ran-with-recipe")
  const tree = await worktreeWith("guarded", {
    ".opencode/plugin/planted.ts": planted(trace),
    "opencode.json": JSON.stringify({ permission: { bash: "allow" } }),
    "AGENTS.md": "The word of this branch is periwinkle.\n",
  })
  await bootWith(tree, await recipe())
  const config = await configOf(tree)
  expect([config.model, config.permission]).toEqual(["mock/m1", undefined])
  expect(startsIn(tree)).toBe(1)
  expect(await (await bench.probe.server(tree)).run((p) => p.options as any)).toEqual({ from: "the main checkout" })
  const id = (await must(bench.client.session.create({ title: "x", directory: tree }))).id
  await must(bench.client.session.prompt({ sessionID: id, parts: [{ type: "text", text: "in the worktree" }] }))
  const request = bench.model.requests.find((one) => one.lastUser === "in the worktree")!
  expect(request.tools).toContain("main_tool")
  expect(request.system).toContain("periwinkle")
  expect(existsSync(trace)).toBe(false)
  expect(await bench.box.repo.git("-C", tree, "status", "--porcelain")).toBe("")
  return "model and a custom tool of main, our half once with its options, the branch's AGENTS.md in the prompt; planted plugin and permission not; git status clean, also with a tracked config without $schema"
})

fact("facts §1", "the same plugin in another spelling is started twice, in the same spelling once", async () => {
  const twice = await bench.worktree("twice")
  const content = JSON.parse(await mainConfig())
  const path = join(bench.box.root, "probe-a")
  await bootWith(twice, { OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, plugin: [bench.probe.spec, path] }) })
  await configOf(twice)
  const once = await bench.worktree("once")
  await bootWith(once, {
    OPENCODE_CONFIG_CONTENT: JSON.stringify({ ...content, plugin: [bench.probe.spec, bench.probe.spec] }),
  })
  await configOf(once)
  expect([startsIn(twice), startsIn(once)]).toEqual([2, 1])
  return "file URL and path: 2 starts in one directory; the file URL twice: 1"
})

fact("facts §1", "config.get shows a path plugin as a file URL", async () => {
  const plugin = (await configOf(bench.box.repo.dir)).plugin
  expect(plugin).toEqual([[bench.probe.spec, { from: "the main checkout" }], bench.probes["probe-b"]!.spec])
  return "list of spec or [spec, options], specs as file:// URLs"
})

fact("facts §1", "a config file without $schema is rewritten at the first load", async () => {
  const before = '{\n  "permission": { "webfetch": "deny" }\n}\n'
  const tree = await worktreeWith("schema", { "opencode.json": before })
  await boot(tree)
  await configOf(tree)
  const after = await until("the file is rewritten", async () => {
    const now = await readFile(join(tree, "opencode.json"), "utf8")
    return now === before ? undefined : now
  })
  expect(after).toBe(before.replace(/^\s*\{/, '{\n  "$schema": "https://opencode.ai/config.json",'))
  return 'the line "$schema" is put after the first brace, nothing else changes'
})

fact("facts §1", "all plugins of one boot of an instance are given the same client, another boot another", async () => {
  const tree = await bench.worktree("clients")
  await bootWith(tree, await recipe())
  await configOf(tree)
  await must(bench.client.instance.dispose({ directory: tree }))
  await bootWith(tree, await recipe())
  await configOf(tree)
  const main = await bench.probe.server(bench.box.repo.dir)
  const same = await main.run((_, directory) => {
    const given = (globalThis as any).probeClients
      .filter(([at]: [string]) => at === directory)
      .map(([, client]: any) => client)
    return given.map((client: unknown) => given.indexOf(client))
  }, tree)
  expect(same).toEqual([0, 0, 2, 2])
  return "two plugins, two boots: clients a, a, b, b"
})

/** Disposes the worktree's instance with the recipe in force, so that an instance that comes back has our half in it. */
async function disposeUnderRecipe(tree: string, seen: () => Promise<unknown>): Promise<void> {
  const main = await bench.probe.server(bench.box.repo.dir)
  const env = await recipe()
  await main.run((_, values) => void Object.assign(process.env, values), env)
  try {
    await must(bench.client.instance.dispose({ directory: tree }))
    await seen()
  } finally {
    await main.run((_, names) => names.forEach((name) => delete process.env[name]), Object.keys(env))
  }
}

fact("M15", "a disposed instance's running turn: aborted, idle twice, then server.instance.disposed", async () => {
  const tree = await bench.worktree("cut-off")
  await bootWith(tree, await recipe())
  bench.model.script(() => hang("thinking"))
  const id = (await must(bench.client.session.create({ title: "x", directory: tree }))).id
  await bench.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: "to be cut off" }] })
  await bench.events.waitFor((event) => event.type === "message.part.delta" && sessionOf(event) === id)
  const from = bench.mark()
  await must(bench.client.instance.dispose({ directory: tree }))
  await bench.events.waitFor((event) => event.type === "server.instance.disposed", 60_000, from)
  const heard = bench.events.all
    .slice(from)
    .filter((event) => event.type === "server.instance.disposed" || sessionOf(event) === id)
    .map((event) => event.type)
    .filter((type) => ["session.error", "session.idle", "server.instance.disposed"].includes(type))
  expect(heard).toEqual(["session.error", "session.idle", "session.idle", "server.instance.disposed"])
  const last = (await must(bench.client.session.messages({ sessionID: id }))).at(-1)!.info
  expect(last).toMatchObject({ error: { name: "MessageAbortedError" } })
  return heard.join(", ")
})

fact("M15", "one client call after the dispose hook brings the instance back", async () => {
  const tree = await bench.worktree("called-back")
  await bootWith(tree, await recipe())
  const half = await bench.probe.server(tree)
  await half.run((p) => p.on("dispose", () => void setTimeout(() => void p.client.session.status(), 50)))
  const starts = startsIn(tree)
  await disposeUnderRecipe(tree, () => until("our half starts again", () => startsIn(tree) > starts))
  return "session.status from a timer of the disposed half: our half is started again"
})

fact("M15", "a tool that runs while its instance is disposed brings the instance back by itself", async () => {
  const tree = await bench.worktree("brought-back")
  await bootWith(tree, await recipe())
  const call = { name: "bash", args: { command: "sleep 60", description: "waits" } }
  bench.model.script((request) => (request.toolResults.length > 0 ? text("Done.") : toolCalls(call)))
  const id = (await must(bench.client.session.create({ title: "x", directory: tree }))).id
  await bench.client.session.promptAsync({ sessionID: id, parts: [{ type: "text", text: "run it" }] })
  await bench.probe.waitFor((one) => one["hook"] === "shell.env" && one.directory === tree)
  const starts = startsIn(tree)
  await disposeUnderRecipe(tree, () => until("our half starts again", () => startsIn(tree) > starts))
  const after = await bench.probe.waitFor((one) => one["hook"] === "tool.execute.after" && one.directory === tree)
  expect(after.start).toBe(
    bench.probe.records().findLast((one) => one.type === "init" && one.directory === tree)!.start,
  )
  return "tool.execute.after is called in a new half that nobody asked for"
})

fact(
  "facts §1, M15",
  "dispose tells server.instance.disposed with the directory; module state outlives it",
  async () => {
    const tree = await bench.worktree("disposed")
    await bootWith(tree, await recipe())
    const half = await bench.probe.server(tree)
    await half.run(() => void ((globalThis as any).probeMark = "before the dispose"))
    const from = bench.mark()
    await must(bench.client.instance.dispose({ directory: tree }))
    const told = await bench.events.waitFor((event) => event.type === "server.instance.disposed", 60_000, from)
    expect(told.properties).toEqual({ directory: tree })
    await bench.probe.waitFor((one) => one.type === "dispose" && one.directory === tree)
    const main = await bench.probe.server(bench.box.repo.dir)
    expect(await main.run(() => (globalThis as any).probeMark)).toBe("before the dispose")
    return "{directory}; the dispose hook of that directory ran; globalThis is as it was"
  },
)

fact(
  "facts §1",
  "a worktree that is removed: its sessions are read, updated and deleted, a prompt does not bring it back",
  async () => {
    const tree = await bench.worktree("removed")
    await bootWith(tree, await recipe())
    const id = (await must(bench.client.session.create({ title: "x", directory: tree }))).id
    await bench.box.repo.git("worktree", "remove", "--force", tree)
    await must(bench.client.instance.dispose({ directory: tree }))
    await must(bench.client.session.messages({ sessionID: id }))
    await must(bench.client.session.update({ sessionID: id, metadata: { still: "here" } }))
    const prompt = await bench.client.session.prompt({
      sessionID: id,
      parts: [{ type: "text", text: "anybody there" }],
    })
    expect(prompt.response?.status).toBe(500)
    expect(existsSync(tree)).toBe(false)
    await must(bench.client.session.delete({ sessionID: id }))
    return "messages, update, delete work; a prompt after dispose answers 500; the folder stays away"
  },
)

fact(
  "facts §1",
  "asking for a session by its id boots the instance of its directory, whatever directory the request names; listing does not",
  async () => {
    const tree = await worktreeWith("by-id", {})
    const id = (await must(bench.client.session.create({ title: "x", directory: tree }))).id
    await must(bench.client.instance.dispose({ directory: tree }))
    const running = () => bench.server.logs().split(`"creating instance" directory=${tree}\n`).length
    const before = running()
    const listed = await must(bench.client.session.list({ scope: "project", limit: 1_000 }))
    expect(listed.map((one) => one.id)).toContain(id)
    expect(running()).toBe(before)
    await must(bench.client.session.get({ sessionID: id, directory: bench.box.repo.dir }))
    await until("its directory's instance is created", () => running() === before + 1)
    return "session.list({scope: project}): no instance; session.get({sessionID, directory: main}): the worktree's instance is created"
  },
)

compare()
