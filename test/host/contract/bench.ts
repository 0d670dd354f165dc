import { existsSync } from "node:fs"
import { join } from "node:path"
import type { Events, HostEvent } from "../../kit/events.ts"
import { startServer, type HostServer } from "../../kit/host.ts"
import { startModel, text, type Model } from "../../kit/model.ts"
import { makeProbe, type InServer, type Probe } from "../../kit/probe/probe.ts"
import { makeSandbox, seedDependencies, type Sandbox, type SandboxOptions } from "../../kit/sandbox.ts"

/** One real server with a scripted model and a probe in it; the facts of one file share it. */
export interface Bench {
  readonly box: Sandbox
  readonly model: Model
  readonly probe: Probe
  /** All probes by name; the first is `probe-a`. */
  readonly probes: Readonly<Record<string, Probe>>
  readonly server: HostServer
  readonly client: HostServer["client"]
  /** The stream of all instances, from before the first test on. */
  readonly events: Events
  /** Where the stream stands now, for the `from` of a later wait. */
  mark(): number
  /** The events of one session since a mark, without the server's own. */
  heard(sessionID: string, from?: number): HostEvent[]
  /** Adds a linked worktree on a new branch, outside the repository, and answers its directory. */
  worktree(name: string): Promise<string>
  dispose(): Promise<void>
}

export async function openBench(
  options: {
    readonly sandbox?: Omit<SandboxOptions, "model" | "plugin">
    readonly setup?: (p: InServer) => unknown
    /** Options of the first probe's entry. */
    readonly options?: unknown
    /** Untracked files of the repository, there before the server starts. */
    readonly files?: Readonly<Record<string, string>>
    /** More probes, loaded after the first. */
    readonly more?: Readonly<Record<string, (p: InServer) => unknown>>
  } = {},
): Promise<Bench> {
  const model = await startModel(() => text("Done."))
  // The host's own snapshots cost as much as the turns; a file of facts that could depend on them turns them on.
  const config = { snapshot: false, ...options.sandbox?.config }
  const box = await makeSandbox({ ...options.sandbox, config, model, plugin: false })
  const probe = await makeProbe(box.root, "probe-a", options.setup ? { server: options.setup } : {})
  const more = await Promise.all(
    Object.entries(options.more ?? {}).map(([name, server]) => makeProbe(box.root, name, { server })),
  )
  await box.writeConfig({ plugin: [probe.spec, ...more.map((one) => one.spec)], options: options.options })
  for (const [path, content] of Object.entries(options.files ?? {})) await box.repo.write(path, content)
  if (existsSync(join(box.repo.dir, ".opencode"))) await seedDependencies(join(box.repo.dir, ".opencode"))
  const server = await startServer(box)
  const events = await server.events()
  // The stream says that it is connected a moment before it hears anything.
  await until("the stream hears events", async () => {
    await server.client.session.create({ title: "Is the stream open?" })
    return events.of("session.created").length > 0
  })
  return {
    box,
    model,
    probe,
    probes: Object.fromEntries([probe, ...more].map((one) => [one.name, one])),
    server,
    client: server.client,
    events,
    mark: () => events.all.length,
    heard: (sessionID, from = 0) => events.all.slice(from).filter((event) => sessionOf(event) === sessionID),
    async worktree(name) {
      const dir = join(box.root, name)
      await box.repo.git("worktree", "add", "-q", "-b", `branch-${name}`, dir)
      return dir
    },
    async dispose() {
      await server.stop()
      await box.dispose()
      await model.dispose()
    },
  }
}

/** The session that an event is about. */
export function sessionOf(event: HostEvent): string | undefined {
  const { sessionID, info, part } = event.properties ?? {}
  return sessionID ?? info?.sessionID ?? part?.sessionID ?? info?.id
}

/** The value of an answer; throws what the host said when there is none. */
export async function must<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer
  if (error !== undefined || data === undefined) throw new Error(`the host refused: ${JSON.stringify(error)}`)
  return data
}

/** Waits until `probe` answers something other than undefined, null or false. */
export async function until<T>(what: string, probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const end = Date.now() + 60_000; ;) {
    const value = await probe()
    if (value) return value as NonNullable<T>
    if (Date.now() > end) throw new Error(`did not happen within a minute: ${what}`)
    await Bun.sleep(20)
  }
}
