import { spawn } from "node:child_process"
import { mkdtemp, realpath, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { TESTED_HOSTS } from "../../src/core/host-version.ts"
import { checkout } from "../kit/sandbox.ts"

/** The oldest OpenCode that is supported, from the registry, in a folder of its own. */
let folder: string
let program: string | undefined
let why = ""

beforeAll(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), "kagan-oldest-")))
  const wanted = `opencode-ai@${TESTED_HOSTS.oldest}`
  const args = ["install", "--prefix", folder, "--no-audit", "--no-fund", "--ignore-scripts", "--no-save", wanted]
  const installed = await run("npm", args)
  if (installed.code !== 0) return void (why = `${wanted} cannot be had: ${installed.output.slice(-200)}`)
  const platform = `opencode-${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`
  program = join(folder, "node_modules", platform, "bin", process.platform === "win32" ? "opencode.exe" : "opencode")
}, 600_000)
afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))

function run(command: string, args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  return new Promise<{ code: number | null; output: string }>((resolve, reject) => {
    const child = spawn(command, args, { cwd: checkout, env, stdio: ["ignore", "pipe", "pipe"] })
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk))
    child.once("error", reject)
    child.once("exit", (code) => resolve({ code, output }))
  })
}

test.each([
  ["everything that Kagan relies on holds", ["test/host/contract"]],
  ["a card goes through its whole life", ["test/terminal/slice.test.ts"]],
])("on the oldest host %s", { timeout: 3_600_000 }, async (_what, files) => {
  expect(program, why).toBeDefined()
  expect((await run(program!, ["--version"])).output).toContain(TESTED_HOSTS.oldest)
  const env = { ...process.env, KAGAN_TEST_HOST: program! }
  delete (env as Record<string, string | undefined>).KAGAN_TEST_LONG
  const vitest = join(checkout, "node_modules/vitest/vitest.mjs")
  const { code, output } = await run(process.execPath, ["--bun", vitest, "run", ...files], env)
  expect(code, output.slice(-6_000)).toBe(0)
})
