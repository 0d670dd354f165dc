import { manualClock, settle, type ManualClock } from "../kit/clock.ts"
import { ok, err, type Result } from "../../src/core/result.ts"
import type { HostFailure, MessageWithParts, PromptInput, Session, Turns } from "../../src/shared/host.ts"
import * as gateModule from "../../src/shared/prompt-async-gate.ts"
import {
  type makeGate,
  type Gate,
  type PromptArgs,
  type PromptAsyncGateResult,
} from "../../src/shared/prompt-async-gate.ts"
import { makeSessionState, type SessionState } from "../../src/shared/session-state.ts"
import type { Leases } from "../../src/shared/store.ts"

/**
 * A host in memory on a manual clock, for the gate and for injection: sessions with transcripts, turns that start when
 * a prompt arrives and end when the test says so, sends that can be held back. It keeps the record of everything that was asked of
 * it, and complains about a session that it does not know.
 */

export const DIR = "/repo/wt"

export type Kind = "prompt" | "promptAsync"
export type Outcome = "ok" | "lost" | 400 | 404 | 500 | "throw" | "network"

export type Send = {
  readonly kind: Kind
  readonly input: PromptInput
  readonly at: number
  /** Lets a held send come back. */
  come(outcome: Outcome): void
  /** It reaches the host, and nobody hears of it: the sender has died. */
  land(): void
  back: boolean
}

export type FakeSession = {
  id: string
  directory: string
  agent: string | undefined
  model: { id: string; providerID: string; variant?: string } | undefined
  revert: boolean
  archived: boolean
  gone: boolean
  running: boolean
  messages: MessageWithParts[]
  /** Model requests: one when a turn starts, one more when a message arrives in its last step. */
  requests: number
  turns: number
}

export interface World {
  readonly clock: ManualClock
  readonly state: SessionState
  readonly gate: Gate
  readonly turns: Turns
  readonly host: Parameters<typeof makeGate>[0]["host"] & FakeHost
  readonly sessions: Map<string, FakeSession>
  readonly sends: Send[]
  readonly asks: string[]
  readonly logs: { level: string; message: string; extra: Record<string, unknown> }[]
  /** Held sends wait for `come`; otherwise each comes back at once with `outcome`. */
  held: boolean
  outcome: Outcome
  /** Whether a prompt that arrives is followed by the busy event at once. */
  announces: boolean
  maxInFlight: number
  session(id: string): FakeSession
  /** Everybody's sends that have not come back. */
  inFlight(id: string): number
  wake(id: string, source?: PromptArgs["source"], more?: Partial<PromptArgs>): Promise<PromptAsyncGateResult>
  note(id: string, source?: PromptArgs["source"], more?: Partial<PromptArgs>): Promise<PromptAsyncGateResult>
  busy(id: string): void
  /** The model answers and the turn ends, with the host's pair of idle events. */
  endTurn(id: string, finish?: string): void
  idle(id: string): void
  userPrompt(id: string, text?: string): string
  emit(type: string, properties: Record<string, unknown>): void
  settle(): Promise<void>
}

type FakeHost = {
  session(id: string): Promise<Result<Session, HostFailure>>
  statuses(
    directory: string,
  ): Promise<
    Result<
      Record<string, { type: "busy" } | { type: "retry"; attempt: number; message: string; next: number }>,
      HostFailure
    >
  >
  messages(id: string, limit?: number): Promise<Result<MessageWithParts[], HostFailure>>
  message(id: string, messageID: string): Promise<Result<MessageWithParts | undefined, HostFailure>>
  deleteMessage(id: string, messageID: string): Promise<Result<void, HostFailure>>
  /** Answers instead of the sessions' own state, once each, in order; `"hang"` never answers. */
  readonly statusAnswers: (
    | Result<Record<string, any>, HostFailure>
    | "hang"
    | Promise<Result<Record<string, any>, HostFailure>>
  )[]
  readonly messageAnswers: (Result<MessageWithParts | undefined, HostFailure> | "hang")[]
}

const gone = (id: string): Result<never, HostFailure> =>
  err({ kind: "not_found", text: `no session ${id}`, status: 404 })
const HANG = new Promise<never>(() => {})
let serial = 0

