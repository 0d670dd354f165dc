#!/usr/bin/env node
import { runCommandLine } from "./server/command-line.ts"

/** The entry of the command line: `opencode-kagan doctor`. Wiring only. */
const { code, text } = await runCommandLine(process.argv.slice(2), {
  directory: process.cwd(),
  env: process.env,
  url: import.meta.url,
})
process.stdout.write(`${text}\n`)
process.exitCode = code
