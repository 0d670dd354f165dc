import { describe, expect, test } from "vitest"
import { matchingChecks } from "../../src/core/check-paths.ts"
import {
  checksText,
  checksVerdict,
  evidenceText,
  readReport,
  resultLine,
  summarize,
  type CheckResult,
} from "../../src/core/checks.ts"
import { readKagan } from "../../src/core/codec.ts"
import { NOW, sampleMeta, SHA, snapshot } from "./sample.ts"

const result = (over: Partial<CheckResult> = {}): CheckResult => ({
  name: "tests",
  command: "npm test",
  outcome: "passed",
  text: "exit 0",
  output: "all good\n",
  ...over,
})

describe("which checks concern a change", () => {
  const rows: readonly [paths: readonly string[] | undefined, changed: readonly string[], matches: boolean][] = [
    [undefined, ["a.ts"], true],
    [[], ["a.ts"], true],
    [["*.ts"], ["deep/down/a.ts"], true],
    [["*.ts"], ["a.tsx"], false],
    [["/src/"], ["src/a"], true],
    [["/src/"], ["lib/src/a"], false],
    [["src/**/*.css"], ["src/a/b/c.css"], true],
    [["docs"], ["docs/a.md"], true],
    [["*.md", "!README.md"], ["README.md"], false],
    [["*.md", "!README.md"], ["README.md", "b.md"], true],
    [["*.TS"], ["a.ts"], false],
    [["# not a path"], ["a.ts"], false],
    [["../*"], ["a.ts"], false],
    [["[a-"], ["[a-"], false],
    [["*.txt"], ["../a.txt", "/b.txt", "./c.txt"], true],
    [["*"], [" name with\nnewline\\ "], true],
  ]
  test.each(rows)("paths %j, changed %j: %s", (paths, changed, matches) => {
    const check = { name: "c", command: "true", ...(paths ? { paths: [...paths] } : {}) }
    expect(matchingChecks([check], changed)).toEqual(matches ? [check] : [])
  })
})

describe("what came of them, in words", () => {
  test("counts, and only the first names, of bounded length", () => {
    const failed = Array.from({ length: 50 }, (_, n) => result({ name: `${n}${"x".repeat(500)}`, outcome: "failed" }))
    const summary = summarize([...failed, result(), result({ outcome: "not_run" }), result({ outcome: "none" })], NOW)
    expect(summary).toMatchObject({ state: "done", passed: 1, failed: 50, notRun: 1, at: NOW })
    expect(summary.failing).toHaveLength(3)
    expect(JSON.stringify(summary).length).toBeLessThan(400)
    expect(checksText(summary)).toContain("and 47 more")
  })

  test("C092: a check without a command is no pass", () => {
    const summary = summarize([result({ outcome: "none" })], NOW)
    expect(summary).toMatchObject({ passed: 0, failed: 0, notRun: 0 })
    expect(checksText(summary)).toBeUndefined()
    expect(checksVerdict(summary)).toBeUndefined()
  })

  test("a failure is named, and what was not run is never a pass", () => {
    const some = [result(), result({ name: "lint", outcome: "failed" }), result({ name: "e2e", outcome: "not_run" })]
    expect(checksText(summarize(some, NOW))).toBe('check "lint"')
    expect(checksVerdict(summarize(some, NOW))).toBe('1 passed, 1 failed ("lint"), 1 not run')
    expect(checksText(summarize([result(), result({ outcome: "not_run" })], NOW))).toBe("1 check not run")
    expect(checksText(summarize([result()], NOW))).toBe("checks")
    expect(checksText({ state: "running", passed: 0, failed: 0, notRun: 0, at: NOW })).toBe("checks run")
  })

  test("a line has the last words of a failure and nothing that steers a terminal", () => {
    const line = resultLine(
      result({ name: "a\u001b[2Jb", outcome: "failed", text: "exit 1", output: "x\nlast one\n\n" }),
    )
    expect(line).toContain("exit 1 · last one")
    expect(line).not.toContain("\u001b")
  })

  test("the reviewer reads failures first, and never more than the limit", () => {
    const many = Array.from({ length: 30 }, (_, n) =>
      result({ name: `n${n}`, outcome: n === 29 ? "failed" : "passed", output: `${"y".repeat(20_000)}END${n}` }),
    )
    const text = evidenceText(many, 20_000)
    expect(text.startsWith("n29 (npm test): failed")).toBe(true)
    expect(text).toContain("END29")
    expect(text.length).toBeLessThan(20_200)
    expect(evidenceText([result({ outcome: "none" })])).toBe("")
  })
})

test("a stored report that is none is not taken for one", () => {
  const report = { snapshot: SHA, at: NOW, results: [result()] }
  expect(readReport(JSON.parse(JSON.stringify(report)))).toEqual(report)
  for (const bad of [undefined, null, [], {}, { ...report, results: [{ ...result(), outcome: "great" }] }])
    expect(readReport(bad)).toBeUndefined()
})

test("the summary is read back from the metadata as it was written", () => {
  const checks = summarize([result({ name: "lint", outcome: "failed" })], NOW)
  const meta = sampleMeta({ review: { snapshot: snapshot(), checks, findings: 0, ruled: 0, fix: 0 } })
  const read = readKagan(meta.sessionID, { kagan: JSON.parse(JSON.stringify(meta)) })
  expect(read).toMatchObject({ kind: "task", unreadable: [], meta: { review: { checks } } })
})
