import { describe, expect, test } from "vitest"
import { PAGES, stalePages } from "../../scripts/docs.ts"
import { COMMANDS, ENTRIES, REVIEW_COMMANDS, spellKey } from "../../src/tui/board/keys.ts"

describe("generated pages", () => {
  test("say what the code says; `bun scripts/docs.ts` writes them", () => {
    expect(stalePages()).toEqual([])
  })

  test("a page that differs by a letter is stale", () => {
    expect(stalePages([{ file: PAGES[0]!.file, text: () => `${PAGES[0]!.text()}x` }])).toEqual([PAGES[0]!.file])
  })
})

describe("the table of keys", () => {
  test.each([
    ["the board", COMMANDS],
    ["the review", REVIEW_COMMANDS],
  ])("no key of %s means two things, and no name is used twice", (_, rows) => {
    const keys = rows.flatMap((row) => [...row.keys])
    expect(keys.length).toBe(new Set(keys).size)
    expect(rows.length).toBe(new Set(rows.map(({ id }) => id)).size)
  })

  test("the host keeps its own keys", () => {
    const keys = [...COMMANDS, ...REVIEW_COMMANDS].flatMap((row) => [...row.keys] as string[])
    for (const key of ["ctrl+c", "ctrl+p", "ctrl+x", "ctrl+d"]) expect(keys).not.toContain(key)
  })

  test("names are one family, and keys are spelled as they are pressed", () => {
    for (const { id } of [...COMMANDS, ...REVIEW_COMMANDS, ...ENTRIES]) expect(id).toMatch(/^kagan\.[\w.]+$/)
    expect(["shift+g", "return", "ctrl+y", ".", "comma"].map(spellKey)).toEqual(["G", "Enter", "ctrl+y", ".", ","])
  })
})
