import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { reveal } from "../../src/core/hidden.ts"

describe("what a reader would not see", () => {
  test.each([
    ["a\u202eb", "a<202E>b", 1],
    ["x\u200b\u2066y\u{e0041}", "x<200B><2066>y<E0041>", 3],
    ["bell\u0007 esc\u001b[31m", "bell<0007> esc<001B>[31m", 2],
    ["over\rwritten\r\nend\r", "over<000D>written\r\nend\r", 1],
    ["soft\u00adhyphen \ufeffmark", "soft<00AD>hyphen <FEFF>mark", 2],
  ])("%j", (text, shown, hidden) => expect(reveal(text)).toEqual({ text: shown, hidden, mixed: [] }))

  test("honest text stays as it is: tabs, other scripts, emoji with their joiners", () => {
    for (const text of ["a\tb\nc", "修复登录问题 école Привет", "👨‍👩‍👧 ❤️ 1️⃣ 🏳️‍🌈 ✓", "μs Δx Ωm λx"])
      expect(reveal(text)).toEqual({ text, hidden: 0, mixed: [] })
  })

  test("words that mix look-alike scripts are named, five at most", () => {
    expect(reveal("isАdmin Привет password").mixed).toEqual(["is<0410>dmin"])
    expect(reveal(Array.from({ length: 9 }, (_, i) => `p${i}аy`).join(" ")).mixed).toHaveLength(5)
  })

  test("nothing hidden is left in what is shown, and nothing else is changed", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const shown = reveal(text).text
        expect(reveal(shown).hidden).toBe(0)
        expect(shown.split("\n").length).toBe(text.split("\n").length)
      }),
    )
  })
})
