import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { board, cardIn } from "./screen-board.ts"

const frame = (name: string) => readFileSync(join(import.meta.dirname, "../tui/frames", `${name}.txt`), "utf8")

describe("a board is read off the screen", () => {
  test("with all four columns", () => {
    const seen = board(frame("board-160x45"))
    expect(seen.columns.map(({ status, cards }) => [status, cards.map(({ number }) => number)])).toEqual([
      ["backlog", [31, 32, 33]],
      ["in_progress", [28, 29]],
      ["review", [26, 27]],
      ["done", [23, 25]],
    ])
    expect(seen.column("in_progress").head).toBe("2/2 +1 queued")
    expect(seen.column("review").has("conflicts with main")).toBe(true)
    expect(seen.card(26)).toEqual({
      number: 26,
      title: "Retry webhooks with backoff",
      status: "review",
      selected: false,
      lines: ["▲ 3 findings · 1 ruled", "+86 −12"],
    })
  })

  test("with the two that fit, the others being not there", () => {
    const seen = board(frame("board-80x24"))
    expect(seen.columns.map(({ status }) => status)).toEqual(["backlog", "in_progress"])
    expect(seen.selected).toMatchObject({ number: 31, lines: ["◆ 2 answers needed", "main"] })
    expect(seen.column("review").cards).toEqual([])
    expect(seen.card(26)).toBeUndefined()
  })

  test("with one, its cards close together", () => {
    const seen = board(frame("board-40x12"))
    expect(seen.columns).toHaveLength(1)
    expect(seen.card(33)).toMatchObject({ status: "backlog", lines: ["◔ queued (2/2 in progress)"] })
  })

  test("whatever is wide, and whatever looks like a border", () => {
    const seen = board(
      [
        "╭ Backlog  1 ────────╮╭ In Progress  1/2 ──╮",
        "│ #1 日本語 │ ╭ Done ││▌#2 👩‍👩‍👧 at work   │",
        "│   ✓ ready          ││▌  ● working        │",
        "╰────────────────────╯╰────────────────────╯",
      ].join("\n"),
    )
    expect(seen.card(1)).toMatchObject({ title: "日本語 │ ╭ Done", status: "backlog" })
    expect(seen.card(2)).toMatchObject({ title: "👩‍👩‍👧 at work", status: "in_progress", selected: true })
  })

  test("a notice over a column is no line of a card", () => {
    const seen = board(
      [
        "╭ Done  1 ───────────╮",
        "│▌#1 Greet           │",
        "│▌  ✓ merged 2b64867 │",
        "│▌  +2 −0            │",
        "│ ╭─────────────────╮│",
        "│ │ ✓ #1 is merged  ││",
      ].join("\n"),
    )
    expect(seen.card(1)?.lines).toEqual(["✓ merged 2b64867", "+2 −0"])
  })

  test("and where there is none, nothing is found", () => {
    for (const screen of ["", "#1 in Review", frame("help-80x24")]) expect(board(screen).columns).toEqual([])
  })
})

test("what is waited for has a name", () => {
  const seen = cardIn(26, "review", /findings/)
  expect(seen(frame("board-160x45"))).toBe(true)
  expect(cardIn(26, "done")(frame("board-160x45"))).toBe(false)
  expect(String(seen)).toBe('#26 in Review that says "/findings/"')
})
