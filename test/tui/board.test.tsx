import { afterEach, describe, expect, test } from "vitest"
import { DEFAULT_OPTIONS } from "../../src/core/options.ts"
import { width as cells } from "../../src/core/text.ts"
import { createBoard } from "../../src/tui/board/store.tsx"
import { facts, inReview, task, workingDay } from "./cards.ts"
import { HOSTILE_TITLES } from "./hostile.ts"
import { openStage, START, THEME, VERSION, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())
const open = async (options: StageOptions) => (stage = await openStage(options))

const SIZES = [
  [160, 45],
  [80, 24],
  [40, 12],
] as const

describe("the board at a working day", () => {
  test.each(SIZES)("%i×%i", async (width, height) => {
    await open({ width, height, ...workingDay() })
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/board-${width}x${height}.txt`)
  })

  test.each(SIZES)("with details, %i×%i", async (width, height) => {
    await open({ width, height, ...workingDay() })
    await stage.press("space")
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/details-${width}x${height}.txt`)
  })
})

test("the filter is kept over a restart, for its project, and Esc takes it away for good", async () => {
  const kv: Record<string, unknown> = {}
  await open({ kv, width: 160, height: 45, ...workingDay() })
  stage.app.filter.setText("#31")
  await stage.settle()
  stage.showsNot("#32")
  stage.close()
  await open({ kv, width: 160, height: 45, ...workingDay() })
  stage.showsNot("#32")
  stage.shows("/#31")
  expect(Object.keys(kv).filter((key) => key.startsWith("kagan.filter"))).toEqual(["kagan.filter./home/ann/shop-api"])
  await stage.press("esc")
  stage.shows("#32")
  stage.close()
  await open({ kv, width: 160, height: 45, ...workingDay() })
  stage.shows("#32")
})

describe("the live preview", () => {
  test("follows what the agent says, and reads only while it is open", async () => {
    const said = [{ role: "assistant" as const, text: "I begin with the tests.", tools: ["edit src/inv/tax.ts"] }]
    let reads = 0
    const tail = () => (reads++, [...said])
    await open({ width: 160, height: 45, ...workingDay(), tail })
    stage.app.heard("ses_28")
    await stage.clock.advance(1_000)
    expect(reads).toBe(0)
    await stage.press("2", "p")
    stage.shows("I begin with the tests.")
    stage.shows("· edit src/inv/tax.ts")
    said.push({ role: "assistant", text: "Now the service.", tools: [] })
    for (let i = 0; i < 50; i++) stage.app.heard("ses_28")
    await stage.clock.advance(1_000)
    await stage.settle()
    stage.shows("Now the service.")
    expect(reads).toBe(2)
    await stage.press("p")
    stage.showsNot("Now the service.")
  })

  test("its end is watched, however long it is", async () => {
    const text = Array.from({ length: 200 }, (_, i) => `line ${i}`).join("\n")
    await open({ width: 80, height: 24, ...workingDay(), tail: () => [{ role: "assistant", text, tools: [] }] })
    await stage.press("2", "p")
    stage.shows("line 199")
    await stage.press("pageup")
    stage.showsNot("line 199")
  })
})

describe("hostile titles (C069, C071, C075)", () => {
  test.each(SIZES)("borders stand in one column and nothing overflows at %i×%i", async (width, height) => {
    const sessions = HOSTILE_TITLES.map((title, index) => task(index + 1, title))
    await open({ width, height, sessions })
    const edges = new Set<number>()
    for (let step = 0; step < HOSTILE_TITLES.length; step++) {
      for (const line of stage
        .frame()
        .split("\n")
        .slice(2, height - 2)) {
        expect(cells(line)).toBeLessThanOrEqual(width)
        const right = line.indexOf("│", 1)
        if (line.startsWith("│")) edges.add(cells(line.slice(0, right)))
      }
      stage.showsNot("\u202e")
      stage.showsNot("\u001b")
      await stage.press("j")
    }
    expect(edges.size).toBe(1)
    await stage.press("g")
    expect(stage.lines().find((line) => line.includes("修复"))).toContain(
      width === 40 ? "#1 修复登录问题修复登录问题 " : "#1 修复",
    )
  })

  test("a title of 300 letters ends in … inside its column, and is read in the details", async () => {
    await open({ width: 40, height: 12, sessions: [task(1, "a".repeat(300))] })
    stage.shows(/a…│/)
    await stage.press("space")
    stage.shows("a".repeat(36))
  })

  test("what hides is made visible", async () => {
    await open({ width: 80, height: 24, sessions: [task(1, "approve \u202etxt.exe\u202c")] })
    stage.shows("approve <202E>txt.exe<202C>")
  })
})

