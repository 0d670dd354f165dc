import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, text, type Model } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** Kagan looks after itself in the real terminal UI: its settings, its health. One boot, at the smallest usual size. */
let model: Model
let box: Sandbox
let tui: Terminal

oneStory()
beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ model, where: "project", options: { inProgressLimit: 3, mice: 2 } })
  tui = await startTui(box, { cols: 80, rows: 24 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("0/3")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const config = () => readFile(join(box.repo.dir, "opencode.json"), "utf8")

describe("settings", () => {
  test("an unknown option is named on the board and counted in the footer", async () => {
    await tui.waitFor("mice there is no such option")
    await tui.waitFor("1 bad option")
    await tui.press("esc")
    await tui.waitGone("mice there is no such option")
  })

  test("the comma opens them: value, source and meaning of each", async () => {
    const screen = await command(tui, "kagan.settings", "Kagan: settings")
    expect(screen).toMatch(/inProgressLimit +3 +project/)
    expect(screen).toMatch(/intake\.enabled +true +default/)
    expect(screen).toContain("How many cards may be in progress")
  })

  test("a new value is in the file and in force at once, and nothing else in the file has changed", async () => {
    const before = await config()
    await tui.press("enter")
    await tui.waitFor("Takes a whole number")
    await tui.press("backspace", "5", "enter")
    await tui.waitFor("into which file?")
    await tui.press("enter")
    await tui.waitFor(/inProgressLimit +5 +project/)
    expect(await config()).toBe(before.replace('"inProgressLimit": 3', '"inProgressLimit": 5'))
    await tui.press("esc")
    await tui.waitGone("Kagan: settings")
    await tui.waitFor("0/5")
  })

  test("/kagan-settings opens them from the prompt too", async () => {
    await tui.press("q")
    await tui.waitFor("ctrl+p")
    await command(tui, "kagan.settings.open", "Type to find an option")
    await tui.press("esc")
    await tui.waitGone("Type to find an option")
  })
})

test("/kagan-stats says that figures come with the first task", async () => {
  await command(tui, "kagan.stats.open", "figures come with the first ones")
  await tui.press("esc")
  await tui.waitGone("Kagan: statistics")
})

describe("the doctor", () => {
  test("/kagan-doctor says what is wrong, why, and what the one key does", async () => {
    const screen = await command(tui, "kagan.doctor.open", "Kagan doctor:")
    expect(screen).toMatch(/✗ .*mice there is no such option/)
    expect(screen).toContain("Enter takes it out of")
    expect(screen).toMatch(/✓ OpenCode 1\.\d+\.\d+ \(tested/)
  })

  test("Enter mends it: the option is gone from the file, and from the footer", async () => {
    await tui.press("enter")
    await tui.waitFor("mice is taken out of")
    expect(await config()).not.toContain("mice")
    expect(JSON.parse(await config()).plugin[0][1]).toEqual({ inProgressLimit: 5 })
    await tui.press("esc")
    await tui.waitGone("Kagan doctor")
    await tui.press("ctrl+x", "k")
    await tui.waitFor("nothing needs you")
    expect(tui.screen()).not.toContain("bad option")
  })
})
