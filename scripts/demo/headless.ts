import { STATUS_TITLE, STATUSES, type Status } from "../../src/core/task.ts"
import { startTui, type Seen, type Terminal } from "../../test/kit/terminal.ts"
import { columnOnScreen } from "./columns.ts"
import { SAMPLE_TASK } from "./sample.ts"
import { demoScript } from "./script.ts"
import { countRequests, type Stage } from "./stage.ts"

const CARD = "#1 "

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
  const arrives = async (status: Status, state: Seen, title: string) => {
    const shows = (screen: string) =>
      columnOnScreen(screen, CARD) === status &&
      (typeof state === "function"
        ? state(screen)
        : typeof state === "string"
          ? screen.includes(state)
          : state.test(screen))
    const screen = await tui.waitFor(
      Object.assign(shows, { toString: () => `${CARD}in ${STATUS_TITLE[status]}: ${state}` }),
    )
    seen.add(status)
    station(title, screen)
  }

  station("The board of a repository without cards", await tui.waitFor("Backlog"))
  await tui.press("n")
  await tui.waitFor("New task")
  await tui.type(SAMPLE_TASK.title)
  await tui.press("tab")
  await tui.type(SAMPLE_TASK.description)
  station("n: a task is written", tui.screen())
  await tui.press("enter")
  await arrives("backlog", /1 answer needed/, "Backlog: intake has read the code and asks")

  await tui.press("i")
  station("i: what the agent would have assumed", await tui.waitFor("What does a guest hear who gives no name?"))
  await tui.press("enter")
  await arrives("backlog", /ready/, "Backlog: agreed")

  await tui.press("m")
  await arrives("in_progress", /working|starting/, "m: In Progress, the agent has its own worktree")
  letWork()
  await arrives("review", /2 findings · 0 ruled/, "Review: the reviewer has read the diff")

  await tui.press("v")
  station("v: the review", await tui.waitFor("A guest with no name is welcomed as undefined"))
}

async function checkMerge(stage: Stage): Promise<string> {
  const git = async (...args: string[]) => (await stage.sandbox.repo.git(...args)).trim()
  const merged = await git("rev-parse", "main")
  const [first] = (await git("rev-list", "--max-parents=0", "main")).split("\n")
  expectSame("the merge's parent", await git("rev-parse", "main^"), first!)
  expectSame("the merged tree", await git("rev-parse", "main^{tree}"), await git("rev-parse", "refs/kagan/1/1^{tree}"))
  expectSame("the files that changed", await git("diff", "--name-only", first!, "main"), "src/greet.js")
  expectSame("the checkout's state", await git("status", "--porcelain"), "")
  return merged
}

function expectSame(what: string, is: string, should: string): void {
  if (is !== should) throw new Error(`${what}: "${is}" instead of "${should}"`)
}
