import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, type Model } from "../kit/model.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** The board under the hands of a person: fast typing, paste, mouse, resize. One boot. */
let model: Model
let box: Sandbox
let tui: Terminal

beforeAll(async () => {
  model = await startModel()
  box = await makeSandbox({ model })
  tui = await startTui(box, { cols: 100, rows: 30 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

describe("new tasks", () => {
  test("one after the other, as fast as they can be typed, keep to themselves", async () => {
    for (const title of ["Alpha", "Beta", "Gamma"]) {
      await tui.press("n")
      await tui.waitFor("New task")
      await tui.type(title)
      await tui.press("tab")
      await tui.type(`about ${title}`)
      await tui.press("enter")
      await tui.waitGone("New task")
    }
    await tui.waitFor(/#\d Alpha\b/)
    await tui.waitFor(/#\d Beta\b/)
    const screen = await tui.waitFor(/#\d Gamma\b/)
    expect(screen).not.toMatch(/AlphaBeta|BetaGamma/)
  })

  test("a paste of several lines never submits, and Esc keeps it for the next time", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.paste("Pasted over\nseveral lines\n")
    await tui.waitFor("Pasted over")
    await tui.press("tab")
    await tui.paste("First line\nsecond line\n")
    await tui.waitFor("second line")
    await tui.press("esc")
    await tui.waitGone("New task")
    expect(tui.screen()).not.toContain("#4")
    await tui.press("n")
    await tui.waitFor("second line")
    await tui.waitFor("Pasted over")
  })

  test("a dialog and its text live through a change of the terminal's size", async () => {
    tui.resize(41, 13)
    // Of the narrow board: its own size is drawn, not what the emulator made of the wide one.
    await tui.waitFor((screen) => screen.includes("New task") && screen.includes("I 0/2"))
    tui.resize(100, 30)
    await tui.waitFor((screen) => screen.includes("second line") && screen.includes("In Progress"))
    await tui.press("esc")
    await tui.waitGone("New task")
  })
})

describe("mouse", () => {
  test("a click selects, a second one opens the actions, and a choice is clicked", async () => {
    await tui.clickText("Beta")
    await tui.waitFor(/▌#\d Beta/)
    await tui.clickText("Beta")
    await tui.waitFor("Type to narrow the actions")
    await tui.clickText("Tell the agent something")
    await tui.waitFor(/Tell the agent of #\d/)
    await tui.press("esc")
    await tui.waitGone("Tell the agent of")
  })

  test("the wheel moves what is seen, not the cursor", async () => {
    await tui.press("g")
    tui.resize(100, 8)
    await tui.waitFor("⌄ 1")
    const at = tui.find("Alpha")!
    await tui.wheel("down", at.col, at.row)
    await tui.waitFor("⌃ 1")
    tui.resize(100, 30)
    await tui.waitFor("Alpha")
  })
})

describe("keys", () => {
  test("capitals are keys of their own", async () => {
    await tui.press("g", "G")
    await tui.waitFor(/▌#\d Gamma/)
    await tui.press("K")
    await tui.waitFor((screen) => screen.indexOf("Gamma") < screen.indexOf("Beta"))
    await tui.press("N")
    await tui.waitFor("Notices")
    await tui.press("esc")
    await tui.waitGone("Notices")
  })

  test("u takes the last thing back", async () => {
    await tui.press("u")
    await tui.waitFor((screen) => screen.indexOf("Beta") < screen.indexOf("Gamma"))
  })

  test("details, filter and help open and close by their keys", async () => {
    await tui.press("space")
    await tui.waitFor("about Gamma")
    await tui.press("space")
    await tui.waitGone("about Gamma")
    await tui.press("/")
    await tui.waitFor("is:needs-you")
    await tui.type("beta")
    await tui.press("enter")
    await tui.waitGone("Gamma")
    // Each dismisses one notice that stands, newest first, and then the filter.
    for (let seen = tui.screen(); !seen.includes("Gamma");) {
      const before = seen
      await tui.press("esc")
      seen = await tui.waitFor((screen) => screen !== before)
    }
    await tui.press("?")
    await tui.waitFor("Type to find a key")
    await tui.press("esc")
    await tui.waitGone("Type to find a key")
  })

  test("the session of a card shows where it stands, and the way back", async () => {
    await tui.press("o")
    await tui.waitFor("ctrl+p")
    await tui.press("ctrl+x", "k")
    await tui.waitFor("Backlog")
  })
})
