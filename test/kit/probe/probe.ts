import { existsSync, readFileSync } from "node:fs"
import { mkdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import type { ProbeCall, ProbeRecord } from "./control.ts"
import type { InServer } from "./server.ts"
import type { InTui } from "./tui.tsx"

export type { InServer, InTui, ProbeRecord }

/**
 * A plugin for tests, with both halves, that records what the host does to it and runs pieces of a test inside the
 * host's own threads:
 *
 *     const probe = await makeProbe(box.root, "probe-a", { server: (p) => p.on("tool.execute.before", …) })
 *     // its `spec` goes into opencode.json (server half) and tui.json (TUI half)
 *     const half = await probe.server(box.repo)
 *     await half.run((p, id) => p.client.session.get({ sessionID: id }), session.id)
 *     await half.call({ import: "/abs/src/shared/x.ts", call: "makeX", args: [{ $: "client" }], keep: "x" })
 *     await half.call({ on: "x", call: "wake", args: [session.id] })
 *
 * A function that is sent into the host is sent as its source: it may use its parameters and globals, nothing of the
 * test file. `p.import(path)` imports there. Module-level state of an imported module is shared by all server halves of
 * one process, as it is for the plugin itself.
 */
export interface Probe {
  readonly name: string
  /** For the `plugin` list of a config file. */
  readonly spec: string
  /** The server half that was started last for a directory, in that process where one is named; waits for it. */
  server(directory: string, pid?: number): Promise<ProbeHalf<InServer>>
  tui(pid?: number): Promise<ProbeHalf<InTui>>
  /** All that was recorded so far, by both halves and all starts. */
  records(): ProbeRecord[]
  /** The first record, past or future, that `matches`. */
  waitFor(matches: (record: ProbeRecord) => boolean, what?: string): Promise<ProbeRecord>
}

export interface ProbeHalf<P> {
  readonly init: ProbeRecord
  /** Runs a function inside the host, with the half's own `p` before the given arguments, and answers its value as JSON. */
  run<A extends readonly unknown[], T>(act: (p: P, ...args: A) => T, ...args: A): Promise<Awaited<T>>
  /**
   * Imports a module inside the host and calls one of its exports, or a method of a value that an earlier call kept.
   * In the arguments `{ $: "client" }` stands for `p.client` (any path into `p` or into what was kept).
   */
  call(
    call:
      | { import: string; call: string; args?: readonly unknown[]; keep?: string }
      | { on: string; call: string; args?: readonly unknown[]; keep?: string },
  ): Promise<any>
}

/** Writes the probe as a plugin package of its own into `parent/<name>`. Each name is a plugin of its own. */
export async function makeProbe(
  parent: string,
  name: string,
  setup: { server?: (p: InServer) => unknown; tui?: (p: InTui) => unknown } = {},
): Promise<Probe> {
  const dir = join(parent, name)
  const log = join(dir, "log.jsonl")
  const here = (file: string) => JSON.stringify(fileURLToPath(new URL(file, import.meta.url)))
  const half = (kind: "server" | "tui", file: string, make: string) => {
    const source = setup[kind]?.toString()
    const settings = JSON.stringify({ name, log, ...(source ? { setup: source } : {}) })
    return `import { ${make} } from ${here(file)}\nexport default { id: ${JSON.stringify(name)}, ${kind}: ${make}(${settings}) }\n`
  }
  await mkdir(dir, { recursive: true })
  await writeFile(
    join(dir, "package.json"),
    JSON.stringify({
      name,
      version: "0.0.1",
      type: "module",
      exports: { "./server": "./server.ts", "./tui": "./tui.ts" },
    }),
  )
  await writeFile(join(dir, "server.ts"), half("server", "./server.ts", "probeServer"))
  await writeFile(join(dir, "tui.ts"), half("tui", "./tui.tsx", "probeTui"))

  const records = (): ProbeRecord[] =>
    existsSync(log)
      ? readFileSync(log, "utf8")
          .split("\n")
          .filter((line) => line.endsWith("}"))
          .map((line) => JSON.parse(line))
      : []
  const waitFor = async (matches: (record: ProbeRecord) => boolean, what = "record") => {
    for (const end = Date.now() + 60_000; ;) {
      const found = records().find(matches)
      if (found) return found
      if (Date.now() > end) throw new Error(`${name}: no such ${what}; the last ones: ${tail(records())}`)
      await Bun.sleep(15)
    }
  }
  const handle = (init: ProbeRecord): ProbeHalf<any> => {
    const send = async (call: ProbeCall) => {
      const response = await fetch(`http://127.0.0.1:${init.port}/`, { method: "POST", body: JSON.stringify(call) })
      const answer = (await response.json()) as { value?: unknown; error?: unknown }
      if ("error" in answer) throw new Error(`inside the host: ${answer.error}`)
      return answer.value as any
    }
    return {
      init,
      run: (act, ...args) => send({ run: act.toString(), args }),
      call: (call) => send({ ...call, args: call.args ?? [] } as ProbeCall),
    }
  }
  const newest = async (matches: (record: ProbeRecord) => boolean, what: string) => {
    await waitFor((record) => record.type === "init" && matches(record), what)
    return handle(records().findLast((record) => record.type === "init" && matches(record))!)
  }
  return {
    name,
    spec: pathToFileURL(dir).href,
    server: (directory, pid) =>
      newest((one) => one.half === "server" && one.directory === directory && isOf(one, pid), "server half"),
    tui: (pid) => newest((one) => one.half === "tui" && isOf(one, pid), "TUI half"),
    records,
    waitFor,
  }
}

const isOf = (record: ProbeRecord, pid: number | undefined) => pid === undefined || record["pid"] === pid

function tail(records: readonly ProbeRecord[]): string {
  return JSON.stringify(records.slice(-5)).slice(0, 2000)
}
