import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { parseAssessment } from "../../src/core/assessment.ts"
import { parsePlannedTasks } from "../../src/core/planning.ts"

const good = {
  understanding: "A greeting is wanted.",
  decisions: [{ question: "Which file?", assumption: "greeting.txt", required: true }],
  instruction: "Write it.",
  mode: "autonomous",
  modeReason: "Small.",
}

describe("what intake reports", () => {
  test("as it should be", () => expect(parseAssessment(good)).toEqual({ ok: true, value: good }))

  test("lists and objects as JSON text, booleans as words", () => {
    const raw = JSON.stringify({ ...good, decisions: JSON.stringify([{ ...good.decisions[0], required: "no" }]) })
    expect(parseAssessment(raw)).toMatchObject({ ok: true, value: { decisions: [{ required: false }] } })
  })

  test("what is unclear asks the person for more, not for less", () => {
    const raw = { ...good, mode: "yolo", modeReason: undefined, decisions: [{ question: "Q?", assumption: "A" }] }
    expect(parseAssessment(raw)).toMatchObject({
      ok: true,
      value: { mode: "assisted", modeReason: "", decisions: [{ required: true }] },
    })
  })

  test("no decisions is an answer, no list of decisions is none", () => {
    expect(parseAssessment({ ...good, decisions: [] })).toMatchObject({ ok: true, value: { decisions: [] } })
    for (const decisions of [undefined, null, {}, "none", 3]) {
      expect(parseAssessment({ ...good, decisions })).toMatchObject({ ok: false })
    }
  })

  test.each([
    [{ ...good, understanding: " " }, "`understanding` is missing"],
    [{ ...good, instruction: undefined }, "`instruction` is missing"],
    [{ ...good, decisions: [{ question: "Q?" }] }, "decision 1 needs a `question` and the `assumption`"],
    [{ ...good, decisions: ["Which file?"] }, "decision 1 needs"],
    [{ ...good, decisions: Array.from({ length: 21 }, () => good.decisions[0]) }, "at most 20"],
    [{ ...good, split: "two tasks" }, "`split` must be a list"],
    [{ ...good, split: [{ description: "d" }] }, "task 1 of `split` needs a `title`"],
    [{ ...good, split: [{ title: "a", dependsOn: [0] }] }, "may depend on earlier ones only"],
    [[], "no object"],
  ])("%# is refused with its reason and an example", (raw, reason) => {
    const read = parseAssessment(raw)
    expect(!read.ok && read.error).toContain(reason)
    expect(!read.ok && read.error).toContain('like this: {"understanding"')
  })

  test("a split names earlier ones by position", () => {
    const split = [{ title: "a" }, { title: "b", description: "d", dependsOn: "[0, 0]" }]
    expect(parseAssessment({ ...good, split })).toMatchObject({
      ok: true,
      value: {
        split: [
          { title: "a", description: "" },
          { title: "b", description: "d", dependsOn: [0] },
        ],
      },
    })
  })

  test("texts are bounded and say that they were cut", () => {
    const read = parseAssessment({ ...good, understanding: "😀".repeat(5_000) })
    const text = read.ok ? read.value.understanding : ""
    expect(text.length).toBeLessThanOrEqual(4_000)
    expect(text).toMatch(/😀… \(cut\)$/u)
    expect(encodeURIComponent(text)).toContain("cut")
  })

  test("anything at all is read or refused, never thrown", () => {
    const field = fc.anything()
    fc.assert(
      fc.property(
        fc.oneof(field, fc.record({ understanding: field, decisions: field, instruction: field, split: field })),
        (raw) => {
          expect(typeof parseAssessment(raw).ok).toBe("boolean")
          expect(typeof parsePlannedTasks(raw).ok).toBe("boolean")
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe("tasks that are planned", () => {
  test("numbers of the board, titles of the call, a model", () => {
    const tasks = [
      { title: "Write the\nreader" },
      {
        title: "Use it",
        description: "d",
        dependsOn: ["#12", 13, "write the reader"],
        model: "a/b/c",
        baseBranch: "dev",
      },
    ]
    expect(parsePlannedTasks({ tasks })).toEqual({
      ok: true,
      value: [
        { title: "Write the reader", description: "", dependsOn: [], dependsOnPlanned: [] },
        {
          title: "Use it",
          description: "d",
          baseBranch: "dev",
          model: { providerID: "a", modelID: "b/c" },
          dependsOn: [12, 13],
          dependsOnPlanned: [0],
        },
      ],
    })
  })

  test.each([
    [{}, "`tasks` must be a list"],
    [{ tasks: [] }, "at least one task"],
    [{ tasks: "[" }, "`tasks` must be a list"],
    [{ tasks: [{ title: "a" }, { title: "  " }] }, "task 2 needs a `title`"],
    [{ tasks: [{ title: "a", model: "gpt" }] }, "provider/model"],
    [{ tasks: [{ title: "a", dependsOn: ["b"] }, { title: "b" }] }, 'not on "b"'],
    [{ tasks: [{ title: "a", dependsOn: [0] }] }, 'not on "0"'],
    [{ tasks: Array.from({ length: 31 }, () => ({ title: "a" })) }, "at most 30"],
  ])("%# creates nothing", (raw, reason) => {
    const read = parsePlannedTasks(raw)
    expect(!read.ok && read.error).toContain(reason)
    expect(!read.ok && read.error).toMatch(/^Nothing was created: /)
  })
})
