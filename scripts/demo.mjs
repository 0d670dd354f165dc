// npm run demo [-- --headless]: a sample repository, a scripted model, and the real OpenCode with the board open.
// Plain Node; installs and builds what is missing, then hands over to scripts/demo/main.ts, which runs under bun.
import { spawn } from "node:child_process"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { BUN, ensureTools, ROOT } from "./tools.mjs"

const { values } = parseArgs({ options: { headless: { type: "boolean" } } })
const headless = values.headless === true || !process.stdout.isTTY

try {
  ensureTools()
  // Only now: it needs what was just installed.
  const { build } = await import("./build.mjs")
  await build()
  process.exitCode = await handOver()
} catch (error) {
  console.error(`The demo cannot start. ${error.message}`)
  process.exitCode = 1
}

/** Runs the demo proper to its end. A signal to this process is passed on, and then waited for what it has to tidy up. */
function handOver() {
  return new Promise((done, failed) => {
    // In a folder without a bunfig: the one in the root has bun load a renderer that the demo does not need.
    const child = spawn(BUN, ["main.ts", headless ? "--headless" : "--interactive"], {
      cwd: join(ROOT, "scripts/demo"),
      stdio: "inherit",
    })
    // A terminal sends Ctrl-C to the child as well; this process only has to outlive it.
    process.on("SIGINT", () => {})
    for (const signal of ["SIGTERM", "SIGHUP"]) process.on(signal, () => child.kill(signal))
    child.once("error", failed)
    child.once("exit", (code) => done(code ?? 1))
  })
}
