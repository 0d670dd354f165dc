import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { CARD_ROWS, layoutOf, visibleCards, visibleColumns } from "../../src/tui/board/layout.ts"
import { readQuery } from "../../src/tui/board/filter.tsx"
import { cellsOf, fitSegments, joined, justify, wholeParts } from "../../src/tui/ui/segments.ts"

describe("where everything stands", () => {
  test.each([
    [160, 45, false, 4, undefined],
    [160, 45, true, 4, "right"],
    [120, 40, true, 2, "right"],
    [100, 30, false, 4, undefined],
    [80, 24, false, 2, undefined],
    [80, 24, true, 2, "below"],
    [40, 12, false, 1, undefined],
    [40, 12, true, 1, "instead"],
    [20, 8, false, 1, undefined],
  ] as const)("%i×%i, details %s: %i columns, details %s", (width, height, details, columns, side) => {
    const layout = layoutOf({ width, height }, details)
    expect(layout).toMatchObject({ kind: "board", columns })
    expect(layout.kind === "board" ? layout.details?.side : "tiny").toBe(side)
  })

  test.each([
    [19, 24],
    [80, 7],
  ])("%i×%i is too small", (width, height) => {
    expect(layoutOf({ width, height }, false)).toEqual({ kind: "tiny" })
  })

  test("the parts always fill the screen exactly", () => {
    const sizes = fc.record({ width: fc.integer({ min: 20, max: 300 }), height: fc.integer({ min: 8, max: 100 }) })
    fc.assert(
      fc.property(sizes, fc.boolean(), (size, details) => {
        const layout = layoutOf(size, details)
        if (layout.kind === "tiny") throw new Error("not tiny")
        const board = layout.widths.reduce((sum, width) => sum + width, 0)
        const pane = layout.details
        expect(board + (pane?.side === "right" ? pane.width : 0)).toBe(size.width)
        expect(layout.rows + (pane && pane.side !== "right" ? pane.height : 0)).toBe(size.height - 2)
        for (const width of layout.widths) expect(width).toBeGreaterThanOrEqual(20)
      }),
    )
  })
})

describe("what is seen of a long list", () => {
  test("the cursor is always among the drawn cards, and the view moves only when it has to", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 500 }),
        fc.integer({ min: 3, max: 60 }),
        fc.constantFrom("full" as const, "compact" as const),
        fc.nat(600),
        fc.nat(499),
        (total, rows, density, first, at) => {
          const cursor = Math.min(at, total - 1)
          const seen = visibleCards({ total, rows, density, first, cursor })
          expect(cursor).toBeGreaterThanOrEqual(seen.first)
          expect(cursor).toBeLessThan(seen.first + seen.count)
          expect(seen.count * CARD_ROWS[density]).toBeLessThanOrEqual(Math.max(CARD_ROWS[density], rows + 1))
          expect(visibleCards({ total, rows, density, first: seen.first, cursor })).toEqual(seen)
        },
      ),
    )
  })

  test("columns scroll one by one", () => {
    expect(visibleColumns(2, "in_progress", 0).statuses).toEqual(["backlog", "in_progress"])
    expect(visibleColumns(2, "review", 0).statuses).toEqual(["in_progress", "review"])
    expect(visibleColumns(2, "review", 2).statuses).toEqual(["review", "done"])
    expect(visibleColumns(1, "done", 0).statuses).toEqual(["done"])
    expect(visibleColumns(4, "done", 3).first).toBe(0)
  })
})

describe("lines of several tones", () => {
  test("left gives way to right, and the line is exactly as wide as asked", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "grapheme" }),
        fc.string({ unit: "grapheme" }),
        fc.integer({ min: 1, max: 80 }),
        (left, right, cells) => {
          expect(cellsOf(justify([{ text: left }], [{ text: right }], cells))).toBe(cells)
        },
      ),
    )
  })

  test("a cut shows one ellipsis, at the end", () => {
    const text = (cells: number) =>
      fitSegments([{ text: "one " }, { text: "two " }, { text: "three" }], cells)
        .map((segment) => segment.text)
        .join("")
    expect(text(13)).toBe("one two three")
    expect(text(10)).toBe("one two t…")
    expect(text(2)).toBe("o…")
    expect(text(4)).toBe("one…")
  })

  test("also where a part exactly fills the line and more would follow; blanks are nothing that follows", () => {
    const text = (parts: readonly string[], cells: number) =>
      fitSegments(
        parts.map((part) => ({ text: part })),
        cells,
      )
        .map((segment) => segment.text)
        .join("")
    expect(text(["one", "two"], 3)).toBe("on…")
    expect(text(["one", " ", "two"], 4)).toBe("one…")
    expect(text(["日本", "two"], 4)).toBe("日…")
    expect(text(["a", "b"], 1)).toBe("…")
    expect(text(["one", "", " "], 3)).toBe("one")
    expect(text(["one"], 3)).toBe("one")
  })

  test("hints are whole or away, and nothing is joined to nothing", () => {
    const hints = [[{ text: "a open" }], [{ text: "b close" }], [{ text: "c more" }]]
    const text = (cells: number) =>
      wholeParts(hints, "  ", cells)
        .map((segment) => segment.text)
        .join("")
    expect(text(15)).toBe("a open  b close")
    expect(text(14)).toBe("a open")
    expect(text(3)).toBe("")
    expect(joined([undefined, { text: "" }, { text: "x" }, []], " · ").map(({ text: t }) => t)).toEqual(["x"])
  })
})

describe("reading a filter", () => {
  test.each([
    ["", {}],
    ["login  route", { words: ["login", "route"] }],
    ["#12", { number: 12 }],
    ["@Sonnet base:main", { model: "sonnet", base: "main" }],
    ["is:needs-you is:blocked", { needsYou: true, blocked: true }],
    ["is:trashed x", { scope: "trashed", words: ["x"] }],
    ["is:odd base: @", { unknown: ["is:odd", "base:", "@"] }],
    ["#12a", { words: ["#12a"] }],
  ])("%s", (text, expected) => {
    const empty = { scope: "active", needsYou: false, blocked: false, words: [], unknown: [] }
    expect(readQuery(text)).toEqual({ ...empty, ...expected })
  })
})
