import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, toolCalls, type Model, type RecordedRequest } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** Judging: each finding is ruled on, what is to be fixed goes back, and what is approved is what was reviewed. */
let model: Model
let box: Sandbox
let tui: Terminal

const FINDINGS = [
  {
    kind: "bug",
    severity: "high",
    confidence: 9,
    title: "Nobody is greeted",
    detail: "No name.",
    location: "greeting.txt:1",
  },
  {
    kind: "misalignment",
    severity: "medium",
    confidence: 7,
    title: "It is in English",
    detail: "Nobody said so.",
    location: "greeting.txt:2",
  },
  {
    kind: "uncertainty",
    severity: "low",
    confidence: 8,
    title: "The licence may be old",
    detail: "See there.",
    location: "README.md:5",
  },
]

oneStory()
beforeAll(async () => {
  const script = defaultKaganScript()
  model = await startModel((request, nth) => {
    if (request.kind !== "validator" || request.toolResults.length > 0) return script(request, nth)
    const findings = nth === 1 ? FINDINGS : []
    return toolCalls({ name: "kagan_findings", args: { summary: "I have read it.", findings } })
  })
  box = await makeSandbox({ model, files: { "README.md": "# Sample\n" } })
  tui = await startTui(box, { cols: 160, rows: 45 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const git = async (...args: string[]) => (await box.repo.git(...args)).trim()
const all = (request: RecordedRequest | undefined) => request?.messages.map((one) => one.text).join("\n") ?? ""

describe("triage", () => {
  test("the findings stand on their lines, and what is not in the diff says so", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("Greet the reader")
    await tui.press("ctrl+enter")
    await tui.waitFor("Start without intake: why?")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "review", "3 findings · 0 ruled"))
    await tui.press("v")
    await tui.waitFor("3 findings, 0 ruled")
    const first = await tui.waitFor("Hello, number 1")
    const lines = first.split("\n")
    const at = (text: string) => lines.findIndex((line) => line.includes(text))
    expect(at("F1 bug · high")).toBe(at("Hello, number 1") + 1)
    expect(at("F2 misalignment · medium")).toBe(at("Hello, number 2") + 1)
    await tui.press("j", "j")
    await tui.waitFor("F3 uncertainty · low · 2/10 · line not in diff")
    await tui.press("k", "k")
    await tui.waitFor("F1 bug · high")
  })

  test("f, i and g rule; what weighs is set aside only with a reason that says something", async () => {
    await tui.press("f")
    await tui.waitFor("3 findings, 1 ruled")
    await tui.press("i")
    await tui.waitFor("F2 is intended: why?")
    await tui.type("ok")
    await tui.press("enter")
    await tui.waitFor("a reason says why")
    await tui.type(" for readers here, all read English")
    await tui.press("enter")
    await tui.waitFor("3 findings, 2 ruled")
    await tui.press("g")
    await tui.waitFor("#1 3 of 3 ruled")
    await tui.press("a")
    await tui.waitFor('1 finding is ruled "fix"')
  })

  test("s shows what goes back, and the agent gets it with the person's note, as context and one short prompt", async () => {
    await tui.press("s")
    const dialog = await tui.waitFor("The agent gets:")
    expect(dialog).toMatch(/F1 Nobody is greeted/)
    expect(dialog.split("The agent gets:")[1]).not.toContain("It is in English")
    const before = model.count("work")
    await tui.type("Ask for the name first.")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "review", "no findings"))
    const request = model.requests.filter(({ kind }) => kind === "work")[before]
    expect(request?.lastUser).toBe("Please fix what the review of task #1 found (listed above).")
    const told = request?.messages.find((one) => one.text.includes("Ask for the name first."))
    expect(told?.role).toBe("user")
    expect(told?.text).toMatch(/F1 bug \(high\) greeting\.txt:1: Nobody is greeted\s+No name\./)
    expect(all(request)).not.toContain("It is in English")
  })

  test("the second reviewer knows what was ruled", async () => {
    const second = model.requests.filter(({ kind, toolResults }) => kind === "validator" && toolResults.length === 0)[1]
    expect(all(second)).toContain("all read English")
  })
})

describe("the tree that was reviewed", () => {
  test("is not the one that stands there after the person talked to the agent: the card says what changed", async () => {
    await tui.press("o")
    await tui.waitFor("ctrl+p")
    await tui.type("One more line, please")
    await tui.press("enter")
    await model.waitForRequest(
      (request) => request.lastUser.includes("One more line") && request.toolResults.length > 0,
    )
    await tui.press("ctrl+x", "k")
    await tui.waitFor(cardIn(1, "review", "changed since review: greeting"))
    await tui.press("a")
    await tui.waitFor(/⚠ #1 changed since review: greeting\.txt/)
    await tui.press("esc")
  })

  test("r reviews again; Tab makes it a merge commit of exactly that tree", async () => {
    await tui.press("r")
    await tui.waitFor(cardIn(1, "review", "no findings"))
    await tui.press("a")
    await tui.waitFor("Enter merges")
    await tui.press("tab")
    await tui.waitFor(/How +merge commit/)
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "done", /merged [0-9a-f]{7}/))
    const snapshots = await git("for-each-ref", "--sort=creatordate", "--format=%(objectname)", "refs/kagan/1/")
    expect(await git("rev-list", "--parents", "-1", "main")).toMatch(/^\w+ \w+ \w+$/)
    expect(await git("log", "-1", "--format=%(trailers:key=Kagan-Waived,valueonly)", "main")).toBe(
      "intake (Small, self-contained change)",
    )
    expect(await git("rev-parse", "main^{tree}")).toBe(await git("rev-parse", `${snapshots.split("\n").at(-1)}^{tree}`))
  })
})
