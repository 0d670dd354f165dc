import { createOpencodeClient } from "@opencode-ai/sdk/v2"
import type {
  Config,
  Message,
  OpencodeClient,
  Part,
  PermissionRequest,
  PermissionRuleset,
  Provider,
  QuestionRequest,
  Session,
  SessionStatus,
  TextPartInput,
} from "@opencode-ai/sdk/v2"
import { err, ok, type Result } from "../core/result.ts"
import { cleaned, withoutCredentials } from "../core/secrets.ts"
import type { Clock } from "./clock.ts"

export type { Message, Part, PermissionRequest, PermissionRuleset, QuestionRequest, Session, SessionStatus }

/** Why a call of the host gave no answer that can be used. */
export type HostFailure =
  | { readonly kind: "not_found"; readonly text: string; readonly status: number }
  | { readonly kind: "rejected"; readonly text: string; readonly status: number }
  | { readonly kind: "server_error"; readonly text: string; readonly status: number }
  | { readonly kind: "unreachable"; readonly text: string }
  | { readonly kind: "timeout"; readonly text: string }

export type HostResult<T> = Promise<Result<T, HostFailure>>
export type MessageWithParts = { readonly info: Message; readonly parts: readonly Part[] }
export type LogLevel = "debug" | "info" | "warn" | "error"

/**
 * The host as the rest of the code may use it: nothing here starts or steers a turn, and nothing writes metadata.
 * Each call resolves to a value, never rejects, and is bounded in time (10 s, lists 30 s).
 * Facts of one instance (status, asks, config) are asked with that session's own directory.
 */
export interface Host {
  session(sessionID: string): HostResult<Session>
  /** All sessions of the project, other clones' and archived ones too, children included. */
  sessions(directory: string, since?: number): HostResult<Session[]>
  children(sessionID: string): HostResult<Session[]>
  /** Newest last; the last `limit` messages. */
  messages(sessionID: string, limit?: number): HostResult<MessageWithParts[]>
  /** `undefined`: the host answers that there is no such message. */
  message(sessionID: string, messageID: string): HostResult<MessageWithParts | undefined>
  deleteMessage(sessionID: string, messageID: string): HostResult<void>
  /** Status of every session that is not idle in this directory's instance. */
  statuses(directory: string): HostResult<Readonly<Record<string, SessionStatus>>>
  abort(sessionID: string, directory: string): HostResult<void>
  rename(sessionID: string, title: string): HostResult<void>
  /** Appends rules to the session's own. */
  addPermissions(sessionID: string, rules: PermissionRuleset): HostResult<void>
  archive(sessionID: string, at: number): HostResult<void>
  deleteSession(sessionID: string): HostResult<void>
  permissions(directory: string): HostResult<PermissionRequest[]>
  replyPermission(
    directory: string,
    requestID: string,
    reply: "once" | "always" | "reject",
    message?: string,
  ): HostResult<void>
  questions(directory: string): HostResult<QuestionRequest[]>
  replyQuestion(directory: string, requestID: string, answers: string[][]): HostResult<void>
  rejectQuestion(directory: string, requestID: string): HostResult<void>
  config(directory: string): HostResult<Config>
  /** The providers that are usable in this directory, with their models. */
  providers(directory: string): HostResult<{ providers: Provider[]; defaults: Record<string, string> }>
  /** A cheap request whose only effect is that the directory's instance is up. */
  boot(directory: string): HostResult<void>
  disposeInstance(directory: string): HostResult<void>
  toast(
    directory: string,
    input: { title?: string; message: string; variant: "info" | "success" | "warning" | "error" },
  ): HostResult<void>
  /** Never fails: a log line that cannot be written is nobody's concern. */
  log(level: LogLevel, message: string, extra?: Record<string, unknown>): void
}

export type NewSession = {
  readonly directory: string
  readonly title: string
  readonly parentID?: string
  readonly agent?: string
  readonly model?: { readonly providerID: string; readonly modelID: string; readonly variant?: string }
  readonly permission?: PermissionRuleset
  readonly metadata: Readonly<Record<string, unknown>>
}

/** The door to stored metadata; held by `tasks.ts` alone. `write` replaces the whole object, as the host does. */
export interface MetadataDoor {
  create(input: NewSession): HostResult<Session>
  write(sessionID: string, metadata: Readonly<Record<string, unknown>>): HostResult<Session>
}

