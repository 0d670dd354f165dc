import { afterEach, describe, expect, test } from "vitest"
import { withMarks } from "../../src/tui/ui/segments.ts"
import { task } from "./cards.ts"
import { HOSTILE_TITLES } from "./hostile.ts"
import { openStage, THEME, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
const open = async (options: StageOptions) => (stage = await openStage({ width: 160, height: 45, ...options }))
afterEach(() => stage?.close())

/** What is drawn in the accent of the theme, piece by piece, without the frame. */
function accented(): string[] {
  return stage
    .spans()
    .lines.slice(1, -1)
    .flatMap(({ spans }) => spans.filter(({ fg }) => fg.equals(THEME.accent!)).map(({ text }) => text))
}

async function filter(text: string) {
  await stage.press("/")
  await stage.type(text)
  await stage.press("enter")
}

describe("what the filter found", () => {
  test("is brought out in the titles, whole or letter by letter, and no more once the filter is gone", async () => {
    await open({ sessions: [task(1, "Greet the reader"), task(2, "Green rabbits"), task(3, "Other")] })
    await filter("gre r")
    expect(accented()).toEqual(["Gre", "r", "Gre", "r"])
    await stage.press("esc")
    expect(accented()).toEqual([])
  })

  test("is also a number, a model or a base", async () => {
    const model = { providerID: "anthropic", modelID: "claude-opus" }
    await open({ sessions: [task(12, "One", { model, baseBranch: "release/next" }), task(2, "Two")] })
    await filter("#12 @opus base:next")
    expect(accented()).toEqual(["12", "opus", "next"])
  })

  test("never splits what is one character on the screen, whatever the title", async () => {
    await open({ sessions: HOSTILE_TITLES.map((title, n) => task(n + 1, title)) })
    const before = stage.lines().map((line) => Bun.stringWidth(line))
    await filter("e")
    expect(accented()).toContain("e")
    stage.app.filter.setText("录")
    await stage.settle()
    expect(accented().every((text) => text === "录")).toBe(true)
    expect(Math.max(...stage.lines().map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(Math.max(...before))
  })

  test("a place inside of a grapheme marks all of it", () => {
    const marked = withMarks({ text: "e\u0301te\u0301" }, new Set([0])).map(({ text }) => text)
    expect(marked).toEqual(["e\u0301", "te\u0301"])
    const parts = withMarks({ text: "a👩‍👩‍👧‍👦b", tone: "text" }, new Set([3]))
    expect(parts.map(({ text, tone }) => [text, tone])).toEqual([
      ["a", "text"],
      ["👩‍👩‍👧‍👦", "accent"],
      ["b", "text"],
    ])
  })
})
