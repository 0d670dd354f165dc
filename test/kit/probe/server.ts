import { createOpencodeClient, type OpencodeClient } from "@opencode-ai/sdk/v2"
import type { Hooks, Plugin, PluginInput } from "@opencode-ai/plugin"
import { z } from "zod"
import { openControl, type InHost } from "./control.ts"

type Handler = (input: any, output: any) => unknown

/** A probe's server half, as a function that a test sends into it sees it. */
export interface InServer extends InHost {
  readonly input: PluginInput
  readonly options: unknown
  /** The v2 client over the host's in-process fetch. */
  readonly client: OpencodeClient
  /** Runs at each call of that hook, after what was put there before; `event` gets `{event}`. Awaited, as the host awaits it. */
  on(hook: string, run: Handler): void
  /** The tools that were added. */
  readonly tools: NonNullable<Hooks["tool"]>
  /** Only of use in `setup`: adds a tool. */
  tool(name: string, description: string, execute: (args: any, context: any) => unknown): void
}

const recorded = [
  "chat.message",
  "permission.ask",
  "command.execute.before",
  "tool.execute.before",
  "tool.execute.after",
  "shell.env",
] as const

/** Events by the hundred that no test asks for. */
const noise = new Set<string>(["plugin.added", "message.part.delta"])

/** Makes the server half of a probe; `setup` is the source of `(p: InServer) => void`, run, and awaited, while the plugin loads. */
export function probeServer(probe: { name: string; log: string; setup?: string }): Plugin {
  return async (input, options) => {
    const tools: NonNullable<Hooks["tool"]> = {}
    const handlers = new Map<string, Handler[]>()
    const control = openControl({ half: "server", directory: input.directory, log: probe.log }, () => ({ ...p }))
    const config = (input.client as any)._client.getConfig()
    const p: InServer = {
      ...control.base,
      input,
      options,
      client: createOpencodeClient({ baseUrl: config.baseUrl, fetch: config.fetch, directory: input.directory }),
      on: (hook, run) => void handlers.set(hook, [...(handlers.get(hook) ?? []), run]),
      tools,
      tool(name, description, execute) {
        tools[name] = {
          description,
          args: { title: z.string().optional(), count: z.number().default(3) } as any,
          // The host calls `.then` on what a tool answers.
          execute: async (args, context) => (await execute(args, context)) as any,
        }
      },
    }
    const handle = async (hook: string, first: unknown, second: unknown) => {
      for (const run of handlers.get(hook) ?? []) await run(first, second)
    }
    const hooks: Hooks = {
      tool: tools,
      async event(given) {
        if (!noise.has(given.event.type)) p.record("event", { event: given.event })
        await handle("event", given, undefined)
      },
      async config(given) {
        p.record("hook", { hook: "config" })
        await handle("config", given, undefined)
      },
      async dispose() {
        p.record("dispose")
        await handle("dispose", undefined, undefined)
        control.stop()
      },
    }
    for (const hook of recorded) {
      hooks[hook] = async (first: unknown, second: unknown) => {
        p.record("hook", { hook, input: first, output: second })
        await handle(hook, first, second)
      }
    }
    await control.setUp(probe.setup, p)
    return hooks
  }
}
