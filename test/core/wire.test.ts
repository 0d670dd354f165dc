import fc from "fast-check"
import { describe, expect, test } from "vitest"
import type { RequestType } from "../../src/core/protocol.ts"
import { isRequestType, readBody } from "../../src/core/request-shapes.ts"
import { readWire } from "../../src/core/wire.ts"

const good: { readonly type: RequestType; readonly body: Record<string, unknown> }[] = [
  { type: "hello", body: { directory: "/r", version: "1" } },
  { type: "board.facts", body: {} },
  {
    type: "task.create",
    body: {
      draftID: "d-1",
      title: "A title",
      description: "",
      model: { providerID: "p", modelID: "m", variant: "v" },
      dependsOn: [1],
      start: { waiver: "" },
    },
  },
  { type: "task.move", body: { sessionID: "ses_1", to: "review", asIs: true } },
  { type: "task.reorder", body: { sessionID: "ses_1", order: -1.5 } },
  {
    type: "intake.answer",
    body: { sessionID: "ses_1", answers: [{ decision: 0, kind: "overridden", text: "no\nbut" }] },
  },
  {
    type: "findings.rule",
    body: { sessionID: "ses_1", rulings: [{ finding: "F1", disposition: "fix", reason: "so" }] },
  },
  { type: "task.approve", body: { sessionID: "ses_1", snapshot: "abc", strategy: "squash" } },
  {
    type: "ask.question",
    body: { sessionID: "ses_1", ask: { id: "que_1", directory: "/r" }, answers: [["B", "C"]] },
  },
]

describe("the body of a request", () => {
  test.each(good)("$type passes whole", ({ type, body }) => {
    expect(readBody(type, body)).toEqual({ ok: true, value: body })
    const extra = { ...body, sneaked: { in: 1 } }
    expect(readBody(type, extra)).toEqual({ ok: true, value: body })
  })

  test.each([
    ["task.stop", null, /without a body/],
    ["task.stop", [], /without a body/],
    ["task.stop", {}, /`sessionID`/],
    ["task.stop", { sessionID: 7 }, /`sessionID`/],
    ["task.stop", { sessionID: "../../x" }, /`sessionID`/],
    ["task.stop", { sessionID: "s\n" }, /`sessionID`/],
    ["draft.discard", { draftID: "a/b" }, /`draftID`/],
    ["task.move", { sessionID: "s", to: "merged" }, /`to`/],
    ["task.reorder", { sessionID: "s", order: Number.NaN }, /`order`/],
    ["task.tell", { sessionID: "s", text: "x".repeat(400_001) }, /`text`.*400000/],
    [
      "findings.rule",
      { sessionID: "s", rulings: [{ finding: "F1", disposition: "merge" }] },
      /`rulings.0.disposition`/,
    ],
    ["intake.answer", { sessionID: "s", answers: [{ decision: -1, kind: "approved" }] }, /`answers.0.decision`/],
    ["ask.permission", { sessionID: "s", ask: { id: "p", directory: "/r" }, reply: "allow" }, /`reply`/],
  ] as const)("%s %j is refused, and it is named what is wrong", (type, body, words) => {
    const read = readBody(type, body)
    expect(read.ok ? "" : read.error).toMatch(words)
  })

  test("whatever the value is, reading it is an answer and no exception", () => {
    fc.assert(
      fc.property(fc.constantFrom(...good.map(({ type }) => type)), fc.anything(), (type, value) => {
        const read = readBody(type, value)
        expect((read.ok ? "" : read.error).length).toBeLessThan(2_000)
      }),
    )
  })

  test("names from an object's own prototype are no requests", () => {
    for (const name of ["toString", "constructor", "__proto__", "", 7, null]) expect(isRequestType(name)).toBe(false)
  })
})

describe("a message on the channel", () => {
  const facts = {
    sessionID: "s",
    source: "session",
    activity: { kind: "idle" },
    asks: [],
    worktree: "present",
    unreadable: [],
    readOnly: false,
  }
  test.each([
    { kagan: "request", id: "1", type: "task.stop", body: {} },
    { kagan: "reply", id: "1", ok: true, value: 7 },
    { kagan: "reply", id: "1", ok: false, error: { kind: "failed", text: "no" } },
    { kagan: "push", push: { type: "facts", facts } },
    { kagan: "push", push: { type: "facts", facts: { ...facts, later: { any: "thing" } } } },
    { kagan: "push", push: { type: "notice", level: "info", text: "Hello" } },
    { kagan: "up", directory: "/r", version: "1" },
    { kagan: "board", open: true, directory: "/r" },
  ])("is believed as it stands: %j", (message) => expect(readWire(message)).toBe(message))

  test.each([
    null,
    7,
    "request",
    {},
    { kagan: "toString" },
    { kagan: "request", type: "task.stop" },
    { kagan: "request", id: 7, type: "task.stop" },
    { kagan: "reply", id: "1", ok: false, error: "no" },
    { kagan: "reply", id: "1", ok: "yes" },
    { kagan: "push", push: null },
    { kagan: "push", push: { type: "constructor" } },
    { kagan: "push", push: { type: "facts", facts: { ...facts, problem: 7 } } },
    { kagan: "push", push: { type: "facts", facts: { ...facts, asks: [{ kind: "permission" }] } } },
    { kagan: "push", push: { type: "notice", level: "shout", text: "Hello" } },
    { kagan: "push", push: { type: "changed", sessionIDs: "all" } },
    { kagan: "board", open: "yes", directory: "/r" },
    { kagan: "up", version: "1" },
  ])("is ignored: %j", (message) => expect(readWire(message)).toBeUndefined())

  test("whatever arrives, reading it throws nothing", () => {
    const kinds = fc.constantFrom("request", "reply", "push", "up", "board")
    fc.assert(
      fc.property(kinds, fc.dictionary(fc.string(), fc.anything()), fc.anything(), (kagan, rest, push) => {
        readWire({ ...rest, kagan, push })
        readWire(push)
      }),
    )
  })
})
