import { existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model, type RecordedRequest } from "../kit/model.ts"
import { makeSandbox, seedDependencies, type Sandbox } from "../kit/sandbox.ts"
import { startTui } from "../kit/terminal.ts"
import { must, until } from "./contract/bench.ts"
import { ask, planted, worktreeWith, writeParts } from "./parts.ts"

let model: Model
let box: Sandbox
let parts: Awaited<ReturnType<typeof writeParts>>
let server: HostServer
let stopped = false
let marks: string
let before: Record<string, string | null>

const marked = () => (existsSync(marks) ? readFileSync(marks, "utf8") : "")

/** The project's own configuration stands untracked in the main checkout, as people have it. */
beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ model, plugin: false, where: "project", files: { "a.txt": "a\n" } })
  parts = await writeParts(box)
  marks = join(box.root, "marks")
  await box.writeConfig({
    plugin: [parts.spec, parts.probe.spec],
    options: { inProgressLimit: 7 },
    config: { agent: { own: { prompt: "{file:./prompts/own.md}", mode: "primary" } } },
  })
  const own = join(box.repo.dir, ".opencode")
  await mkdir(join(own, "tool"), { recursive: true })
  await seedDependencies(own)
  await writeFile(
    join(own, "tool/own.ts"),
    'export default { description: "The main checkout\'s own tool", args: {}, execute: async () => "own" }\n',
  )
  await mkdir(join(box.repo.dir, "prompts"))
  await writeFile(join(box.repo.dir, "prompts/own.md"), "You are the main checkout's own agent.")
  server = await startServer(box)
  await must(server.client.config.get())
  before = await parts.variables()
})
afterAll(async () => {
  if (!stopped) await server?.stop()
  await box?.dispose()
  await model?.dispose()
})

const configOf = (directory: string) => must(server.clientFor(directory).config.get())
const clean = async (directory: string) => expect(await box.repo.git("-C", directory, "status", "--porcelain")).toBe("")

async function requestOf(directory: string, agent?: string): Promise<RecordedRequest> {
  const session = await must(server.clientFor(directory).session.create({ title: "A session" }))
  const from = model.requests.length
  await ask(server, directory, session.id, `Say something in ${session.id}`, agent)
  return model.requests[from]!
}

describe("host-facts §1 a worktree's instance by the recipe", () => {
  let wt: string
  beforeAll(async () => {
    wt = await worktreeWith(box, "wt-recipe", planted(marks))
    expect(await parts.ensure(wt)).toEqual({ ok: true })
  })

  test("our half runs there, once, with the options of the main checkout's entry", async () => {
    expect(await parts.served()).toContain(wt)
    const inits = parts.records().filter((record) => record.directory === wt)
    expect(inits).toEqual([{ type: "init", directory: wt, options: { inProgressLimit: 7 }, entered: "serve" }])
  })

  test("model, provider, agents and plugins of the main checkout are in force, nothing of the branch", async () => {
    const [main, there] = [await configOf(box.repo.dir), await configOf(wt)]
    expect(there.model).toBe("mock/m1")
    expect(there.provider).toEqual(main.provider)
    expect(there.plugin).toEqual(main.plugin)
    expect(there.permission).toEqual(main.permission)
    expect(Object.keys(there.agent ?? {}).toSorted()).toEqual(Object.keys(main.agent ?? {}).toSorted())
    expect(there.agent?.["own"]?.prompt).toBe("You are the main checkout's own agent.")
    expect(Object.keys(there.command ?? {}).toSorted()).toEqual(Object.keys(main.command ?? {}).toSorted())
    expect(JSON.stringify(there)).not.toContain("evil")
  })

  test("a prompt is answered, with the main checkout's own tool, and the worktree's AGENTS.md", async () => {
    const request = await requestOf(wt)
    expect(request.model).toBe("m1")
    expect(request.tools).toContain("own")
    expect(request.tools).not.toContain("evil")
    expect(request.system).toContain("Write in the voice of the branch.")
    expect(request.system).toContain(wt)
  })

  test("nothing that the branch brought was run, and git status is clean", async () => {
    expect(marked()).toBe("")
    await clean(wt)
  })

  test("the variables are as they were", async () => expect(await parts.variables()).toEqual(before))

  test("again costs nothing and starts nothing", async () => {
    const count = parts.records().length
    await parts.ensure(wt)
    expect(parts.records()).toHaveLength(count)
  })

  test("several at once are booted one after the other, each with us", async () => {
    const more: string[] = []
    for (const name of ["wt-1", "wt-2", "wt-3"]) more.push(await worktreeWith(box, name, planted(marks)))
    const results = await Promise.all(more.map((directory) => parts.ensure(directory)))
    expect(results).toEqual(more.map(() => ({ ok: true })))
    expect(await parts.served()).toEqual(expect.arrayContaining(more))
    expect(marked()).toBe("")
  })
})

