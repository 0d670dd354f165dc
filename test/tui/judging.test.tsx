import { afterEach, describe, expect, test } from "vitest"
import { statistics } from "../../src/core/stats.ts"
import { intakeOf, task } from "./cards.ts"
import { openStage, START, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())
const open = async (options: StageOptions) => (stage = await openStage(options))

const SIZES = [
  [160, 45],
  [80, 24],
  [40, 12],
] as const
const HOUR = 3_600_000
const WEEK = 7 * 24 * HOUR

/** A done task of some week before, which was sent back that often. */
const story = (taskNumber: number, weeksAgo: number, backs: number) => {
  const end = START - weeksAgo * WEEK
  const moves = Array.from({ length: backs }, (_, n) => [
    { at: end - (9 - n) * HOUR, kind: "move", text: "", from: "review", to: "in_progress" },
    { at: end - (9 - n) * HOUR + HOUR / 2, kind: "move", text: "", from: "in_progress", to: "review" },
  ]).flat()
  return {
    taskNumber,
    column: "done" as const,
    cost: { work: 0.4 + backs, intake: 0.05, validator: 0.1 * (1 + backs) },
    history: [
      { at: end - 20 * HOUR, kind: "edit", text: "created from main" },
      { at: end - 12 * HOUR, kind: "move", text: "", from: "backlog", to: "in_progress" },
      { at: end - 10 * HOUR, kind: "move", text: "", from: "in_progress", to: "review" },
      { at: end - 10 * HOUR, kind: "helper", text: "", findings: 1 },
      { at: end - 9.5 * HOUR, kind: "ruling", text: "", finding: "F1", disposition: backs > 0 ? "fix" : "ignored" },
      ...moves,
      { at: end, kind: "move", text: "", from: "review", to: "done" },
    ],
  }
}
const rows = statistics([story(1, 0, 0), story(2, 1, 2), story(3, 4, 1), story(4, 4, 0), story(5, 11, 3)], START)

describe("statistics", () => {
  test.each(SIZES)("%i×%i", async (width, height) => {
    await open({ width, height, answers: { "board.stats": () => ({ rows, tasks: 5, left: 0 }) } })
    await stage.press("S")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/stats-${width}x${height}.txt`)
  })

  test("where the locale has no such signs, the course is drawn with plain ones", async () => {
    const answers = { "board.stats": () => ({ rows, tasks: 5, left: 3 }) }
    await open({ width: 80, height: 24, env: { LC_ALL: "C" }, answers })
    await stage.press("S")
    expect(stage.lines().join("\n")).not.toMatch(/[▁-█]/)
    stage.shows("3 older ones are left out")
  })

  test("without a task there are words instead of a table of nothing", async () => {
    await open({ answers: { "board.stats": () => ({ rows: statistics([], START), tasks: 0, left: 0 }) } })
    await stage.press("S")
    stage.shows("There is no task yet")
  })
})

describe("a split", () => {
  const assessed = {
    understanding: "Greetings.",
    decisions: [{ question: "Who?", assumption: "All", required: true }],
    instruction: "Write them.",
    mode: "assisted",
    modeReason: "People read them.",
    split: [
      { title: "Write the greeting", description: "Into a file of its own." },
      { title: "Greet by name", description: "", dependsOn: [0] },
    ],
  } as const

  const one = (answered: number) => ({
    sessions: [
      task(12, "Greet everywhere", {
        intake: {
          state: "done",
          sessionID: "ses_i12",
          generation: 1,
          attempt: 1,
          required: 1,
          answered,
          at: START,
        },
      }),
      intakeOf(12, assessed, answered ? [{ decision: 0, kind: "approved", at: START }] : []),
    ],
  })

  test("is previewed, and Enter asks for it once; starting is refused while a decision is open", async () => {
    const tasks = [{ sessionID: "ses_20", taskNumber: 20 }]
    await open({
      width: 80,
      height: 24,
      ...one(0),
      answers: { "intake.split": () => ({ tasks, text: "#20 created" }) },
    })
    await stage.press("i", "s")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot("frames/split-80x24.txt")
    await stage.press("ctrl+enter")
    stage.shows("1 required decision is open")
    expect(stage.server.asked()).toEqual([])
    await stage.press("enter")
    expect(stage.server.asked()).toEqual([{ type: "intake.split", sessionID: "ses_12" }])
  })

  test("starts in order when everything is decided", async () => {
    await open({ ...one(1), answers: { "intake.split": () => ({ tasks: [], text: "" }) } })
    await stage.press("i", "s", "ctrl+enter")
    expect(stage.server.asked()).toEqual([{ type: "intake.split", sessionID: "ses_12", start: true }])
  })

  test("e gives the instruction in the person's words, and only what was changed is sent", async () => {
    await open({ ...one(1), answers: { "intake.instruct": () => ({ text: "" }) } })
    await stage.press("i", "e", "enter")
    expect(stage.server.asked()).toEqual([])
    await stage.press("e")
    await stage.type(" Short ones.")
    await stage.press("enter")
    const instruction = "Write them. Short ones."
    expect(stage.server.asked()).toEqual([{ type: "intake.instruct", sessionID: "ses_12", instruction }])
  })
})
