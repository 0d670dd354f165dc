import { expect, test } from "vitest"
import { columnOnScreen } from "../../scripts/demo/columns.ts"

const SCREEN = `
 Kagan · shop · main                      #9 is new
 ╭ Backlog  2 ──────╮╭ In Progress  1/2 ╮╭ Review  1 ──────╮╭ Done  1 ────────╮
 │ #1 Write it down ││▌#2 Do it         ││ #3 Judge it     ││ #5 Keep it       │
 │   ◆ 2 answers    ││▌  ● working      ││                 ││                  │
 │ #4 After #7      ││                  ││                 ││                  │
 ╰──────────────────╯╰──────────────────╯╰─────────────────╯╰──────────────────╯`

test.each([
  ["#1 ", "backlog"],
  ["#2 ", "in_progress"],
  ["#3 ", "review"],
  ["#4 ", "backlog"],
  ["#5 ", "done"],
  ["#6 ", undefined],
  ["#9 ", undefined],
])("%s stands in %s", (card, column) => {
  expect(columnOnScreen(SCREEN, card)).toBe(column)
})

test("without four heads in one row there is no column", () => {
  expect(columnOnScreen("Backlog\n#1 Write it down", "#1 ")).toBeUndefined()
})