export type PromptInput = {
  readonly sessionID: string
  readonly directory?: string
  readonly messageID?: string
  readonly model?: { readonly providerID: string; readonly modelID: string }
  readonly variant?: string
  readonly agent?: string
  readonly noReply?: boolean
  readonly system?: string
  readonly parts: readonly TextPartInput[]
}

/** The raw prompt calls as the host has them (they resolve 4xx and 5xx as `{error, response}`); held by the prompt gate alone. */
export type Turns = {
  readonly session: {
    prompt(input: PromptInput): Promise<unknown>
    promptAsync(input: PromptInput): Promise<unknown>
  }
}

export type HostDoors = { readonly host: Host; readonly metadata: MetadataDoor; readonly turns: Turns }

type Answer<T> = { data?: T; error?: unknown; response?: Response }

/**
 * Speaks the v2 dialect over the in-process fetch of the v1 client that a server half is given.
 * Makes no request itself: a call that is awaited while plugins load would hang the host.
 */
export function openHost(
  input: { readonly client: unknown; readonly directory: string },
  clock: Clock,
  service = "kagan",
): HostDoors {
  return doorsOf(clientLike(input), clock, service)
}

/** The v1 client keeps its base address and its in-process fetch in `_client` (measured on 1.17.18 to 1.18.33). */
function clientLike(input: { readonly client: unknown; readonly directory: string }): OpencodeClient {
  const inner = (input.client as { _client?: { getConfig(): { baseUrl?: string; fetch?: typeof globalThis.fetch } } })
    ._client
  if (!inner) throw new Error("this host's client has no configuration to speak through")
  const config = inner.getConfig()
  return createOpencodeClient({
    baseUrl: config.baseUrl,
    fetch: config.fetch,
    directory: input.directory,
  } as Parameters<typeof createOpencodeClient>[0])
}

