import { describe, expect, test } from "vitest"
import { insidePath, numberFindings, placeFindings, UNVERIFIED_CAP } from "../../src/core/citations.ts"
import { parseFindings } from "../../src/core/findings.ts"
import { parseLocation } from "../../src/core/location.ts"

describe("places in the notations that models use", () => {
  test.each([
    ["src/a.ts:12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts:12-20", { path: "src/a.ts", line: 12, endLine: 20 }],
    ["src/a.ts:12–20", { path: "src/a.ts", line: 12, endLine: 20 }],
    ["src/a.ts:20-12", { path: "src/a.ts", line: 20 }],
    ["src/a.ts:12:5", { path: "src/a.ts", line: 12 }],
    ["src/a.ts:L12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts#L12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts#L12-L20", { path: "src/a.ts", line: 12, endLine: 20 }],
    ["src/a.ts (line 12)", { path: "src/a.ts", line: 12 }],
    ["src/a.ts, lines 12-20", { path: "src/a.ts", line: 12, endLine: 20 }],
    ["src/a.ts line 12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts at line 12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts:12,15", { path: "src/a.ts", line: 12 }],
    ["src/a.ts:12; src/b.ts:3", { path: "src/a.ts", line: 12 }],
    ["`src/a.ts:12`", { path: "src/a.ts", line: 12 }],
    ["`src/a.ts`:12", { path: "src/a.ts", line: 12 }],
    ["./src/a.ts:12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts", { path: "src/a.ts" }],
    ["a b/c d.ts:3", { path: "a b/c d.ts", line: 3 }],
    ["C:\\x\\a.ts:3", { path: "C:\\x\\a.ts", line: 3 }],
    ["src/a:b.ts:3", { path: "src/a:b.ts", line: 3 }],
    ["src/a.ts:0", { path: "src/a.ts", line: 0 }],
    ["src/a.ts:-3", { path: "src/a.ts", line: -3 }],
    ["src/a.ts:1e3", { path: "src/a.ts", line: 1000 }],
    ["src/v2.0", { path: "src/v2.0" }],
    ["baseline 12", { path: "baseline 12" }],
    [
      { path: "src/a.ts", line: 12, endLine: 14 },
      { path: "src/a.ts", line: 12, endLine: 14 },
    ],
    [
      { file: "src/a.ts", start_line: "12", end_line: 14 },
      { path: "src/a.ts", line: 12, endLine: 14 },
    ],
    [
      { file: "src/a.ts", lines: "12-14" },
      { path: "src/a.ts", line: 12, endLine: 14 },
    ],
    [
      { file: "src/a.ts", lines: [12, 14] },
      { path: "src/a.ts", line: 12, endLine: 14 },
    ],
    [{ file: "src/a.ts:9" }, { path: "src/a.ts", line: 9 }],
    [["src/a.ts:12", "src/b.ts:1"], { path: "src/a.ts", line: 12 }],
    ['{"path":"src/a.ts","line":4}', { path: "src/a.ts", line: 4 }],
    ["", undefined],
    [":12", { path: ":12" }],
    [null, undefined],
    [12, undefined],
    [{}, undefined],
    [[], undefined],
  ])("%j", (raw, location) => expect(parseLocation(raw)).toEqual(location))

  test("file and line beside the finding", () => {
    const read = parseFindings({ findings: [{ title: "x", file: "src/a.ts", line: 3 }] })
    expect(read.ok && read.value.findings[0]!.location).toEqual({ path: "src/a.ts", line: 3 })
  })
})

describe("C081 places that are not there", () => {
  const report = (findings: unknown) => {
    const read = parseFindings({ findings })
    if (!read.ok) throw new Error(read.error)
    return read.value
  }
  const placed = (location: unknown) => placeFindings(report([{ title: "x", location }]), "/home/me/wt")[0]!.location

  test.each([
    ["/home/me/wt/src/a.ts:12", { path: "src/a.ts", line: 12 }],
    ["src/./b/../a.ts:12", { path: "src/a.ts", line: 12 }],
    ["src/a.ts:0", { path: "src/a.ts", line: 0 }],
    ["../../etc/passwd:1", { path: "../../etc/passwd", line: 1 }],
    ["/etc/passwd:1", { path: "/etc/passwd", line: 1 }],
    [undefined, undefined],
  ])("%s", (location, expected) => expect(placed(location)).toEqual(expected))

  test("what does not verify is capped and stays; unknown stays unknown", () => {
    const all = ["verified", "file", "unchanged_line", "no_line", "no_file", "none"] as const
    const findings = report(all.map((title) => ({ title, confidence: 9, location: "a:1" })))
    expect(
      numberFindings(findings.findings, all).map(({ id, citation, confidence }) => [id, citation, confidence]),
    ).toEqual([
      ["F1", "verified", 9],
      ["F2", "file", 9],
      ["F3", "unchanged_line", UNVERIFIED_CAP],
      ["F4", "no_line", UNVERIFIED_CAP],
      ["F5", "no_file", UNVERIFIED_CAP],
      ["F6", "none", UNVERIFIED_CAP],
    ])
    const unsure = report([
      { title: "x", confidence: "high" },
      { title: "y", confidence: 1 },
    ])
    expect(numberFindings(unsure.findings, ["no_file", "no_file"]).map(({ confidence }) => confidence)).toEqual([
      null,
      1,
    ])
    expect(numberFindings(unsure.findings, []).map(({ citation }) => citation)).toEqual(["none", "none"])
  })

  test.each([
    ["a/./b//c", "a/b/c"],
    ["a/../b", "b"],
    ["..", undefined],
    ["a/../..", undefined],
    ["/etc/passwd", undefined],
    ["C:/x", undefined],
    ["/home/me/wt/../x", undefined],
    ["/home/me/wtx/a", undefined],
    ["a\0b", undefined],
    ["", undefined],
    ["src\\a.ts", "src/a.ts"],
  ])("insidePath(%j)", (path, inside) => expect(insidePath(path, "/home/me/wt")).toBe(inside))
})
