import { afterEach, describe, expect, test } from "vitest"
import type { ReplyOf } from "../../src/core/protocol.ts"
import { facts, inReview, SNAPSHOT, task } from "./cards.ts"
import { openStage, START, TIP, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
const open = async (options: StageOptions) => (stage = await openStage(options))
afterEach(() => stage?.close())

type Landing = ReplyOf<"merge.preview">
const landing =
  (change: Partial<Landing> = {}) =>
  ({ target }: { target?: string }): Landing => ({
    snapshot: SNAPSHOT.commit,
    target: target ?? "main",
    branches: ["main", "next"],
    tip: TIP,
    behind: 0,
    conflicts: [],
    ...change,
  })
const merged = () => ({ commit: "abc1234", target: "main", text: "merged into main as abc1234" })

/** Everything that there can be to say. */
function eventful() {
  const card = inReview(1, "Retry webhooks with backoff", {
    findings: 3,
    ruled: 3,
    partial: { shown: 40, total: 42 },
    checks: { state: "done", at: START, passed: 2, failed: 1, notRun: 1, failing: ["lint"] },
  })
  const { kagan } = card.metadata as { kagan: object }
  Object.assign(kagan, {
    intake: {
      state: "waived",
      reason: "Already agreed in detail",
      generation: 1,
      attempt: 1,
      required: 0,
      answered: 0,
      at: START,
    },
  })
  return [card]
}

describe("the approval", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ])("%i×%i says what goes where, how it was judged, and what a merge would meet", async (width, height) => {
    await open({
      width,
      height,
      sessions: eventful(),
      facts: [facts(1, { outside: ["vendor/lib is a repository of its own: it is not merged"] })],
      answers: { "merge.preview": landing({ behind: 2, conflicts: ["src/a.ts", "src/b.ts"] }) },
    })
    await stage.press("3", "a")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/approve-${width}x${height}.txt`)
  })

  test("of a plain one says so in few lines", async () => {
    await open({ sessions: [inReview(1, "Done well")] })
    await stage.press("3", "a")
    for (const words of [
      "7be21c0 (2 files, +86 −12) into main at f00d000",
      /How +squash: one commit/,
      /Forecast +merges without a conflict/,
      /Review +no findings/,
      /Checks +none ran/,
      /Message +Done well/,
    ])
      stage.shows(words)
  })

  test("the message is the person's own where they changed it", async () => {
    await open({ sessions: [inReview(1, "Done well")], answers: { "task.approve": merged } })
    await stage.press("3", "a")
    await stage.type(", at last")
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([{ type: "task.approve", message: "Done well, at last" }])
    stage.shows("merged into main as abc1234")
  })

  test("goes into another branch on the person's word, and keeps what was typed and chosen", async () => {
    await open({
      sessions: [inReview(1, "Done well")],
      answers: { "merge.preview": landing(), "task.approve": merged },
    })
    await stage.press("3", "a", "tab")
    await stage.type("!")
    await stage.press("ctrl+t")
    stage.shows("Merge #1 into which branch?")
    stage.shows(/main +as it stands/)
    await stage.press("down", "enter")
    stage.shows("into next")
    stage.shows(/How +merge commit/)
    await stage.press("enter")
    expect(stage.server.asked()).toMatchObject([
      { type: "task.approve", target: "next", strategy: "merge", message: "Done well!" },
    ])
  })

  test("or is left unmerged, with a reason", async () => {
    const answers = { "merge.preview": landing(), "task.leave": () => ({ text: "#1 is done, left on its branch" }) }
    await open({ sessions: [inReview(1, "Done well")], answers })
    await stage.press("3", "a", "ctrl+l")
    stage.shows("#1 done without merge: why?")
    await stage.press("2")
    expect(stage.server.asked()).toEqual([{ type: "task.leave", sessionID: "ses_1", reason: "Merged by hand" }])
    stage.shows("left on its branch")
  })

  test("a forecast that cannot be had says why, and nothing is merged", async () => {
    const answers = { "merge.preview": () => ({ kind: "failed" as const, text: "git merge-tree: bad object" }) }
    await open({ sessions: [inReview(1, "Done well"), task(2, "Other")], answers })
    await stage.press("3", "a")
    stage.shows(/Forecast +unknown/)
    stage.shows("git merge-tree: bad object")
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([])
  })
})
