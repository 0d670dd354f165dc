import { expect, test } from "vitest"
import { historyPage } from "../../src/core/history.ts"

const stored = Array.from({ length: 250 }, (_, index) => ({ at: index, kind: "edit", text: `line ${index}`, more: 1 }))

test("pages follow each other from the newest to the oldest, without a gap or a line twice", () => {
  const seen: string[] = []
  let before: number | undefined
  let pages = 0
  do {
    const page = historyPage(stored, before === undefined ? {} : { before })
    seen.push(...page.lines.map(({ text }) => text))
    before = page.earlier
    pages++
  } while (before > 0)
  expect(seen).toEqual(stored.map(({ text }) => text).toReversed())
  expect(pages).toBe(3)
})

test("what was appended meanwhile does not shift the page before", () => {
  const first = historyPage(stored)
  const grown = [...stored, { at: 250, kind: "move", text: "later" }]
  expect(historyPage(grown, { before: first.earlier }).lines[0]?.text).toBe("line 149")
})

test("a line that is none is counted, and one without end is cut", () => {
  const page = historyPage([{ at: 1, kind: "move", text: "a".repeat(100_000) }, { kind: "move" }, 7, null])
  expect(page.unreadable).toBe(3)
  expect(page.lines[0]!.text.length).toBe(4_000)
})

test("an empty history and a page beyond it are empty", () => {
  expect(historyPage([])).toEqual({ lines: [], earlier: 0, unreadable: 0 })
  expect(historyPage(stored, { before: 0 })).toEqual({ lines: [], earlier: 0, unreadable: 0 })
  expect(historyPage(stored, { before: 9_999 }).lines[0]?.text).toBe("line 249")
})
