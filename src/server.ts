import type { Plugin, PluginModule } from "@opencode-ai/plugin"
import { processChannel } from "./server/channel.ts"
import { applyConfig } from "./server/config.ts"
import { tellWhenNoBoard } from "./server/entry.ts"
import { enterInstance, keepOutOfShells, leaveInstance } from "./server/instances.ts"
import { markShell } from "./server/left-commands.ts"
import { refusedSearch, withoutSecrets } from "./server/permissions.ts"
import { openRunning, repositoryKey, type OpenFailure, type Running } from "./server/running.ts"
import { kaganTools, type HelperReports } from "./server/tools.ts"
import { DEFAULT_OPTIONS } from "./core/options.ts"
import { err, type Result } from "./core/result.ts"
import { systemClock } from "./shared/clock.ts"
import { openHost } from "./shared/host.ts"

declare const __KAGAN_VERSION__: string

/*
 * The entry of the server half. The host calls it once per directory, all in one thread; the first opens what all of
 * them share, and each only hands on what its own directory sees.
 */

type Shared = {
  /** By the repository's shared git folder once known, by directory until then. */
  readonly opened: Map<string, Promise<Result<Running, OpenFailure>>>
  readonly users: Map<string, number>
}

const KEY = Symbol.for("opencode-kagan/running/1")

function shared(): Shared {
  const holder = globalThis as { [KEY]?: Shared }
  return (holder[KEY] ??= { opened: new Map(), users: new Map() })
}

const server: Plugin = async (input, options) => {
  const boot = input.client
  const entered = enterInstance(input.directory, boot)
  if (entered !== "serve") return {}
  const doors = openHost(input, systemClock)
  const { host } = doors
  const channel = processChannel({
    greet: (hello) => greet(hello.directory),
    report: (text) => host.log("error", text),
  })
  let running: Running | undefined
  let ended = false
  const opening = open()

  /** One supervisor per repository: whoever comes second takes the one that is there. */
  async function open(): Promise<Result<Running, OpenFailure>> {
    const { opened, users } = shared()
    const key = await repositoryKey(input.directory)
    const found = opened.get(key)
    const promise =
      found ?? openRunning({ doors, directory: input.directory, options, channel, version: __KAGAN_VERSION__ })
    if (!found) opened.set(key, promise)
    users.set(key, (users.get(key) ?? 0) + 1)
    const result = await promise
    if (!result.ok) {
      opened.delete(key)
      host.log("warn", `Kagan is idle in ${input.directory}: ${result.error.text}`)
      return result
    }
    running = result.value
    running.state.unfence(input.directory)
    channel.announce(input.directory, __KAGAN_VERSION__)
    // Not awaited by the host's boot: a request from here would wait for that very boot.
    if (!found) void running.start().catch((bug: unknown) => host.log("error", `start-up: ${String(bug)}`))
    return result
  }

  async function greet(directory: string) {
    const { opened } = shared()
    const key = await repositoryKey(directory)
    const result = await opened.get(key)
    if (result?.ok) return result.value.hello()
    const mine = await opening
    if (directory !== input.directory || mine.ok) return undefined
    return {
      repo: "none",
      root: directory,
      version: __KAGAN_VERSION__,
      options: DEFAULT_OPTIONS,
      problems: [],
      readOnly: mine.error.text,
    }
  }

  const reports: HelperReports = {
    assessment: async (sessionID, assessment) =>
      (await opening).ok ? running!.reports.assessment(sessionID, assessment) : idle(),
    findings: async (sessionID, report) => ((await opening).ok ? running!.reports.findings(sessionID, report) : idle()),
    createTasks: async (sessionID, tasks) =>
      (await opening).ok ? running!.reports.createTasks(sessionID, tasks) : idle(),
    board: async (sessionID) => ((await opening).ok ? running!.reports.board(sessionID) : idle()),
    unreadable: (sessionID, tool, reason) => running?.reports.unreadable(sessionID, tool, reason),
  }

  const cancelHint = tellWhenNoBoard({
    host,
    clock: systemClock,
    directory: input.directory,
    root: input.worktree === "/" ? input.directory : input.worktree,
    url: import.meta.url,
    heard: () => channel.heard(),
  })

  return {
    config: async (config) => applyConfig(config),
    tool: kaganTools(reports),
    event: async ({ event }) => {
      running?.observe(event)
    },
    "chat.message": async (message) => {
      if (!running) return
      await running.inject.admitting(message.sessionID, message.messageID)
    },
    "tool.execute.before": async (call, output) => {
      const refusal = running?.supervisor.isHelper(call.sessionID) ? refusedSearch(call.tool, output.args) : undefined
      if (refusal) throw new Error(refusal)
      // Waits for a half that is still being opened: a push must not slip through meanwhile.
      const opened = call.tool === "bash" ? await opening : undefined
      const push = opened?.ok
        ? await opened.value.pushGuard.refuse({ ...call, directory: input.directory }, output.args)
        : undefined
      if (push) throw new Error(push)
      await running?.inject.aroundTool(call.sessionID, call.callID)
    },
    "tool.execute.after": async (call, output) => {
      if (call.tool === "grep" && running?.supervisor.isHelper(call.sessionID)) {
        output.output = withoutSecrets(output.output)
      }
      await running?.inject.aroundTool(call.sessionID, call.callID)
    },
    "shell.env": async (shell, output) => {
      keepOutOfShells(output.env)
      if (running && running.isTaskFolder(shell.cwd)) markShell(output.env)
      await running?.pushGuard.shell(shell, output.env)
    },
    dispose: async () => {
      if (ended) return
      ended = true
      cancelHint()
      leaveInstance(input.directory, boot)
      const result = await opening
      if (!result.ok) return
      result.value.state.fence(input.directory)
      const { opened, users } = shared()
      const key = await repositoryKey(input.directory)
      const left = (users.get(key) ?? 1) - 1
      users.set(key, left)
      if (left > 0) return
      opened.delete(key)
      await result.value.dispose()
    },
  }
}

function idle(): Result<never, string> {
  return err("Kagan is not running in this folder")
}

const module: PluginModule = { id: "opencode-kagan", server }
export default module
