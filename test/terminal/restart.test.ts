import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { hang, startModel, text, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe, type Probe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn, onBoard } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"
import { openWindow } from "../kit/window.ts"

/** What a person finds who comes back to a task's own conversation after OpenCode died in the middle of another's work. */
let model: Model
let box: Sandbox
let probe: Probe
let tui: Terminal
let worktree: string

const said = (request: { messages: readonly { text: string }[] }) => request.messages.map((one) => one.text).join("\n")

oneStory()
beforeAll(async () => {
  const script = defaultKaganScript({ file: (request) => `task-${/#(\d+)/.exec(said(request))?.[1]}.txt` })
  let died = false
  model = await startModel((request, nth) => {
    if (request.kind === "work" && request.lastUser.includes("Are you there?")) return text("Still here.")
    if (request.kind === "work" && !died && /#2\b/.test(said(request))) return hang("I am reading")
    return script(request, nth)
  })
  box = await makeSandbox({ plugin: false, model, where: "project" })
  probe = await makeProbe(box.root, "probe-restart")
  await box.writeConfig({ plugin: [pluginPath(), probe.spec] })

  const { host, board: desk, seen } = await openWindow(box, probe)
  const start = { waiver: "Already agreed in detail" }
  const create = (draftID: string, title: string, description: string) =>
    desk.get("task.create", { draftID, title, description, start })
  const { sessionID } = await create("d-1", "Greet the reader", "")
  worktree = (await seen.until(sessionID, "reviewed", (meta) => meta.review?.validator?.state === "done")).worktree
  await create("d-2", "Say goodbye", "☂ It rains.")
  await model.waitForRequest((request) => request.kind === "work" && /#2\b/.test(said(request)))
  await host.kill9()
  died = true

  tui = await startTui(box, { args: ["-s", sessionID], cols: 140, rows: 32 })
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

describe("opencode -s <session of a task>, after a crash", () => {
  test("its conversation is there, with where it stands on the board", async () => {
    await tui.waitFor("Please do task #1")
    await tui.waitFor("Kagan #1 · Review")
    await tui.waitFor("1 finding · 0 ruled")
  })

  test("its instance, which the host boots too early, is booted anew: the model of the main checkout answers", async () => {
    await probe.server(worktree, tui.pid)
    await tui.type("Are you there?")
    await tui.press("enter")
    await tui.waitFor("Still here.")
    const request = model.requests.find(({ lastUser }) => lastUser.includes("Are you there?"))
    expect(request?.system).toContain(worktree)
  })

  test("the board shows what was before, and what the crash cut off; r takes that up", async () => {
    await tui.press("ctrl+x", "k")
    await tui.waitFor(cardIn(2, "in_progress", "OpenCode ended in the middle"))
    const screen = await tui.waitFor(cardIn(1, "review", "1 finding · 0 ruled"))
    expect(board(screen).selected?.number).toBe(2)
    expect(board(screen).columns).toHaveLength(4)
    const asked = model.count("work")
    await tui.press("r")
    const after = await tui.waitFor(cardIn(2, "review", "1 finding · 0 ruled"))
    expect(board(after).selected?.number).toBe(2)
    // One request that calls the tool, one that ends with a word.
    expect(model.count("work")).toBe(asked + 2)
  })
})

describe("a view that fails", () => {
  test("says so in its own box, and the rest goes on", async () => {
    const half = await probe.tui(tui.pid)
    await half.run(() => {
      const own = Intl.Segmenter.prototype.segment
      Object.assign(globalThis, { ownSegment: own })
      Intl.Segmenter.prototype.segment = function (this: Intl.Segmenter, text: string) {
        if (text.includes("☂")) throw new Error("no umbrella today")
        return own.call(this, text)
      }
    })
    await tui.press("space")
    await tui.waitFor("The details could not be drawn.")
    const screen = await tui.waitFor("no umbrella today")
    expect(board(screen).card(2)?.status).toBe("review")
    await tui.press("k")
    await tui.waitFor(onBoard("the cursor on #1", ({ selected }) => selected?.number === 1))
  })

  test("is drawn again by R", async () => {
    const half = await probe.tui(tui.pid)
    await half.run(() => {
      Intl.Segmenter.prototype.segment = (globalThis as any).ownSegment
    })
    await tui.press("j", "R")
    await tui.waitFor("☂ It rains.")
  })
})
