import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { sparkSteps, statistics, type TaskStory } from "../../src/core/stats.ts"

const DAY = 24 * 3_600_000
const HOUR = 3_600_000
const NOW = Date.UTC(2030, 5, 1)

const move = (at: number, from: string, to: string) => ({ at, kind: "move", text: "", from, to })
const ruled = (at: number, finding: string, disposition: string) => ({
  at,
  kind: "ruling",
  text: "",
  finding,
  disposition,
})
const reported = (at: number) => ({ at, kind: "helper", text: "", findings: 2 })
const NONE = { work: 0, intake: 0, validator: 0 }

/** Created a day ago, an hour in each column, done at once. */
const straight: TaskStory = {
  taskNumber: 1,
  column: "done",
  cost: { work: 0.5, intake: 0.1, validator: 0.2 },
  history: [
    { at: NOW - DAY, kind: "edit", text: "created from main" },
    { at: NOW - DAY + 1, kind: "verdict", text: "refused", from: "backlog", to: "in_progress" },
    move(NOW - DAY + HOUR, "backlog", "in_progress"),
    move(NOW - DAY + 2 * HOUR, "in_progress", "review"),
    reported(NOW - DAY + 2 * HOUR),
    ruled(NOW - DAY + 2.5 * HOUR, "F1", "fix"),
    ruled(NOW - DAY + 2.6 * HOUR, "F1", "intended"),
    ruled(NOW - DAY + 2.7 * HOUR, "F2", "ignored"),
    move(NOW - DAY + 3 * HOUR, "review", "done"),
  ],
}
/** Five weeks ago, sent back twice. */
const twice: TaskStory = {
  taskNumber: 2,
  column: "done",
  cost: { work: 2, intake: 0, validator: 1 },
  history: [
    { at: NOW - 36 * DAY, kind: "edit", text: "created from main" },
    move(NOW - 36 * DAY + HOUR, "backlog", "in_progress"),
    move(NOW - 36 * DAY + 4 * HOUR, "in_progress", "review"),
    reported(NOW - 36 * DAY + 4 * HOUR),
    ruled(NOW - 36 * DAY + 5 * HOUR, "F1", "fix"),
    move(NOW - 36 * DAY + 5 * HOUR, "review", "in_progress"),
    move(NOW - 36 * DAY + 6 * HOUR, "in_progress", "review"),
    reported(NOW - 36 * DAY + 6 * HOUR),
    ruled(NOW - 36 * DAY + 7 * HOUR, "F1", "fix"),
    move(NOW - 36 * DAY + 7 * HOUR, "review", "in_progress"),
    move(NOW - 36 * DAY + 8 * HOUR, "in_progress", "review"),
    move(NOW - 36 * DAY + 9 * HOUR, "review", "done"),
  ],
}

describe("statistics", () => {
  const table = (stories: readonly TaskStory[]) =>
    Object.fromEntries(statistics(stories, NOW).map((row) => [row.label, [row.value, row.of]]))

  test("are read off the histories, by the person's own steps", () => {
    expect(table([straight, twice])).toEqual({
      "Tasks done": ["2", "of 2 tasks"],
      "Created → Done": ["6h", "median of 2"],
      "Time in Backlog": ["1h", "median of 2"],
      // The stays of both: 1 and 3, 1, 1 hours.
      "Time in In Progress": ["1h", "median of 4"],
      "Time in Review": ["1h", "median of 4"],
      "First pass": ["50%", "1 of 2 done tasks"],
      "Sent back": ["2", "1.0 per done task"],
      // What was ruled last counts, and each report's F1 is another one.
      "Findings upheld": ["50%", "2 of 4 ruled findings"],
      "Cost of work": ["$2.50", "$1.25 a task"],
      "Cost of intake": ["$0.10", "$0.10 a task"],
      "Cost of review": ["$1.20", "$0.60 a task"],
    })
  })

  test("have one number a week, the newest last, and nothing for a week in which nothing happened", () => {
    const done = statistics([straight, twice], NOW)[0]!.weeks
    expect(done).toHaveLength(12)
    expect(done.at(-1)).toBe(1)
    expect(done.at(-6)).toBe(1)
    expect(done.filter((week) => week !== null)).toHaveLength(2)
  })

  test("of an empty board, and of what is no history, are figures that say so", () => {
    for (const history of [[], [null, 7, { at: "x" }, { kind: "move" }]])
      expect(table([{ taskNumber: 1, column: "backlog", cost: NONE, history }])).toMatchObject({
        "Tasks done": ["0", "of 1 task"],
        "Created → Done": ["–", "none yet"],
        "Sent back": ["0", "no task is done"],
        "Cost of work": ["–", "none reported"],
      })
    expect(statistics([], NOW)).toHaveLength(11)
  })

  test("never throw and never show a number that is none, whatever a history holds", () => {
    const line = fc.oneof(
      fc.anything(),
      fc.record({ at: fc.double(), kind: fc.constantFrom("move", "ruling"), from: fc.string(), to: fc.string() }),
      fc.record({
        at: fc.integer(),
        kind: fc.constant("move"),
        from: fc.constantFrom("backlog", "review"),
        to: fc.constantFrom("in_progress", "done"),
      }),
    )
    fc.assert(
      fc.property(fc.array(line), (history) => {
        for (const row of statistics([{ taskNumber: 1, column: "done", cost: NONE, history }], NOW)) {
          expect(`${row.value} ${row.of}`).not.toMatch(/NaN|Infinity|undefined|-\d/)
          expect(row.weeks).toHaveLength(12)
        }
      }),
    )
  })

  test("a thousand tasks with long histories are counted whole", () => {
    const many = Array.from({ length: 1_000 }, (_, n) => ({ ...straight, taskNumber: n + 1 }))
    expect(table(many)["Tasks done"]).toEqual(["1000", "of 1000 tasks"])
  })

  test("a course is drawn from nothing to its own most", () => {
    expect(sparkSteps([null, 0, 1, 2, 4], 8)).toEqual([null, 0, 2, 4, 7])
    expect(sparkSteps([0, null, 0], 8)).toEqual([0, null, 0])
    expect(sparkSteps([], 8)).toEqual([])
  })
})
