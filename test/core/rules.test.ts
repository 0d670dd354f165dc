import { describe, expect, test } from "vitest"
import { isReason, judgeApproval, judgeMove, judgeSendBack, refusalText, type MoveFacts } from "../../src/core/rules.ts"
import { STATUSES, type Status, type TaskMeta } from "../../src/core/task.ts"
import { intakeDone, NOW, sampleMeta, SHA, snapshot } from "./sample.ts"

const facts = (over: Partial<MoveFacts> = {}): MoveFacts => ({
  turnRunning: false,
  worktreeReady: true,
  inProgress: 0,
  limit: 2,
  openDependencies: [],
  intakeEnabled: true,
  ...over,
})
const outcome = (result: ReturnType<typeof judgeMove>) => (result.ok ? result.value.kind : result.error.kind)
const at = (status: Status, over: Partial<TaskMeta> = {}) =>
  sampleMeta({ status, lastGatedStatus: status, intake: intakeDone(), ...over })

describe("the move gate", () => {
  test("every pair of columns has its verdict", () => {
    const table = Object.fromEntries(
      STATUSES.flatMap((from) => STATUSES.map((to) => [`${from} → ${to}`, outcome(judgeMove(at(from), to, facts()))])),
    )
    expect(table).toEqual({
      "backlog → backlog": "already_there",
      "backlog → in_progress": "accepted",
      "backlog → review": "not_a_move",
      "backlog → done": "not_a_move",
      "in_progress → backlog": "accepted",
      "in_progress → in_progress": "already_there",
      "in_progress → review": "accepted",
      "in_progress → done": "not_a_move",
      "review → backlog": "accepted",
      "review → in_progress": "nothing_to_fix",
      "review → review": "already_there",
      "review → done": "approval_needed",
      "done → backlog": "not_a_move",
      "done → in_progress": "not_a_move",
      "done → review": "not_a_move",
      "done → done": "already_there",
    })
  })

  test.each([
    ["no worktree", {}, { worktreeReady: false }, "worktree_not_ready"],
    ["setup failed", { setup: { state: "failed", at: NOW } }, {}, "setup_failed"],
    ["no intake yet", { intake: undefined }, {}, "intake_running"],
    ["no intake wanted", { intake: undefined }, { intakeEnabled: false }, "accepted"],
    ["intake failed", { intake: intakeDone({ state: "failed" }) }, {}, "intake_failed"],
    ["intake waived", { intake: intakeDone({ state: "waived", required: 2, answered: 0 }) }, {}, "accepted"],
    ["decisions open", { intake: intakeDone({ answered: 0 }) }, {}, "decisions_open"],
    ["no such model", {}, { modelUsable: { usable: false, model: "a/b" } }, "model_not_usable"],
    ["full", {}, { inProgress: 2 }, "queued"],
    ["depends", {}, { openDependencies: [4] }, "queued"],
  ] as const)("a start with %s", (_name, over, more, expected) => {
    expect(outcome(judgeMove(at("backlog", over as Partial<TaskMeta>), "in_progress", facts(more)))).toBe(expected)
  })

  test("a running turn is not torn into review", () => {
    expect(outcome(judgeMove(at("in_progress"), "review", facts({ turnRunning: true })))).toBe("turn_running")
  })

  test("nothing moves during a merge", () => {
    for (const to of STATUSES)
      expect(outcome(judgeMove(at("review", { merge: { state: "claimed", at: NOW } }), to, facts()))).toBe("merging")
  })

  test("a note of the person's own is enough to send back", () => {
    const meta = at("review", { review: { findings: 1, ruled: 0, fix: 0 } })
    expect(judgeSendBack(meta, "please also rename it").ok).toBe(true)
    expect(judgeSendBack(meta, "  ").ok).toBe(false)
  })
})

describe("an approval", () => {
  const validator = { state: "done" as const, sessionID: "v", generation: 1, attempt: 1, at: NOW }
  const judged = (
    over: Partial<TaskMeta["review"] & object> = {},
    changed: string[] = [],
    request = { snapshot: SHA },
  ) =>
    outcome(
      judgeApproval(
        at("review", { review: { snapshot: snapshot(), validator, findings: 2, ruled: 2, fix: 0, ...over } }),
        request,
        changed,
      ),
    )

  test("of exactly what was judged is accepted", () => expect(judged()).toBe("accepted"))
  test("of another snapshot is refused", () =>
    expect(judged({}, [], { snapshot: SHA.replace("0", "f") })).toBe("other_snapshot"))
  test("after a change is refused", () => expect(judged({}, ["a.txt"])).toBe("changed_since_review"))
  test("with open findings is refused", () => expect(judged({ ruled: 1 })).toBe("findings_open"))
  test("with findings to fix is refused", () => expect(judged({ fix: 1 })).toBe("findings_to_fix"))
  test("before the review is refused", () => expect(judged({ validator: undefined })).toBe("review_running"))
  test("after a failed review is refused", () =>
    expect(judged({ validator: { ...validator, state: "failed" } })).toBe("review_failed"))
  test("without a snapshot is refused", () => expect(judged({ snapshot: undefined })).toBe("no_snapshot"))
})

test.each(["", " ", "ok", "LGTM", "n/a", "..", "fine."])("%j is no reason", (text) =>
  expect(isReason(text)).toBe(false),
)
test.each(["typo only", "kein Fehler", "これは意図的です"])("%j is a reason", (text) =>
  expect(isReason(text)).toBe(true),
)

test("a refusal states the fact and the way on", () => {
  expect(refusalText({ kind: "decisions_open", open: 2 })).toBe("2 required decisions are open (i answers)")
  expect(refusalText({ kind: "changed_since_review", files: ["a", "b", "c", "d"] })).toBe(
    "changed since review: a, b, c and 1 more (r reviews again)",
  )
})
