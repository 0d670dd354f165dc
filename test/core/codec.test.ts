import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { mergeKagan, readKagan } from "../../src/core/codec.ts"
import { intakeDone, NOW, sampleMeta, SHA, snapshot } from "./sample.ts"

const read = (kagan: unknown, id = "ses_1") => readKagan(id, { kagan, other: { x: 1 } })

describe("the codec", () => {
  test("reads back what is written", () => {
    const meta = sampleMeta({
      intake: intakeDone(),
      review: { snapshot: snapshot(), findings: 1, ruled: 0, fix: 0 },
      run: { intent: { id: "i", messageID: "m", partID: "p", purpose: "start", text: "t", at: NOW } },
      denied: { wish: "done", kind: "approval_needed", text: "no", at: NOW },
    })
    expect(read(JSON.parse(JSON.stringify(meta)))).toEqual({ kind: "task", meta, unreadable: [], readOnly: false })
  })

  test("a copy in another session is nothing", () => expect(read(sampleMeta(), "ses_2")).toEqual({ kind: "none" }))
  test("a bad optional field is named and left out", () => {
    const decoded = read({ ...sampleMeta(), intake: { state: "perhaps" } })
    expect(decoded).toMatchObject({ kind: "task", readOnly: false, unreadable: [expect.stringContaining("intake: ")] })
    expect(decoded.kind === "task" && decoded.meta.intake).toBeUndefined()
  })
  test("a bad required field makes it read-only", () => {
    expect(read({ ...sampleMeta(), worktree: "../../etc" })).toMatchObject({
      kind: "task",
      readOnly: true,
      unreadable: [expect.stringContaining("worktree: ")],
    })
  })
  test("a newer version is read-only", () =>
    expect(read({ ...sampleMeta(), v: 99 })).toMatchObject({ kind: "task", readOnly: true }))
  test("an unknown role is nothing", () => expect(read({ ...sampleMeta(), role: "boss" })).toEqual({ kind: "none" }))
  test("helpers are told apart", () => {
    expect(
      read({ v: 1, role: "intake", sessionID: "ses_1", repo: "r", intakeParent: "ses_0", generation: 1 }),
    ).toMatchObject({ kind: "intake" })
    expect(
      read({
        v: 1,
        role: "validator",
        sessionID: "ses_1",
        repo: "r",
        validatorParent: "ses_0",
        generation: 1,
        snapshot: SHA,
      }),
    ).toMatchObject({ kind: "validator", unreadable: [] })
  })

  test("no value makes it throw, and none that is no task becomes one that can be acted on", () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withDate: true, maxDepth: 3 }), (value) => {
        const decoded = readKagan("ses_1", value)
        const inner = read(value)
        for (const one of [decoded, inner]) expect(one.kind === "none" || one.readOnly).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test("a write keeps what it does not know and what it could not read", () => {
    const raw = { ...sampleMeta(), future: { a: 1 }, intake: "broken" }
    const decoded = read(raw)
    if (decoded.kind !== "task") throw new Error("not a task")
    const next = { ...decoded.meta, status: "in_progress" as const, denied: undefined }
    expect(mergeKagan(raw, next, decoded.meta)).toEqual({ ...raw, status: "in_progress" })
  })

  test("a field set to undefined is removed", () => {
    const meta = sampleMeta({ denied: { wish: "done", kind: "x", text: "y", at: 1 } })
    expect(mergeKagan({ ...meta }, { ...meta, denied: undefined }, meta)).not.toHaveProperty("denied")
  })
})
