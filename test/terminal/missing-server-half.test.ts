import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startServer } from "../kit/host.ts"
import { startModel, text, type Model } from "../kit/model.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { openTasks } from "../kit/tasks.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** The plugin stands in `tui.json` and not in `opencode.json`: there are cards, and nobody who acts on them. */
let model: Model
let box: Sandbox
let tui: Terminal

oneStory()
beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ model, plugin: false, tui: { plugin: [pluginPath()] }, where: "project" })
  const host = await startServer(box)
  const seen = openTasks(host, "some-repo")
  await seen.plant({ taskNumber: 1, status: "backlog", lastGatedStatus: "backlog" })
  await seen.plant({ taskNumber: 2, status: "review", lastGatedStatus: "review" })
  await host.stop()
  tui = await startTui(box, { cols: 160, rows: 40 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

/** The words of a notice or a sentence, however it is wrapped. */
const words = (screen: string) => screen.replace(/[│╭╮╰╯─]/g, " ").replace(/\s+/g, " ")

describe("without the server half", () => {
  test("the board shows the cards, and says which line is missing in which file", async () => {
    const screen = await tui.waitFor("look only")
    expect(words(screen)).toContain(
      `Kagan shows, but cannot act: add "${pluginPath()}" to "plugin" in ${box.repo.dir}/opencode.json`,
    )
    expect(board(screen).card(1)).toMatchObject({ status: "backlog", title: "Planted 1" })
    expect(board(screen).card(2)).toMatchObject({ status: "review", title: "Planted 2" })
  })

  test("a key that needs it says why not, and in the menu it is greyed with the reason", async () => {
    await tui.press("m")
    await tui.waitFor("#1 Kagan shows, but cannot act")
    await tui.press("esc")
    await tui.waitGone("#1 Kagan shows, but cannot act")
    await tui.press("enter")
    const menu = await tui.waitFor("Type to narrow the actions")
    for (const title of ["Move forward", "Tell the agent something", "Archive, or bring back"]) {
      expect(menu).toMatch(new RegExp(`${title} +Kagan shows, but cannot act`))
      const at = tui.find(title)!
      expect(tui.cell(at.col, at.row)?.fg).not.toBe(colourOf("Copy the branch's name"))
    }
    expect(menu).toMatch(/Open its session +o/)
    await tui.press("esc")
    await tui.waitGone("Type to narrow the actions")
  })

  test("what only looks goes on, and coming back says the same at once", async () => {
    await tui.press("o")
    await tui.waitFor("ctrl+p")
    await tui.press("ctrl+x", "k")
    const again = await tui.waitFor(cardIn(1, "backlog"))
    expect(again).toContain("look only")
    await tui.press("n")
    const refused = await tui.waitFor((screen) => screen.match(/cannot act/g)?.length === 2)
    expect(refused).not.toContain("New task")
    expect(model.requests).toEqual([])
  })
})

function colourOf(text: string): string | undefined {
  const at = tui.find(text)!
  return tui.cell(at.col, at.row)?.fg
}
