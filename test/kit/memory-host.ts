import type { AssistantMessage, Message, Part, UserMessage } from "@opencode-ai/sdk/v2"
import { err, ok } from "../../src/core/result.ts"
import type { Host, HostDoors, HostResult, MessageWithParts, PromptInput, Session } from "../../src/shared/host.ts"

export interface MemoryHost extends HostDoors {
  /** Every prompt that asked for a turn, in order. */
  readonly prompts: readonly PromptInput[]
  readonly logs: readonly {
    readonly level: string
    readonly message: string
    readonly extra: Record<string, unknown>
  }[]
  transcript(sessionID: string): readonly MessageWithParts[]
  /** Ends the turn that runs: with an answer, or as the person's abort leaves it. */
  endTurn(sessionID: string, how?: "stop" | "aborted"): void
  /** What the instances' subscribers hear. */
  onEvent(listener: (event: { readonly type: string; readonly properties: unknown }) => void): void
  /** Called when the host is asked to start a directory's instance. */
  onBoot(listener: (directory: string) => void): void
}

/** Ids differ between the hosts of one process, because what the gate keeps is one for all of them. */
let hosts = 0

/**
 * A host without a process: sessions, transcripts and one turn at a time, as the real one was measured to keep them.
 * For tests of what the server half does by itself; what the host really does is tested on the real one.
 */
