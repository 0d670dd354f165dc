import { join } from "node:path"
import { STATUSES } from "../../src/core/task.ts"
import { startTui, type Terminal } from "../../test/kit/terminal.ts"
import { JOBS, SAMPLE_TASK } from "./jobs.ts"
import { makePilot, type Pilot } from "./pilot.ts"
import { demoScript } from "./script.ts"
import { setStage } from "./stage.ts"

const folder = process.argv[2]
if (folder === undefined) throw new Error("the folder for the pictures is missing")

const PRICES = "Show prices in euros"
const PORCH = "Put up the opening hours"
const TABLES = "Let guests reserve a table"

const stage = await setStage({ thinkMs: 0 })
try {
  const tui = await startTui(stage.sandbox, { cols: 132, rows: 28 })
  await takeAll(tui, makePilot(tui), (name) => {
    tui.svg(join(folder, `${name}.svg`))
    console.log(`assets/${name}.svg`)
  })
  await tui.stop()
} finally {
  await stage.clear()
}

async function takeAll(tui: Terminal, pilot: Pilot, take: (name: string) => void): Promise<void> {
  const questionsOf = (title: string) => JOBS.find(({ match }) => match.test(title))!.decisions.map((it) => it.question)
  const start = async (number: number, title: string, description: string) => {
    await pilot.writes(title, description)
    await pilot.card(number, "backlog", /answers? needed/)
    await pilot.agrees(questionsOf(title))
    await pilot.card(number, "backlog", /✓ ready/)
    await tui.press("m")
  }
  await pilot.boards()

  await start(1, PRICES, "420 cents read as €4.20.")
  await pilot.card(1, "review", /no findings: approve/)
  await tui.press("a")
  await pilot.sees("Enter merges")
  take("approve")
  await tui.press("enter")
  await pilot.card(1, "done", /✓ merged/)

  await start(2, SAMPLE_TASK.title, SAMPLE_TASK.description)
  await pilot.card(2, "review", /2 findings · 0 ruled/)

  // This agent thinks for as long as the pictures are taken.
  const never = new Promise<void>(() => {})
  stage.model.script(
    demoScript({ thinkMs: 0, before: (request) => (request.kind === "work" ? never : Promise.resolve()) }),
  )
  await start(3, PORCH, "The hours stand on the door and nowhere else.")
  await pilot.card(3, "in_progress", /● working/)

  await tui.press("n")
  await pilot.sees("New task")
  await tui.type(TABLES)
  await tui.press("tab")
  await tui.type("A table is kept for whoever asked for it first.")
  take("create")
  await tui.press("enter")
  await pilot.card(4, "backlog", /2 answers needed/)
  await quiet(tui)
  take("board")

  await tui.press("i")
  await pilot.sees("Enter approve")
  take("intake")
  await tui.press("esc")
  await pilot.gone("Enter approve")

  await tui.press("3", "v")
  await pilot.sees(/Welcome to the teahouse, \$\{name\}/)
  take("review")
  await tui.press("q")
  await pilot.card(2, "review", /2 findings/)

  await tui.press("space")
  await pilot.sees("─ Instruction")
  take("details")
  await tui.press("space")
  await pilot.gone("─ Instruction")

  await tui.press("?")
  await pilot.sees("Move around")
  take("help")
  await tui.press("esc")
  await pilot.gone("Move around")

  tui.resize(80, 24)
  await pilot.sees((screen) => /^╰─+╯╰─+╯$/m.test(screen) && screen.includes("▲ 2 findings"))
  take("board-80x24")
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