export function makeWorld(
  options: {
    clock?: ManualClock
    leases?: Pick<Leases, "take" | "release" | "holder">
    log?: () => void
    startedAt?: number
    sessions?: Map<string, FakeSession>
    /** Another copy of the gate's module. */
    gate?: typeof gateModule
    /** Hears of every call to the host, at the time of the call. */
    onCall?: (call: { readonly what: string; readonly sessionID?: string; readonly directory?: string }) => void
  } = {},
): World {
  const clock = options.clock ?? manualClock()
  const sessions = options.sessions ?? new Map<string, FakeSession>()
  const prefix = `w${serial++}_`
  const sends: Send[] = []
  const asks: string[] = []
  const module = options.gate ?? gateModule
  const called = (what: string, sessionID?: string, directory?: string) => {
    asks.push(`${what} ${sessionID ?? directory}`)
    options.onCall?.({ what, ...(sessionID ? { sessionID } : {}), ...(directory ? { directory } : {}) })
  }
  const away = new Map<string, number>()
  const logs: World["logs"] = []

  function session(id: string): FakeSession {
    const found = sessions.get(id)
    if (found) return found
    const made: FakeSession = {
      id,
      directory: DIR,
      agent: "build",
      model: { id: "m1", providerID: "mock" },
      revert: false,
      archived: false,
      gone: false,
      running: false,
      messages: [],
      requests: 0,
      turns: 0,
    }
    sessions.set(id, made)
    return made
  }

  const asAsked = (one: FakeSession) =>
    ({
      id: one.id,
      directory: one.directory,
      ...(one.agent ? { agent: one.agent } : {}),
      ...(one.model ? { model: one.model } : {}),
      time: { created: 0, updated: 0, ...(one.archived ? { archived: 1 } : {}) },
      ...(one.revert ? { revert: { messageID: "msg_x" } } : {}),
    }) as unknown as Session

  const host: FakeHost = {
    statusAnswers: [],
    messageAnswers: [],
    async session(id) {
      called("session", id)
      return session(id).gone ? gone(id) : ok(asAsked(session(id)))
    },
    async statuses(directory) {
      called("statuses", undefined, directory)
      const answer = host.statusAnswers.shift()
      if (answer === "hang") return HANG
      if (answer) return answer
      const busy: Record<string, { type: "busy" }> = {}
      for (const one of sessions.values())
        if (one.running && one.directory === directory) busy[one.id] = { type: "busy" }
      return ok(busy)
    },
    async messages(id, limit) {
      called("messages", id)
      if (session(id).gone) return gone(id)
      const all = session(id).messages
      return ok(limit === undefined ? [...all] : all.slice(-limit))
    },
    async message(id, messageID) {
      called("message", id)
      const answer = host.messageAnswers.shift()
      if (answer === "hang") return HANG
      if (answer) return answer
      if (session(id).gone) return gone(id)
      return ok(session(id).messages.find((message) => message.info.id === messageID))
    },
    async deleteMessage(id, messageID) {
      called("delete", id)
      const one = session(id)
      if (one.running) return err({ kind: "rejected", text: "busy", status: 409 })
      one.messages = one.messages.filter((message) => message.info.id !== messageID)
      return ok()
    },
  }

  function arrive(kind: Kind, input: PromptInput) {
    const one = session(input.sessionID)
    const id = input.messageID ?? `msg_${prefix}${serial++}`
    const user = {
      info: {
        id,
        sessionID: one.id,
        role: "user",
        time: { created: clock.now() },
        agent: input.agent ?? "build",
        model: {
          ...(input.model ?? { providerID: "mock", modelID: "m1" }),
          ...(input.variant ? { variant: input.variant } : {}),
        },
      },
      parts: input.parts.map((part) => ({ ...part, sessionID: one.id, messageID: id })),
    } as unknown as MessageWithParts
    const known = one.messages.findIndex((message) => message.info.id === id)
    if (known >= 0)
      one.messages[known] = { ...user, info: { ...user.info, time: one.messages[known]!.info.time } as never }
    else one.messages.push(user)
    one.agent = input.agent ?? "build"
    if (kind === "prompt" && input.noReply) {
      // After a tool call a request follows anyway, and it reads this along.
      if (one.running && known < 0 && state.phase(one.id) !== "window") one.requests++
      return
    }
    if (one.running) {
      if (known < 0) one.requests++
      return
    }
    const answered = one.messages.slice(one.messages.findIndex((message) => message.info.id === id) + 1)
    if (answered.some((message) => message.info.role === "assistant")) return
    one.running = true
    one.turns++
    one.requests++
    if (world.announces) world.busy(one.id)
  }

  class FakeTurns {
    #sends = sends

    prompt(input: PromptInput) {
      return this.#send("prompt", input)
    }

    promptAsync(input: PromptInput) {
      return this.#send("promptAsync", input)
    }

    #send(kind: Kind, input: PromptInput): Promise<unknown> {
      options.onCall?.({ what: kind, sessionID: input.sessionID })
      if (!sessions.has(input.sessionID)) throw new Error(`nobody made the session ${input.sessionID}`)
      if (!world.held && world.outcome === "throw") throw new Error("thrown before the promise")
      const { promise, resolve, reject } = Promise.withResolvers<unknown>()
      const send: Send = {
        kind,
        input,
        at: clock.monotonic(),
        back: false,
        land: () => arrive(kind, input),
        come(outcome) {
          if (send.back) return
          send.back = true
          away.set(input.sessionID, world.inFlight(input.sessionID) - 1)
          if (outcome === "network" || outcome === "throw") return reject(new TypeError("fetch failed"))
          if (outcome === 404 || outcome === 400 || outcome === 500) {
            return resolve({ error: { message: `status ${outcome}` }, response: { status: outcome } })
          }
          if (outcome === "ok" && !session(input.sessionID).gone) arrive(kind, input)
          resolve({ data: {}, response: { status: kind === "prompt" ? 200 : 204 } })
        },
      }
      this.#sends.push(send)
      away.set(input.sessionID, world.inFlight(input.sessionID) + 1)
      world.maxInFlight = Math.max(world.maxInFlight, world.inFlight(input.sessionID))
      if (!world.held) send.come(world.outcome)
      return promise
    }
  }

  const turns: Turns = { session: new FakeTurns() }
  const state = makeSessionState({
    host: host as never,
    clock,
    ...(options.leases ? { leases: options.leases } : {}),
    startedAt: options.startedAt ?? clock.now() - 1_000,
  })
  const gate = module.makeGate({
    turns,
    host: host as never,
    state,
    clock,
    ...(options.leases ? { leases: options.leases } : {}),
    log: (level, message, extra = {}) => {
      logs.push({ level, message, extra })
      options.log?.()
    },
  })

  function args(id: string, source: PromptArgs["source"], more: Partial<PromptArgs>): PromptArgs {
    session(id)
    const input: PromptInput = { sessionID: id, parts: [{ type: "text", text: "go" }] }
    return { client: turns, sessionID: id, input, source, ...more } as PromptArgs
  }

  const world: World = {
    clock,
    state,
    gate,
    turns,
    host: host as never,
    sessions,
    sends,
    asks,
    logs,
    held: false,
    outcome: "ok",
    announces: true,
    maxInFlight: 0,
    session,
    inFlight: (id) => away.get(id) ?? 0,
    wake: (id, source = "test:wake", more = {}) => module.promptAsyncAfterSessionIdle(args(id, source, more)),
    note: (id, source = "test:note", more = {}) => {
      const made = args(id, source, more)
      return module.promptAfterSessionIdle({ ...made, input: { ...made.input, noReply: true } } as never)
    },
    busy(id) {
      session(id).running = true
      world.emit("session.status", { sessionID: id, status: { type: "busy" } })
    },
    endTurn(id, finish = "stop") {
      const one = session(id)
      const last = one.messages.findLast((message) => message.info.role === "user")
      one.messages.push({
        info: {
          id: `msg_${prefix}a${serial++}`,
          sessionID: id,
          role: "assistant",
          parentID: last?.info.id,
          time: { created: clock.now(), completed: clock.now() },
          finish,
        },
        parts: [],
      } as unknown as MessageWithParts)
      one.running = false
      world.idle(id)
    },
    idle(id) {
      world.emit("session.status", { sessionID: id, status: { type: "idle" } })
      world.emit("session.idle", { sessionID: id })
    },
    userPrompt(id, text = "hello") {
      const messageID = `msg_${prefix}u${serial++}`
      world.emit("chat.message", {})
      state.foreignPrompt(id, messageID)
      arrive("promptAsync", {
        sessionID: id,
        messageID,
        agent: session(id).agent ?? "build",
        parts: [{ type: "text", text }],
      })
      return messageID
    },
    emit: (type, properties) => state.observe({ type, properties }),
    settle: () => settle(),
  }
  return world
}

