import { spawn } from "node:child_process"
import { mkdtemp, readdir, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { guardGroup, markedProcesses, releaseGroup } from "../kit/processes.ts"
import { checkout } from "../kit/sandbox.ts"
import { startTerminal } from "../kit/terminal.ts"

/** The demo's temporary folders stand in here, so that what it leaves behind can be seen. */
let scratch: string

beforeEach(async () => {
  scratch = await realpath(await mkdtemp(join(tmpdir(), "kagan-demo-")))
})
afterEach(() => rm(scratch, { recursive: true, force: true }))

const environment = () => ({ ...process.env, TMPDIR: scratch }) as Record<string, string>
const COMMAND = ["node", join(checkout, "scripts/demo.mjs")]

/** The demo without a terminal, as a pipe sees it. */
function startPiped() {
  const child = spawn(COMMAND[0]!, COMMAND.slice(1), {
    cwd: checkout,
    env: environment(),
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  guardGroup(child.pid!)
  let out = ""
  let err = ""
  const heard = new Set<() => void>()
  const hear = (what: (chunk: string) => void) => (chunk: Buffer) => {
    what(chunk.toString("utf8"))
    for (const look of heard) look()
  }
  child.stdout.on(
    "data",
    hear((chunk) => (out += chunk)),
  )
  child.stderr.on(
    "data",
    hear((chunk) => (err += chunk)),
  )
  const ended = new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    child.once("close", (code) => {
      releaseGroup(child.pid!)
      resolve({ code, out, err })
    })
  })
  return {
    pid: child.pid!,
    ended,
    /** Resolves when standard output has the text, or when the demo ended without. */
    says: (text: string) =>
      Promise.race([
        ended,
        new Promise<void>((resolve) => {
          const look = () => {
            if (!out.includes(text)) return
            heard.delete(look)
            resolve()
          }
          heard.add(look)
          look()
        }),
      ]),
  }
}

/** The sandbox of the demo that runs now; its processes carry the path in their environment. */
async function sandboxFolder(): Promise<string> {
  const names = await readdir(scratch)
  expect(names).toEqual([expect.stringMatching(/^kagan-box-/)])
  return join(scratch, names[0]!)
}

async function expectNothingLeft(box: string) {
  expect(await readdir(scratch)).toEqual([])
  expect(markedProcesses(box)).toEqual([])
}

test(
  "where nobody watches, a card goes through its life by itself, and the last line says how it went",
  { timeout: 600_000 },
  async () => {
    const demo = startPiped()
    await demo.says("without cards")
    const box = await sandboxFolder()
    expect(markedProcesses(box)).not.toEqual([])
    const { code, out, err } = await demo.ended
    expect(code, `${out.slice(-6_000)}\n${err}`).toBe(0)
    const result = JSON.parse(out.trimEnd().split("\n").at(-1)!)
    expect(result).toEqual({
      columns: ["backlog", "in_progress", "review", "done"],
      merged: expect.stringMatching(/^[0-9a-f]{40}$/),
      requests: { intake: 2, work: 6, validator: 4, other: 0 },
      seconds: expect.any(Number),
    })
    const stations = [
      "Backlog: agreed",
      "m: In Progress",
      "Review: ",
      "s: the finding",
      "Review again: ",
      "Done: merged",
    ]
    for (const station of stations) expect(out).toContain(`──── ${station}`)
    await expectNothingLeft(box)
  },
)

test("in a terminal it opens the board, and Ctrl-C ends it with nothing left", async () => {
  const terminal = await startTerminal(COMMAND, { cols: 100, rows: 30, cwd: checkout, env: environment() })
  await terminal.waitFor("makes the first task", 120_000)
  const box = await sandboxFolder()
  await terminal.press("ctrl+c")
  expect(await terminal.exited).toBe(0)
  await terminal.stop()
  await expectNothingLeft(box)
})

test.each(["SIGINT", "SIGTERM"] as const)("interrupted by %s half-way it leaves nothing", async (signal) => {
  const demo = startPiped()
  await demo.says("without cards")
  const box = await sandboxFolder()
  // SIGINT as a terminal sends it: to the whole group.
  process.kill(signal === "SIGINT" ? -demo.pid : demo.pid, signal)
  const { code, out } = await demo.ended
  expect(code).toBe(signal === "SIGINT" ? 130 : 143)
  expect(out).not.toContain('"columns"')
  await expectNothingLeft(box)
})
