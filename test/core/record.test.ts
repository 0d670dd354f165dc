import { expect, test } from "vitest"
import { recordMarkdown } from "../../src/core/record-page.ts"
import { reviewRecord, type RecordInput } from "../../src/core/record.ts"
import { sampleMeta } from "./sample.ts"

const SHA = "a".repeat(40)
const at = Date.UTC(2030, 0, 1)

const input = (over: Partial<RecordInput> = {}): RecordInput => ({
  task: {
    title: "Rate-limit # the *login* route",
    meta: {
      ...sampleMeta(),
      taskNumber: 31,
      generation: 2,
      dependsOn: [28],
      intake: { state: "done", sessionID: "ses_i", generation: 1, attempt: 1, required: 1, answered: 1, at },
      merge: { state: "merged", target: "main", commit: SHA, strategy: "squash", at, claim: undefined } as never,
    },
  },
  description: "Five tries.\n```\n# Not a heading\npassword=hunter2secret",
  intake: {
    v: 1,
    role: "intake",
    sessionID: "ses_i",
    repo: "r",
    intakeParent: "ses_t",
    generation: 1,
    assessment: {
      understanding: "Brute force.",
      decisions: [
        { question: "Per address?", assumption: "Yes", required: true },
        { question: "How many?", assumption: "Five", required: false },
      ],
      instruction: "Limit it.",
      mode: "assisted",
      modeReason: "auth",
    },
    answers: [{ decision: 0, kind: "overridden", text: "Per account", at }],
    instruction: "Limit it by account.",
  },
  reviews: [
    {
      at,
      model: { providerID: "b", modelID: "y" },
      meta: {
        v: 1,
        role: "validator",
        sessionID: "ses_v",
        repo: "r",
        validatorParent: "ses_t",
        generation: 1,
        snapshot: SHA,
        summary: "It limits.",
        material: { shown: 2, total: 3, left: ["big.txt"] },
        findings: [
          {
            id: "F1",
            kind: "bug",
            severity: "high",
            confidence: 8,
            title: "Counts <b>twice</b>",
            detail: "token sk-abcdefghijklmnop1234 is logged",
            location: { path: "src/a.ts", line: 3 },
            citation: "verified",
          },
          {
            id: "F2",
            kind: "uncertainty",
            severity: "low",
            confidence: null,
            title: "Old?",
            detail: "",
            citation: "none",
          },
        ],
        rulings: [{ finding: "F1", disposition: "fix", reason: "Really does", snapshot: SHA, at }],
        repeated: [{ title: "Again", finding: "F9", generation: 1, disposition: "ignored" }],
      },
    },
  ],
  comments: [
    {
      id: "C1",
      text: "Name it\n# better",
      location: { path: "src/a.ts", line: 4 },
      by: "T. Ester",
      at,
      snapshot: SHA,
      base: SHA,
      generation: 1,
      disposition: "fix",
    },
  ],
  checks: [{ name: "test", command: "npm test", outcome: "failed", text: "exit 1", output: "long" }],
  history: [
    { at, kind: "edit", text: "created from main" },
    { at, kind: "snapshot", text: "snapshot", commit: SHA, tree: SHA },
    "torn",
  ],
  cost: { work: 1, intake: 0.25, validator: 0.5 },
  person: "T. Ester",
  now: at,
  ...over,
})

test("the record has everything that was judged, and JSON holds it as it is", () => {
  const record = reviewRecord(input())
  expect(JSON.parse(JSON.stringify(record))).toEqual(record)
  expect(record).toMatchObject({
    person: "T. Ester",
    task: { number: 31, generation: 2, dependsOn: [28] },
    intake: {
      instruction: { text: "Limit it by account.", by: "the person" },
      decisions: [{ answer: "Per account", answered: "2030-01-01T00:00:00.000Z" }, { question: "How many?" }],
    },
    reviews: [
      {
        generation: 1,
        model: "b/y",
        reported: true,
        findings: [{ id: "F1", ruling: { disposition: "fix", reason: "Really does", snapshot: SHA } }, { id: "F2" }],
        repeated: [{ finding: "F9" }],
      },
    ],
    comments: [{ id: "C1", by: "T. Ester", at: "2030-01-01T00:00:00.000Z", disposition: "fix" }],
    checks: [{ name: "test", outcome: "failed", text: "exit 1" }],
    snapshots: [{ commit: SHA, tree: SHA }],
    merge: { state: "merged", commit: SHA, target: "main" },
    cost: { work: 1, intake: 0.25, validator: 0.5 },
    timeline: [{ kind: "edit" }, { kind: "snapshot" }],
  })
  expect(record.merge).not.toHaveProperty("claim")
})

test("credentials are masked in both shapes", () => {
  const record = reviewRecord(input())
  for (const text of [JSON.stringify(record), recordMarkdown(record)]) {
    expect(text).not.toContain("hunter2secret")
    expect(text).not.toContain("sk-abcdefghijklmnop1234")
  }
})

test("the page says it in order, and foreign text makes no markup of its own", () => {
  const page = recordMarkdown(reviewRecord(input()))
  expect(page.split("\n")[0]).toBe("# Review record of #31: Rate-limit \\# the \\*login\\* route")
  expect(page).toContain("````text\nFive tries.\n```\n# Not a heading")
  expect(page).toContain(
    "- Per address? (required)\n  - assumed: Yes\n  - decided: Per account (2030-01-01T00:00:00.000Z)",
  )
  expect(page).toContain("- How many?\n  - assumed: Five\n  - left open: the assumption holds")
  expect(page).toContain("### F1 Counts \\<b\\>twice\\</b\\>")
  expect(page).toContain(`Ruled **fix** at 2030-01-01T00:00:00.000Z, on \`${SHA}\`: Really does`)
  expect(page).toContain("iteration 1, on src/a.ts:4 (fix)\n\n```text\nName it\n# better\n```")
  expect(page).toContain("Not ruled.")
  expect(page).toContain("- Shown to the reviewer: 2 of 3 files")
  expect(page).toContain("- test: failed, exit 1")
  expect(page).toContain(`merged into main as ${SHA} (squash)`)
  const heads = page.split("\n").filter((line) => line.startsWith("## "))
  expect(heads).toEqual([
    "## Asked for",
    "## Agreed",
    "## Review of iteration 1",
    "## Comments",
    "## Checks",
    "## Snapshots",
    "## Timeline",
  ])
})

test("a task that was never reviewed has a record too", () => {
  const record = reviewRecord({
    ...input({ comments: [], reviews: [], checks: [], history: [] }),
    task: { title: "x", meta: sampleMeta() },
  })
  expect(record.reviews).toEqual([])
  expect(recordMarkdown(record)).toContain("- Result: not merged")
})
