import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** Every command that no shorter scenario does, in the real terminal UI. */
let model: Model
let box: Sandbox
let tui: Terminal

/** A turn with its review takes long on a busy machine. */
const PATIENTLY = 400_000
const WIDE = `wide-begin ${"0123456789 ".repeat(20)}`
const LINES = Array.from({ length: 60 }, (_, i) => `line ${i + 1}`)
const EDIT = `sed -i 's/^line 5$/line five/; s/^line 50$/line fifty/; s/^line 52$/${WIDE}/' src/long.txt && echo other > src/other.txt`
const finding = (location: string) => ({
  kind: "bug",
  severity: "low",
  confidence: 7,
  title: `Odd at ${location}`,
  detail: "It is odd.",
  location,
})

oneStory()
beforeAll(async () => {
  model = await startModel(({ kind, toolResults, tools }) => {
    if (kind === "title") return text("A session")
    if (toolResults.length > 0) return text("Done.")
    if (kind === "validator") {
      const findings = ["src/long.txt:5", "src/other.txt:1", "src/long.txt:50"].map(finding)
      return toolCalls({ name: "kagan_findings", args: { summary: "I have read it.", findings } })
    }
    if (kind === "intake") {
      const split = ["One half", "Other half"].map((title) => ({ title, description: "A part." }))
      const args = { understanding: "Too much at once.", decisions: [], instruction: "Do it.", mode: "assisted" }
      return toolCalls({ name: "kagan_intake", args: { ...args, modeReason: "Two halves.", split } })
    }
    return tools.includes("bash")
      ? toolCalls({ name: "bash", args: { command: EDIT, description: "edits" } })
      : text("Hello.")
  })
  box = await makeSandbox({ model, files: { "README.md": "# Sample\n", "src/long.txt": `${LINES.join("\n")}\n` } })
  tui = await startTui(box, { cols: 120, rows: 36 })
  await tui.waitFor("ctrl+p")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const without = (words: string) => (screen: string) => !screen.includes(words)
/** The cursor of the diff stands on such a row. */
const on = (row: string | RegExp) => new RegExp(`││▌[^│\\n]*${typeof row === "string" ? row : row.source}`)
const marked = (screen: string) => screen.split("││▌").length - 1

async function leave(dialog: string) {
  await tui.press("esc")
  await tui.waitGone(dialog)
}

test("/kagan-update asks the registry, and says that it cannot be asked", async () => {
  await command(tui, "kagan.update.open", "Kagan: update")
  await tui.waitGone("Asking the registry")
  await leave("Kagan: update")
  await command(tui, "kagan.board.open", "n makes the first task")
})

test("a split is created without being started", async () => {
  await tui.press("n")
  await tui.waitFor("New task")
  await tui.type("Too much")
  await tui.press("enter")
  await tui.waitFor(cardIn(1, "backlog", "ready"))
  await tui.press("i")
  await tui.waitFor("it proposes 2 tasks")
  await tui.press("s")
  await tui.waitFor("Split #1 into 2 tasks")
  await command(tui, "kagan.split.create", cardIn(3, "backlog"))
  expect(model.count("work")).toBe(0)
})

describe("a card in Review", () => {
  test("is sent back by b and by s, and its menu lists what there is", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("Change the lines")
    await tui.press("ctrl+enter")
    await tui.waitFor("Start without intake: why?")
    await tui.press("enter")
    await tui.waitFor(cardIn(4, "review", "3 findings · 0 ruled"), PATIENTLY)
    await tui.press("3", "g")
    await tui.waitFor(/▌#4/)
    await command(tui, "kagan.back", "Send #4 back")
    await leave("Send #4 back")
    await command(tui, "kagan.sendBack", "Send #4 back")
    await leave("Send #4 back")
    await command(tui, "kagan.menu", "Type to narrow the actions")
    await leave("Type to narrow the actions")
  })
})

describe("the review", () => {
  test("its diff is gone through by line, hunk, finding, page and file", async () => {
    await tui.press("v")
    await tui.waitFor("line 55")
    await tui.waitFor(on("┌ F1 bug"))
    await command(tui, "kagan.review.down", on("line 6"))
    await command(tui, "kagan.review.up", on("┌ F1 bug"))
    await command(tui, "kagan.review.hunk.next", on("@@ -47"))
    await command(tui, "kagan.review.hunk.previous", on("@@ -2"))
    await command(tui, "kagan.review.finding.next", on("┌ F3 bug"))
    await command(tui, "kagan.review.finding.previous", on("┌ F1 bug"))
    await command(tui, "kagan.review.scroll.down", on("line 55"))
    await command(tui, "kagan.review.scroll.up", on(/(@@ -2|line 2 )/))
    await command(tui, "kagan.review.file.next", "─ src/other.txt ─")
    await tui.press("[")
    await tui.waitFor("─ src/long.txt ─")
  })

  test("long lines are shifted, and both sides stand beside each other", async () => {
    await tui.press("J", "J")
    await tui.waitFor("wide-begin")
    await command(tui, "kagan.review.right", without("wide-begin"))
    await command(tui, "kagan.review.left", "wide-begin")
    await command(tui, "kagan.review.layout", /- line 5 +│.*\+ line five/)
    await tui.press("u")
    await tui.waitGone(/- line 5 +│.*\+ line five/)
  })

  test("between list and diff, with folders folded and files filtered", async () => {
    await command(tui, "kagan.review.panes", (screen) => marked(screen) === 0)
    await tui.press("tab")
    await tui.waitFor((screen) => marked(screen) === 1)
    // On a line: on the head of a hunk it would fold that.
    await tui.press("j")
    await tui.waitFor(on("line 47"))
    await command(tui, "kagan.review.show", (screen) => marked(screen) === 0)
    await command(tui, "kagan.review.fold", without("other.txt"))
    await tui.press("enter")
    await tui.waitFor("other.txt")
    await command(tui, "kagan.review.filter", "words of the path")
    await tui.type("other")
    await tui.press("enter")
    await tui.waitFor("Files 1 of 2")
    await command(tui, "kagan.review.close", without("Files 1 of 2"))
    await tui.press("[", "[", "tab")
    await tui.waitFor("─ src/long.txt ─")
    // It goes on to the next one that is not marked.
    await command(tui, "kagan.review.viewed", "─ src/other.txt ─")
  })

  test("a range, and a comment that is changed and deleted", async () => {
    await tui.press("[")
    await tui.waitFor("─ src/long.txt · viewed ─")
    await tui.press("j", "j")
    await command(tui, "kagan.review.range", "range: j k, c comments")
    await command(tui, "kagan.review.range.down", (screen) => marked(screen) === 2)
    await command(tui, "kagan.review.range.up", (screen) => marked(screen) === 1)
    await tui.press("V", "c")
    await tui.waitFor("Comment on src/long.txt")
    await tui.type("Look here")
    await tui.press("enter")
    await tui.waitFor("C1 comment")
    await command(tui, "kagan.review.comment.edit", "C1 on src/long.txt")
    await leave("C1 on src/long.txt")
    await command(tui, "kagan.review.comment.delete", "Delete C1?")
    await tui.press("y")
    await tui.waitGone("C1 comment")
  })

  test("what it asks and tells is in dialogs of its own", async () => {
    await command(tui, "kagan.review.several", /Rule on \d findings at once/)
    await leave("findings at once")
    await command(tui, "kagan.review.follow", "Follows from")
    await leave("Follows from")
    await command(tui, "kagan.review.tell", "Tell the agent of #4")
    await leave("Tell the agent of #4")
    await command(tui, "kagan.review.help", "Type to find a key")
    await leave("Type to find a key")
    await command(tui, "kagan.review.waive", "the review is done")
  })

  test("its session is one key away, and it is begun anew by r", async () => {
    await command(tui, "kagan.review.open", "Please do task #4")
    await tui.press("ctrl+x", "k")
    await tui.waitFor(/▌#4/)
    await tui.press("v")
    await tui.waitFor("F1 bug")
    const before = model.count("validator")
    await command(tui, "kagan.review.again", () => model.count("validator") > before)
    await tui.waitFor("3 findings, 0 ruled", PATIENTLY)
  })
})
