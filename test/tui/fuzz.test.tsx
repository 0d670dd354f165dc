import { describe, expect, test } from "vitest"
import { fuzz } from "./fuzz.tsx"
import { harmful, hostileText } from "./hostile.ts"

describe("the measure itself", () => {
  test("finds what acts on a terminal or hides, and lets honest text pass", () => {
    for (const bad of ["\u001b[2J", "a\u0007", "\u009b", "\u202e", "\u200b", "\ud800", "\t"]) {
      expect(harmful(bad)).toHaveLength(1)
    }
    expect(harmful("plain, 修复, שלום, 👩‍👧 and ␛[2J <202E>\nnext line")).toEqual([])
  })

  test("the source makes the same texts of the same seed, and harmful ones", () => {
    const [one, two] = [hostileText(7), hostileText(7)]
    const texts = Array.from({ length: 200 }, () => one())
    expect(Array.from({ length: 200 }, () => two())).toEqual(texts)
    expect(harmful(texts.join("")).length).toBeGreaterThan(30)
  })
})

test("random bytes through every input to every surface: what is drawn is fit for a terminal (more seeds in test:long)", async () => {
  expect(await fuzz({ seed: 2, width: 100, height: 30 })).toBeGreaterThan(200)
})
