import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { MAX_FINDINGS, parseConfidence, parseFindings } from "../../src/core/findings.ts"

const read = (raw: unknown) => {
  const result = parseFindings(raw)
  if (!result.ok) throw new Error(result.error)
  return result.value
}
const refusal = (raw: unknown) => {
  const result = parseFindings(raw)
  if (result.ok) throw new Error(`taken: ${JSON.stringify(result.value)}`)
  return result.error
}

describe("C076 arguments of the wrong shape", () => {
  test("a list given as JSON text counts as the list", () => {
    const { findings } = read({ findings: '[{"title":"x","location":"a.txt:2","confidence":0.9}]' })
    expect(findings).toEqual([
      {
        kind: "uncertainty",
        severity: "medium",
        confidence: 9,
        title: "x",
        detail: "",
        location: { path: "a.txt", line: 2 },
      },
    ])
  })

  test.each([
    [{ findings: {} }],
    [{ findings: [null, "text", {}] }],
    [{ Findings: [] }],
    [{}],
    [undefined],
    ["nonsense"],
    [{ findings: '[{"title": "cut off' }],
    [{ findings: "" }],
    [{ findings: null }],
  ])("%j is refused with a reason and an example, not taken for no findings", (raw) => {
    expect(refusal(raw)).toMatch(/^Not recorded: .+ Call the tool again like this: \{"summary"/)
  })

  test("the refusal names the entries that are none", () => {
    expect(refusal({ findings: [{ title: "good" }, null, "text"] })).toContain("entries 2, 3 of `findings` are")
  })

  test("an empty list says that there is nothing", () => {
    expect(read({ summary: "Fine.", findings: [] })).toEqual({ summary: "Fine.", findings: [], dropped: 0 })
  })

  test("the whole call may be JSON text", () => {
    expect(read('{"summary":"s","findings":[{"title":"x"}]}').findings).toHaveLength(1)
  })
})

describe("C078 many findings", () => {
  const big = (n: number, title: string, path = "a.ts") => ({
    kind: "bug",
    severity: "low",
    confidence: 5,
    title,
    detail: "d".repeat(2_048),
    location: `${path}:${n}`,
  })

  test("500 with 120 equal ones: all distinct kept, equal ones folded with a count, each bounded", () => {
    const distinct = Array.from({ length: 380 }, (_, i) => big(i + 1, `finding ${i}`))
    const equal = Array.from({ length: 120 }, () => big(7, "the  same place"))
    const { findings, dropped } = read({ summary: "", findings: [...distinct, ...equal] })
    expect(findings).toHaveLength(381)
    expect(dropped).toBe(0)
    expect(findings.at(-1)).toMatchObject({ title: "the same place", count: 120 })
    expect(findings.every((finding) => finding.detail.length <= 2_000)).toBe(true)
    expect(findings[0]!.detail).toMatch(/… \(cut\)$/)
  })

  test("beyond the limit the lighter ones go, and the summary says how many", () => {
    const light = Array.from({ length: MAX_FINDINGS + 20 }, (_, i) => big(i + 1, `light ${i}`))
    const heavy = { ...big(1, "heavy", "z.ts"), severity: "high" }
    const report = read({ summary: "Much.", findings: [...light, heavy] })
    expect(report.findings).toHaveLength(MAX_FINDINGS)
    expect(report.findings.at(-1)!.title).toBe("heavy")
    expect(report.dropped).toBe(21)
    expect(report.summary).toBe(`Much.\n(21 lighter findings beyond ${MAX_FINDINGS} were not kept.)`)
  })

  test("folding keeps the weightier severity and confidence", () => {
    const { findings } = read({
      findings: [
        { title: "A", location: "a:1", severity: "low", confidence: null },
        { title: "a", location: "a:1", severity: "critical", confidence: 3 },
        { title: "A ", location: "a:1", severity: "medium", confidence: 9 },
      ],
    })
    expect(findings).toEqual([expect.objectContaining({ severity: "high", confidence: 9, count: 3 })])
  })

  test("the same title at another place is another finding", () => {
    expect(
      read({ findings: [{ title: "A", location: "a:1" }, { title: "A", location: "a:2" }, { title: "A" }] }).findings,
    ).toHaveLength(3)
  })
})

describe("C079 confidence", () => {
  test.each([
    [0, 0],
    [10, 10],
    [7, 7],
    [6.55, 6.6],
    [1.01, 1],
    [0.85, 8.5],
    [1, 1],
    [85, 8.5],
    [100, 10],
    ["0.85", 8.5],
    ["85%", 8.5],
    ["8/10", 8],
    ["4 / 5", 8],
    [" 9 ", 9],
    ["high", null],
    ["", null],
    [" ", null],
    [-0.2, null],
    [101, null],
    [1e9, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    ["NaN", null],
    ["Infinity", null],
    ["0x8", null],
    ["9/0", null],
    ["11/10", null],
    ["250%", null],
    [null, null],
    [undefined, null],
    [true, null],
    [false, null],
    [[], null],
    [[9], null],
    [{}, null],
  ])("%j is %j", (raw, value) => expect(parseConfidence(raw)).toBe(value))

  test("whatever it is, the finding stays", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (confidence) => {
        const [finding] = read({ findings: [{ title: "x", confidence }] }).findings
        expect(finding!.title).toBe("x")
        if (finding!.confidence !== null) {
          expect(finding!.confidence).toBeGreaterThanOrEqual(0)
          expect(finding!.confidence).toBeLessThanOrEqual(10)
        }
      }),
    )
  })
})

test("kind and severity are read in any case; unknown ones ask for attention instead of failing", () => {
  const { findings } = read({
    findings: [
      { title: "a", kind: "Misalignment", severity: "HIGH" },
      { title: "b", kind: "security hole", severity: "catastrophic" },
      { title: "c", kind: "comment", severity: "nit" },
    ],
  })
  expect(findings.map(({ kind, severity }) => [kind, severity])).toEqual([
    ["misalignment", "high"],
    ["uncertainty", "medium"],
    ["uncertainty", "low"],
  ])
})

test("anything at all is read or refused, never thrown", () => {
  fc.assert(
    fc.property(fc.oneof(fc.anything(), fc.record({ findings: fc.anything(), summary: fc.anything() })), (raw) => {
      const result = parseFindings(raw)
      expect(typeof result.ok).toBe("boolean")
    }),
    { numRuns: 500 },
  )
})
