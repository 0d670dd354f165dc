import type { Snippet } from "./snippet.ts"

/** What must not be taken for a way to a turn. */
export const innocent: readonly Snippet[] = [
  {
    name: "a session of one's own that has a prompt",
    code: `const session = { prompt: (text: string) => text.length, command: "npm test", shell: false }
      const form = { session }
      const { prompt } = form.session
      export const asked = [session.prompt("What is missing?"), form.session.command, prompt("")]`,
    finds: [],
  },
  {
    name: "a type guard on promptAsync",
    code: `import { client } from "./given.ts"
      export function canWake(session: unknown): session is { promptAsync: unknown } {
        return (
          typeof session === "object" &&
          session !== null &&
          "promptAsync" in session &&
          typeof session.promptAsync === "function"
        )
      }
      export const known = typeof client.session.promptAsync === "function"`,
    finds: [],
  },
  {
    name: "reading by the client, and a view of it that can only read",
    code: `import { client, api } from "./given.ts"
      type Reads = { session: { get(given: { sessionID: string }): Promise<unknown> } }
      const reads: Reads = client
      export const all = () => [client.session.get({ sessionID: "ses_1" }), reads.session.get({ sessionID: "ses_1" })]
      export const { app, event } = client
      export const route = (given: Pick<typeof api, "route" | "theme">) => given.route.navigate("home")
      export const home = () => route(api)`,
    finds: [],
  },
  {
    name: "words that only sound like it",
    code: `// the host's prompt_async answers 204
      export const text = "Press enter in the session to send a prompt; see docs/session/message.md"
      export const paths = (id: string) => [\`/session/\${id}/diff\`, \`session/\${id}\`, "/tui/show-toast"]
      type Options = { fetch?: typeof fetch; postDispatchHoldMs?: number }
      export const options: Options = { postDispatchHoldMs: 250 }`,
    finds: [],
  },
  {
    name: "the api of the screen handed on as it is",
    code: `import { api } from "./given.ts"
      type Props = { api: typeof api; title: string }
      const view = (props: Props) => [props.title, props.api.theme.current]
      const lists: (typeof api)[] = [api]
      export const drawn = [view({ api, title: "Board" }), lists.length, new Map([["api", api]]).size]
      export const closed = () => api.keymap.dispatchCommand("app.exit")`,
    finds: [],
  },
]
