import { execFile } from "node:child_process"
import { mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { checkout, makeSandbox, type Sandbox } from "../kit/sandbox.ts"

/** The worked examples of docs/metadata.md, each run as it is printed there. */
let model: Model
let box: Sandbox
let host: HostServer
let scratch: string
const programs = new Map<string, string>()

beforeAll(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-examples-")))
  const page = await readFile(join(checkout, "docs/metadata.md"), "utf8")
  for (const [, name, code] of page.matchAll(/^```js\n\/\/ ([\w.]+)[^\n]*\n([\s\S]*?)^```/gm)) {
    programs.set(name!, join(scratch, name!))
    await writeFile(join(scratch, name!), code!)
  }
  model = await startModel()
  box = await makeSandbox({ model })
  host = await startServer(box)
})
afterAll(async () => {
  await host?.stop()
  await box?.dispose()
  await model?.dispose()
  await rm(scratch, { recursive: true, force: true })
})

function run(name: string, ...args: string[]) {
  return new Promise<string>((resolve, reject) => {
    const env = { ...box.env, OPENCODE: host.url }
    execFile("node", [programs.get(name)!, ...args], { cwd: box.repo.dir, env, timeout: 120_000 }, (error, out, err) =>
      error ? reject(new Error(`${error.message}\n${out}${err}`)) : resolve(out.trim()),
    )
  })
}

test("there are three", () => expect([...programs.keys()]).toEqual(["waiting.mjs", "move.mjs", "board.mjs"]))

test("a task that was planned in a conversation is listed, moved, and waited for by programs", async () => {
  const session = (await host.client.session.create({ title: "Talk" })).data!
  model.script((request) =>
    request.kind === "plan" && request.toolResults.length === 0
      ? toolCalls({ name: "kagan_create_tasks", args: { tasks: [{ title: "By a program" }] } })
      : text("Done."),
  )
  await host.client.session.command({ sessionID: session.id, command: "kagan-task", arguments: "one task" })
  expect(await run("board.mjs")).toContain("- [ ] #1 By a program (`kagan/1-by-a-program`)")
  expect(await run("waiting.mjs")).toBe("")
  expect(await run("move.mjs", "1", "done")).toMatch(/^refused: a card cannot go from Backlog to Done/)
  expect(await run("move.mjs", "1", "in_progress")).toMatch(/^(refused|queued): /)
})
