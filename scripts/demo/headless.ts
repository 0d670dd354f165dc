import { STATUSES, type Status } from "../../src/core/task.ts"
import { startTui, type Terminal } from "../../test/kit/terminal.ts"
import { JOBS, SAMPLE_TASK } from "./jobs.ts"
import { makePilot } from "./pilot.ts"
import { demoScript } from "./script.ts"
import { countRequests, type Stage } from "./stage.ts"

const now = Promise.resolve()

/**
 * Takes one card through its life in the real terminal UI, by keys and by what the screen shows. Prints the screen at
 * each station and the result as the last line; answers 0 only if everything was as promised.
 */
export async function playHeadless(stage: Stage): Promise<number> {
  const start = performance.now()
  const seen = new Set<Status>()
  // The agent gets its first answer when the card was seen in In Progress: the script is quicker than any screen.
  const mayWork = Promise.withResolvers<void>()
  stage.model.script(demoScript({ thinkMs: 0, before: (request) => (request.kind === "work" ? mayWork.promise : now) }))

  let problem: string | undefined
  let merged: string | undefined
  let tui: Terminal | undefined
  try {
    tui = await startTui(stage.sandbox, { cols: 160, rows: 45 })
    await play(tui, seen, mayWork.resolve)
    merged = await checkMerge(stage)
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error)
  } finally {
    mayWork.resolve()
  }
  const requests = await countRequests(stage)
  await tui?.stop()

  const columns = STATUSES.filter((status) => seen.has(status))
  if (problem === undefined && columns.length < STATUSES.length) problem = "the card was not seen in every column"
  if (problem === undefined && requests.other > 0) problem = "the model was asked for something else than the card"
  if (problem !== undefined) console.error(problem)
  const seconds = Math.round((performance.now() - start) / 100) / 10
  console.log(JSON.stringify({ columns, merged: merged ?? null, requests, seconds }))
  return problem === undefined ? 0 : 1
}

async function play(tui: Terminal, seen: Set<Status>, letWork: () => void): Promise<void> {
  const pilot = makePilot(tui)
  const job = JOBS.find(({ match }) => match.test(SAMPLE_TASK.title))!
  const arrives = async (status: Status, state: RegExp, title: string) => {
    station(title, await pilot.card(1, status, state))
    seen.add(status)
  }

  station("The board of a repository without cards", await pilot.boards())
  station("n: a task is written", await pilot.writes(SAMPLE_TASK.title, SAMPLE_TASK.description))
  await arrives("backlog", /1 answer needed/, "Backlog: intake has read the code and asks")
  const asked = await pilot.agrees(job.decisions.map(({ question }) => question))
  station("i: what the agent would have assumed", asked)
  await arrives("backlog", /✓ ready/, "Backlog: agreed")

  await tui.press("m")
  await arrives("in_progress", /● (working|starting)/, "m: In Progress, the agent works in a worktree of its own")
  letWork()
  await arrives("review", /2 findings · 0 ruled/, "Review: a reviewer has read the diff")

  await tui.press("v")
  await pilot.sees(job.findings[0]!.title)
  station("v: the diff, with the findings on their lines", await pilot.sees(/Welcome to the teahouse, \$\{name\}/))
  await tui.press("f")
  await pilot.sees("2 findings, 1 ruled")
  await tui.press("n", "g")
  station("f, g: one is to be fixed, one is ignored", await pilot.sees("2 findings, 2 ruled"))
  await tui.press("s")
  station("s: the finding goes back to the agent", await pilot.sees("The agent gets this"))
  await tui.press("enter")
  await pilot.gone("The agent gets this")
  await tui.press("q")
  await arrives("review", /no findings: approve/, "Review again: the second try is clean")

  await tui.press("a")
  station("a: exactly this tree goes into that branch", await pilot.sees(/into main at [0-9a-f]{7}/))
  await tui.press("enter")
  await arrives("done", /✓ merged [0-9a-f]{7}/, "Done: merged")
}

function station(title: string, screen: string): void {
  console.log(`──── ${title}\n${screen.trimEnd()}\n`)
}

/** What stands on the base branch now: one commit with exactly what was approved, and a clean checkout. */
async function checkMerge(stage: Stage): Promise<string> {
  const git = async (...args: string[]) => (await stage.sandbox.repo.git(...args)).trim()
  const merged = await git("rev-parse", "main")
  const [first] = (await git("rev-list", "--max-parents=0", "main")).split("\n")
  expectSame("the merge's parent", await git("rev-parse", "main^"), first!)
  const snapshots = await git("for-each-ref", "--sort=version:refname", "--format=%(tree)", "refs/kagan/1")
  expectSame("the merged tree", await git("rev-parse", "main^{tree}"), snapshots.split("\n").at(-1)!)
  expectSame("the files that changed", await git("diff", "--name-only", first!, "main"), "src/greet.js")
  expectSame("the checkout's state", await git("status", "--porcelain"), "")
  return merged
}

function expectSame(what: string, is: string, should: string): void {
  if (is !== should) throw new Error(`${what}: "${is}" instead of "${should}"`)
}
