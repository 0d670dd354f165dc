import { describe, expect, test } from "vitest"
import { COMMANDS, REVIEW_COMMANDS } from "../../src/tui/board/keys.ts"
import { readRebinding } from "../../src/tui/board/rebinding.ts"
import { task } from "./cards.ts"
import { openStage } from "./stage.tsx"

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

test("every key of both tables does what its row says: none is deaf or taken by another", async () => {
  const stage = await openStage({ width: 160, height: 45, sessions: [task(1, "Card")] })
  try {
    const ran: string[] = []
    const { keymap } = stage.app.host
    const off = keymap.on("dispatch", ({ phase, command }) => {
      if (phase === "binding-execute" && typeof command === "string") ran.push(command)
    })
    const pressed = (key: string) => (/^shift\+[a-z]$/.test(key) ? key.slice(6).toUpperCase() : key)
    const named: Record<string, string> = { return: "enter", escape: "esc" }
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
