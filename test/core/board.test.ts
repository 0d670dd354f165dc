import { describe, expect, test } from "vitest"
import { draftState, RUN_STATES, runState, type RunState, type RunStateKind } from "../../src/core/board.ts"
import { WAYS_OUT } from "../../src/core/ways-out.ts"
import { backlog, stateRows, working } from "./run-states.ts"
import { NOW, sampleTask, shownFacts } from "./sample.ts"

describe("what a card says of itself", () => {
  for (const [kind, text, meta, facts] of stateRows) {
    test(`${kind}: ${text}`, () => {
      const state = runState(sampleTask(meta), shownFacts(facts), NOW)
      expect(state).toMatchObject({ kind, text: expect.stringContaining(text) })
    })
  }

  test("a draft says why it is no task", () => {
    expect(draftState({ problem: "no such base" })).toMatchObject({ kind: "draft", text: "not created: no such base" })
  })

  test("every state of the list is reachable", () => {
    const reached = new Set<RunStateKind>(["draft", ...stateRows.map(([kind]) => kind)])
    expect(RUN_STATES.filter((kind) => !reached.has(kind))).toEqual([])
  })

  test("every state that waits for the person has a way out on one key", () => {
    const states: RunState[] = [
      draftState({ problem: "x" }),
      ...stateRows.map(([, , meta, facts]) => runState(sampleTask(meta), shownFacts(facts), NOW)),
    ]
    for (const { kind, needsYou } of states) if (needsYou) expect(WAYS_OUT[kind], kind).not.toEqual([])
    for (const kind of RUN_STATES) for (const { key } of WAYS_OUT[kind]) expect(key, kind).toMatch(/^[a-zA-Z]$/)
  })

  test("an unreadable field that is not needed is named beside what the card does", () => {
    const facts = shownFacts({ unreadable: ["scope: too long"] })
    expect(runState(sampleTask(backlog()), facts, NOW).text).toBe("ready · unreadable field scope: too long")
    const done = sampleTask({ status: "done", lastGatedStatus: "done" })
    expect(runState(done, facts, NOW).text).toBe("left unmerged · unreadable field scope: too long")
  })

  test("a wait for the provider is no stall, however long", () => {
    const facts = shownFacts({
      activity: { kind: "retry", until: NOW + 17_880_000, attempt: 1, text: "usage limit" },
      lastSign: NOW - 7_200_000,
    })
    expect(runState(sampleTask(working()), facts, NOW).kind).toBe("retrying")
  })
})