describe("moving around", () => {
  const column = (n: number) => task(n, `Task ${n}`)

  test("at 80 columns two columns are shown, and the others come by moving right (C066)", async () => {
    await open({ width: 80, height: 24, ...workingDay() })
    stage.shows(/╭ Backlog.*╭ In Progress/)
    await stage.press("l", "l")
    stage.shows(/╭ In Progress.*╭ Review/)
    await stage.press("l")
    stage.shows(/╭ Review.*╭ Done/)
    await stage.press("1")
    stage.shows(/╭ Backlog.*╭ In Progress/)
  })

  test("a long column is drawn only as far as it is seen, and what is beyond is counted", async () => {
    await open({ width: 80, height: 24, sessions: Array.from({ length: 60 }, (_, i) => column(i + 1)) })
    stage.shows("⌄ 55")
    stage.showsNot("⌃")
    await stage.press("G")
    stage.shows("#60 Task 60")
    stage.shows("⌃ 55")
    await stage.press("g")
    stage.shows("▌#1 Task 1")
  })

  test("the cursor keeps its card when it moves to another column or others go", async () => {
    await open({ width: 160, height: 45, sessions: [column(1), column(2), column(3)] })
    await stage.press("j")
    stage.shows("▌#2 Task 2")
    stage.app.board.take(task(2, "Task 2", { lastGatedStatus: "in_progress" }))
    stage.app.board.forget("ses_1")
    await stage.settle()
    expect(stage.app.selection.column()).toBe("in_progress")
    stage.shows("▌#2 Task 2")
    stage.app.board.forget("ses_2")
    await stage.settle()
    expect(stage.app.selection.card()).toBe("ses_3")
  })

  test("a cursor that was never moved stays on the card that was acted upon", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    expect(stage.app.selection.card()).toBe("ses_31")
    await stage.press("y")
    stage.app.board.take(task(31, "Rate-limit the login route", { status: "done", lastGatedStatus: "done" }))
    await stage.settle()
    expect(stage.app.selection.card()).toBe("ses_31")
    expect(stage.app.selection.column()).toBe("done")
  })

  test(". goes round the cards that need the person", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    stage.shows("5 need you")
    const seen: string[] = []
    for (let i = 0; i < 5; i++) {
      await stage.press(".")
      seen.push(stage.app.selection.card() ?? "")
    }
    expect(new Set(seen).size).toBe(5)
    expect(seen).toContain("ses_29")
  })

  test("below 20×8 one sentence stands there, and the board comes back with the room", async () => {
    await open({ width: 19, height: 7, ...workingDay() })
    expect(stage.lines().filter(Boolean)).toEqual(["Kagan needs 20×8", "cells."])
    await stage.resize(80, 24)
    stage.shows("╭ Backlog")
  })
})