describe("host-facts §1 the repair of an instance that the host booted first", () => {
  let wt: string
  beforeAll(async () => {
    const { provider } = await configOf(box.repo.dir)
    wt = await worktreeWith(box, "wt-repair", planted(marks, { provider }))
    await configOf(wt)
  })

  test("this is what the recipe is for: without it the branch's plugin runs and its configuration holds", async () => {
    expect(marked()).toContain("plugin\n")
    const config = await configOf(wt)
    expect(config.model).toBe("evil/m9")
    expect(config.permission).toMatchObject({ bash: "allow", webfetch: "allow" })
    expect(await parts.served()).not.toContain(wt)
  })

  test("while something runs in it, it is left alone", async () => {
    const busy = await must(server.clientFor(wt).session.create({ title: "Busy" }))
    model.script(() => new Promise(() => {}))
    await server.clientFor(wt).session.promptAsync({
      sessionID: busy.id,
      model: { providerID: "mock", modelID: "m1" },
      parts: [{ type: "text", text: "Wait." }],
    })
    const status = async () => (await must(server.clientFor(wt).session.status()))[busy.id]?.type
    await until("a turn runs there", async () => (await status()) === "busy" && model.open() === 1)
    expect(await parts.ensure(wt)).toMatchObject({ ok: false, error: { kind: "busy" } })
    await server.clientFor(wt).session.abort({ sessionID: busy.id })
    model.script(() => text("Done."))
    await until("it is idle", async () => (await status()) !== "busy")
  })

  test("idle, it is booted anew by the recipe", async () => {
    const marksBefore = marked()
    expect(await parts.ensure(wt)).toEqual({ ok: true })
    expect((await configOf(wt)).model).toBe("mock/m1")
    const request = await requestOf(wt)
    expect(request.tools).toContain("own")
    expect(marked()).toBe(marksBefore)
    expect(await parts.variables()).toEqual(before)
  })
})

test("a project that does not list us has nothing of ours, in the same process", async () => {
  const other = join(box.root, "other")
  await mkdir(other)
  await box.repo.git("init", "-q", other)
  const config = await configOf(other)
  expect(config.plugin ?? []).toEqual([])
  expect(JSON.stringify(config)).not.toContain("kagan")
  expect(await parts.served()).not.toContain(other)
})

test("a command of the agent's sees none of the variables, also while another worktree boots", async () => {
  const wt = await worktreeWith(box, "wt-shell", {})
  const late = await worktreeWith(box, "wt-late", planted(marks))
  await parts.ensure(wt)
  const session = await must(server.clientFor(wt).session.create({ title: "Shell" }))
  const list = "env | grep -E '^(OPENCODE_CONFIG|OPENCODE_DISABLE_PROJECT|npm_config_offline)' || true"
  model.script((request) =>
    request.toolResults.length > 0
      ? text("Done.")
      : // Three equal calls in a row would make the host ask the person.
        toolCalls(
          ...[1, 2, 3].map((n) => ({ name: "bash", args: { command: `echo ${n}; ${list}`, description: "env" } })),
        ),
  )
  const from = model.requests.length
  const [ensured] = await Promise.all([parts.ensure(late), ask(server, wt, session.id, "List the environment")])
  model.script(() => text("Done."))
  expect(ensured).toMatchObject({ ok: true })
  const outputs = model.requests.slice(from).flatMap((request) => request.toolResults)
  expect(outputs).toHaveLength(3)
  for (const output of outputs) {
    expect(output).not.toContain("plugin")
    expect(output).not.toContain("OPENCODE_DISABLE_PROJECT_CONFIG=1")
    expect(output).not.toContain(".opencode")
  }
})

test("after a restart into the task's session (`opencode -s`): repaired, and the same window can go on", async () => {
  const wt = await worktreeWith(box, "wt-restart", {})
  await parts.ensure(wt)
  const session = await must(server.clientFor(wt).session.create({ title: "The task" }))
  const mainStarts = () =>
    parts.probe.records().filter(({ type, directory }) => type === "init" && directory === box.repo.dir).length
  const starts = mainStarts()
  await server.stop()
  stopped = true
  const tui = await startTui(box, { args: ["-s", session.id], cols: 100, rows: 30 })
  try {
    await tui.waitFor("wt-restart")
    await until("the main instance is there", () => mainStarts() > starts)
    expect(await parts.ensure(wt)).toEqual({ ok: true })
    model.script(() => text("Here is the answer of the model."))
    await tui.type("Go on, please")
    await tui.press("enter")
    await tui.waitFor("Here is the answer of the model.")
    await clean(wt)
  } finally {
    await tui.stop()
  }
})
