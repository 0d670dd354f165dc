// npm test: everything that is checked, in stages. Plain Node; installs and builds what is missing.
//   node scripts/test.mjs [static|unit|host|terminal|long] [test files…]
// The last line is "N passed, N failed"; a check that runs no tests (format, types, …) counts as one.
import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { BUN, ensureTools, ROOT } from "./tools.mjs"

/** A stage that hangs is ended: it has failed. */
const STAGE_LIMIT_MINUTES = 14
const LONG_LIMIT_MINUTES = 120

const bin = (name) => join(ROOT, "node_modules/.bin", name)

const STATIC = [
  { name: "format", command: [bin("oxfmt"), "--check", "."] },
  { name: "lint", command: [bin("oxlint"), "--deny-warnings"] },
  { name: "types", command: [bin("tsc"), "--noEmit"] },
  { name: "dead code", command: [bin("knip"), "--no-progress"] },
]
const BUILD = { command: [process.execPath, join(ROOT, "scripts/build.mjs")] }
const TESTS = {
  unit: { name: "unit", project: "unit" },
  host: { name: "host", project: "host" },
  terminal: { name: "terminal", project: "terminal" },
  long: { name: "long", long: true },
}

const [which = "all", ...files] = process.argv.slice(2)
const tests = which === "all" ? [TESTS.unit, TESTS.host, TESTS.terminal] : which === "static" ? [] : [TESTS[which]]
if (tests.includes(undefined)) {
  console.error(`There is no stage "${which}"; there are: static, ${Object.keys(TESTS).join(", ")}`)
  process.exit(2)
}

/** Groups of the stage that runs now, to end with this process. */
const running = new Set()
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.once(signal, () => {
    for (const pid of running) endGroup(pid, "SIGTERM")
    console.log(`\nstopped by ${signal}`)
    process.exit(1)
  })
}

const scratch = mkdtempSync(join(tmpdir(), "kagan-test-"))
process.on("exit", () => rmSync(scratch, { recursive: true, force: true }))

const results = []
try {
  await stage("install", () => ensureTools())
  if (which === "all" || which === "static") for (const check of STATIC) await stage(check.name, () => runCheck(check))
  if (tests.some((group) => group !== TESTS.unit)) await stage("build", () => runCheck(BUILD))
  for (const group of tests) await stage(group.name, () => runTests(group))
} catch (error) {
  console.error(error)
  results.push({ name: "run", failed: 1, passed: 0, skipped: [], seconds: 0 })
}
report()

/** Runs one stage, timed. A stage that throws has failed; without tools none of the others can run. */
async function stage(name, work) {
  console.log(`\n── ${name}`)
  const start = performance.now()
  let outcome
  try {
    outcome = await work()
  } catch (error) {
    if (name === "install") throw error
    console.error(error)
    outcome = { failed: 1 }
  }
  const seconds = (performance.now() - start) / 1000
  results.push({ name, passed: 0, failed: 0, skipped: [], ...outcome, seconds })
}

async function runCheck({ command }) {
  const code = await run(command, {})
  return code === 0 ? { passed: 1 } : { failed: 1 }
}

async function runTests(group) {
  const summaryFile = join(scratch, `${group.name}.json`)
  const vitest = join(ROOT, "node_modules/vitest/vitest.mjs")
  const reporters = ["--reporter=default", "--reporter=./scripts/summary-reporter.mjs"]
  const project = group.project ? ["--project", group.project] : []
  const command = [BUN, "--bun", vitest, "run", ...reporters, "--passWithNoTests", ...project, ...files]
  const code = await run(command, { KAGAN_TEST_SUMMARY: summaryFile, ...(group.long ? { KAGAN_TEST_LONG: "1" } : {}) })
  const summary = readSummary(summaryFile)
  if (!summary) return { failed: 1, broken: [`${group.name}: the test runner ended (${code}) without a summary`] }
  const { passed, skipped, failures, broken } = summary
  const failed = summary.failed + broken.length
  // The runner knows of a failure that no test and no file reported.
  if (code !== 0 && failed === 0) return { passed, skipped, failed: 1, broken: [`the test runner ended with ${code}`] }
  return { passed, failed, skipped, failures, broken }
}

function readSummary(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

/** Runs a command in a process group of its own and answers its exit code. */
function run([program, ...args], env) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: ROOT,
      detached: true,
      stdio: ["ignore", "inherit", "inherit"],
      env: { ...process.env, ...env },
    })
    child.once("error", reject)
    running.add(child.pid)
    const minutes = which === "long" ? LONG_LIMIT_MINUTES : STAGE_LIMIT_MINUTES
    const limit = setTimeout(() => {
      console.error(`ended: it ran for more than ${minutes} minutes`)
      endGroup(child.pid, "SIGKILL")
    }, minutes * 60_000)
    child.once("exit", (code, signal) => {
      clearTimeout(limit)
      running.delete(child.pid)
      resolve(code ?? signal)
    })
  })
}

function endGroup(pid, signal) {
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if (error.code !== "ESRCH") throw error
  }
}

function sum(key) {
  return results.reduce((total, result) => total + result[key], 0)
}

function report() {
  console.log("\n── summary")
  for (const { name, seconds, passed, failed } of results) {
    const counts = passed + failed > 0 ? `${passed} passed, ${failed} failed` : ""
    console.log(`${name.padEnd(12)} ${seconds.toFixed(1).padStart(7)} s   ${counts}`.trimEnd())
  }
  console.log(`${"total".padEnd(12)} ${sum("seconds").toFixed(1).padStart(7)} s`)
  // Named here once more: of a long output, often the tail alone is kept.
  for (const { failures = [] } of results) for (const what of failures) console.log(`failed: ${what}`)
  for (const { broken = [] } of results) for (const what of broken) console.log(`broken: ${what}`)
  for (const { skipped } of results) {
    for (const { name, reason } of skipped) console.log(`skipped: ${name} (${reason || "no reason given"})`)
  }
  const failed = sum("failed")
  process.exitCode = failed > 0 ? 1 : 0
  console.log(`${sum("passed")} passed, ${failed} failed`)
}
