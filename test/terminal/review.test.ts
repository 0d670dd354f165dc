import { readFile } from "node:fs/promises"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { text, toolCalls, startModel, type Model, type RecordedRequest } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/**
 * Judging: twelve findings are ruled on and three comments written, all by keys; what is to be fixed goes back exactly as
 * it was shown; the next reviewer knows what was ruled; and what is approved is what was reviewed.
 */
let model: Model
let box: Sandbox
let tui: Terminal

const LINES = Array.from({ length: 20 }, (_, i) => `export const step${i + 1} = ${i + 1}`)
const finding = (n: number, over: Record<string, unknown> = {}) => ({
  kind: "bug",
  severity: "low",
  confidence: 7,
  title: `Step ${n} is off by one`,
  detail: `It says ${n}.`,
  location: `steps.ts:${n}`,
  ...over,
})
const FINDINGS = [
  finding(1, { severity: "high", title: "Nobody is greeted", detail: "No name." }),
  finding(2, { kind: "misalignment", severity: "medium", title: "It is in English", detail: "Nobody said so." }),
  ...[3, 4, 5, 6, 7, 8, 9, 10, 11].map((n) => finding(n)),
  finding(12, { kind: "uncertainty", confidence: 8, title: "The licence may be old", location: "README.md:5" }),
]

