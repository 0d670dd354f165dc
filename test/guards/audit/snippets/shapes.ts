import type { Snippet } from "./snippet.ts"

/** Patterns, keys, casts, copies: the member reached without its name standing behind a dot. */
export const shapes: readonly Snippet[] = [
  {
    name: "nested destructuring",
    code: `import { client, ask } from "./given.ts"
      const {
        session: { promptAsync: wake },
      } = client
      export const go = () => wake(ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "destructuring in a parameter",
    code: `import { client, ask } from "./given.ts"
      const wake = ({ prompt }: { prompt: typeof client.session.prompt }) => prompt(ask)
      const start = ({ promptAsync }: typeof client.session) => promptAsync(ask)
      export const go = () => [wake(client.session), start(client.session)]`,
    finds: ["raw type: Session2", "sink: Session2.promptAsync", "escape: Session2"],
  },
  {
    name: "destructuring assignment",
    code: `import { client, ask } from "./given.ts"
      let wake: (input: typeof ask) => unknown = () => undefined
      ;({
        session: { promptAsync: wake },
      } = client)
      export const go = () => wake(ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "a constant key",
    code: `import { client, ask } from "./given.ts"
      const m = "promptAsync"
      export const go = () => client.session[m](ask)`,
    finds: ["sink: Session2.promptAsync"],
  },
  {
    name: "a key out of two",
    code: `import { client, ask } from "./given.ts"
      export const go = (m: "prompt" | "promptAsync") => client.session[m](ask)`,
    finds: ["sink: Session2.prompt", "sink: Session2.promptAsync"],
  },
  {
    name: "a key put together",
    code: `import { client, ask } from "./given.ts"
      const half = "Async"
      export const go = () => client.session[("prompt" + half) as "get"](ask)
      export const again = () => client.session[\`prompt\${half}\` as keyof typeof client.session]`,
    finds: ["dynamic key: Session2 ×2", "raw type: Session2"],
  },
  {
    name: "any text as key",
    code: `import { client } from "./given.ts"
      type Loose = { [name: string]: unknown }
      export const go = (m: string) => (client.session as unknown as Loose)[m]`,
    finds: ["escape: Session2"],
  },
  {
    name: "cast to an interface of one's own",
    code: `import { client, ask } from "./given.ts"
      interface Wakes {
        session: { promptAsync(input: object): Promise<unknown> }
      }
      export const go = () => (client as unknown as Wakes).session.promptAsync(ask)`,
    finds: ["own member: promptAsync", "escape: OpencodeClient", "named: promptAsync"],
  },
  {
    name: "Pick",
    code: `import { client, ask } from "./given.ts"
      type Wakes = Pick<typeof client.session, "prompt" | "get">
      const wakes: Wakes = client.session
      export const go = () => wakes.prompt(ask)`,
    finds: ["raw type: Wakes ×2", "raw type: Session2", "sink: Session2.prompt"],
  },
  {
    name: "a copy by spread",
    code: `import { client } from "./given.ts"
      export const copy = { ...client.session }`,
    finds: ["spread: Session2"],
  },
  {
    name: "Object.entries",
    code: `import { client } from "./given.ts"
      export const members = () => Object.entries(client.session)`,
    finds: ["escape: Session2"],
  },
  {
    name: "Reflect.get",
    code: `import { client } from "./given.ts"
      export const member = (name: string) => Reflect.get(client.session, name)`,
    finds: ["escape: Session2"],
  },
  {
    name: "out of sight as any and unknown",
    code: `import { client } from "./given.ts"
      const wake = (raw: any) => raw.session.prompt({})
      const keep = (raw: unknown) => raw
      export const go = () => [wake(client), keep(client)]`,
    finds: ["escape: OpencodeClient ×2", "named: any.prompt"],
  },
]
