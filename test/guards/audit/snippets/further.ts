import type { Snippet } from "./snippet.ts"

/** Ways that belong to our own doors, to the host's screen, to waiting, and some more shapes. */
export const further: readonly Snippet[] = [
  {
    name: "our own door, held elsewhere",
    code: `import { doors, ask } from "./given.ts"
      import type { Turns } from "../src/shared/host.ts"
      const held: Turns = doors.turns
      export const go = () => held.session.promptAsync(ask)`,
    finds: ["raw type: Turns", "entrance: HostDoors.turns", "sink: Turns.promptAsync"],
  },
  {
    name: "our own door, taken out by a pattern",
    code: `import { doors, ask } from "./given.ts"
      const { turns: { session } } = doors
      export const go = ({ prompt } = session) => prompt(ask)`,
    finds: ["entrance: HostDoors.turns", "sink: Turns.prompt"],
  },
  {
    name: "a second way in",
    code: `import { input } from "./given.ts"
      import { openHost as open } from "../src/shared/host.ts"
      import type { Clock } from "../src/shared/clock.ts"
      export const again = (clock: Clock) => open({ client: input.client, directory: "/" }, clock)
      export const whole = (clock: Clock) => open(input, clock)`,
    finds: ["entrance: openHost ×2", "entrance: PluginInput.client", "escape: OpencodeClient", "escape: PluginInput"],
  },
  {
    name: "the client of the screen",
    code: `import { api, ask } from "./given.ts"
      export const go = () => api.client.session.promptAsync(ask)`,
    finds: ["entrance: TuiPluginApi.client", "sink: Session2.promptAsync"],
  },
  {
    name: "the prompt on the screen",
    code: `import { api, promptRef } from "./given.ts"
      promptRef.submit()
      api.keymap.dispatchCommand("prompt.submit")
      api.command?.trigger("session.compact")
      export const go = (name: string) => api.keymap.dispatchCommand(name)`,
    finds: [
      "sink: TuiPromptRef.submit",
      "sink: TuiCommandApi.trigger",
      "command: prompt.submit",
      "command: session.compact",
      "command: a name that is not constant",
    ],
  },
  {
    name: "a rest that keeps the member",
    code: `import { client } from "./given.ts"
      const { app, ...rest } = client
      export const kept = [app, rest]`,
    finds: ["spread: OpencodeClient"],
  },
  {
    name: "a loop's own pattern",
    code: `import { client, ask } from "./given.ts"
      let prompt: (input: typeof ask) => unknown = () => undefined
      for ({ prompt } of [client.session]) prompt(ask)
      for (const { promptAsync: wake } of [client.session]) wake(ask)`,
    finds: ["sink: Session2.prompt", "sink: Session2.promptAsync"],
  },
  {
    name: "through a generic function",
    code: `import { client, ask } from "./given.ts"
      const same = <T>(value: T): T => value
      export const go = () => same(client.session).prompt(ask)`,
    finds: ["sink: Session2.prompt"],
  },
  {
    name: "a generic key",
    code: `import { client } from "./given.ts"
      export const go = <K extends string>(key: K) => client.session[key as K & "get"]
      export const all = () => {
        for (const key in client.session) void client.session[key as never]
      }`,
    finds: ["dynamic key: Session2 ×2"],
  },
  {
    name: "declared as any",
    code: `declare const host: any
      export const one = () => host.session.promptAsync({})
      export const two = () => host.session["prompt"]({})
      export const three = (name: string) => host.session[name]({})`,
    finds: ["named: promptAsync", "named: any.prompt", "dynamic key: any"],
  },
  {
    name: "a client made of nothing",
    code: `import type { OpencodeClient } from "@opencode-ai/sdk/v2"
      import type { PluginInput } from "@opencode-ai/plugin"
      export const go = (text: string) => JSON.parse(text) as OpencodeClient
      export const old = (text: string): PluginInput["client"] => JSON.parse(text)`,
    finds: ["raw type: OpencodeClient ×2"],
  },
  {
    name: "a subclass",
    code: `import { OpencodeClient } from "@opencode-ai/sdk/v2"
      export class Mine extends OpencodeClient {}`,
    finds: ["sdk import: @opencode-ai/sdk/v2", "raw type: OpencodeClient"],
  },
  {
    name: "the SDK passed on, and required",
    code: `export * from "@opencode-ai/sdk/v2/client"
      export const load = (require: (name: string) => unknown) => require("@opencode-ai/" + "sdk")`,
    finds: ["sdk import: @opencode-ai/sdk/v2/client", "sdk import: @opencode-ai/sdk"],
  },
  {
    name: "other ways to the network",
    code: `import { request } from "node:http"
      export const one = () => request("http://127.0.0.1")
      export const two = () => globalThis.fetch("http://127.0.0.1")
      export const three = () => new WebSocket("ws://127.0.0.1")`,
    finds: ["request: node:http", "request: fetch", "request: WebSocket"],
  },
  {
    name: "code from text",
    code: `export const one = (text: string) => eval(text)
      export const two = (text: string) => new Function(text)`,
    finds: ["code from text: eval", "code from text: Function"],
  },
  {
    name: "no time between two wakes",
    code: `const none = 0
      const times = { none: 1 - 1 }
      export const options = [
        { postDispatchHoldMs: 0 },
        { postDispatchHoldMs: 0.0 },
        { postDispatchHoldMs: -1 },
        { postDispatchHoldMs: none },
        { ...{ postDispatchHoldMs: times.none } },
      ]
      const postDispatchHoldMs = none
      export const short = { postDispatchHoldMs }
      export const set = (given: { postDispatchHoldMs: number }) => (given.postDispatchHoldMs = none)
      export const either = (yes: boolean) => ({ postDispatchHoldMs: yes ? 250 : 0 })`,
    finds: ["no time: postDispatchHoldMs ×9"],
  },
  {
    name: "no time, chosen or named by a key",
    code: `const hold = "postDispatchHoldMs"
      export const short = { [hold]: 0 }
      export const left = (given?: number) => ({ postDispatchHoldMs: given ?? 0, settleMs: given || (0) })`,
    finds: ["no time: postDispatchHoldMs ×2", "no time: settleMs"],
  },
  {
    name: "a command under another name",
    code: `import { api } from "./given.ts"
      const { dispatchCommand: dispatch } = api.keymap
      const bound = api.keymap.dispatchCommand.bind(api.keymap)
      export const one = () => dispatch("prompt.submit")
      export const two = () => bound("prompt.submit")
      export const three = () => api.keymap["dispatchCommand"]("prompt.submit")
      export const four = () => api.keymap.dispatchCommand.call(api.keymap, "prompt.submit")`,
    finds: ["command: dispatchCommand under another name ×4"],
  },
  {
    name: "a module loaded under a name of its own",
    code: `import { createRequire as make } from "node:module"
      const load = make(import.meta.url)
      export const one = () => load("@opencode-ai/sdk")
      export const two = () => process.getBuiltinModule("node:http")
      export const three = () => process["getBuiltinModule"]("node:http")
      export const four = ({ getBuiltinModule: get } = process) => get("node:http")`,
    finds: ["code from text: createRequire", "code from text: getBuiltinModule ×3"],
  },
  {
    name: "the network, taken from the global object",
    code: `const { fetch: ask } = globalThis
      export const one = () => ask("http://127.0.0.1")
      export const two = () => globalThis["fetch"]("http://127.0.0.1")`,
    finds: ["request: fetch ×2"],
  },
  {
    name: "out of sight in a promise, a throw, a cast to never",
    code: `import { client } from "./given.ts"
      export const later: Promise<unknown> = Promise.resolve(client.session)
      export const thrown = () => {
        throw client.session
      }
      export const cast: Record<string, unknown> = client.session as never`,
    finds: ["escape: Promise<Session2>", "escape: Session2 ×2"],
  },
  {
    name: "the gate, passed on and used from there",
    code: `import * as gate from "../src/shared/prompt-async-gate.ts"
      export { promptAsyncAfterSessionIdle as wake } from "../src/shared/prompt-async-gate.ts"
      export const one = (given: never) => gate["promptAfterSessionIdle"](given)
      export const two = async (given: never) =>
        (await import("../src/shared/prompt-async-gate.ts")).storeContext(given)`,
    finds: ["entrance: promptAfterSessionIdle", "entrance: storeContext"],
  },
]