export function memoryHost(): MemoryHost {
  const sessions = new Map<string, Session>()
  const transcripts = new Map<string, MessageWithParts[]>()
  const busy = new Set<string>()
  const prompts: PromptInput[] = []
  const logs: MemoryHost["logs"][number][] = []
  const hearing = new Set<Parameters<MemoryHost["onEvent"]>[0]>()
  const booting = new Set<(directory: string) => void>()
  const number = ++hosts
  let count = 0
  const nextID = (kind: "ses" | "msg") => `${kind}_${number}x${++count}`

  function emit(type: string, properties: unknown) {
    for (const hear of hearing) hear({ type, properties })
  }
  const found = <T>(value: T | undefined, what: string) => (value === undefined ? missing<T>(what) : ok(value))
  const transcript = (sessionID: string) => transcripts.get(sessionID) ?? []

  function change(sessionID: string, over: Partial<Session>) {
    const session = sessions.get(sessionID)
    if (!session) return missing<Session>(sessionID)
    const next = { ...session, ...over }
    sessions.set(sessionID, next)
    emit("session.updated", { sessionID, info: next })
    return ok(next)
  }
  const changed = (sessionID: string, over: Partial<Session>) => {
    const result = change(sessionID, over)
    return result.ok ? ok() : result
  }

  function say(sessionID: string, info: Message, parts: Part[]) {
    const list = transcript(sessionID).filter((message) => message.info.id !== info.id)
    transcripts.set(sessionID, [...list, { info, parts }])
    emit("message.updated", { sessionID, info })
  }

  /** A message under an id that is known replaces it, as the real host does. */
  function store(input: PromptInput) {
    const id = input.messageID ?? nextID("msg")
    const { sessionID, agent = "build", model = { providerID: "test", modelID: "test" } } = input
    const info: UserMessage = { id, sessionID, role: "user", time: { created: Date.now() }, agent, model }
    const parts = input.parts.map((part, index) => ({
      ...part,
      id: part.id ?? `${id}_${index}`,
      sessionID,
      messageID: id,
    }))
    say(sessionID, info, parts)
  }

  const host: Partial<Host> & Pick<Host, "log"> = {
    session: async (sessionID) => found(sessions.get(sessionID), sessionID),
    sessions: async () => ok([...sessions.values()]),
    children: async (sessionID) => ok([...sessions.values()].filter((session) => session.parentID === sessionID)),
    messages: async (sessionID, limit) => ok(transcript(sessionID).slice(limit === undefined ? 0 : -limit)),
    message: async (sessionID, id) => ok(transcript(sessionID).find((message) => message.info.id === id)),
    async deleteMessage(sessionID, id) {
      transcripts.set(
        sessionID,
        transcript(sessionID).filter((message) => message.info.id !== id),
      )
      return ok()
    },
    statuses: async (directory) => {
      const running = [...busy].filter((sessionID) => sessions.get(sessionID)?.directory === directory)
      return ok(Object.fromEntries(running.map((sessionID) => [sessionID, { type: "busy" as const }])))
    },
    async abort(sessionID) {
      if (busy.has(sessionID)) endTurn(sessionID, "aborted")
      return ok()
    },
    async deleteSession(sessionID) {
      const session = sessions.get(sessionID)
      if (!session) return missing<void>(sessionID)
      const children = [...sessions.values()].filter((child) => child.parentID === sessionID)
      for (const one of [...children, session]) {
        sessions.delete(one.id)
        emit("session.deleted", { sessionID: one.id, info: one })
      }
      return ok()
    },
    disposeInstance: async () => ok(),
    rename: async (sessionID, title) => changed(sessionID, { title }),
    addPermissions: async (sessionID, rules) =>
      changed(sessionID, { permission: [...(sessions.get(sessionID)?.permission ?? []), ...rules] }),
    permissions: async () => ok([]),
    questions: async () => ok([]),
    config: async () => ok({ model: "test/test" }),
    providers: async () =>
      ok({ providers: [{ id: "test", name: "Test", models: { test: { id: "test" } } } as never], defaults: {} }),
    async boot(directory) {
      for (const hear of booting) hear(directory)
      return ok()
    },
    log: (level, message, extra = {}) => void logs.push({ level, message, extra }),
  }

  function endTurn(sessionID: string, how: "stop" | "aborted" = "stop") {
    const id = nextID("msg")
    const created = Date.now()
    const info = {
      id,
      sessionID,
      role: "assistant",
      parentID: transcript(sessionID).findLast((message) => message.info.role === "user")?.info.id ?? "",
      time: { created, completed: created },
      ...(how === "stop"
        ? { finish: "stop" }
        : { error: { name: "MessageAbortedError", data: { message: "aborted" } } }),
    } as AssistantMessage
    say(sessionID, info, [{ id: `${id}_0`, sessionID, messageID: id, type: "text", text: "Done." }])
    busy.delete(sessionID)
    emit("session.status", { sessionID, status: { type: "idle" } })
    emit("session.idle", { sessionID })
  }

  return {
    host: host as Host,
    metadata: {
      async create(input) {
        const id = nextID("ses")
        const time = { created: Date.now(), updated: Date.now() }
        const session = { version: "1", projectID: "one", slug: id, ...input, id, time } as unknown as Session
        sessions.set(id, session)
        emit("session.created", { sessionID: id, info: session })
        return ok(session)
      },
      write: async (sessionID, metadata) => change(sessionID, { metadata }),
    },
    turns: {
      session: {
        async prompt(input) {
          if (!sessions.has(input.sessionID)) return unknown(input.sessionID)
          store(input)
          return { data: {}, response: new Response("{}", { status: 200 }) }
        },
        async promptAsync(input) {
          if (!sessions.has(input.sessionID)) return unknown(input.sessionID)
          prompts.push(input)
          store(input)
          busy.add(input.sessionID)
          emit("session.status", { sessionID: input.sessionID, status: { type: "busy" } })
          return { response: new Response(null, { status: 204 }) }
        },
      },
    },
    prompts,
    logs,
    transcript,
    endTurn,
    onEvent: (listener) => void hearing.add(listener),
    onBoot: (listener) => void booting.add(listener),
  }
}

function missing<T>(what: string): Awaited<HostResult<T>> {
  return err({ kind: "not_found", text: what, status: 404 })
}

/** As the SDK answers what the host refuses. */
function unknown(sessionID: string) {
  return { error: { message: `no ${sessionID}` }, response: new Response("", { status: 404 }) }
}
