import { describe, expect, test } from "vitest"
import { RUN_STATES, type RunStateKind } from "../../src/core/board.ts"
import type { Status } from "../../src/core/task.ts"
import { WAYS_OUT } from "../../src/core/ways-out.ts"
import { COMMANDS, REVIEW_COMMANDS, spellKey } from "../../src/tui/board/keys.ts"
import { readRebinding } from "../../src/tui/board/rebinding.ts"
import { intakeOf, task } from "./cards.ts"
import { openStage, START } from "./stage.tsx"

describe("rebinding", () => {
  test("is read in the host's notation, and what is wrong is named", () => {
    const keybinds = {
      "kagan.forward": "f, ctrl+f",
      "kagan.lower": "none",
      "kagan.higher": false,
      "kagan.new": ["a", "b"],
      "kagan.odd": "x",
      "kagan.help": 5,
    }
    expect(readRebinding({ keybinds })).toEqual({
      keys: { "kagan.forward": ["f", "ctrl+f"], "kagan.lower": [], "kagan.higher": [], "kagan.new": ["a", "b"] },
      problems: ["keybinds: there is no command kagan.odd", "keybinds: the keys of kagan.help cannot be read"],
    })
    for (const none of [undefined, null, {}, "x"]) expect(readRebinding(none)).toEqual({ keys: {}, problems: [] })
  })

  test("counts on the board, in the footer and in the help", async () => {
    const stage = await openStage({
      width: 160,
      height: 45,
      sessions: [task(1, "Goes")],
      keybinds: { "kagan.forward": "f", "kagan.nothing": "x" },
      answers: { "task.move": () => ({ verdict: "accepted", text: "" }) },
    })
    try {
      stage.shows("f move on")
      stage.shows("1 bad option")
      await stage.press("m")
      expect(stage.server.asked()).toEqual([])
      await stage.press("f")
      expect(stage.server.asked()).toHaveLength(1)
      await stage.press("?")
      await stage.type("forward")
      stage.shows(/Move forward\s+f/)
    } finally {
      stage.close()
    }
  })
})

test("also counts in dialogs and in the tour, and their hints name the keys in force", async () => {
  const keybinds = {
    "kagan.list.down": "ctrl+j",
    "kagan.list.pick": "ctrl+l",
    "kagan.text.send": "ctrl+l",
    "kagan.tour.next": "x",
    "kagan.tour.back": "none",
    "kagan.answers.approve": "y",
    "kagan.answers.again": "none",
  }
  const sessions = [
    task(1, "Answered", {
      intake: { state: "done", sessionID: "ses_i1", generation: 1, attempt: 1, required: 1, answered: 0, at: START },
    }),
    intakeOf(1, { decisions: [{ question: "Which?", assumption: "This one", required: true }] }),
  ]
  const answers = { "intake.answer": () => ({ text: "" }), "task.tell": () => ({ text: "told" }) }
  const stage = await openStage({ tour: true, sessions, keybinds, answers })
  try {
    stage.shows("x goes on · Esc leaves it")
    await stage.press("enter")
    stage.shows("Type to narrow the actions")
    await stage.press("esc", "x")
    stage.shows("2/5")
    await stage.press("esc", "i")
    stage.shows("y approve · o override")
    stage.showsNot("ask again")
    await stage.press("enter", "r")
    expect(stage.server.asked()).toEqual([])
    await stage.press("y")
    expect(stage.server.asked()).toMatchObject([{ type: "intake.answer" }])
    await stage.press("t")
    await stage.type("Go on")
    await stage.press("ctrl+l")
    expect(stage.server.asked().at(-1)).toMatchObject({ type: "task.tell", text: "Go on" })
    await stage.press("w")
    stage.shows("▌Small, self-contained change")
    await stage.press("ctrl+j")
    stage.shows("▌Already agreed in detail")
  } finally {
    stage.close()
  }
})

test("every key of both tables does what its row says: none is deaf or taken by another", async () => {
  const stage = await openStage({ width: 160, height: 45, sessions: [task(1, "Card")] })
  try {
    const ran: string[] = []
    const { keymap } = stage.app.host
    const off = keymap.on("dispatch", ({ phase, command }) => {
      if (phase === "binding-execute" && typeof command === "string") ran.push(command)
    })
    const pressed = (key: string) => (/^shift\+[a-z]$/.test(key) ? key.slice(6).toUpperCase() : key)
    const named: Record<string, string> = { return: "enter", escape: "esc", comma: "," }
    const all = async (rows: readonly { id: string; keys: readonly string[] }[], back: string) => {
      for (const { id, keys } of rows) {
        for (const key of keys) {
          stage.host.navigate({ name: back, params: { sessionID: "ses_1" } })
          await stage.settle()
          ran.length = 0
          await stage.press(named[key] ?? pressed(key))
          expect([key, ran[0]]).toEqual([key, id])
          if (stage.host.dialogs() > 0) await stage.press("esc")
        }
      }
    }
    await all(COMMANDS, "kagan.board")
    await all(REVIEW_COMMANDS, "kagan.review")
    off()
  } finally {
    stage.close()
  }
})

test("in every state whose way out is r or X, the board offers that key", async () => {
  const stage = await openStage({ width: 160, height: 45, sessions: [task(1, "Stuck")] })
  try {
    const card = stage.app.board.card("ses_1")!
    const columns: Partial<Record<RunStateKind, Status>> = {
      review_failed: "review",
      no_changes: "review",
      changed_since_review: "review",
      conflicts: "review",
      merge_failed: "review",
      interrupted: "in_progress",
      failed: "in_progress",
      stalled: "in_progress",
    }
    for (const kind of RUN_STATES) {
      if (kind === "draft") continue
      const stuck = {
        ...card,
        run: () => ({ kind, text: "", needsYou: true }),
        column: () => columns[kind] ?? "backlog",
      }
      for (const { key } of WAYS_OUT[kind]) {
        if (key === "r") expect([kind, stage.commands.when("kagan.retry", stuck)]).toEqual([kind, undefined])
        if (key === "X") expect([kind, stage.commands.when("kagan.stop", stuck)]).toEqual([kind, undefined])
      }
    }
  } finally {
    stage.close()
  }
})

test("every key that the ways out name is a key of the board", () => {
  const keys = new Set(COMMANDS.flatMap(({ keys: own }) => own.map(spellKey)))
  const named = new Set(Object.values(WAYS_OUT).flatMap((ways) => ways.map(({ key }) => key)))
  expect([...named].filter((key) => !keys.has(key))).toEqual([])
})
