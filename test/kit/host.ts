import { spawn } from "node:child_process"
import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk/v2"
import { openEvents, type Events } from "./events.ts"
import { keepEvidence, tail } from "./failures.ts"
import { guardGroup, kill, releaseGroup } from "./processes.ts"
import { opencodeBinary, type Sandbox } from "./sandbox.ts"

export interface ServerOptions {
  /** More for the environment; `undefined` takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** Where to start it; the sandbox's repository by default. */
  readonly cwd?: string
  /** More arguments for `opencode serve`. */
  readonly args?: readonly string[]
}

export interface HostServer {
  readonly url: string
  readonly pid: number
  /** A client of the repository's directory. A request that gets no answer within a minute fails. */
  readonly client: OpencodeClient
  /** The same for another directory. */
  clientFor(directory: string): OpencodeClient
  /** Everything that the host has written. */
  logs(): string
  /** Collects events from now on: of one directory, or of all. */
  events(directory?: string): Promise<Events>
  /** Ends it in order. */
  stop(): Promise<void>
  /** Kills it as a crash would. What it had started goes on. */
  kill9(): Promise<void>
  /** Its exit code, or the signal that ended it. */
  readonly exited: Promise<number | string>
}

/** Starts `opencode serve` in a sandbox and waits until it listens. Starting it twice on one sandbox is a restart, or a second window. */
export async function startServer(sandbox: Sandbox, options: ServerOptions = {}): Promise<HostServer> {
  const cwd = options.cwd ?? sandbox.repo.dir
  const args = ["serve", "--port", "0", "--hostname", "127.0.0.1", "--print-logs", ...(options.args ?? [])]
  const child = spawn(opencodeBinary, args, {
    cwd,
    env: withChanges(sandbox.env, options.env),
    detached: true, // a process group of its own, which can be ended as a whole
    stdio: ["ignore", "pipe", "pipe"],
  })
  if (child.pid === undefined) throw new Error(`could not start ${opencodeBinary}`)
  const pid = child.pid
  guardGroup(pid)

  let output = ""
  const listening = Promise.withResolvers<string>()
  const hear = (chunk: Buffer) => {
    output += chunk.toString("utf8")
    const url = /server listening on (http:\/\/\S+)/.exec(output)?.[1]
    if (url) listening.resolve(url)
  }
  child.stdout.on("data", hear)
  child.stderr.on("data", hear)
  const exited = new Promise<number | string>((resolve) => {
    child.once("exit", (code, signal) => resolve(code ?? signal ?? "unknown"))
  })
  const forget = keepEvidence(`log of opencode serve (pid ${pid})`, () => tail(output))
  const open = new Set<Events>()

  async function end(signal: NodeJS.Signals): Promise<void> {
    for (const events of open) events.close()
    kill(pid, signal)
    const patience = setTimeout(() => kill(pid), 15_000)
    await exited
    clearTimeout(patience)
    releaseGroup(pid)
    forget()
  }

  void exited.then((how) =>
    listening.reject(new Error(`opencode serve ended (${how}) before it listened\n${tail(output)}`)),
  )
  const deadline = setTimeout(
    () => listening.reject(new Error(`opencode serve does not listen after 90 s\n${tail(output)}`)),
    90_000,
  )
  let url: string
  try {
    url = await listening.promise
  } catch (error) {
    await end("SIGKILL")
    throw error
  } finally {
    clearTimeout(deadline)
  }

  const clientFor = (directory: string) => createOpencodeClient({ baseUrl: url, directory, fetch: patientFetch })
  return {
    url,
    pid,
    client: clientFor(cwd),
    clientFor,
    logs: () => output,
    async events(directory) {
      const events = await openEvents(url, directory)
      open.add(events)
      return events
    },
    stop: () => end("SIGTERM"),
    kill9: () => end("SIGKILL"),
    exited,
  }
}

/** A request that hits the port in the instant it opens can hang for ever. */
const patientFetch = ((input: Request) =>
  fetch(input, { signal: AbortSignal.any([input.signal, AbortSignal.timeout(60_000)]) })) as unknown as typeof fetch

/** An environment with some variables changed or taken away. */
export function withChanges(
  env: Readonly<Record<string, string>>,
  changes: Readonly<Record<string, string | undefined>> = {},
): Record<string, string> {
  const all = Object.entries({ ...env, ...changes })
  return Object.fromEntries(all.filter((entry): entry is [string, string] => entry[1] !== undefined))
}
