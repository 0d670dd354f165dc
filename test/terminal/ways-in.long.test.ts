import { execFile, spawnSync } from "node:child_process"
import { cp, mkdir, readdir, rename } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { worktreeWith } from "../host/parts.ts"
import { startServer } from "../kit/host.ts"
import { text, toolCalls, startModel, type Model, type Script } from "../kit/model.ts"
import { makeSandbox, opencodeBinary, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** What the table "Other ways in" of the troubleshooting says, one after the other on the same repository. */
const script: Script = (request) => {
  if (request.kind === "title") return text("A session")
  if (request.kind !== "plan") return text("Done.")
  if (request.toolResults.length > 0) return text("It stands in Backlog.")
  const tasks = ["Greet the reader", "Greet by name", "Say goodbye"].map((title) => ({ title, baseBranch: "main" }))
  return toolCalls({ name: "kagan_create_tasks", args: { tasks } })
}

let model: Model
let box: Sandbox
let tui: Terminal | undefined

oneStory()
beforeAll(async () => {
  model = await startModel(script)
  box = await makeSandbox({ model })
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

/** The words of a notice or a sentence, however it is wrapped. */
const words = (screen: string) => screen.replace(/[│╭╮╰╯─]/g, " ").replace(/\s+/g, " ")

async function withBoard(options: Parameters<typeof startTui>[1], act: (tui: Terminal) => Promise<void>) {
  const own = await startTui(box, { cols: 120, rows: 32, ...options })
  tui = own
  await own.waitFor("ctrl+p")
  await own.slash("kagan")
  await act(own)
  await own.stop()
  tui = undefined
}

function opencode(cwd: string, ...args: readonly string[]) {
  return new Promise<string>((resolve, reject) => {
    execFile(opencodeBinary, args, { cwd, env: box.env, timeout: 200_000 }, (error, out, err) =>
      error ? reject(new Error(`${error.message}\n${out}${err}`)) : resolve(out + err),
    ).stdin?.end()
  })
}

test("opencode run --command kagan-task plans and creates, without a board", async () => {
  const said = await opencode(box.repo.dir, "run", "--command", "kagan-task", "Greet the reader")
  expect(said).toContain("It stands in Backlog.")
  expect(await box.repo.git("branch", "--list", "kagan/*")).toContain("kagan/1-greet-the-reader")
})

/** Both halves have met: what the board is asked to do is done. */
const inForce = (screen: string) => screen.includes("0/2") && !/connecting|look only|waiting for Kagan/.test(screen)

/** The last card is archived: a change that is seen at once. */
async function archives(seen: Terminal, number: number) {
  await seen.waitFor(cardIn(number, "backlog"), 200_000)
  await seen.waitFor(inForce, 200_000)
  for (let below = 1; below < number; below++) await seen.press("j")
  await seen.waitFor((screen) => board(screen).selected?.number === number)
  await seen.press("A")
  await seen.waitGone(cardIn(number, "backlog"))
}

test("a subfolder: the repository's board, and it changes", async () => {
  const sub = join(box.repo.dir, "deep/er")
  await mkdir(sub, { recursive: true })
  await withBoard({ cwd: sub }, (seen) => archives(seen, 3))
})

test("a linked worktree of the person's own: the repository's board, and it changes", async () => {
  await withBoard({ cwd: await worktreeWith(box, "own", {}) }, (seen) => archives(seen, 2))
})

test("opencode serve with opencode attach: shows and opens; a change is refused with the reason", async () => {
  const server = await startServer(box)
  await withBoard({ args: ["attach", server.url] }, async (seen) => {
    await seen.waitFor(cardIn(1, "backlog"))
    await seen.waitFor("look only")
    await seen.press("m")
    await seen.waitFor((screen) => words(screen).includes("#1 Kagan shows, but cannot act in an attached window"))
    await seen.press("esc", "o")
    await seen.waitFor("ctrl+p")
  })
  await server.stop()
})

test("a folder without git, and a repository without a commit: one clear line, and nothing can be made", async () => {
  const plain = join(box.root, "plain")
  await mkdir(plain)
  const refused = async (seen: Terminal, why: string) => {
    await seen.waitFor((screen) => words(screen).includes(why), 200_000)
    await seen.press("n")
    await seen.waitFor((screen) => screen.includes("⚠") && words(screen).split(why).length > 2)
    expect(seen.screen()).not.toContain("New task")
  }
  await withBoard({ cwd: plain }, (seen) => refused(seen, "is not in a git"))
  await box.repo.git("init", "-q", plain)
  await withBoard({ cwd: plain }, (seen) => refused(seen, "this repository has no commit yet"))
})

test("a repository that was moved: its cards are there, and the doctor has git write the links anew", async () => {
  const there = join(box.root, "moved")
  await rename(box.repo.dir, there)
  await withBoard({ cwd: there }, async (seen) => {
    await seen.waitFor(cardIn(1, "backlog"), 200_000)
    await seen.waitFor(inForce, 200_000)
    await seen.press("q")
    await seen.waitFor("ctrl+p")
    await seen.slash("kagan-doctor")
    await seen.waitFor("Kagan doctor:")
    const lost = (screen: string) => screen.split("✗ git has lost its link").length - 1
    await seen.waitFor((screen) => lost(screen) === 3 && /▌✗ git has lost/.test(screen))
    await seen.press("enter")
    // Git mends the links of all worktrees when it is asked for one.
    await seen.waitFor((screen) => lost(screen) === 0 && screen.includes("Kagan doctor: linked"))
  })
  const trees = join(box.home, ".local/share/kagan/worktrees")
  const [folder] = await readdir(trees)
  const states = ["1-greet-the-reader", "2-greet-by-name", "3-say-goodbye"].map(
    (name) => spawnSync("git", ["status", "--short"], { cwd: join(trees, folder!, name), env: box.env }).status,
  )
  expect(states).toEqual([0, 0, 0])
})

test("a repository that was copied: its board names the original, whose cards they are", async () => {
  const copy = join(box.root, "copy")
  await cp(join(box.root, "moved"), copy, { recursive: true })
  await withBoard({ cwd: copy, cols: 200 }, async (seen) => {
    await seen.waitFor((screen) => words(screen).includes(`a copy of ${join(box.root, "moved/.git")}`), 200_000)
    expect(board(seen.screen()).card(1)).toBeUndefined()
  })
})
