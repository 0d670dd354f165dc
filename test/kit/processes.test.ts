import { spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { isAlive, kill, killMarked, markedProcesses } from "./processes.ts"
import { makeRepo } from "./repo.ts"
import { checkout } from "./sandbox.ts"

/** A program that starts a sandbox with a host in it, says so, and is then in the middle of its test for ever. */
const PROGRAM = `
import { makeSandbox } from ${JSON.stringify(join(checkout, "test/kit/sandbox.ts"))}
import { startServer } from ${JSON.stringify(join(checkout, "test/kit/host.ts"))}
const sandbox = await makeSandbox({ plugin: false })
const server = await startServer(sandbox)
// Such as a command of an agent: in a group of its own.
const stray = Bun.spawn(["setsid", "sleep", "600"], { env: sandbox.env })
console.log(JSON.stringify({ root: sandbox.root, pid: server.pid, stray: stray.pid }))
await new Promise(() => {})
`

const NOT_HERE = "a process's environment can be read on Linux only"

test.for(["SIGKILL", "SIGINT"] as const)(
  "a test run ended by %s leaves no process and no folder",
  async (signal, { skip }) => {
    skip(process.platform !== "linux", NOT_HERE)
    await using folder = await makeRepo({ files: { "run.ts": PROGRAM } })
    const runner = spawn(process.execPath, [join(folder.dir, "run.ts")], {
      cwd: folder.dir,
      stdio: ["ignore", "pipe", "inherit"],
    })
    onTestFinished(() => void kill(runner.pid!))
    const [line] = (await once(runner.stdout, "data")) as [Buffer]
    const { root, pid, stray } = JSON.parse(line.toString("utf8"))
    onTestFinished(() => void killMarked(root))
    expect(isAlive(pid)).toBe(true)
    expect(markedProcesses(root).map((one) => one.pid)).toEqual(expect.arrayContaining([pid, stray]))

    runner.kill(signal)
    await once(runner, "exit")
    await expect.poll(() => existsSync(root), { timeout: 60_000 }).toBe(false)
    await expect.poll(() => markedProcesses(root), { timeout: 60_000 }).toEqual([])
  },
)

test("marked processes are found by the exact mark only", async ({ skip }) => {
  skip(process.platform !== "linux", NOT_HERE)
  await using folder = await makeRepo()
  const env = { ...process.env, KAGAN_TEST_SANDBOX: folder.dir }
  const child = spawn("sleep", ["600"], { env, stdio: "ignore" })
  onTestFinished(() => void kill(child.pid!))
  expect(markedProcesses(folder.dir.slice(0, -1))).toEqual([])
  await expect.poll(() => markedProcesses(folder.dir), { timeout: 60_000 }).toHaveLength(1)
  expect(killMarked(folder.dir)).toBe(1)
  await once(child, "exit")
})