describe("what a card says", () => {
  test("a wish that waits, a question, a conflict and a failure each in words", async () => {
    await open({
      width: 160,
      height: 45,
      sessions: [
        task(1, "Asks", { lastGatedStatus: "in_progress" }),
        task(2, "Failed", { lastGatedStatus: "in_progress" }),
        task(3, "Stopped", { lastGatedStatus: "in_progress" }),
        inReview(4, "Changed"),
        task(5, "Lost"),
      ],
      facts: [
        facts(1, {
          asks: [
            {
              kind: "question",
              id: "q",
              sessionID: "ses_1",
              directory: "/",
              questions: [{ question: "Which port?", options: ["80", "8080"], multiple: false, custom: true }],
            },
          ],
        }),
        facts(2, { end: { kind: "failed", errorClass: "quota", text: "no credit left", at: 0 } as never }),
        facts(3, { end: { kind: "interrupted", reason: "aborted", at: 0 } as never }),
        facts(4, { changedSince: ["src/a.ts"] }),
        facts(5, { worktree: "missing" }),
      ],
    })
    stage.shows("? asks: Which port?")
    stage.shows("✗ quota: no credit left")
    stage.shows("‖ stopped by you")
    stage.shows("⚠ changed since review: src/a.ts")
    stage.shows("⌂ its folder is missing")
  })

  test("the cursor's background leaves with it", async () => {
    await open({ width: 160, height: 45, sessions: [task(1, "One"), task(2, "Two")] })
    const shaded = () =>
      stage
        .spans()
        .lines.flatMap(({ spans }) => spans)
        .filter(({ bg, text }) => bg.equals(THEME.backgroundElement!) && text.trim() !== "")
        .map(({ text }) => text.trim())
    expect(shaded()).toContain("One")
    await stage.press("j")
    expect(shaded()).toContain("Two")
    expect(shaded()).not.toContain("One")
  })

  test("a terminal without Unicode gets the same in ASCII", async () => {
    await open({ width: 160, height: 45, ...workingDay(), env: { LANG: "C" } })
    stage.shows("* 2 answers needed")
    stage.shows("|#31 Rate-limit the login route")
  })

  test("a card that changed is redrawn, the others are not touched", async () => {
    await open({ width: 160, height: 45, sessions: [task(1, "One"), task(2, "Two")] })
    const untouched = stage.app.board.card("ses_2")
    stage.app.board.take(task(1, "One, renamed"))
    await stage.settle()
    stage.shows("#1 One, renamed")
    expect(stage.app.board.card("ses_2")).toBe(untouched)
  })
})

describe("a thousand cards (C072)", () => {
  const many = (count: number) =>
    Array.from({ length: count }, (_, i) =>
      task(i + 1, `Task ${i + 1}`, { lastGatedStatus: i % 5 < 3 ? "done" : i % 5 === 3 ? "backlog" : "review" }),
    )

  test("a key draws as few lines as with sixty, and one card's event only its own", async () => {
    const linesOf = async (count: number) => {
      await open({ width: 160, height: 45, sessions: many(count) })
      await stage.press("j", "j")
      const { drawn } = stage.host
      drawn.lines = 0
      await stage.press("k")
      const key = drawn.lines
      drawn.lines = 0
      stage.app.board.take(task(count, "Out of sight, renamed", { lastGatedStatus: "review" }))
      await stage.settle()
      const unseen = drawn.lines
      drawn.lines = 0
      // One on the screen that says what it said, and the whole list once more.
      stage.app.board.take(task(4, "Task 4"))
      stage.app.board.load(
        many(count).with(count - 1, task(count, "Out of sight, renamed", { lastGatedStatus: "review" })),
      )
      await stage.settle()
      const same = drawn.lines
      drawn.lines = 0
      stage.app.board.take(task(count + 1, "New, at the end of a long column"))
      await stage.settle()
      return { key, unseen, same, fresh: drawn.lines }
    }
    const few = await linesOf(60)
    stage.close()
    expect(await linesOf(1_000)).toEqual(few)
    expect(few).toEqual({ key: expect.any(Number), unseen: 0, same: 0, fresh: expect.any(Number) })
    expect(few.key).toBeLessThan(30)
    // What counts the cards, and no card.
    expect(few.fresh).toBeLessThan(6)
  })

  test("of an event only its own card's state is told anew, and the other columns stay the same lists", () => {
    const toldBy = (count: number) => {
      let told = 0
      const now = () => (told++, START)
      const board = createBoard({ now, stallAfter: () => 600, scope: () => "active", matches: () => undefined })
      board.load(many(count))
      expect(told).toBe(count)
      told = 0
      const before = board.columns()
      board.take(task(count + 1, "New"))
      expect(board.needing()).toContain(`ses_${count + 1}`)
      board.takeFacts(facts(count + 1, { doing: "reads" }))
      board.take(task(count + 1, "New, and moved", { lastGatedStatus: "done" }))
      expect(board.columns().done.at(-1)).toBe(`ses_${count + 1}`)
      board.forget(`ses_${count + 1}`)
      expect(board.columns().review).toBe(before.review)
      expect(board.columns()).toEqual(before)
      board.dispose()
      return told
    }
    const few = toldBy(60)
    expect(few).toBeGreaterThan(0)
    expect(few).toBeLessThan(6)
    expect(toldBy(1_000)).toBe(few)
  })

  test("a description of 100 KB is not drawn on the board, and a hundred events a key are not seen", async () => {
    const long = task(1, "Pasted log", { description: "x".repeat(100_000), lastGatedStatus: "backlog" })
    await open({ width: 160, height: 45, sessions: [long, ...many(1_000).slice(1)] })
    const { drawn } = stage.host
    await stage.press("1")
    for (let i = 0; i < 100; i++) {
      stage.push({ type: "facts", facts: facts(500 + i, { doing: `step ${i}` }) })
    }
    drawn.lines = 0
    await stage.press("j")
    expect(stage.app.selection.card()).toBe("ses_4")
    expect(drawn.lines).toBeLessThan(30)
    stage.showsNot("xxx")
  })
})

