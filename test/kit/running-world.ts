import { join } from "node:path"
import type { Result } from "../../src/core/result.ts"
import type { Push } from "../../src/core/protocol.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import type { ServerChannel } from "../../src/server/channel.ts"
import { enterInstance } from "../../src/server/instances.ts"
import type { Handlers } from "../../src/server/requests.ts"
import { openRunning } from "../../src/server/running.ts"
import { memoryHost } from "./memory-host.ts"
import { makeRepo } from "./repo.ts"

/** The real server half of one repository, with real git, on a host in memory. */
export async function openWorld(options: object = {}) {
  const repo = await makeRepo({ files: { "a.txt": "one\n" } })
  const host = memoryHost()
  const pushes: Push[] = []
  let handlers: Handlers | undefined
  const channel: ServerChannel = {
    serve: (_, given) => (handlers = given),
    retire: () => {},
    push: (_, push) => void pushes.push(push),
    announce: () => {},
    watched: () => false,
    onWatched: () => () => {},
    heard: () => false,
    close: () => {},
  }
  host.onBoot((directory) => void enterInstance(directory, host))
  const { worktree } = options as { readonly worktree?: object }
  const all = { ...options, worktree: { root: join(repo.dir, "../worktrees"), ...worktree } }
  const opened = get(await openRunning({ doors: host, directory: repo.dir, options: all, channel, version: "test" }))
  host.onEvent((event) => opened.observe(event))
  await opened.start()

  const metaOf = async (sessionID: string) => get(await host.host.session(sessionID)).metadata?.kagan as TaskMeta
  /** The prompts of one session so far, each with the source that the gate told. */
  const promptsOf = (sessionID: string) => host.prompts.filter((prompt) => prompt.sessionID === sessionID)
  const sourcesOf = (sessionID: string) =>
    host.logs.flatMap(({ message, extra }) =>
      message.startsWith("[prompt-async-gate]") && message.includes("dispatched") && extra.sessionID === sessionID
        ? [extra.source]
        : [],
    )
  const make = async (draftID = "draft-1", description = "Do it.") =>
    get(await handlers!["task.create"]({ draftID, title: "Sample", description })).sessionID
  async function dispose() {
    await opened.dispose()
    await repo.dispose()
  }

  return { repo, host, running: opened, handlers: handlers!, pushes, make, metaOf, promptsOf, sourcesOf, dispose }
}

export type World = Awaited<ReturnType<typeof openWorld>>

/** The value of an answer that must be one. */
export function get<T>(result: Result<T, unknown>): T {
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return result.value
}
