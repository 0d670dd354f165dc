import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, type Model } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** A card's whole life as a person goes through it at the size of a plain terminal: one boot, and a restart at the end. */
let model: Model
let box: Sandbox
let tui: Terminal

oneStory()
beforeAll(async () => {
  model = await startModel()
  box = await makeSandbox({ model, where: "project" })
  tui = await startTui(box, { cols: 80, rows: 24 })
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const EMPTY = "n makes the first task"
const git = async (...args: string[]) => (await box.repo.git(...args)).trim()

/** Nothing is wider than the screen, and no word of ours is cut at its edge. */
function expectFits(screen: string) {
  const lines = screen.split("\n")
  expect(lines).toHaveLength(24)
  expect(Math.max(...lines.map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80)
}

/** The pace at which a dragged window changes its size; nothing is waited for. */
const aFiftiethOfASecond = () => new Promise((resolve) => setTimeout(resolve, 20))

function requestsByKind() {
  const counts: Record<string, number> = {}
  for (const { kind } of model.requests) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}

describe("a card's life by keys, at 80×24", () => {
  test("<leader>k opens the board, q closes it, /kagan opens it again", async () => {
    await tui.waitFor("ctrl+p")
    await tui.press("ctrl+x", "k")
    const empty = await tui.waitFor(EMPTY)
    expectFits(empty)
    expect(empty).toMatch(/Backlog 0 +In Progress 0\/2 +Review 0 +Done 0/)
    await tui.press("q")
    await tui.waitGone(EMPTY)
    await tui.slash("kagan")
    await tui.waitFor(EMPTY)
  })

  test("n takes a title, letters that are keys on the board included, and Enter creates", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("mjkqx? greet the reader")
    await tui.press("enter")
    const screen = await tui.waitFor(cardIn(1, "backlog", "1 answer needed"))
    expectFits(screen)
    expect(board(screen).selected).toMatchObject({ number: 1, title: "mjkqx? greet the reader" })
    expect(await git("branch", "--list", "--format=%(refname:short)", "kagan/*")).toBe("kagan/1-mjkqx-greet-the-reader")
  })

  test("a move that is refused says why, and the card stays", async () => {
    await tui.press("m")
    await tui.waitFor("1 required decision is open")
    expect(board(tui.screen()).card(1)?.status).toBe("backlog")
    await tui.press("esc")
    await tui.waitGone("1 required decision is open")
  })

  test("i answers the decisions, m starts the work, and the reviewer has read it in Review", async () => {
    expectFits(await command(tui, "kagan.intake", "Which file holds the greeting?"))
    await command(tui, "kagan.answers.next", "In which language?")
    await command(tui, "kagan.answers.previous", "Which file holds the greeting?")
    await command(tui, "kagan.answers.approve", "In which language?")
    await tui.press("enter")
    await tui.waitGone("In which language?")
    await tui.waitFor(cardIn(1, "backlog", "ready"))
    expectFits(await command(tui, "kagan.forward", cardIn(1, "review", "1 finding · 0 ruled")))
  })

  test("a says what stands in the way", async () => {
    await tui.press("a")
    await tui.waitFor("1 finding has no ruling")
    await tui.press("esc")
    await tui.waitGone("1 finding has no ruling")
  })

  test("o opens its session, and the board is one key away", async () => {
    const session = await command(tui, "kagan.open", "Please do task #1")
    // What is told to the model beside the person's words is not in the transcript.
    expect(session).not.toContain("Write a greeting into")
    await tui.press("ctrl+x", "k")
    await tui.waitFor(cardIn(1, "review", "1 finding · 0 ruled"))
  })

  test("v shows the finding on its line, i rules it intended", async () => {
    const review = await command(tui, "kagan.review", "The greeting has no name in it")
    expectFits(review)
    await tui.waitFor("Hello, number 1")
    await command(tui, "kagan.review.intended", "1 finding, 1 ruled")
    await command(tui, "kagan.review.close", cardIn(1, "review", "all ruled"))
  })

  test("a merges, also after 50 resizes (C068): the base has exactly the snapshot's changes, and the model was asked for nothing else", async () => {
    const before = await git("rev-parse", "main")
    await command(tui, "kagan.approve", "merges without a conflict")
    expectFits(await command(tui, "kagan.merge.target", "Merge #1 into which branch?"))
    await tui.press("esc", "a")
    await tui.waitFor("merges without a conflict")
    expectFits(await command(tui, "kagan.merge.leave", "#1 done without merge: why?"))
    await tui.press("esc", "a")
    expectFits(await tui.waitFor("merges without a conflict"))
    // C068: whoever drags the window meanwhile finds the same dialog, and Enter acts once.
    for (let i = 0; i < 25; i++) {
      tui.resize(120, 40)
      await aFiftiethOfASecond()
      tui.resize(41, 13)
      await aFiftiethOfASecond()
    }
    await tui.waitFor((screen) => screen.includes("Approve #1") && screen.includes("I 0/2"))
    tui.resize(80, 24)
    expectFits(await tui.waitFor((screen) => screen.includes("Enter merges") && screen.includes("In Progress 0/2")))
    expectFits(await command(tui, "kagan.merge.merge", cardIn(1, "done", /merged [0-9a-f]{7}/)))

    expect(await git("rev-parse", "main^")).toBe(before)
    const snapshots = await git("for-each-ref", "--format=%(objectname)", "refs/kagan/1/")
    expect(snapshots).toMatch(/^[0-9a-f]{40}$/)
    expect(await git("rev-parse", "main^{tree}")).toBe(await git("rev-parse", `${snapshots}^{tree}`))
    expect(await git("diff", "--name-status", "main^", "main")).toBe("A\tgreeting.txt")
    expect(await git("status", "--porcelain")).toBe("?? opencode.json\n?? tui.json")
    // Each of the three calls a tool once and ends with a word.
    expect(requestsByKind()).toEqual({ intake: 2, work: 2, validator: 2 })
  })

  test("Space tells what happened and why, from the first word to the merge", async () => {
    tui.resize(160, 70)
    await tui.press("space")
    const story = ["─ Understanding", "─ Timeline", "Backlog → In Progress, accepted", "created from main"]
    await tui.waitFor((screen) => story.every((words) => screen.includes(words)))
    await tui.press("space")
    await tui.waitGone("created from main")
    tui.resize(80, 24)
    expectFits(await tui.waitFor(cardIn(1, "done", /merged [0-9a-f]{7}/)))
  })

  test("what happened is written to a file, in Markdown and as JSON, and counted in the statistics", async () => {
    await command(tui, "kagan.record", "Review record of #1")
    await tui.type("../record-1")
    await tui.press("enter")
    await tui.waitFor("record-1.md")
    const file = (ending: string) => readFile(join(box.repo.dir, `../record-1.${ending}`), "utf8")
    const merged = await git("rev-parse", "main")
    const json = JSON.parse(await file("json"))
    expect(json).toMatchObject({ task: { number: 1, title: "mjkqx? greet the reader" } })
    for (const page of [JSON.stringify(json), await file("md")]) {
      expect(page).toContain("The greeting has no name in it")
      expect(page).toContain("intended")
      expect(page).toContain("Which file holds the greeting?")
      expect(page).toContain(merged)
    }
    const stats = await command(tui, "kagan.stats", "Kagan: statistics")
    expectFits(stats)
    expect(stats).toMatch(/First[- ]pass[^\n]*100/i)
    await tui.press("esc")
    await tui.waitGone("Kagan: statistics")
  })

  test("after a restart the board shows the same, and nobody is asked again", async () => {
    const before = board(tui.screen()).card(1)
    await tui.quit()
    tui = await startTui(box, { cols: 80, rows: 24 })
    await tui.waitFor("ctrl+p")
    await tui.press("ctrl+x", "k")
    const screen = await tui.waitFor(cardIn(1, "done", /merged [0-9a-f]{7}/))
    expect(board(screen).card(1)).toEqual(before)
    await tui.waitGone("connecting")
    expect(requestsByKind()).toEqual({ intake: 2, work: 2, validator: 2 })
  })
})
