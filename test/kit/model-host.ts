import type { AssistantMessage, Part, UserMessage } from "@opencode-ai/sdk/v2"
import { err, ok } from "../../src/core/result.ts"
import type {
  Host,
  HostDoors,
  MessageWithParts,
  PermissionRequest,
  PromptInput,
  Session,
  SessionStatus,
} from "../../src/shared/host.ts"
import type { HostEvent } from "../../src/shared/session-event.ts"

/** The database that all processes of a model world share, and what is counted of it. */
export interface Database {
  readonly sessions: Map<string, Session>
  readonly transcripts: Map<string, MessageWithParts[]>
  /** How many turns began for a message that asked for one. */
  readonly begun: Map<string, number>
  /** Sessions whose prompts were taken and never stored, once for each. */
  readonly lost: string[]
  /** What must never happen, as it was seen to happen. */
  readonly wrong: string[]
  /** Called with each change of a session's metadata. */
  changed(before: Session | undefined, after: Session): void
  count: number
}

export interface ModelProcess {
  readonly pid: number
  readonly alive: boolean
  /** Sessions whose loop runs in this process, and whether it has begun. */
  readonly turns: Map<string, { messageID: string; begun: boolean; retryUntil?: number }>
  /** Directories whose instance is up. */
  readonly served: Set<string>
  /** What sessions of this process ask for; an answered one is gone, and its answer noted. */
  readonly asks: PermissionRequest[]
  readonly answers: string[]
  /** As long as it is set, prompts are taken and never stored, and this is what `session.error` says. */
  losing?: object
}

export function makeDatabase(changed: Database["changed"]): Database {
  return { sessions: new Map(), transcripts: new Map(), begun: new Map(), lost: [], wrong: [], changed, count: 0 }
}

type Outcome = "stop" | "aborted" | "auth" | "network" | "dismissed"

const ERRORS = {
  aborted: { name: "MessageAbortedError", data: { message: "aborted" } },
  auth: { name: "ProviderAuthError", data: { message: "no key" } },
  network: { name: "APIError", data: { message: "fetch failed", statusCode: 503 } },
} as const

/** What a process's loop does, for whoever drives it. */
export interface Loop {
  /** A prompt that was admitted begins its turn. */
  begin(sessionID: string): void
  end(sessionID: string, how: Outcome): void
  /** The turn's next request: another message of the same turn. */
  step(sessionID: string): void
  /** The turn calls a tool, and the tool answers. */
  call(sessionID: string, tool: string, output: string): void
  /** The host waits before it asks the provider again. */
  retry(sessionID: string, until: number): void
}

/**
 * The host as one process of a model world sees it, honest in what matters: sessions and messages are shared, statuses
 * and events are the process's own, a prompt is stored at once and its turn begins later, a message id is stored once,
 * and two processes that run one session at a time is what must never happen.
 */
