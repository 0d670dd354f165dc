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
]
