import { describe, expect, test } from "vitest"
import { lastLine, liveText } from "../../src/core/live.ts"

describe("the last line of what a command wrote", () => {
  test.each([
    ["", ""],
    ["one\ntwo\n", "two"],
    ["one\n\n  \n", "one"],
    ["10 %\r40 %\r90 %", "90 %"],
    ["10 %\r40 %\r", "40 %"],
    ["\u001b[32m✓ passed\u001b[0m\r\n", "✓ passed"],
    ["\u001b]0;title\u0007building\u0007\n\u001b[2K\u001b[1G", "building"],
    ["a\tb\u0000c", "a bc"],
    [`${"x".repeat(500)}`, /^x{150,}.*$/],
    ["\uFFFD\uFFFD broken", "\uFFFD\uFFFD broken"],
  ])("%j", (output, expected) => {
    const line = lastLine(output)
    if (typeof expected === "string") expect(line).toBe(expected)
    else expect(line).toMatch(expected)
    expect(line.length).toBeLessThanOrEqual(200)
  })

  test("is said with which command of how many runs, and with its name as long as it is silent", () => {
    const live = { what: "checks", name: "tests", index: 2, of: 3, line: "" } as const
    expect(liveText(live)).toBe("checks running 2/3 · tests")
    expect(liveText({ ...live, line: "41 of 90" })).toBe("checks running 2/3 · 41 of 90")
    expect(liveText({ ...live, index: 1, of: 1 })).toBe("checks running · tests")
    expect(liveText({ ...live, what: "setup", line: "added 3 packages" })).toBe("setting up 2/3 · added 3 packages")
  })
})
