import { afterEach, describe, expect, test } from "vitest"
import type { UpdateState } from "../../src/core/updates.ts"
import { openStage, START, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())

const HOUR = 3_600_000
const NEWER: UpdateState = { kind: "newer", version: "0.2.0", text: "Kagan 0.2.0 is there; this one is 0.1.0" }
const SAME: UpdateState = { kind: "same", text: "Kagan 0.1.0 is the newest version" }
const open = async (more: StageOptions = {}, state: UpdateState = NEWER) =>
  (stage = await openStage({ answers: { "update.check": () => state }, options: { updates: true }, ...more }))
const checks = () => stage.server.asked().filter(({ type }) => type === "update.check").length

describe("a newer version", () => {
  test("on the board is state of the footer, and never a notice or a toast", async () => {
    await open()
    stage.shows("update 0.2.0")
    expect(stage.app.notices.past()).toEqual([])
    expect(stage.host.toasts).toEqual([])
    await stage.press("esc", "esc")
    stage.shows("update 0.2.0")
  })

  test("elsewhere is a toast, once, also over a restart", async () => {
    const kv = {}
    await open({ kv, route: { name: "home" } })
    expect(stage.host.toasts.map(({ message }) => message)).toEqual(["Kagan 0.2.0 is there: /kagan-update"])
    expect(stage.app.notices.past()).toEqual([])
    stage.host.navigate({ name: "session", params: { sessionID: "ses_1" } })
    stage.host.navigate({ name: "home" })
    await stage.settle()
    expect(stage.host.toasts).toHaveLength(1)
    stage.close()
    await open({ kv, route: { name: "home" } })
    expect(stage.host.toasts).toEqual([])
  })

  test("found while the board is open is told by a toast when the person leaves it", async () => {
    await open()
    expect(stage.host.toasts).toEqual([])
    stage.host.navigate({ name: "home" })
    await stage.settle()
    expect(stage.host.toasts).toHaveLength(1)
  })
})

describe("the check", () => {
  test("is made once a day at most; in between the footer says what the last one found", async () => {
    const kv: Record<string, unknown> = { "kagan.update": { checkedAt: START - 23 * HOUR, newer: "0.2.0" } }
    await open({ kv })
    expect(checks()).toBe(0)
    stage.shows("update 0.2.0")
    stage.close()
    kv["kagan.update"] = { checkedAt: START - 25 * HOUR, newer: "0.2.0" }
    await open({ kv }, SAME)
    expect(checks()).toBe(1)
    stage.showsNot("update 0.2.0")
    stage.close()
    await open({ kv }, SAME)
    expect(checks()).toBe(0)
  })

  test("that failed counts as the day's, and says nothing", async () => {
    const kv = {}
    const answers = { "update.check": () => ({ kind: "unknown", text: "npm is not installed" }) as const }
    await open({ kv, answers })
    expect(checks()).toBe(1)
    expect(stage.app.notices.past()).toEqual([])
    stage.close()
    await open({ kv, answers })
    expect(checks()).toBe(0)
  })

  test("is not made at all with updates off, and on the person's word anyway", async () => {
    await open({ options: { updates: false } })
    expect(checks()).toBe(0)
    stage.commands.enter("kagan.update.open")
    await stage.settle()
    expect(checks()).toBe(1)
    stage.shows("Kagan 0.2.0 is there; this one is 0.1.0")
  })

  test("passes on what updates wrote", async () => {
    await open({ kv: { "kagan.update": { written: ["opencode-kagan@0.1.0", 3] } } })
    expect(stage.server.asked()).toMatchObject([{ type: "update.check", written: ["opencode-kagan@0.1.0"] }])
  })
})

describe("/kagan-update", () => {
  const entered = async (more: StageOptions = {}) => {
    await open({ kv: { "kagan.update": { checkedAt: START } }, ...more })
    stage.commands.enter("kagan.update.open")
    await stage.settle()
  }

  test("installs on the person's word, remembers what was written, and says that a restart is needed", async () => {
    const kv: Record<string, any> = { "kagan.update": { checkedAt: START } }
    await entered({
      kv,
      answers: {
        "update.check": () => NEWER,
        "update.install": () => ({
          text: "Kagan 0.2.0 stands in both files: restart OpenCode",
          spec: "opencode-kagan@0.2.0",
        }),
      },
    })
    await stage.press("n")
    expect(stage.server.asked().map(({ type }) => type)).toEqual(["update.check"])
    stage.commands.enter("kagan.update.open")
    await stage.settle()
    await stage.press("y")
    expect(stage.server.asked().at(-1)).toMatchObject({ type: "update.install", version: "0.2.0", written: [] })
    stage.shows("restart OpenCode")
    await stage.press("esc")
    stage.shows("restart for 0.2.0")
    expect(kv["kagan.update"].written).toEqual(["opencode-kagan@0.2.0"])
    expect(stage.app.notices.past()).toEqual([])
  })

  test("a failed one says why, and remembers nothing", async () => {
    const kv: Record<string, any> = { "kagan.update": { checkedAt: START } }
    await entered({
      kv,
      answers: {
        "update.check": () => NEWER,
        "update.install": () => ({
          kind: "failed",
          text: "0.2.0 cannot be installed (EINTEGRITY); the old version is named again",
        }),
      },
    })
    await stage.press("y")
    stage.shows("the old version is named again")
    await stage.press("esc")
    stage.shows("update 0.2.0")
    expect(kv["kagan.update"].written).toBeUndefined()
  })

  test.each([
    [{ kind: "same", text: "Kagan 0.1.0 is the newest version" }],
    [{ kind: "left", text: "Kagan is pinned to 0.1.0 by hand" }],
    [{ kind: "incompatible", version: "9.0.0", text: "Kagan 9.0.0 is there and needs OpenCode >=9.0.0" }],
    [{ kind: "unknown", text: "npm gave no answer within 20 s" }],
  ] as const)("says %j, and offers nothing", async (state) => {
    await entered({ answers: { "update.check": () => state } })
    stage.shows(state.text)
    stage.showsNot("Update to")
    await stage.press("esc")
    stage.showsNot("update 9.0.0")
  })
})
