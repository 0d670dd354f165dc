import type { Snippet } from "./snippet.ts"

/** The call under its own name, and every name the object before it can be given. */
export const names: readonly Snippet[] = [
  {
    name: "direct, first generation",
    code: `import { old, oldAsk } from "./given.ts"
      export const go = () => old.session.prompt(oldAsk)`,
    finds: ["sink: Session.prompt"],
  },
  {
    name: "direct, second generation",
    code: `import { client, ask } from "./given.ts"
      export const go = () => client.session.promptAsync(ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "the engine behind v2",
    code: `import { client } from "./given.ts"
      export const go = () => client.v2.session.prompt({ sessionID: "ses_1", prompt: { text: "go on" } })`,
    finds: ["sink: OpencodeClient.v2", "sink: V2.session", "sink: Session3.prompt"],
  },
  {
    name: "optional and non-null",
    code: `import { client, ask } from "./given.ts"
      const perhaps = client as typeof client | undefined
      export const one = () => perhaps?.session?.promptAsync?.(ask)
      export const two = () => perhaps!.session!.prompt!(ask)`,
    finds: ["raw type: OpencodeClient", "sink: Session2.promptAsync", "sink: Session2.prompt"],
  },
  {
    name: "literal brackets",
    code: `import { client, ask } from "./given.ts"
      export const go = () => client["session"]["promptAsync"](ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "cast to its own type",
    code: `import { client, ask } from "./given.ts"
      export const go = () => (client.session as typeof client.session).prompt(ask)`,
    finds: ["raw type: Session2", "sink: Session2.prompt"],
  },
  {
    name: "a local called session",
    code: `import { client, ask } from "./given.ts"
      const session = client.session
      export const go = () => session.promptAsync(ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "a local called anything",
    code: `import { client, ask } from "./given.ts"
      const s = client.session
      export const go = () => s.promptAsync(ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "kept in an object",
    code: `import { client, ask } from "./given.ts"
      const { session: s } = client
      const kept = { s }
      export const go = () => kept.s.prompt(ask)`,
    finds: ["sink: Session2.prompt"],
  },
  {
    name: "handed out by a function",
    code: `import { client, ask } from "./given.ts"
      const current = () => client.session
      export const go = () => current().prompt(ask)`,
    finds: ["sink: Session2.prompt"],
  },
  {
    name: "through an array",
    code: `import { client, ask } from "./given.ts"
      export const go = () => [client.session].map((one) => one.promptAsync(ask))`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "a field of a class",
    code: `import { client, ask } from "./given.ts"
      class Waker {
        session = client.session
        go() {
          return this.session.promptAsync(ask)
        }
      }
      export const waker = new Waker()`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "bound",
    code: `import { client } from "./given.ts"
      export const go = client.session.promptAsync.bind(client.session)`,
    finds: ["sink: Session2.promptAsync", "escape: Session2"],
  },
  {
    name: "called through an alias",
    code: `import { client, ask } from "./given.ts"
      const p = client.session.prompt
      export const go = () => p.call(client.session, ask)`,
    finds: ["sink: Session2.prompt"],
  },
  {
    name: "Reflect.apply",
    code: `import { client, ask } from "./given.ts"
      export const go = () => Reflect.apply(client.session.promptAsync, client.session, [ask])`,
    finds: ["sink: Session2.promptAsync", "escape: Session2"],
  },
  {
    name: "a client of one's own",
    code: `import { createOpencodeClient as make } from "@opencode-ai/sdk/v2"
      import { ask } from "./given.ts"
      export const go = () => make({ baseUrl: "http://127.0.0.1:4096" }).session.prompt(ask)`,
    finds: ["sdk import: @opencode-ai/sdk/v2", "entrance: createOpencodeClient", "sink: Session2.prompt"],
  },
  {
    name: "the SDK loaded late",
    code: `import { ask } from "./given.ts"
      export const go = async () => {
        const { createOpencodeClient: make } = await import("@opencode-ai/sdk/v2")
        return make().session.promptAsync(ask)
      }`,
    finds: ["sdk import: @opencode-ai/sdk/v2", "entrance: createOpencodeClient", "sink: Session2.promptAsync"],
  },
]
