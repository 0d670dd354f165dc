import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { displayable, displayableLines, fit, fitPath, pad, width, wrap } from "../../src/core/text.ts"

describe("widths are counted in cells (C069)", () => {
  test.each([
    ["修复登录问题修复登录问题", 24],
    ["👩‍👩‍👧‍👦 family", 9],
    ["e\u0301te\u0301", 3],
    ["⚠ warn", 6],
    ["⚠️ warn", 7],
    ["🇫🇷🇩🇪", 4],
    ["👍🏽 ok", 5],
    ["한글", 4],
    ["ٱللَّهِ", 4],
    ["plain", 5],
    ["", 0],
  ])("%s", (text, cells) => {
    expect(width(displayable(text))).toBe(cells)
  })
})

describe("nothing acts on the terminal or hides (C075)", () => {
  test.each([
    ["approve \u202etxt.exe\u202c", "approve <202E>txt.exe<202C>"],
    ["if (ok) {\u202e // \u2066begin", "if (ok) {<202E> // <2066>begin"],
    ["na\u200bme.ts", "na<200B>me.ts"],
    ["\u001b[31mred\u001b[0m", "␛[31mred␛[0m"],
    ["bell\u0007 del\u007f c1\u009b31m", "bell␇ del␡ c1<009B>31m"],
    ["a\nb\r\nc\td", "a b c d"],
    ["lone \ud800 half", "lone \ufffd half"],
    ["\u3164filler", "<3164>filler"],
    ["x\u{E0041}\u{E0042}", "x<E0041><E0042>"],
    ["\u0301first", "◌\u0301first"],
    ["שלום abc 123", "שלום abc 123"],
    [
      "👩‍👩‍👧‍👦 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} ⚠️",
      "👩‍👩‍👧‍👦 🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} ⚠️",
    ],
    ["می\u200cخواهم", "می\u200cخواهم"],
  ])("%j", (text, shown) => {
    expect(displayable(text)).toBe(shown)
  })

  test("a tower of combining marks is cut to a few", () => {
    expect([...displayable(`a${"\u0301".repeat(500)}b`)].length).toBeLessThan(12)
  })

  test("any text at all becomes harmless, and stays so", () => {
    const harmless = /^[^\p{Cc}\u202a-\u202e\u2066-\u2069\u200b\u200e\u200f\u061c\ufeff\u2028\u2029]*$/u
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = displayable(text)
        expect(shown).toMatch(harmless)
        expect(displayable(shown)).toBe(shown)
      }),
    )
  })
})

describe("cuts fall between characters and end in … within the width (C069, C071)", () => {
  test.each([
    ["short", 10, "short"],
    ["exactly", 7, "exactly"],
    ["too long a title", 8, "too lon…"],
    ["修复登录问题", 7, "修复登…"],
    ["修复登录问题", 6, "修复…"],
    ["👩‍👩‍👧‍👦 family", 3, "👩‍👩‍👧‍👦…"],
    ["👩‍👩‍👧‍👦 family", 2, "…"],
    ["anything", 1, "…"],
    ["anything", 0, ""],
  ])("%s in %i", (text, cells, shown) => {
    expect(fit(text, cells)).toBe(shown)
  })

  test("no text is ever wider than asked, and padding is exact", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.integer({ min: 1, max: 40 }), (text, cells) => {
        expect(width(fit(text, cells))).toBeLessThanOrEqual(cells)
        expect(width(pad(text, cells))).toBe(cells)
        for (const line of wrap(text, Math.max(2, cells))) expect(width(line)).toBeLessThanOrEqual(Math.max(2, cells))
      }),
    )
  })

  test("a title of 100 KB costs what is shown of it", () => {
    expect(fit("x".repeat(100_000), 30)).toBe(`${"x".repeat(29)}…`)
    expect(fit("é".repeat(100_000), 30)).toBe(`${"é".repeat(29)}…`)
  })

  test("a path keeps its end", () => {
    expect(fitPath("src/very/deep/folder/file.ts", 16)).toBe("…/folder/file.ts")
    expect(fitPath("a.ts", 16)).toBe("a.ts")
  })
})

describe("longer texts", () => {
  test("words wrap, and a word of 5,000 characters is broken hard (C071)", () => {
    expect(wrap("the quick brown fox", 10)).toEqual(["the quick", "brown fox"])
    const lines = wrap("x".repeat(5_000), 40)
    expect(lines).toHaveLength(125)
    expect(lines.join("")).toBe("x".repeat(5_000))
  })

  test("blank lines stay, and a limit is marked", () => {
    expect(wrap("one\n\ntwo", 10)).toEqual(["one", "", "two"])
    expect(wrap("one two three four", 5, 2)).toEqual(["one", "tw …"])
  })

  test("tabs reach the next stop", () => {
    expect(displayableLines("\tif\tx\n修\ty")).toEqual(["    if  x", "修  y"])
  })
})

test("the quick way for plain text agrees with the slow one", () => {
  const graphemes = new Intl.Segmenter("en", { granularity: "grapheme" })
  for (let code = 0x20; code < 0x10000; code++) {
    const text = String.fromCharCode(code)
    // Beside a wide character the whole takes the slow way; what joins with its neighbour cannot be compared.
    if (displayable(text) !== text || [...graphemes.segment(`${text}修`)].length !== 2) continue
    expect([code, width(`${text}修`)]).toEqual([code, width(text) + 2])
  }
})
