import { afterEach, describe, expect, test } from "vitest"
import type { Settings } from "../../src/core/settings.ts"
import { inReview, workingDay } from "./cards.ts"
import { openStage, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())

const GLOBAL = "/home/ann/.config/opencode/opencode.json"
const PROJECT = "/home/ann/shop-api/opencode.json"
const TUI = "/home/ann/shop-api/tui.json"
const SETTINGS: Settings = {
  files: [
    { path: GLOBAL, half: "server", scope: "global", counts: false, options: { inProgressLimit: 9 } },
    { path: PROJECT, half: "server", scope: "project", counts: true, options: { inProgressLimit: 4, resume: "often" } },
    { path: TUI, half: "tui", scope: "project", counts: true },
  ],
}

type Write = { file: string; option: string; value?: unknown }
const open = async (more: StageOptions = {}) => {
  stage = await openStage({
    env: { HOME: "/home/ann" },
    answers: {
      "settings.read": () => SETTINGS,
      "settings.write": ({ option }: Write) => ({ text: `${option} written`, settings: SETTINGS }),
    },
    ...more,
  })
  await stage.press(",")
}
/** What is said, however it is wrapped. */
const words = () =>
  stage
    .frame()
    .replace(/[│╭╮╰╯─]/g, " ")
    .replace(/\s+/g, " ")
const written = () => stage.server.asked().filter(({ type }) => type === "settings.write")

describe("the settings", () => {
  test.each([
    [160, 45],
    [80, 24],
    [40, 12],
  ] as const)("%i×%i", async (width, height) => {
    await open({ width, height })
    await expect(stage.lines().join("\n")).toMatchFileSnapshot(`frames/settings-${width}x${height}.txt`)
  })

  test("show value and source, and what the one under the cursor means", async () => {
    await open()
    stage.shows(/inProgressLimit +4 +project/)
    stage.shows("How many cards may be in progress; more are queued")
    expect(words()).toContain("Set in ~/shop-api/opencode.json")
    stage.shows(/intake\.retries +1 +default/)
    await stage.type("resume")
    stage.shows(/resume +ask +not usable/)
    expect(words()).toContain('not usable: it must be "ask" or "auto"')
  })

  test("a number is typed, judged before it is sent, and written into the file of choice", async () => {
    await open()
    await stage.press("enter")
    await stage.press("backspace")
    await stage.type("0")
    await stage.press("enter")
    stage.shows("must be a whole number from 1 to 50")
    expect(written()).toEqual([])
    await stage.press("backspace")
    await stage.type("7")
    await stage.press("enter")
    stage.shows("Write inProgressLimit into which file?")
    stage.shows(/~\/shop-api\/opencode\.json +project/)
    await stage.press("enter")
    expect(written()).toEqual([{ type: "settings.write", file: PROJECT, option: "inProgressLimit", value: 7 }])
    // The list is there again, with the cursor where it was.
    stage.shows(/▌inProgressLimit/)
  })

  test("a word is picked; what a file says can be taken out", async () => {
    await open()
    await stage.type("resume")
    await stage.press("enter")
    stage.shows("auto")
    await stage.press("down", "enter", "down", "enter")
    await stage.type("inProgress")
    await stage.press("enter", "backspace", "enter")
    expect(written()).toEqual([
      { type: "settings.write", file: GLOBAL, option: "resume", value: "auto" },
      { type: "settings.write", file: PROJECT, option: "inProgressLimit" },
    ])
  })

  test("lists are written a line each, and checks as JSON", async () => {
    await open()
    await stage.type("worktree.copy")
    await stage.press("enter")
    await stage.type(".env")
    await stage.press("shift+enter")
    await stage.type("local.json")
    await stage.press("enter", "enter")
    await stage.type("checks")
    await stage.press("enter")
    await stage.type('[{"name":"t"}]')
    await stage.press("enter")
    expect(words()).toContain("(at 1, command)")
    expect(written()).toMatchObject([{ option: "worktree.copy", value: [".env", "local.json"] }])
  })

  test("what concerns the screen can go into tui.json, and counts at once", async () => {
    const after: Settings = {
      files: SETTINGS.files.map((file) => (file.half === "tui" ? { ...file, options: { mouse: false } } : file)),
    }
    await open({
      answers: {
        "settings.read": () => SETTINGS,
        "settings.write": () => ({ text: "mouse: false", settings: after }),
      },
    })
    expect(stage.app.options().mouse).toBe(true)
    await stage.type("mouse")
    await stage.press("enter", "down", "enter")
    stage.shows("this screen alone")
    await stage.press("down", "down", "enter")
    expect(written()).toMatchObject([{ file: TUI, option: "mouse", value: false }])
    expect(stage.app.options().mouse).toBe(false)
  })

  test("a refusal is told and changes nothing", async () => {
    await open({
      answers: {
        "settings.read": () => SETTINGS,
        "settings.write": () => ({ kind: "failed", text: "opencode.json was changed meanwhile: nothing was written" }),
      },
    })
    await stage.type("mouse")
    await stage.press("enter", "down", "enter", "enter")
    stage.shows("changed meanwhile")
    expect(stage.host.dialogs()).toBe(0)
  })

  test("Esc leaves everything as it is", async () => {
    await open()
    await stage.press("enter", "esc")
    expect(written()).toEqual([])
    expect(stage.host.dialogs()).toBe(0)
  })
})

test("each bad option is said once on the board and counted in the footer", async () => {
  stage = await openStage({ width: 160, height: 45, answers: {} })
  const problem = { option: "mouse", text: "must be true or false; the default true is used" }
  stage.push({ type: "options", options: stage.app.options(), problems: [problem] })
  await stage.settle()
  expect(words()).toContain("mouse must be true or false; the default true is used")
  stage.shows("1 bad option")
  await stage.press("esc")
  stage.push({ type: "options", options: stage.app.options(), problems: [problem] })
  await stage.settle()
  stage.showsNot("mouse must be true or false")
  stage.push({ type: "options", options: stage.app.options(), problems: [] })
  await stage.settle()
  stage.showsNot("bad option")
})

test("without the server half the key says why not", async () => {
  stage = await openStage({ server: false })
  await stage.clock.advance(60_000)
  await stage.press(",")
  stage.shows("cannot act")
  expect(stage.host.dialogs()).toBe(0)
})

test("attention off: a card that begins to wait rings for nobody", async () => {
  const day = workingDay()
  const asking = day.facts.find(({ sessionID }) => sessionID === "ses_29")!
  const facts = day.facts.filter((one) => one !== asking)
  stage = await openStage({ ...day, facts, options: { attention: false } })
  stage.host.attention.length = 0
  stage.push({ type: "facts", facts: asking })
  await stage.settle()
  expect(stage.host.attention).toEqual([])
})

test.each([
  [1, true],
  [2, false],
])(
  "sendBack.stopThreshold %i: at the first try the board asks whether another is worth it: %s",
  async (stopThreshold, asks) => {
    stage = await openStage({
      sessions: [inReview(1, "Card")],
      options: { sendBack: { mode: "continue", stopThreshold } },
    })
    await stage.press("s")
    stage.shows("Send #1 back")
    if (asks) stage.shows("Is another one worth it?")
    else stage.showsNot("Is another one worth it?")
  },
)
