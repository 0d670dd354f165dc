import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { decode, mergeKagan, readKagan } from "../../src/core/codec.ts"
import { migrate, VERSIONS, type Versions } from "../../src/core/migrations.ts"
import { NO_REVIEW, stageOf } from "../../src/core/stage.ts"
import { METADATA_VERSION, STATUSES, type Status } from "../../src/core/task.ts"
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
    const raw = JSON.parse(JSON.stringify(meta))
    expect(read(raw)).toEqual({ kind: "task", meta, stage: stageOf(meta), unreadable: [], readOnly: false, raw })
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

describe("a task as its column sees it", () => {
  /** A card that has been everywhere: each column looks at its own part of it. */
  const full = sampleMeta({
    intake: intakeDone(),
    run: { stoppedAt: NOW },
    review: { snapshot: snapshot(), findings: 1, ruled: 0, fix: 0 },
    approval: { snapshot: SHA, at: NOW },
    merge: { state: "claimed", at: NOW },
    awaiting: { wish: "in_progress", text: "queued", since: NOW },
  })
  const some = ["setup", "intake", "run", "review", "approval", "merge", "awaiting"]
  const seen: Record<Status, readonly string[]> = {
    backlog: ["setup", "intake", "run", "awaiting"],
    in_progress: ["setup", "intake", "run"],
    review: ["setup", "run", "review", "approval", "merge", "awaiting"],
    done: ["review", "approval", "merge"],
  }

  test.each(STATUSES)("%s has just its fields", (column) => {
    const decoded = read({ ...full, status: column, lastGatedStatus: column })
    if (decoded.kind !== "task") throw new Error("not a task")
    expect(decoded.stage.column).toBe(column)
    expect(some.filter((field) => field in decoded.stage)).toEqual(seen[column])
    const { column: _, ...rest } = decoded.stage
    expect(decoded.meta).toMatchObject(rest)
  })

  test("its column is the accepted one, not the wished one", () => {
    expect(stageOf(sampleMeta({ status: "review" })).column).toBe("backlog")
    expect(stageOf(sampleMeta({ status: "review", lastGatedStatus: undefined })).column).toBe("review")
  })

  test("a card in Review has a review, also where none is stored", () => {
    const stage = stageOf(sampleMeta({ status: "review", lastGatedStatus: "review" }))
    expect(stage.column === "review" && stage.review).toEqual(NO_REVIEW)
  })

  test("what its column does not look at is kept by a write", () => {
    const raw = { ...full, status: "backlog", lastGatedStatus: "backlog" }
    const decoded = read(raw)
    if (decoded.kind !== "task") throw new Error("not a task")
    expect(mergeKagan(decoded.raw, { ...decoded.meta, order: 7 }, decoded.meta)).toEqual({ ...raw, order: 7 })
  })
})

describe("older versions", () => {
  /** As if the present version were the third: `place` became `order`, then a column was named anew. */
  const third: Versions = {
    now: 3,
    from: {
      1: ({ place, ...rest }) => ({ ...rest, order: (place as { n: number }).n }),
      2: (raw) => ({ ...raw, status: raw.status === "doing" ? "in_progress" : raw.status }),
    },
  }
  const { order: _, lastGatedStatus: __, ...first } = sampleMeta()
  const stored = { ...first, v: 1, place: { n: 4 }, status: "doing", future: { a: 1 } }

  test("there is a migration from each older version to the present one", () => {
    const older = Array.from({ length: METADATA_VERSION - 1 }, (_, n) => String(n + 1))
    expect(VERSIONS.now).toBe(METADATA_VERSION)
    expect(Object.keys(VERSIONS.from)).toEqual(older)
  })

  test("are read as the present one, step by step, and what is stored is not touched", () => {
    const before = structuredClone(stored)
    const decoded = decode("ses_1", { kagan: stored }, third)
    expect(decoded).toMatchObject({ kind: "task", readOnly: false, unreadable: [], meta: { order: 4, v: 3 } })
    expect(decoded.kind === "task" && decoded.stage.column).toBe("in_progress")
    expect(stored).toEqual(before)
  })

  test("are written as the present one: what is gone is gone, what is foreign stays", () => {
    const decoded = decode("ses_1", { kagan: stored }, third)
    if (decoded.kind !== "task") throw new Error("not a task")
    const written = mergeKagan(decoded.raw, { ...decoded.meta, order: 5 }, decoded.meta)
    expect(written).toMatchObject({ v: 3, order: 5, status: "in_progress", future: { a: 1 } })
    expect(written).not.toHaveProperty("place")
    expect(decode("ses_1", { kagan: written }, third)).toMatchObject({ kind: "task", readOnly: false, unreadable: [] })
  })

  test("one that no way leads from is read-only, and says so", () => {
    const gap: Versions = { now: 3, from: { 2: third.from[2]! } }
    expect(decode("ses_1", { kagan: { ...sampleMeta(), v: 1 } }, gap)).toMatchObject({
      kind: "task",
      readOnly: true,
      unreadable: ["v: there is no way from version 1"],
    })
  })

  test("a value that makes a migration fail is read-only, and says so", () => {
    const { place: ___, ...without } = stored
    const decoded = decode("ses_1", { kagan: without }, third)
    expect(decoded).toMatchObject({ kind: "task", readOnly: true })
    expect(decoded.kind === "task" && decoded.unreadable[0]).toMatch(/^v: version 1 could not be read: /)
  })

  test("a newer one is never migrated", () => {
    const raw = { ...stored, v: 4 }
    expect(migrate(raw, third)).toEqual({ kind: "newer", raw })
  })
})