/** The doors over a given v2 client: for the command line and for tests against a real server. */
export function doorsOf(client: OpencodeClient, clock: Clock, service = "kagan"): HostDoors {
  const limit = 10_000
  const longLimit = 30_000
  /** On a busy machine a folder's first boot takes more than half a minute; whoever waits for it is told that it goes on. */
  const bootLimit = 90_000

  async function ask<T>(what: string, ms: number, call: () => Promise<Answer<T>>): HostResult<T> {
    let cancel = () => {}
    const timeout = new Promise<Result<T, HostFailure>>((resolve) => {
      cancel = clock.setTimer(ms, () =>
        resolve(err({ kind: "timeout", text: `${what}: no answer within ${ms / 1000} s` })),
      )
    })
    const answer = call().then(
      (value) => read(what, value),
      (cause: unknown): Result<T, HostFailure> => err({ kind: "unreachable", text: `${what}: ${textOf(cause)}` }),
    )
    return Promise.race([answer, timeout]).finally(() => cancel())
  }

  const none = <T>(result: Result<T, HostFailure>): Result<void, HostFailure> => (result.ok ? ok() : result)

  const host: Host = {
    session: (sessionID) => ask("session.get", limit, () => client.session.get({ sessionID })),
    sessions: (directory, since) =>
      ask("session.list", longLimit, () =>
        client.session.list({
          directory,
          scope: "project",
          limit: 1_000_000,
          ...(since === undefined ? {} : { start: since }),
        }),
      ),
    children: (sessionID) => ask("session.children", limit, () => client.session.children({ sessionID })),
    messages: (sessionID, count) =>
      ask<MessageWithParts[]>("session.messages", longLimit, () =>
        client.session.messages({ sessionID, ...(count === undefined ? {} : { limit: count }) }),
      ),
    async message(sessionID, messageID) {
      const answer = await ask<MessageWithParts>("session.message", limit, () =>
        client.session.message({ sessionID, messageID }),
      )
      if (answer.ok || answer.error.kind !== "not_found") return answer
      const session = await host.session(sessionID)
      return session.ok ? ok(undefined) : session
    },
    deleteMessage: (sessionID, messageID) =>
      ask("session.deleteMessage", limit, () => client.session.deleteMessage({ sessionID, messageID })).then(none),
    statuses: (directory) => ask("session.status", 5_000, () => client.session.status({ directory })),
    abort: (sessionID, directory) =>
      ask("session.abort", limit, () => client.session.abort({ sessionID, directory })).then(none),
    rename: (sessionID, title) =>
      ask("session.update", limit, () => client.session.update({ sessionID, title })).then(none),
    addPermissions: (sessionID, rules) =>
      ask("session.update", limit, () => client.session.update({ sessionID, permission: rules })).then(none),
    archive: (sessionID, at) =>
      ask("session.update", limit, () => client.session.update({ sessionID, time: { archived: at } })).then(none),
    deleteSession: (sessionID) => ask("session.delete", limit, () => client.session.delete({ sessionID })).then(none),
    permissions: (directory) => ask("permission.list", limit, () => client.permission.list({ directory })),
    replyPermission: (directory, requestID, reply, message) =>
      ask("permission.reply", limit, () =>
        client.permission.reply({ directory, requestID, reply, ...(message ? { message } : {}) }),
      ).then(none),
    questions: (directory) => ask("question.list", limit, () => client.question.list({ directory })),
    replyQuestion: (directory, requestID, answers) =>
      ask("question.reply", limit, () => client.question.reply({ directory, requestID, answers })).then(none),
    rejectQuestion: (directory, requestID) =>
      ask("question.reject", limit, () => client.question.reject({ directory, requestID })).then(none),
    config: (directory) => ask("config.get", longLimit, () => client.config.get({ directory })),
    async providers(directory) {
      const answer = await ask("config.providers", longLimit, () => client.config.providers({ directory }))
      return answer.ok ? ok({ providers: answer.value.providers, defaults: answer.value.default }) : answer
    },
    boot: (directory) => ask("path.get", bootLimit, () => client.path.get({ directory })).then(none),
    disposeInstance: (directory) =>
      ask("instance.dispose", limit, () => client.instance.dispose({ directory })).then(none),
    toast: (directory, toast) =>
      ask("tui.showToast", limit, () => client.tui.showToast({ directory, ...toast })).then(none),
    log(level, message, extra) {
      const said = withoutCredentials(message)
      const more = extra ? { extra: cleaned(extra) as Record<string, unknown> } : {}
      void ask("app.log", limit, () => client.app.log({ service, level, message: said, ...more }))
    },
  }

  const metadata: MetadataDoor = {
    create: ({ directory, title, parentID, agent, model, permission, metadata }) =>
      ask("session.create", longLimit, () =>
        client.session.create({
          directory,
          title,
          metadata,
          ...(parentID ? { parentID } : {}),
          ...(agent ? { agent } : {}),
          ...(model
            ? {
                model: {
                  id: model.modelID,
                  providerID: model.providerID,
                  ...(model.variant ? { variant: model.variant } : {}),
                },
              }
            : {}),
          ...(permission ? { permission } : {}),
        }),
      ),
    write: (sessionID, value) =>
      ask("session.update", limit, () => client.session.update({ sessionID, metadata: value })),
  }

  const turns: Turns = {
    session: {
      prompt: (input) => client.session.prompt(input as Parameters<typeof client.session.prompt>[0]),
      promptAsync: (input) => client.session.promptAsync(input as Parameters<typeof client.session.promptAsync>[0]),
    },
  }

  return { host, metadata, turns }
}

/** The SDK resolves 4xx and 5xx as `{error, response}`; it throws only when nothing answered. */
function read<T>(what: string, answer: Answer<T>): Result<T, HostFailure> {
  const status = answer.response?.status ?? (answer.error === undefined ? 200 : 500)
  if (answer.error === undefined && status < 400) return ok(answer.data as T)
  const text = `${what}: ${textOf(answer.error)} (${status})`
  if (status === 404) return err({ kind: "not_found", text, status })
  return err({ kind: status < 500 ? "rejected" : "server_error", text, status })
}

function textOf(cause: unknown): string {
  if (cause instanceof Error) return cause.message
  if (typeof cause === "string") return cause
  const message =
    (cause as { message?: unknown; data?: { message?: unknown } } | undefined)?.data?.message ??
    (cause as { message?: unknown } | undefined)?.message
  return typeof message === "string" ? message : (JSON.stringify(cause)?.slice(0, 500) ?? "no reason given")
}
