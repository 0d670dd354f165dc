import { opencodeBinary } from "../../test/kit/sandbox.ts"
import { SAMPLE_TASK } from "./jobs.ts"
import type { Stage } from "./stage.ts"

/** Of the person's own environment: what says which terminal this is. */
const TERMINAL_VARIABLES = ["TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "COLORFGBG", "LANG"]

/** OpenCode in the person's own terminal; answers its exit code when they quit. */
export async function playInteractive(stage: Stage): Promise<number> {
  console.error(`OpenCode starts with the board of a sample repository. Press n and write a task, for example
  ${SAMPLE_TASK.title}
The model is scripted: it answers at once and costs nothing. Ctrl-C ends the demo and removes all of it.`)
  const env = { ...stage.sandbox.env }
  for (const name of TERMINAL_VARIABLES) {
    const value = process.env[name]
    if (value !== undefined) env[name] = value
  }
  const child = Bun.spawn([opencodeBinary], {
    cwd: stage.sandbox.repo.dir,
    env,
    stdin: "inherit",
    stdout: "inherit",
    stderr: "inherit",
  })
  return child.exited
}
