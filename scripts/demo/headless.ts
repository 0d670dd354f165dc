import { STATUS_TITLE, STATUSES, type Status } from "../../src/core/task.ts"
import { startTui, type Seen, type Terminal } from "../../test/kit/terminal.ts"
import { columnOnScreen } from "./columns.ts"
import { SAMPLE_TASK } from "./sample.ts"
import { demoScript } from "./script.ts"
import { countRequests, type Stage } from "./stage.ts"

const CARD = "#1 "
/** A busy machine takes its time; a demo that fails for that shows nothing. */
const PATIENCE = 180_000

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

const now = Promise.resolve()

function station(title: string, screen: string): void {
  console.log(`──── ${title}\n${screen.trimEnd()}\n`)
}

async function play(tui: Terminal, seen: Set<Status>, letWork: () => void): Promise<void> {
  const sees = (what: Seen) => tui.waitFor(what, PATIENCE)
  const gone = (what: Seen) => tui.waitGone(what, PATIENCE)
  const arrives = async (status: Status, state: Seen, title: string) => {
    const shows = (screen: string) =>
      columnOnScreen(screen, CARD) === status &&
      (typeof state === "function"
        ? state(screen)
        : typeof state === "string"
          ? screen.includes(state)
          : state.test(screen))
    const screen = await sees(Object.assign(shows, { toString: () => `${CARD}in ${STATUS_TITLE[status]}: ${state}` }))
    seen.add(status)
    station(title, screen)
  }

  await sees(/makes the first task/)
  station("The board of a repository without cards", await gone(/waiting for|look only/))
  await tui.press("n")
  await sees("New task")
  await tui.type(SAMPLE_TASK.title)
  await tui.press("tab")
  await tui.type(SAMPLE_TASK.description)
  station("n: a task is written", tui.screen())
  await tui.press("enter")
  await arrives("backlog", /1 answer needed/, "Backlog: intake has read the code and asks")

  await tui.press("i")
  station("i: what the agent would have assumed", await sees("What does a guest hear who gives no name?"))
  await tui.press("enter")
  await sees("Is the name translated or shortened?")
  await tui.press("enter")
  await gone("Enter approve")
  await arrives("backlog", /✓ ready/, "Backlog: agreed")

  await tui.press("m")
  await arrives("in_progress", /● (working|starting)/, "m: In Progress, the agent works in a worktree of its own")
  letWork()
  await arrives("review", /2 findings · 0 ruled/, "Review: a reviewer has read the diff")

  await tui.press("v")
  await sees("A guest with no name is welcomed as undefined")
  station("v: the diff, with the findings on their lines", await sees(/Welcome to the teahouse, \$\{name\}/))
  await tui.press("f")
  await sees("2 findings, 1 ruled")
  await tui.press("n", "g")
  station("f, g: one is to be fixed, one is ignored", await sees("2 findings, 2 ruled"))
  await tui.press("s")
  station("s: the finding goes back to the agent", await sees("The agent gets:"))
  await tui.press("enter")
  await gone("The agent gets:")
  await tui.press("q")
  await arrives("review", /no findings: approve/, "Review again: the second try is clean")

  await tui.press("a")
  station("a: exactly this tree goes into that branch", await sees("Enter merges"))
  await tui.press("enter")
  await arrives("done", /✓ merged [0-9a-f]{7}/, "Done: merged")
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
