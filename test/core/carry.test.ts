import { describe, expect, test } from "vitest"
import { carryPlace, repeats, type PriorRuling } from "../../src/core/carry.ts"
import type { Diff, DiffFile } from "../../src/core/diff.ts"
import type { ReportedFinding } from "../../src/core/findings.ts"

const file = (over: Partial<DiffFile>): DiffFile => ({
  path: "a.ts",
  kind: "modified",
  nature: "text",
  oldMode: "100644",
  newMode: "100644",
  oldObject: "1",
  newObject: "2",
  hunks: [],
  ...over,
})
const hunk = (oldStart: number, oldLines: number, newStart: number, newLines: number) => ({
  oldStart,
  oldLines,
  newStart,
  newLines,
  heading: "",
  added: [],
  removed: [],
  text: "",
})
const diff = (...files: DiffFile[]): Diff => ({ from: "f", to: "t", files, insertions: 0, deletions: 0 })
const changed = diff(file({ hunks: [hunk(10, 7, 10, 9), hunk(40, 0, 43, 2)] }))

describe("a place in the next snapshot", () => {
  test.each([
    ["before every hunk", { path: "a.ts", line: 9 }, { path: "a.ts", line: 9 }],
    ["in a hunk or its neighbourhood", { path: "a.ts", line: 16 }, undefined],
    ["reaching into one", { path: "a.ts", line: 8, endLine: 10 }, undefined],
    ["after one that grew", { path: "a.ts", line: 20, endLine: 22 }, { path: "a.ts", line: 22, endLine: 24 }],
    ["after both", { path: "a.ts", line: 41 }, { path: "a.ts", line: 45 }],
    ["in another file", { path: "b.ts", line: 12 }, { path: "b.ts", line: 12 }],
    ["the file as a whole", { path: "a.ts" }, undefined],
  ])("%s", (_, location, now) => expect(carryPlace(changed, location)).toEqual(now))

  test("follows a rename, and knows what is gone", () => {
    expect(
      carryPlace(diff(file({ path: "b.ts", oldPath: "a.ts", kind: "renamed" })), { path: "a.ts", line: 3 }),
    ).toEqual({ path: "b.ts", line: 3 })
    const gone = file({ kind: "deleted", hunks: [hunk(1, 9, 0, 0)] })
    expect(carryPlace(diff(gone), { path: "a.ts", line: 3 })).toBeUndefined()
    expect(carryPlace(diff(file({ nature: "binary" })), { path: "a.ts", line: 3 })).toBeUndefined()
  })
})

describe("a finding that is reported again", () => {
  const prior = (over: Partial<PriorRuling> = {}): PriorRuling => ({
    finding: {
      id: "F1",
      kind: "bug",
      severity: "high",
      confidence: 8,
      title: "Divides by zero.",
      detail: "",
      location: { path: "a.ts", line: 3 },
      citation: "verified",
    },
    ruling: { finding: "F1", disposition: "intended", reason: "Never empty.", snapshot: "s", at: 1 },
    generation: 1,
    changed: false,
    now: { path: "a.ts", line: 5 },
    ...over,
  })
  const again = (over: Partial<ReportedFinding> = {}): ReportedFinding => ({
    kind: "bug",
    severity: "high",
    confidence: 8,
    title: "divides  by zero",
    detail: "",
    location: { path: "a.ts", line: 5 },
    ...over,
  })
  const isRepeat = (finding: ReportedFinding, over?: Partial<PriorRuling>) => !!repeats(finding, [prior(over)])

  test("with the same words, or at the same line with most of them", () => {
    expect(isRepeat(again())).toBe(true)
    expect(isRepeat(again({ location: { path: "a.ts", line: 90 } }))).toBe(true)
    expect(isRepeat(again({ title: "It divides by zero" }))).toBe(true)
  })

  test("is asked about where anything is new", () => {
    expect(isRepeat(again(), { changed: true, now: undefined } as Partial<PriorRuling>)).toBe(false)
    expect(isRepeat(again({ title: "Leaks a file handle" }))).toBe(false)
    expect(isRepeat(again({ title: "It divides by zero", location: { path: "a.ts", line: 90 } }))).toBe(false)
    expect(isRepeat(again({ title: "It divides by zero", kind: "uncertainty" }))).toBe(false)
    expect(isRepeat(again({ location: { path: "b.ts", line: 5 } }))).toBe(false)
    const { location: _, ...nowhere } = again()
    expect(isRepeat(nowhere)).toBe(false)
  })

  test("is asked about when it was to be fixed", () => {
    const fix = { finding: "F1", disposition: "fix", snapshot: "s", at: 1 } as const
    expect(isRepeat(again(), { ruling: fix })).toBe(false)
  })
})
