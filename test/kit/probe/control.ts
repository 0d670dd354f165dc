import { appendFileSync } from "node:fs"
import { isMainThread, threadId } from "node:worker_threads"

/** One line of a probe's log: what happened inside the host, in the order in which it happened there. */
export interface ProbeRecord {
  /** Which half wrote it. */
  readonly half: "server" | "tui"
  /** The directory of the half's instance; empty for the TUI half. */
  readonly directory: string
  /** Counts the starts of this probe's halves in one process, from 1. */
  readonly start: number
  /** Milliseconds of the thread's own monotonic clock. */
  readonly at: number
  /** `init`, `event`, `hook`, `dispose`, or what a test recorded by `p.record`. */
  readonly type: string
  readonly [field: string]: any
}

/** What a piece of a test that runs inside the host can use. */
export interface InHost {
  /** Whatever a test wants to keep between two calls. */
  readonly state: Record<string, any>
  record(type: string, fields?: Record<string, unknown>): void
  /** Imports a module by absolute path in the host's own thread. */
  import(path: string): Promise<any>
  sleep(ms: number): Promise<void>
}

/** What one call over the control port asks for. */
export type ProbeCall =
  | { readonly run: string; readonly args: readonly unknown[] }
  | { readonly import: string; readonly call: string; readonly args: readonly unknown[]; readonly keep?: string }
  | { readonly on: string; readonly call: string; readonly args: readonly unknown[]; readonly keep?: string }

export interface Control {
  readonly base: InHost
  /** Runs a test's setup; the host says nothing of a plugin that throws, so the log does. */
  setUp(source: string | undefined, p: InHost): Promise<void>
  stop(): void
}

/** A value without what JSON cannot say. */
function plain(value: unknown): unknown {
  if (value === undefined) return null
  const seen = new Set<unknown>()
  const text = JSON.stringify(value, (_, inner) => {
    if (typeof inner === "bigint" || typeof inner === "symbol") return String(inner)
    if (inner instanceof Error) return { error: inner.name, message: inner.message }
    if (typeof inner === "object" && inner !== null) {
      if (seen.has(inner)) return "[seen]"
      seen.add(inner)
    }
    return inner
  })
  return text === undefined ? null : JSON.parse(text)
}

/** Compiles the source of a function that a test wrote: an arrow, a function, or a method of an object literal. */
export function compile(source: string): (...args: any[]) => any {
  try {
    return new Function(`return (${source})`)()
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause
    return new Function(`return Object.values({ ${source} })[0]`)()
  }
}

let starts = 0

/** Opens the log and the control port of one half. `scope` is what a `{ $: path }` in a call's arguments leads into. */
export function openControl(
  where: { half: "server" | "tui"; directory: string; log: string },
  scope: () => Record<string, unknown>,
): Control {
  const start = ++starts
  const record = (type: string, fields: Record<string, unknown> = {}) => {
    const line = {
      half: where.half,
      directory: where.directory,
      start,
      at: performance.now(),
      type,
      ...(plain(fields) as object),
    }
    appendFileSync(where.log, `${JSON.stringify(line)}\n`)
  }
  const base: InHost = {
    state: {},
    record,
    import: (path) => import(path),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  }

  const resolveArg = (arg: unknown): unknown => {
    if (Array.isArray(arg)) return arg.map(resolveArg)
    if (typeof arg !== "object" || arg === null) return arg
    const only = Object.keys(arg).length === 1 ? (arg as { $?: unknown }).$ : undefined
    if (typeof only === "string") {
      const root: any = { ...scope(), ...base.state }
      return only.split(".").reduce((value, key) => value?.[key], root)
    }
    return Object.fromEntries(Object.entries(arg).map(([key, value]) => [key, resolveArg(value)]))
  }

  async function perform(call: ProbeCall): Promise<unknown> {
    if ("run" in call) return await compile(call.run)(scope(), ...call.args)
    const owner: any = "import" in call ? await import(call.import) : base.state[call.on]
    if (typeof owner?.[call.call] !== "function") throw new Error(`no function ${call.call} there`)
    const value = await owner[call.call](...call.args.map(resolveArg))
    if (call.keep) base.state[call.keep] = value
    return value
  }

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      try {
        return Response.json({ value: plain(await perform((await request.json()) as ProbeCall)) })
      } catch (cause) {
        return Response.json({ error: cause instanceof Error ? (cause.stack ?? cause.message) : plain(cause) })
      }
    },
  })
  record("init", { port: server.port, pid: process.pid, threadId, isMainThread })
  return {
    base,
    async setUp(source, p) {
      try {
        if (source !== undefined) await compile(source)(p)
      } catch (cause) {
        record("setup failed", { cause })
        throw cause
      }
    },
    stop: () => void server.stop(true),
  }
}
