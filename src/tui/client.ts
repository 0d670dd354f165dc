import type { OpencodeClient, Session } from "@opencode-ai/sdk/v2"
import { err, ok, type Result } from "../core/result.ts"

export type { Session }

/**
 * What the screen may ask of the host: it reads sessions, and nothing else. There is no call here that starts or steers
 * a turn or writes metadata; those belong to the server half.
 */
export type SessionReader = {
  /** Every session of the project, children included (the host's own default stops at 100). */
  sessions(): Promise<Result<readonly Session[], string>>
  session(sessionID: string): Promise<Result<Session, string>>
  /** The last words of the agent, newest last, for the preview. */
  tail(sessionID: string, limit: number): Promise<Result<readonly TailMessage[], string>>
  models(): Promise<Result<readonly ModelChoice[], string>>
  /** The agents that a person can give a task to. */
  agents(): Promise<Result<readonly AgentChoice[], string>>
}

export type TailMessage = {
  readonly role: "user" | "assistant"
  readonly text: string
  readonly tools: readonly string[]
}
export type ModelChoice = {
  readonly providerID: string
  readonly modelID: string
  readonly name: string
  readonly provider: string
}

export type AgentChoice = { readonly name: string; readonly description?: string }

/** The reading half of the host's client; every call resolves to a value and never rejects. */
export function sessionReader(client: OpencodeClient): SessionReader {
  return {
    sessions: () => read(client.session.list({ scope: "project", limit: 1_000_000 })),
    session: (sessionID) => read(client.session.get({ sessionID })),
    async tail(sessionID, limit) {
      const answer = await read(client.session.messages({ sessionID, limit }))
      if (!answer.ok) return answer
      return ok(
        answer.value.map(({ info, parts }) => ({
          role: info.role,
          text: parts.flatMap((part) => (part.type === "text" && !part.synthetic ? [part.text] : [])).join("\n"),
          tools: parts.flatMap((part) =>
            part.type === "tool"
              ? [`${part.tool} ${("title" in part.state ? part.state.title : undefined) ?? part.state.status}`]
              : [],
          ),
        })),
      )
    },
    async agents() {
      const answer = await read(client.app.agents({}))
      if (!answer.ok) return answer
      return ok(
        answer.value
          .filter(({ mode, hidden }) => mode !== "subagent" && !hidden)
          .map(({ name, description }) => ({ name, ...(description ? { description } : {}) })),
      )
    },
    async models() {
      const answer = await read(client.config.providers({}))
      if (!answer.ok) return answer
      return ok(
        answer.value.providers.flatMap((provider) =>
          Object.values(provider.models).map((model) => ({
            providerID: provider.id,
            modelID: model.id,
            name: model.name,
            provider: provider.name,
          })),
        ),
      )
    },
  }
}

async function read<T>(call: Promise<{ data?: T; error?: unknown }>): Promise<Result<T, string>> {
  const answer = await call.catch((cause: unknown) => ({ data: undefined, error: cause }))
  if (answer.data !== undefined) return ok(answer.data)
  return err(textOf(answer.error))
}

function textOf(cause: unknown): string {
  if (cause instanceof Error) return cause.message
  const message = (cause as { data?: { message?: unknown } } | undefined)?.data?.message
  return typeof message === "string" ? message : (JSON.stringify(cause) ?? "no answer")
}