/** The result of a promise that has settled by now; fails the test when it has not. */
export async function now<T>(promise: Promise<T>): Promise<T> {
  const pending = Symbol("pending")
  await settle()
  const value = await Promise.race([promise, Promise.resolve(pending)])
  if (value === pending) throw new Error("it has not come back yet")
  return value as T
}

/** Whether it has settled by now. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  await settle()
  let open = true
  void promise.then(
    () => (open = false),
    () => (open = false),
  )
  await settle(3)
  return open
}

/** Leases in memory, for gates that play different processes. */
export function memoryLeases(): {
  of(process: string): Pick<Leases, "take" | "release" | "holder">
  die(process: string): void
} {
  const held = new Map<string, string>()
  const dead = new Set<string>()
  return {
    die: (process) => void dead.add(process),
    of: (process) => ({
      async take(sessionID) {
        const holder = held.get(sessionID)
        if (holder === undefined || holder === process || dead.has(holder)) {
          held.set(sessionID, process)
          return ok()
        }
        return err({ kind: "io", text: `held by ${holder}` })
      },
      async release(sessionID) {
        if (held.get(sessionID) !== process) return false
        return held.delete(sessionID)
      },
      async holder(sessionID) {
        const holder = held.get(sessionID)
        if (holder === undefined) return ok(undefined)
        const claim = { pid: 1, start: holder, host: "here", at: 0, nonce: "0" }
        return ok({ claim, mine: holder === process, alive: !dead.has(holder) })
      },
    }),
  }
}
