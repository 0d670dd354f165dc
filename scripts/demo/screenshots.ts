import { join } from "node:path"
import { STATUSES, type Status } from "../../src/core/task.ts"
import type { RecordedRequest } from "../../test/kit/model.ts"
import type { Scheme } from "../../test/kit/screen.ts"
import { startTui, type Seen, type Terminal } from "../../test/kit/terminal.ts"
import { BREW, CAKES, CLOSED, GALLERY, HOURS } from "./gallery.ts"
import { SAMPLE_TASK } from "./jobs.ts"
import { makePilot, type Pilot } from "./pilot.ts"
import { demoScript } from "./script.ts"
import { setStage } from "./stage.ts"

const folder = process.argv[2]
if (folder === undefined) throw new Error("the folder for the pictures is missing")

const PRICES = "Show prices in euros"
const TABLES = "Let guests reserve a table"

/** How large the screen is in most pictures. */
const LARGE = [132, 34] as const

// The agent that puts up the hours has said what it does, and thinks for as long as the pictures are taken.
const never = new Promise<void>(() => {})
const isBusy = (request: RecordedRequest) =>
  request.kind === "work" && request.toolResults.length > 0 && request.messages.some(({ text }) => text.includes(HOURS))
const hasWritten = (request: RecordedRequest) =>
  request.messages.some(({ toolCalls }) => toolCalls.some(({ name }) => name === "write"))
const before = (request: RecordedRequest) => (isBusy(request) && hasWritten(request) ? never : Promise.resolve())

const stage = await setStage({ thinkMs: 0, jobs: GALLERY, before }, { config: { permission: { bash: "ask" } } })
try {
  const tui = await startTui(stage.sandbox, { cols: LARGE[0], rows: LARGE[1] })
  stage.model.script(demoScript({ thinkMs: 0, jobs: GALLERY, before }))
  await takeAll(tui, makePilot(tui, 60_000), (name) => takeBoth(tui, name))
  await tui.stop()
} finally {
  await stage.clear()
}

/** The same screen in the dark and in the light: the terminal changes its colours, and the host follows. */
async function takeBoth(tui: Terminal, name: string): Promise<void> {
  const keep = (scheme: Scheme) => {
    tui.svg(join(folder!, `${name}-${scheme}.svg`))
    console.log(`assets/${name}-${scheme}.svg`)
  }
  // Behind a dialog even the light ground is dim.
  const isDark = () => brightness(tui.cell(0, 0)!.bg) < 0.25
  const first: Scheme = isDark() ? "dark" : "light"
  const second: Scheme = first === "dark" ? "light" : "dark"
  await settled(tui)
  keep(first)
  tui.recolour(second)
  await tui.waitFor(() => isDark() === (second === "dark"))
  await settled(tui)
  keep(second)
}

function brightness(colour: string): number {
  return Number.parseInt(colour.slice(1, 3), 16) / 255
}

/** Until a moment has passed in which nothing was drawn: the host paints a new theme in several frames. */
async function settled(tui: Terminal): Promise<void> {
  for (let picture = ""; picture !== (picture = tui.svg());) await Bun.sleep(400)
}

async function takeAll(tui: Terminal, pilot: Pilot, take: (name: string) => Promise<void>): Promise<void> {
  const agree = async (number: number, title: string, description: string) => {
    await pilot.writes(title, description)
    await pilot.card(number, "backlog", /answers? needed/)
    const job = GALLERY.find(({ match }) => match.test(title))!
    await pilot.agrees(job.decisions.map(({ question }) => question))
    await pilot.card(number, "backlog", /✓ ready/)
  }
  const start = async (number: number, title: string, description: string, to: Status, state: RegExp) => {
    await agree(number, title, description)
    await tui.press("m")
    await pilot.card(number, to, state)
  }
  const shut = async (key: string, gone: Seen) => {
    await tui.press(key)
    await pilot.gone(gone)
  }
  await pilot.boards()

  await start(1, PRICES, "420 cents read as €4.20.", "review", /no findings: approve/)
  await start(2, CAKES, "Castella and dorayaki, fresh every morning.", "review", /no findings: approve/)
  await tui.press("k")
  await quiet(tui)
  await tui.press("a")
  await pilot.sees("Enter merges")
  await take("approve")
  await tui.press("enter")
  await pilot.card(1, "done", /✓ merged/)
  await pilot.card(2, "review", /conflicts/)

  await start(3, SAMPLE_TASK.title, SAMPLE_TASK.description, "review", /2 findings · 0 ruled/)
  await start(4, HOURS, "The hours stand on the door and nowhere else.", "in_progress", /2\/4/)
  await start(5, BREW, "Sencha turns bitter when it boils.", "in_progress", /asks|npm test/)
  await start(6, CLOSED, "A sign for Mondays, and for public holidays.", "backlog", /queued/)

  await quiet(tui)
  await tui.press("n")
  await pilot.sees("New task")
  await tui.type(TABLES)
  await tui.press("tab")
  await tui.paste("A table is kept for whoever asked for it first.\nSee #6 for the days on which there is none.")
  await pilot.sees("there is none")
  await take("create")
  await tui.press("enter")
  await pilot.card(7, "backlog", /2 answers needed/)
  tui.resize(160, 45)
  await quiet(tui)
  await take("board")
  tui.resize(...LARGE)

  await tui.press("i")
  await pilot.sees("Enter approve")
  await take("intake")
  await shut("esc", "Enter approve")

  await tui.press("3", "G", "v")
  await pilot.sees(/Welcome to the teahouse, \$\{name\}/)
  await tui.press("j", "c")
  await pilot.sees(/comment/i)
  await tui.type("Guests say it in many ways: trim it first.")
  await tui.press("enter")
  await pilot.sees("C1 is kept")
  await pilot.gone("C1 is kept")
  await take("review")
  await tui.press("q")
  await pilot.card(3, "review", /2 findings/)

  tui.resize(160, 45)
  await tui.press("4", "space")
  await pilot.sees("─ Timeline")
  await take("details")
  await shut("space", "─ Timeline")
  await tui.press("3", "G")
  tui.resize(...LARGE)

  for (const [key, says, name] of [
    ["?", "Move around", "help"],
    [",", "inProgressLimit", "settings"],
    ["S", "Tasks done", "statistics"],
  ] as const) {
    await tui.press(key)
    await pilot.sees(says)
    await take(name)
    await shut("esc", says)
  }

  await tui.press("q")
  await pilot.sees("Ask anything")
  await tui.slash("kagan-doctor")
  await pilot.sees(/worktree/i)
  await take("doctor")
  await tui.press("esc")
  await tui.slash("kagan")
  tui.resize(80, 24)
  await pilot.sees((screen) => /^╰─+╯╰─+╯$/m.test(screen) && screen.includes("▲ 2 findings"))
  await take("board-80x24")
}

/** Notices are news, not the board: they are dismissed for its picture, also those that come late. */
async function quiet(tui: Terminal): Promise<void> {
  const onlyColumns = (screen: string) => screen.split("╭").length - 1 === STATUSES.length
  for (let n = 0; n < 20; n++) {
    await tui.press("esc")
    const calm = await tui.waitFor(onlyColumns, 2_000).then(
      () => true,
      () => false,
    )
    if (calm) return
  }
  await tui.waitFor(onlyColumns)
}
