import type { Snippet } from "./snippet.ts"

/** The other calls that start or steer a turn, and requests without the client's methods. */
export const others: readonly Snippet[] = [
  ...(["command", "shell", "summarize", "init"] as const).map((method) => ({
    name: `session.${method}`,
    code: `import { client } from "./given.ts"
      export const go = (given: Parameters<typeof client.session.${method}>[0]) => client.session.${method}(given)`,
    finds: [`sink: Session2.${method}`],
  })),
  ...(["submitPrompt", "appendPrompt", "executeCommand", "publish"] as const).map((method) => ({
    name: `tui.${method}`,
    code: `import { old } from "./given.ts"
      export const go = (given: Parameters<typeof old.tui.${method}>[0]) => old.tui.${method}(given)`,
    finds: [`sink: Tui.${method}`],
  })),
  {
    name: "raw requests",
    code: `export const one = (base: string, id: string) => fetch(base + "/session/" + id + "/prompt_async")
      const route = "message"
      export const two = (base: string, id: string) => fetch(\`\${base}/session/\${id}/\${route}\`, { method: "POST" })`,
    finds: ["request: fetch ×2", "route: {}/session/{}/prompt_async", "route: {}/session/{}/message"],
  },
  {
    name: "the client inside the client",
    code: `import { old, client } from "./given.ts"
      export const one = () => old["_client"].post({ url: "/somewhere" })
      export const two = () => client.session["client"].post({ url: "/somewhere" })`,
    finds: ["sink: _HeyApiClient._client", "sink: HeyApiClient.client"],
  },
]
