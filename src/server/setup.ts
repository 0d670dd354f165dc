import { stat } from "node:fs/promises"
import { err, ok, type Result } from "../core/result.ts"
import type { Task, TaskMeta } from "../core/task.ts"
import { commandEndText, runCommand } from "./command.ts"
import type { Project } from "./project.ts"

/** Runs the configured setup commands in the worktree, one after the other; the first failure ends it. */
export async function runSetup(project: Project, task: Task): Promise<Result<void, { readonly text: string }>> {
  const { tasks, clock } = project
  const { meta } = task
  const { setup, setupTimeout } = project.options().worktree
  const note = (state: NonNullable<TaskMeta["setup"]>["state"], text?: string) =>
    tasks.update(meta.sessionID, (now) => ({ ...now, setup: { state, ...(text ? { text } : {}), at: clock.now() } }))
  const begun = await note("running")
  if (!begun.ok) return err({ text: begun.error.text })
  const there = await stat(meta.worktree).catch(() => undefined)
  if (!there?.isDirectory()) {
    const noted = await note("failed", `the worktree folder ${meta.worktree} is missing`)
    return noted.ok ? ok() : err({ text: noted.error.text })
  }
  for (const command of setup.filter((one) => one.trim() !== "")) {
    const result = await runCommand({ command, cwd: meta.worktree, timeoutMs: setupTimeout * 1000, clock })
    if (result.end.kind === "exited" && result.end.code === 0) continue
    const lastLine = result.tail.trim().split("\n").at(-1) ?? ""
    const text = `${command}: ${commandEndText(result.end)}${lastLine ? ` · ${lastLine}` : ""}`.slice(0, 500)
    await project.remember(meta.sessionID, {
      kind: "setup",
      text: `setup failed: ${text}`,
      output: result.tail.slice(-4_000),
    })
    const noted = await note("failed", text)
    return noted.ok ? ok() : err({ text: noted.error.text })
  }
  await project.remember(meta.sessionID, { kind: "setup", text: "setup done" })
  const noted = await note("done")
  return noted.ok ? ok() : err({ text: noted.error.text })
}
