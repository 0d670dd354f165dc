import { createRoot } from "solid-js"
import { describe, expect, test } from "vitest"
import { createNotices, spoken } from "../../src/tui/notices.tsx"
import { manualClock } from "../kit/clock.ts"
import { openStage } from "./stage.tsx"
import { workingDay } from "./cards.ts"

const queue = () => {
  const clock = manualClock()
  return { clock, notices: createRoot(() => createNotices(clock)) }
}

test.each([
  [undefined, "look only", "look only"],
  [3, "moved to Review", "#3 moved to Review"],
  [3, "#3 created", "#3 created"],
  [3, "#31 is in the way", "#3 #31 is in the way"],
])("a notice of card %s that says %j is spoken as %j", (taskNumber, text, said) =>
  expect(spoken({ text, ...(taskNumber === undefined ? {} : { taskNumber }) })).toBe(said),
)

describe("the queue of notices", () => {
  test("three stand at most, the rest wait their turn, and none is lost", async () => {
    const { clock, notices } = queue()
    for (let i = 1; i <= 5; i++) notices.notify({ level: "info", text: `n${i}` })
    expect(notices.shown().map(({ text }) => text)).toEqual(["n1", "n2", "n3"])
    expect(notices.waiting()).toBe(2)
    await clock.advance(5_000)
    expect(notices.shown().map(({ text }) => text)).toEqual(["n4", "n5"])
    expect(notices.past().map(({ text }) => text)).toEqual(["n5", "n4", "n3", "n2", "n1"])
  })

  test("what went wrong does not wait behind news, whose place in the history it leaves alone", async () => {
    const { clock, notices } = queue()
    for (let i = 1; i <= 4; i++) notices.notify({ level: "info", text: `n${i}` })
    notices.notify({ level: "warning", text: "refused", key: "refused" })
    expect(notices.shown().map(({ text }) => text)).toEqual(["n2", "n3", "refused"])
    notices.notify({ level: "error", text: "broken" })
    notices.notify({ level: "warning", text: "refused again", key: "refused" })
    expect(notices.shown().map(({ text }) => text)).toEqual(["n3", "refused again", "broken"])
    for (const text of ["w1", "w2"]) notices.notify({ level: "warning", text })
    expect(notices.shown().map(({ text }) => text)).toEqual(["refused again", "broken", "w1"])
    expect(notices.past().map(({ text }) => text)).toContain("n1")
    await clock.advance(60_000)
    expect(notices.waiting()).toBe(0)
    expect(clock.pending()).toBe(0)
  })

  test("errors stay longer, and once all are gone no timer is armed", async () => {
    const { clock, notices } = queue()
    notices.notify({ level: "success", text: "done" })
    notices.notify({ level: "error", text: "broken" })
    await clock.advance(10_000)
    expect(notices.shown().map(({ text }) => text)).toEqual(["broken"])
    await clock.advance(10_000)
    expect(notices.shown()).toEqual([])
    expect(clock.pending()).toBe(0)
  })

  test("the same is counted, and one key replaces what it said before", () => {
    const { notices } = queue()
    for (let i = 0; i < 3; i++) notices.notify({ level: "warning", text: "no answer" })
    expect(notices.shown()).toMatchObject([{ text: "no answer", count: 3 }])
    notices.notify({ level: "info", text: "creating", key: "d1" })
    notices.notify({ level: "success", text: "created", key: "d1" })
    expect(notices.shown().map(({ text, count }) => [text, count])).toEqual([
      ["no answer", 3],
      ["created", 1],
    ])
  })

  test("dismissing lets the next one come", () => {
    const { notices } = queue()
    for (let i = 1; i <= 4; i++) notices.notify({ level: "info", text: `n${i}` })
    notices.dismiss(notices.shown()[0]!.id)
    expect(notices.shown().map(({ text }) => text)).toEqual(["n2", "n3", "n4"])
    notices.dismissAll()
    expect(notices.shown()).toEqual([])
  })
})

describe("notices on the screen", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ])("%i×%i", async (width, height) => {
    const stage = await openStage({ width, height, ...workingDay() })
    try {
      stage.push({ type: "notice", level: "success", text: "merged into main as 9f3c1e2", taskNumber: 25 })
      stage.push({
        type: "notice",
        level: "error",
        text: "git worktree add failed: fatal: '/tmp/x\u202e' already exists",
      })
      await stage.settle()
      await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/notices-${width}x${height}.txt`)
      await stage.press("esc")
      stage.showsNot("merged into main")
    } finally {
      stage.close()
    }
  })

  test("while another screen is open, the host's toast says it, once", async () => {
    const stage = await openStage({ ...workingDay(), route: { name: "home" } })
    try {
      stage.host.toasts.length = 0
      stage.push({ type: "notice", level: "warning", text: "needs a look", taskNumber: 28 })
      await stage.settle()
      expect(stage.host.toasts).toMatchObject([{ message: "needs a look", title: "Kagan #28", variant: "warning" }])
    } finally {
      stage.close()
    }
  })

  test("a card that begins to wait for the person rings the host's attention, once", async () => {
    const day = workingDay()
    const stage = await openStage({ ...day, facts: day.facts.filter(({ sessionID }) => sessionID !== "ses_29") })
    try {
      stage.host.attention.length = 0
      const asking = day.facts.find(({ sessionID }) => sessionID === "ses_29")!
      stage.push({ type: "facts", facts: asking })
      stage.push({ type: "facts", facts: { ...asking, doing: "still" } })
      await stage.settle()
      expect(stage.host.attention).toEqual(["#29 asks: run docker compose up -d"])
    } finally {
      stage.close()
    }
  })
})