oneStory()
beforeAll(async () => {
  const script = defaultKaganScript()
  model = await startModel((request, nth) => {
    if (request.kind === "validator" && request.toolResults.length === 0) {
      // The second one says again what was set aside, on code that did not change.
      const findings = nth === 1 ? FINDINGS : nth === 2 ? [FINDINGS[1]] : []
      return toolCalls({ name: "kagan_findings", args: { summary: "I have read it.", findings } })
    }
    if (request.kind === "work" && request.toolResults.length === 0 && request.tools.includes("write")) {
      const again = request.lastUser.startsWith("Please fix")
      const said = request.lastUser.includes("One more line")
      const lines = again || said ? ["// For Ann.", ...LINES.slice(0, 12), ...(said ? ["// One more."] : [])] : LINES
      return toolCalls({ name: "write", args: { filePath: "steps.ts", content: `${lines.join("\n")}\n` } })
    }
    return request.kind === "work" ? text("Done.") : script(request, nth)
  })
  box = await makeSandbox({ model, files: { "README.md": "# Sample\n" } })
  tui = await startTui(box, { cols: 160, rows: 45 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
  await tui.waitFor((screen) => !/waiting for|connecting|cannot act/.test(screen))
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const git = async (...args: string[]) => (await box.repo.git(...args)).trim()
const all = (request: RecordedRequest | undefined) => request?.messages.map((one) => one.text).join("\n") ?? ""
const count = (ruled: number) => `12 findings, ${ruled} ruled`

describe("triage", () => {
  test("the findings stand on their lines, and what is not in the diff says so", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("Greet the reader")
    await tui.press("ctrl+enter")
    await tui.waitFor("Start without intake: why?")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "review", "12 findings · 0 ruled"))
    await tui.press("v")
    await tui.waitFor(count(0))
    const first = await tui.waitFor("+ export const step1 = 1")
    const lines = first.split("\n")
    const at = (words: string) => lines.findIndex((line) => line.includes(words))
    expect(at("F1 bug · high")).toBe(at("+ export const step1 = 1") + 1)
    expect(at("F2 misalignment · medium")).toBe(at("+ export const step2 = 2") + 1)
  })

  test("f, i and g rule; what weighs is set aside only with a reason that says something", async () => {
    await command(tui, "kagan.review.fix", count(1))
    await command(tui, "kagan.review.intended", "F2 is intended: why?")
    await tui.type("ok")
    await tui.press("enter")
    await tui.waitFor("a reason says why")
    await tui.type(" for readers here, all read English")
    await tui.press("enter")
    await tui.waitFor(count(2))
    await tui.press("f")
    await tui.waitFor(count(3))
    await command(tui, "kagan.review.ignore", count(4))
    await tui.press("g")
    await tui.waitFor(count(5))
    await tui.press("f")
    await tui.waitFor(count(6))
    await tui.press("g", "g", "g", "g", "g")
    await tui.waitFor(count(11))
    await tui.waitFor("F12 uncertainty · low · 2/10 · line not in diff")
    await tui.press("i")
    await tui.waitFor("12 of 12 ruled")
    const refusal = '3 findings are ruled "fix"'
    await command(tui, "kagan.review.approve", refusal)
    // The notice goes first; the review stays.
    await command(
      tui,
      "kagan.review.dismiss",
      (screen) => !screen.includes(refusal) && screen.includes("12 findings, 12 ruled"),
    )
  })

  test("c comments on a line, a range and the task; a draft outlives Esc", async () => {
    await command(tui, "kagan.review.file.previous", "+ export const step1 = 1")
    await tui.press("j")
    await command(tui, "kagan.review.comment", "Comment on steps.ts:1")
    await tui.type("Name it aft")
    await tui.press("esc")
    await tui.waitFor((screen) => !screen.includes("Comment on"))
    await tui.press("c")
    await tui.waitFor("Name it aft")
    await tui.type("er what it does")
    await tui.press("enter")
    await tui.waitFor("C1 comment")
    await tui.press("V", "j", "j", "j", "c")
    await tui.waitFor("Comment on steps.ts:1–2")
    await tui.type("These two belong together")
    await tui.press("enter")
    await tui.waitFor("C2 comment")
    await command(tui, "kagan.review.comment.task", "Comment on the task")
    await tui.type("And say who it is for")
    await tui.press("enter")
    await tui.waitFor("12 findings, 12 ruled · 3 comments")
  })

  test("the agent gets exactly what s showed, as context and one short prompt", async () => {
    await command(tui, "kagan.review.sendBack", "The agent gets this")
    await command(tui, "kagan.return.mode", "a fresh session in the same worktree")
    await tui.press("tab")
    await tui.waitFor("the same session goes on")
    await tui.type("Ask for the name first.")
    const shown = await tui.waitFor("Ask for the name first.")
    const before = model.count("work")
    await command(tui, "kagan.return.send", cardIn(1, "review", "no findings"))
    const request = model.requests.filter(({ kind }) => kind === "work")[before]!
    expect(request.lastUser).toBe("Please fix what the review of task #1 found (listed above).")
    const told = request.messages.filter((one) => one.text.includes("Ask for the name first."))
    expect(told).toHaveLength(1)
    expect(told[0]!.role).toBe("user")
    const words = told[0]!.text
    expect(words).toMatch(/F1 bug \(high\) steps\.ts:1: Nobody is greeted\s+No name\./)
    for (const part of ["F3 bug", "F6 bug", "C1 comment", "Name it after what it does", "C2 comment", "C3 comment"])
      expect(words).toContain(part)
    for (const part of ["It is in English", "F4 bug", "F12"]) expect(words).not.toContain(part)
    // What the dialog showed is what was stored, and what was stored is what was given.
    for (const part of [
      "The review of task #1 is done, iteration 2 begins",
      "F1 bug (high) steps.ts:1: Nobody is greeted",
    ])
      expect(shown).toContain(part)
    const record = await readFile(`${box.repo.dir}/.git/kagan/tasks/1.json`, "utf8")
    const { sessionID } = JSON.parse(record) as { sessionID: string }
    const stored = await readFile(`${box.repo.dir}/.git/kagan/${sessionID}/send-back-2.md`, "utf8")
    expect(stored).toMatch(/^Ask for the name first\.\n\nThe review of task #1 is done/)
    expect(words).toContain(stored.trim())
  })

  test("the second reviewer knows rulings and comments, and what was set aside is not asked about again", async () => {
    const second = model.requests.filter(({ kind, toolResults }) => kind === "validator" && toolResults.length === 0)[1]
    expect(all(second)).toContain("all read English")
    expect(all(second)).toContain("These two belong together")
    await tui.press("v")
    await tui.waitFor("no findings · 3 comments")
    await tui.waitFor("For Ann.")
    // A comment went along with its line.
    const screen = await tui.waitFor("sent back in iteration 1")
    const lines = screen.split("\n")
    const at = (words: string) => lines.findIndex((line) => line.includes(words))
    expect(at("C1 comment")).toBe(at("+ export const step1 = 1") + 1)
    await command(tui, "kagan.review.since", "since the last iteration")
    await tui.press("q")
  })
})

describe("the tree that was reviewed", () => {
  test("is not the one that stands there after the person talked to the agent: the card says what changed", async () => {
    await tui.waitFor(cardIn(1, "review", "no findings"))
    await tui.press("o")
    await tui.waitFor("ctrl+p")
    await tui.type("One more line, please")
    await tui.press("enter")
    await model.waitForRequest(
      (request) => request.lastUser.includes("One more line") && request.toolResults.length > 0,
    )
    await tui.press("ctrl+x", "k")
    await tui.waitFor(cardIn(1, "review", "changed since review: steps"))
    await tui.press("a")
    await tui.waitFor(/⚠ #1 changed since review: steps\.ts/)
    await tui.press("esc")
  })

  test("r reviews again; Tab makes it a merge commit of exactly that tree", async () => {
    await tui.press("r")
    await tui.waitFor(cardIn(1, "review", "no findings"))
    await tui.press("a")
    await tui.waitFor("Enter merges")
    await command(tui, "kagan.merge.strategy", /How +merge commit/)
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