export function modelHost(
  db: Database,
  me: ModelProcess,
  parts: {
    now(): number
    /** Around each call: lets others go first, and never comes back once the process is dead. */
    pass(name: string): Promise<void>
    emit(event: HostEvent): void
    others(): readonly ModelProcess[]
  },
): HostDoors & Loop {
  const { pass, emit, now } = parts
  const notFound = (what: string) => err({ kind: "not_found" as const, text: what, status: 404 })
  const transcript = (sessionID: string) => db.transcripts.get(sessionID) ?? []

  async function around<T>(name: string, effect: () => T): Promise<T> {
    await pass(name)
    const answer = effect()
    await pass(`${name}, answered`)
    return answer
  }

  function put(next: Session) {
    db.changed(db.sessions.get(next.id), next)
    db.sessions.set(next.id, next)
    return ok(next)
  }
  function change(sessionID: string, over: Partial<Session>) {
    const session = db.sessions.get(sessionID)
    if (!session) return notFound(sessionID)
    const next = { ...session, ...over, time: { ...session.time, updated: now() } }
    emit({ type: "session.updated", properties: { sessionID, info: next } })
    return put(next)
  }

  function say(sessionID: string, info: UserMessage | AssistantMessage, parts: Part[]) {
    const list = transcript(sessionID)
    const at = list.findIndex((message) => message.info.id === info.id)
    const message = { info, parts }
    db.transcripts.set(sessionID, at < 0 ? [...list, message] : list.with(at, message))
    emit({ type: "message.updated", properties: { sessionID, info: { ...info, sessionID } } })
  }

  function store(input: PromptInput) {
    const { sessionID, agent = "build", model = { providerID: "m", modelID: "m" } } = input
    const id = input.messageID ?? `msg_${++db.count}`
    if (transcript(sessionID).some((message) => message.info.id === id)) return id
    const info: UserMessage = { id, sessionID, role: "user", time: { created: now() }, agent, model }
    const parts = input.parts.map((part, n) => ({ ...part, id: part.id ?? `${id}_${n}`, sessionID, messageID: id }))
    say(sessionID, info, parts)
    return id
  }

  function begin(sessionID: string) {
    const turn = me.turns.get(sessionID)
    if (!turn || turn.begun) return
    turn.begun = true
    const elsewhere = parts.others().find((other) => other.alive && other.turns.get(sessionID)?.begun)
    if (elsewhere) db.wrong.push(`${sessionID} runs in ${elsewhere.pid} and in ${me.pid}`)
    const times = (db.begun.get(turn.messageID) ?? 0) + 1
    db.begun.set(turn.messageID, times)
    if (times > 1) db.wrong.push(`${turn.messageID} of ${sessionID} began ${times} turns`)
    emit({ type: "session.status", properties: { sessionID, status: { type: "busy" } } })
    const info = { id: `msg_${++db.count}`, sessionID, role: "assistant", parentID: turn.messageID }
    say(sessionID, { ...info, time: { created: now() } } as AssistantMessage, [])
  }

  function end(sessionID: string, how: Outcome) {
    const turn = me.turns.get(sessionID)
    if (!turn?.begun) return
    me.turns.delete(sessionID)
    const open = transcript(sessionID).findLast((message) => message.info.role === "assistant")!
    const { id, time } = open.info
    const error = how === "stop" || how === "dismissed" ? {} : { error: ERRORS[how] }
    const finish = how === "stop" ? { finish: "stop" } : how === "dismissed" ? { finish: "tool-calls" } : {}
    const done = { ...open.info, time: { ...time, completed: now() }, ...error, ...finish } as AssistantMessage
    const text = { id: `${id}_0`, sessionID, messageID: id, type: "text", text: "Done." } as Part
    say(sessionID, done, [...open.parts, text])
    if (how !== "stop" && how !== "dismissed")
      emit({ type: "session.error", properties: { sessionID, error: ERRORS[how] } })
    emit({ type: "session.status", properties: { sessionID, status: { type: "idle" } } })
    emit({ type: "session.idle", properties: { sessionID } })
  }

  function step(sessionID: string) {
    const turn = me.turns.get(sessionID)
    if (!turn?.begun) return
    const open = transcript(sessionID).findLast((message) => message.info.role === "assistant")!
    const done = { ...open.info, time: { ...open.info.time, completed: now() }, finish: "tool-calls" }
    say(sessionID, done as AssistantMessage, [...open.parts])
    const info = { id: `msg_${++db.count}`, sessionID, role: "assistant", parentID: turn.messageID }
    say(sessionID, { ...info, time: { created: now() } } as AssistantMessage, [])
  }

  function call(sessionID: string, tool: string, output: string) {
    if (!me.turns.get(sessionID)?.begun) return
    const open = transcript(sessionID).findLast((message) => message.info.role === "assistant")!
    const messageID = open.info.id
    const id = `${messageID}_${open.parts.length}`
    const time = { start: now(), end: now() }
    const state = { status: "completed", input: {}, output, title: "", metadata: {}, time }
    say(sessionID, open.info, [
      ...open.parts,
      { id, sessionID, messageID, type: "tool", callID: id, tool, state } as Part,
    ])
    emit({ type: "message.part.updated", properties: { part: { sessionID, type: "tool", state } } })
  }

  const host: Partial<Host> = {
    session: (id) => around("session", () => (db.sessions.has(id) ? ok(db.sessions.get(id)!) : notFound(id))),
    sessions: (_directory, since = 0) =>
      around("sessions", () => ok([...db.sessions.values()].filter((session) => session.time.updated >= since))),
    children: (id) =>
      around("children", () => ok([...db.sessions.values()].filter((session) => session.parentID === id))),
    messages: (id, limit) => around("messages", () => ok(transcript(id).slice(limit === undefined ? 0 : -limit))),
    message: (sessionID, id) =>
      around("message", () =>
        db.sessions.has(sessionID)
          ? ok(transcript(sessionID).find((message) => message.info.id === id))
          : notFound(sessionID),
      ),
    deleteMessage: (sessionID, id) =>
      around("deleteMessage", () => {
        const kept = transcript(sessionID).filter((message) => message.info.id !== id)
        db.transcripts.set(sessionID, kept)
        return ok()
      }),
    statuses: (directory) =>
      around("statuses", () => {
        const busy = [...me.turns].filter(([id, turn]) => turn.begun && db.sessions.get(id)?.directory === directory)
        const status = (until: number | undefined): SessionStatus =>
          until === undefined ? { type: "busy" } : { type: "retry", attempt: 1, message: "rate limit", next: until }
        return ok(Object.fromEntries(busy.map(([id, turn]) => [id, status(turn.retryUntil)])))
      }),
    abort: (sessionID) =>
      around("abort", () => {
        end(sessionID, "aborted")
        return ok()
      }),
    rename: (sessionID, title) =>
      around("rename", () => {
        const changed = change(sessionID, { title })
        return changed.ok ? ok() : changed
      }),
    permissions: () => around("permissions", () => ok([...me.asks])),
    replyPermission: (_directory, id, reply) =>
      around("reply", () => {
        const at = me.asks.findIndex((ask) => ask.id === id)
        if (at < 0) return notFound(id)
        me.asks.splice(at, 1)
        me.answers.push(`${id}: ${reply}`)
        return ok()
      }),
    questions: () => around("questions", () => ok([])),
    config: async () => ok({ model: "m/m" }),
    providers: async () =>
      ok({ providers: [{ id: "m", name: "m", models: { m: { id: "m" } } } as never], defaults: {} }),
    log() {},
  }

  return {
    host: host as Host,
    metadata: {
      create: ({ metadata, directory, title, parentID }) =>
        around("create", () => {
          const id = `ses_${++db.count}`
          const time = { created: now(), updated: now() }
          const made = { id, directory, title, metadata, time, ...(parentID ? { parentID } : {}) }
          emit({ type: "session.created", properties: { sessionID: id, info: made } })
          return put(made as unknown as Session)
        }),
      write: (sessionID, metadata) => around("write", () => change(sessionID, { metadata })),
    },
    turns: {
      session: {
        prompt: (input) =>
          around("prompt", () => {
            if (!db.sessions.has(input.sessionID)) return refusal()
            store(input)
            return { data: {}, response: new Response("{}") }
          }),
        promptAsync: (input) =>
          around("promptAsync", () => {
            const { sessionID } = input
            if (!db.sessions.has(sessionID)) return refusal()
            if (me.losing) {
              db.lost.push(sessionID)
              emit({ type: "session.error", properties: { sessionID, error: me.losing } })
              return { response: new Response(null, { status: 204 }) }
            }
            const messageID = store(input)
            // A prompt into a running turn is read by it and begins none of its own.
            if (!me.turns.has(sessionID)) me.turns.set(sessionID, { messageID, begun: false })
            return { response: new Response(null, { status: 204 }) }
          }),
      },
    },
    begin,
    end,
    step,
    call,
    retry(sessionID, until) {
      const turn = me.turns.get(sessionID)
      if (!turn?.begun) return
      turn.retryUntil = until
      const status = { type: "retry", attempt: 1, message: "rate limit", next: until }
      emit({ type: "session.status", properties: { sessionID, status } })
    },
  }
}

/** As the SDK answers what the host refuses. */
function refusal() {
  return { error: { message: "no such session" }, response: new Response("", { status: 404 }) }
}
