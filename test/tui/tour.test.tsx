import { afterEach, describe, expect, test } from "vitest"
import { workingDay } from "./cards.ts"
import { openStage, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())
const open = async (options: StageOptions) => (stage = await openStage(options))

describe("the tour", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ])("%i×%i", async (width, height) => {
    await open({ width, height, tour: true, ...workingDay() })
    await stage.press("enter", "enter")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/tour-${width}x${height}.txt`)
  })

  test("is offered the first time that the board is seen, and never again", async () => {
    const kv = {}
    await open({ kv, tour: true, ...workingDay() })
    stage.shows("Four columns, four states of trust")
    stage.close()
    await open({ kv, tour: true, ...workingDay() })
    stage.showsNot("Four columns")
  })

  test("goes through the columns in five steps, forth and back, and ends", async () => {
    await open({ tour: true, ...workingDay() })
    const seen: string[] = []
    for (let i = 0; i < 5; i++) {
      stage.shows(`${i + 1}/5`)
      seen.push(stage.app.selection.column())
      await stage.press("enter")
    }
    expect(seen).toEqual(["backlog", "backlog", "in_progress", "review", "done"])
    expect(stage.app.tour.isOn()).toBe(false)
    expect(stage.host.dialogs()).toBe(0)
    await stage.press("enter")
    expect(stage.host.dialogs()).toBe(1)
  })

  test("Esc leaves it at any step; the board's own keys go on beneath", async () => {
    await open({ tour: true, ...workingDay() })
    await stage.press("enter", "left", "left")
    stage.shows("1/5")
    await stage.press("j")
    expect(stage.app.selection.index()).toBe(1)
    await stage.press("n")
    stage.shows("New task")
    await stage.press("esc", "esc")
    expect(stage.app.tour.isOn()).toBe(false)
  })

  test("stands over an empty board as well, and names the keys in force", async () => {
    await open({ tour: true, keybinds: { "kagan.new": "ctrl+l", "kagan.waive": "none" } })
    stage.shows("Backlog  0")
    await stage.press("enter")
    stage.shows("ctrl+l makes a task")
    stage.shows("i answers, the menu goes")
    await stage.press("esc")
    stage.shows("makes the first task")
  })

  test("comes again with /kagan-tour", async () => {
    await open({ route: { name: "home" }, ...workingDay() })
    stage.commands.enter("kagan.tour.open")
    await stage.settle()
    expect(stage.host.route().name).toBe("kagan.board")
    stage.shows("1/5")
  })
})
