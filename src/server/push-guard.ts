import { blockEnv } from "../core/push/block.ts"
import { judgeCommand, refusalText } from "../core/push.ts"
import type { TaskMeta } from "../core/task.ts"
import { blockPushes, readPushSettings } from "../shared/git/push-block.ts"
import type { Repository } from "../shared/git/repository.ts"
import type { Host } from "../shared/host.ts"
import type { Family } from "./family.ts"

/*
 * No supervised session pushes: its command lines are read before they run, its shells carry git's own block, and so
 * does its worktree. None of the three asks another one. Sessions that belong to no task are not touched.
 */

export interface PushGuard {
  /** Why a tool call is refused, as a text for the agent; `undefined` when it may run. */
  refuse(
    call: { readonly tool: string; readonly sessionID: string; readonly directory: string },
    args: unknown,
  ): Promise<string | undefined>
  /** Adds the block to the environment of a shell of a supervised session. */
  shell(shell: { readonly cwd: string; readonly sessionID?: string }, env: Record<string, string>): Promise<void>
  /** The block in the worktree, looked at again at each start of work. */
  prepare(meta: Pick<TaskMeta, "worktree" | "taskNumber">): Promise<void>
}

export type PushGuardParts = {
  readonly repository: Pick<Repository, "git" | "root" | "commonDir">
  readonly host: Pick<Host, "log">
  readonly enabled: () => boolean
  readonly family: Pick<Family, "learn">
  /** The task that a session belongs to, at any depth. */
  readonly taskOf: (sessionID: string) => string | undefined
}

export function makePushGuard(parts: PushGuardParts): PushGuard {
  const { repository, host } = parts
  const { git } = repository

  async function isSupervised(sessionID: string | undefined): Promise<boolean> {
    if (!parts.enabled() || sessionID === undefined) return false
    // A subagent may use a tool before its creation has been heard of.
    await parts.family.learn([sessionID])
    return parts.taskOf(sessionID) !== undefined
  }

  async function settingsIn(folder: string) {
    const read = await readPushSettings(git, folder)
    if (read.ok) return read.value
    // The folder may be no repository, or gone: the one of the task still says which remotes there are.
    const main = await readPushSettings(git, repository.root)
    if (!main.ok) host.log("warn", `push guard: ${main.error.text}`)
    return main.ok ? main.value : undefined
  }

  return {
    async refuse(call, args) {
      const line = call.tool === "bash" ? (args as { command?: unknown } | undefined)?.command : undefined
      if (typeof line !== "string" || !(await isSupervised(call.sessionID))) return undefined
      const settings = await settingsIn(call.directory)
      const verdict = judgeCommand(line, { aliases: settings?.aliases ?? {}, folder: call.directory })
      return verdict.verdict === "deny" ? refusalText(verdict.reason) : undefined
    },

    async shell(shell, env) {
      if (!(await isSupervised(shell.sessionID))) return
      const settings = await settingsIn(shell.cwd)
      if (!settings) return
      Object.assign(env, blockEnv(settings.block.settings, { ...process.env, ...env }))
    },

    async prepare(meta) {
      if (!parts.enabled()) return
      const blocked = await blockPushes(repository, meta.worktree)
      if (!blocked.ok)
        host.log("warn", `#${meta.taskNumber}: pushes are not blocked in its worktree: ${blocked.error.text}`)
      else if (blocked.value.open.length > 0) {
        host.log(
          "info",
          `#${meta.taskNumber}: git alone does not block ${blocked.value.open.join(", ")}: fetch and push share an address`,
        )
      }
    },
  }
}