describe("what is not a card", () => {
  test("a fork's copy, a child, an ordinary session and another clone's task stay away", async () => {
    const fork = { ...task(1, "Copied (fork #1)"), id: "ses_fork" }
    const child = { ...task(2, "Child"), parentID: "ses_9" }
    const other = task(3, "Other clone", { repo: "another" })
    const plain = { ...task(4, "Plain"), metadata: { other: 1 } }
    await open({ width: 160, height: 45, sessions: [fork, child, other, plain, task(5, "Mine")] as never })
    stage.shows("#5 Mine")
    for (const title of ["Copied", "Child", "Other clone", "Plain"]) stage.showsNot(title)
  })
})

describe("empty and broken", () => {
  test.each(SIZES)("an empty board says how to begin at %i×%i", async (width, height) => {
    await open({ width, height })
    stage.shows(/n makes the first task/)
  })

  test("without a server half the board shows everything and says which line is missing where", async () => {
    await open({ width: 160, height: 45, server: false, ...workingDay() })
    stage.shows("#31 Rate-limit the login route")
    await stage.clock.advance(60_000)
    await stage.settle()
    stage.shows('Kagan shows, but cannot act: add "opencode-kagan" to "plugin" in /home/ann/shop-api/opencode.json')
    await stage.press("m")
    stage.shows(/cannot act: add/)
    expect(stage.server.asked()).toEqual([])
  })

  test("it says hello again when the server half comes up", async () => {
    await open({ width: 160, height: 45, server: false, sessions: [task(1, "Waits")] })
    await stage.clock.advance(60_000)
    const before = stage.server.requests.length
    expect(stage.clock.pending()).toBe(0)
    stage.server.up()
    await stage.settle()
    expect(stage.server.requests.length).toBeGreaterThan(before)
  })

  test("what other windows did while the halves looked for each other is on the board when they have met", async () => {
    const sessions = [task(1, "Was there")]
    const met = Promise.withResolvers<void>()
    const reply = { repo: "repo-1", root: "/", version: VERSION, options: DEFAULT_OPTIONS, problems: [] }
    await open({ width: 160, height: 45, sessions, answers: { hello: () => met.promise.then(() => reply) } })
    stage.shows("#1 Was there")
    sessions.push(task(2, "Made meanwhile"))
    met.resolve()
    await stage.settle()
    stage.shows("#2 Made meanwhile")
  })

  test("a server half of another version is named", async () => {
    const hello = () => ({ repo: "repo-1", root: "/", version: "9.9.9", options: {} as never, problems: [] })
    await open({ width: 160, height: 45, answers: { hello } })
    stage.shows("its server half is version 9.9.9: restart OpenCode")
  })

  test("a view that fails keeps its failure to itself, and R draws it again", async () => {
    await open({ width: 160, height: 45, ...workingDay() })
    stage.app.board.take(task(50, "Broken"))
    const card = stage.app.board.card("ses_50")!
    let broken = true
    Object.defineProperty(card, "validator", {
      value: () => {
        if (broken) throw new Error("no such thing as a finding")
        return undefined
      },
    })
    stage.app.selection.select("ses_50")
    await stage.press("space")
    stage.shows("The details could not be drawn.")
    stage.shows("no such thing as a finding")
    stage.shows("#31 Rate-limit")
    broken = false
    await stage.press("R")
    stage.showsNot("could not be drawn")
  })
})
