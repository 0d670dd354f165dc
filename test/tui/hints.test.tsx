import { afterEach, describe, expect, test } from "vitest"
import { finding, inReview, task, validatorOf, workingDay } from "./cards.ts"
import { openStage, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
const open = async (options: StageOptions) => (stage = await openStage({ width: 160, height: 45, ...options }))
afterEach(() => stage?.close())

/** Clicks into a text on one of the lines, counted from the top, or from the end below 0. */
async function click(words: string, line: number) {
  const row = line < 0 ? stage.app.host.renderer.height + line : line
  const before = stage.lines()[row]!.split(words)[0]!
  if (before === stage.lines()[row]) throw new Error(`not on line ${row}: ${words}\n${stage.frame()}`)
  await stage.click(Bun.stringWidth(before) + 1, row)
}

describe("the hints of the board", () => {
  test("do what they say when they are clicked: at the key as well as at the word", async () => {
    await open({ sessions: [task(1, "Card")], answers: { "task.move": () => ({ verdict: "accepted", text: "" }) } })
    await click("? help", -1)
    stage.shows("Type to find a key")
    await stage.press("esc")
    await click("elp", -1)
    stage.shows("Type to find a key")
    await stage.press("esc")
    await click("m move on", -1)
    expect(stage.server.asked()).toEqual([{ type: "task.move", sessionID: "ses_1", to: "in_progress" }])
  })

  test("what the whole board says leads there too: who needs you, the filter, a column by its name", async () => {
    await open(workingDay())
    const before = stage.app.selection.card()
    await click("need you", -1)
    expect(stage.app.selection.card()).not.toBe(before)
    await click("to jump", 0)
    await stage.press("/")
    await stage.type("#31")
    await stage.press("enter")
    await click("/#31", -1)
    stage.shows("is:needs-you")
    await stage.press("esc")
    await stage.resize(80, 24)
    await click("Done", 0)
    expect(stage.app.selection.column()).toBe("done")
  })

  test("nothing between them does anything, nor any of them with the mouse off", async () => {
    await open({ sessions: [task(1, "Card")], options: { mouse: false } })
    await click("? help", -1)
    expect(stage.host.dialogs()).toBe(0)
    stage.close()
    await open({ sessions: [task(1, "Card")] })
    await stage.click(100, 44)
    expect(stage.host.dialogs()).toBe(0)
  })
})

describe("the hints of the review", () => {
  test("rule, approve and lead back", async () => {
    await open({
      sessions: [inReview(1, "Done", { findings: 1, ruled: 0 }), validatorOf(1, [finding("F1", { severity: "low" })])],
      route: { name: "kagan.review", params: { sessionID: "ses_1" } },
      answers: {
        "review.files": () => ({ from: "a", to: "b", files: [], left: [], viewed: [], since: ["base"] }),
        "findings.rule": () => ({ text: "" }),
      },
    })
    stage.shows("1 finding, 0 ruled")
    await stage.press("n")
    await click("f fix", -1)
    expect(stage.server.asked()).toMatchObject([{ type: "findings.rule", rulings: [{ disposition: "fix" }] }])
    await click("? help", -1)
    stage.shows("Type to find a key")
    await stage.press("esc")
    await click("q back", -1)
    expect(stage.host.route().name).toBe("kagan.board")
  })
})
