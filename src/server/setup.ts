import { stat } from "node:fs/promises"
import { err, ok, type Result } from "../core/result.ts"
import type { Task, TaskMeta } from "../core/task.ts"
import { commandEndText, runCommand } from "./command.ts"
import { markShell } from "./left-commands.ts"
import type { Project } from "./project.ts"

/** Runs the configured setup commands in the worktree, one after the other; the first failure ends it. */
export async function runSetup(
  project: Project,
  task: Task,
  signal?: AbortSignal,
): Promise<Result<void, { readonly text: string }>> {
  const { tasks, clock } = project
  const { meta } = task
  const { setup, setupTimeout } = project.options().worktree
  const claim = { ...tasks.self, at: clock.now() }
  /** Only as long as it is ours: another window may have taken it over, or the person asked for it anew. */
  const note = async (state: NonNullable<TaskMeta["setup"]>["state"], text?: string) => {
    const noted = await tasks.update(meta.sessionID, (now) => {
      const held = state === "running" ? meta.setup?.claim : claim
      if (now.setup?.claim?.pid !== held?.pid || now.setup?.claim?.at !== held?.at) return undefined
      if (state === "running" && now.setup?.state !== meta.setup?.state) return undefined
      const running = state === "running" ? { claim } : {}
      return { ...now, setup: { state, ...(text ? { text } : {}), ...running, at: clock.now() } }
    })
    return noted.ok ? ok(noted.value.changed) : err({ text: noted.error.text })
  }
  const begun = await note("running")
  if (!begun.ok) return begun
  if (!begun.value) return ok()
  const there = await stat(meta.worktree).catch(() => undefined)
  if (!there?.isDirectory()) {
    const noted = await note("failed", `the worktree folder ${meta.worktree} is missing`)
    return noted.ok ? ok() : noted
  }
  for (const command of setup.filter((one) => one.trim() !== "")) {
    const env: Record<string, string> = {}
    markShell(env)
    const limits = { timeoutMs: setupTimeout * 1000, ...(signal ? { signal } : {}) }
    const result = await runCommand({ command, cwd: meta.worktree, env, clock, ...limits })
    if (result.end.kind === "exited" && result.end.code === 0) continue
    const lastLine = result.tail.trim().split("\n").at(-1) ?? ""
    const text = `${command}: ${commandEndText(result.end)}${lastLine ? ` · ${lastLine}` : ""}`.slice(0, 500)
    await project.remember(meta.sessionID, {
      kind: "setup",
      text: `setup failed: ${text}`,
      output: result.tail.slice(-4_000),
    })
    const noted = await note("failed", text)
    return noted.ok ? ok() : noted
  }
  await project.remember(meta.sessionID, { kind: "setup", text: "setup done" })
  const noted = await note("done")
  return noted.ok ? ok() : noted
}
