import { execFileSync } from "node:child_process"
import { mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { defaultKaganScript } from "../kit/model-script.ts"
import { startModel, text, toolCalls, type Model, type Script } from "../kit/model.ts"
import { checkout, makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Seen, type Terminal } from "../kit/terminal.ts"

/** Somebody new takes the README at its word: what the package holds, the two files as they are printed there. */
let scratch: string
let folder: string

beforeAll(async () => {
  pluginPath()
  scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-newcomer-")))
  folder = join(scratch, "kagan")
  await mkdir(folder)
  const packed = execFileSync("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", scratch], {
    cwd: checkout,
    encoding: "utf8",
  })
  const [report] = JSON.parse(packed)
  execFileSync("tar", ["-xzf", join(scratch, report.filename), "--strip-components=1", "-C", folder])
})
afterAll(() => rm(scratch, { recursive: true, force: true }))

/** The files of the README's installation, by name, with the person's own path in them. */
async function filesOfReadme(): Promise<Record<string, string>> {
  const readme = await readFile(join(folder, "README.md"), "utf8")
  const part = readme.slice(readme.indexOf("## Install"), readme.indexOf("## A card's life"))
  const blocks = [...part.matchAll(/^`([\w.]+)`[^\n]*\n\n```json\n([\s\S]*?)```/gm)]
  return Object.fromEntries(blocks.map(([, name, json]) => [name!, json!.replaceAll("/path/to/kagan", folder)]))
}

const script: Script = (request, nth) => {
  if (request.kind !== "plan") return defaultKaganScript()(request, nth)
  const { length: answered } = request.toolResults
  if (answered === 0) return toolCalls({ name: "kagan_board", args: {} })
  if (request.toolResults.at(-1)?.includes("The board is empty")) {
    return toolCalls({
      name: "kagan_create_tasks",
      args: {
        tasks: [
          { title: "Greet the reader", description: "A file that greets.", baseBranch: "main", model: "mock/m2" },
          { title: "Greet by name", description: "As #1 does, with a name.", dependsOn: ["Greet the reader"] },
          { title: "Say goodbye", dependsOn: ["Greet by name"] },
        ],
      },
    })
  }
  return text("The three tasks stand in Backlog now.")
}

describe.each(["project", "global"] as const)("installed for the %s", (where) => {
  let model: Model
  let box: Sandbox
  let tui: Terminal
  /** A whole life takes long on a busy machine. */
  const sees = (what: Seen) => tui.waitFor(what, 400_000)

  oneStory()
  beforeAll(async () => {
    model = await startModel(script)
    // The provider stands in the other place than Kagan.
    box = await makeSandbox({ model, plugin: false, where: where === "project" ? "global" : "project" })
    const files = await filesOfReadme()
    expect(Object.keys(files).toSorted()).toEqual(["opencode.json", "tui.json"])
    const target = where === "project" ? box.repo.dir : join(box.home, ".config/opencode")
    for (const [name, json] of Object.entries(files)) await writeFile(join(target, name), json)
    tui = await startTui(box, { cols: 80, rows: 24 })
    await tui.waitFor("ctrl+p")
  })
  afterAll(async () => {
    await tui?.stop()
    await box?.dispose()
    await model?.dispose()
  })

  test("both halves are there, with the README's option in force", async () => {
    // Waits for the command, which is there as soon as the half that shows has been loaded.
    await tui.slash("kagan")
    await sees((screen) => screen.includes("0/2") && !/connecting|look only/.test(screen))
    await tui.press("q")
    await sees("ctrl+p")
  })

  test("three dependent tasks are planned in a conversation, all at once", async () => {
    await tui.command("kagan-task", "Greet in three steps")
    await sees("The three tasks stand in Backlog now.")
    await tui.press("ctrl+x", "k")
    const seen = await sees(cardIn(3, "backlog"))
    expect([1, 2, 3].map((number) => board(seen).card(number)?.title)).toEqual([
      "Greet the reader",
      "Greet by name",
      "Say goodbye",
    ])
    expect((await box.repo.git("branch", "--list", "kagan/*")).split("\n").filter(Boolean)).toHaveLength(3)
  })

  test("the first is agreed, done, reviewed, and merged", async () => {
    await tui.press("g")
    await sees(cardIn(1, "backlog", "1 answer needed"))
    await tui.press("i")
    await sees("Which file holds the greeting?")
    await tui.press("enter")
    await sees("In which language?")
    await tui.press("enter")
    await sees(cardIn(1, "backlog", "ready"))
    await tui.press("m")
    await sees(cardIn(1, "review", "1 finding · 0 ruled"))
    await tui.press("v")
    await sees("The greeting has no name in it")
    await tui.press("i")
    await sees("1 finding, 1 ruled")
    await tui.press("q")
    await sees(cardIn(1, "review", "all ruled"))
    await tui.press("a")
    await sees("Enter merges")
    await tui.press("enter")
    await sees(cardIn(1, "done", /merged [0-9a-f]{7}/))
    expect(await box.repo.git("show", "main:greeting.txt")).toContain("Hello, number 1")
    const worked = model.requests.filter(({ kind }) => kind === "work")
    expect(worked.every(({ model: used }) => used === "m2")).toBe(true)
    const asked = model.requests.filter(({ kind }) => kind === "intake")
    expect(asked.some(({ lastUser }) => lastUser.includes("task #1, as it is now"))).toBe(true)
  })

  test("the session goes on with its own agent", async () => {
    await tui.press("q")
    await sees("The three tasks stand in Backlog now.")
    const from = model.requests.length
    await tui.type("hello")
    await tui.press("enter")
    await sees(() => model.requests.length > from && model.requests.at(-1)!.outcome !== undefined)
    expect(model.requests.at(-1)!.tools).not.toContain("kagan_create_tasks")
    expect(model.requests.at(-1)!.tools).toContain("bash")
  })
})
