import type { Clock } from "./clock.ts"
import { check, checkIntentOnly, refuse } from "./gate/check.ts"
import { DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS, makeContextSender, type Contexts } from "./gate/contexts.ts"
import { makeFlight } from "./gate/flight.ts"
import { makeSlotLeases } from "./gate/leases.ts"
import { listen } from "./gate/listen.ts"
import { complete, marked, type GateIntent } from "./gate/prompt.ts"
import {
  arm,
  holderOf,
  holds,
  isSending,
  matches,
  reserve,
  sharedSlots,
  slotOf,
  type PromptAsyncGateResult,
  type Release,
  type Reservation,
} from "./gate/slots.ts"
import type { Host, LogLevel, PromptInput, Turns } from "./host.ts"
import type { SessionState } from "./session-state.ts"
import type { Leases } from "./store.ts"

/**
 * The prompt gate: the only caller of `session.prompt` and `session.promptAsync`.
 *
 *   free ─► settling ─► checking ─► sending ─► starting ──evidence──► turn ──idle──► free
 *             │            │           │  └─ 30 s ─► limbo ─ comes back, or 5 min and the transcript is asked
 *             └────────────┴─► free    └─ refused ─► free, failed ─► holding ─► free
 *
 * A session is reserved in the tick of the call and checked again in the tick of the send. Release, a foreign prompt,
 * a deletion and a fence take effect at once where nothing is sent, and when the send comes back where it is. While a
 * turn of a supervised session runs, this process holds its lease. Why it deviates from the decision record that it
 * follows stands in docs/decisions/prompt-gate.md.
 *
 *   const gate = makeGate({ turns, host, state, leases, clock, log })
 *   await promptAsyncAfterSessionIdle({ client: turns, sessionID, input, source: "start:task-12", directory, intent })
 */

export type { Contexts, GateIntent, PromptAsyncGateResult, Release }

export const DEFAULT_PROMPT_ASYNC_IDLE_SETTLE_MS = 150
export const DEFAULT_PROMPT_ASYNC_POST_DISPATCH_HOLD_MS = 250
export { DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS }
const QUIESCE_MS = 2_000

/** `route:subject`, so that a log line and a later caller can tell who it was. */
export type Source = `${string}:${string}`

type Opt<T> = { readonly checkStatus?: true } | ({ readonly checkStatus: false } & T)

export type PromptArgs = {
  readonly client: Turns
  readonly sessionID: string
  readonly input: PromptInput
  readonly source: Source
  readonly directory?: string
  readonly intent?: GateIntent
  readonly settleMs?: number
  readonly postDispatchHoldMs?: number
  readonly dispatchTimeoutMs?: number
  /** Leaving the check out needs a reason why nothing can be running. */
} & Opt<{ readonly reason: string }>

/** A sync prompt resolves when the whole turn is over, so only one that starts none may be sent. */
export type NoReplyArgs = PromptArgs & { readonly input: PromptInput & { readonly noReply: true } }

export type ContextArgs = {
  readonly client: Turns
  readonly sessionID: string
  readonly source: Source
  /** One message, or several under one lock. */
  readonly message: PromptInput | Contexts
  /** At a confirmed idle, or inside the awaited hook of that tool call. */
  readonly at: "idle" | { readonly toolCall: string }
  readonly directory?: string
  readonly dispatchTimeoutMs?: number
}

export interface Gate {
  readonly turns: Turns
  /** What is staged for a session; a wake sends it first, under the same lock. */
  useOutbox(outbox: (sessionID: string, intentID: string | undefined) => Contexts | undefined): void
  /** The host says that the session is at rest: a turn that was thought to run there is over, its end was not heard. */
  rested(sessionID: string): void
  /** Resolves when nothing of ours is on its way (in this directory's sessions, or at all), after 2 s at the latest. */
  whenQuiet(directory?: string): Promise<void>
  /** Revokes what is not sent, waits for what is, takes every timer down. Later calls are `unavailable`. */
  dispose(): Promise<void>
}

export type GateParts = {
  readonly turns: Turns
  readonly host: Pick<Host, "session" | "messages" | "message">
  readonly state: SessionState
  readonly leases?: Pick<Leases, "take" | "release">
  readonly clock: Clock
  readonly log: (level: LogLevel, message: string, extra?: Record<string, unknown>) => void
}

/** Wakes a session once it is idle: the turn runs on after this resolves. Never rejects for an expected race. */
export async function promptAsyncAfterSessionIdle(args: PromptArgs): Promise<PromptAsyncGateResult> {
  return run("promptAsync", args)
}

/** Stores a message without a turn once the session is idle. */
export async function promptAfterSessionIdle(args: NoReplyArgs): Promise<PromptAsyncGateResult> {
  if (args.input.noReply !== true) throw new TypeError("a sync prompt must be noReply: it would resolve after the turn")
  return run("prompt", args)
}

/** Stores contexts for `inject.ts`: no settle, no hold, and never a turn. */
export async function storeContext(args: ContextArgs): Promise<PromptAsyncGateResult> {
  checkSource(args.source)
  const gate = gateOf(args.client)
  return gate ? gate.store(args) : { status: "unavailable" }
}

/**
 * Gives a reservation back to whoever comes next; for recovery only, by its exact owner or a prefix that ends with a
 * colon. What is sent already is released when it comes back. `false`: it is not reserved by that owner.
 */
export function releasePromptAsyncReservation(sessionID: string, release: Release): boolean {
  const reservation = slotOf(sessionID)?.reservation
  if (!reservation) return false
  const gate = owners.get(reservation)
  if (!matches(reservation.source, release)) {
    if (!reservation.mismatchLogged) gate?.tell("warn", reservation, "release by another owner ignored")
    reservation.mismatchLogged = true
    return false
  }
  gate?.release(reservation)
  return true
}

async function run(mode: "prompt" | "promptAsync", args: PromptArgs): Promise<PromptAsyncGateResult> {
  checkSource(args.source)
  if (args.checkStatus === false && !args.reason?.trim()) throw new TypeError("checkStatus: false needs a reason")
  const gate = gateOf(args.client)
  return gate ? gate.prompt(mode, args) : { status: "unavailable" }
}

function checkSource(source: string) {
  if (!/^[^\s:]+:\S/.test(source)) throw new TypeError(`a source is "route:subject", not ${JSON.stringify(source)}`)
}

type Mode = "prompt" | "promptAsync"
type Ready = { readonly input: PromptInput & { readonly messageID: string } }

type Inner = {
  prompt(mode: Mode, args: PromptArgs): Promise<PromptAsyncGateResult>
  store(args: ContextArgs): Promise<PromptAsyncGateResult>
  release(reservation: Reservation): void
  tell(level: LogLevel, about: Pick<Reservation, "sessionID" | "source">, what: string, extra?: object): void
}

/** Whose clock and client a reservation belongs to. */
const owners = new WeakMap<Reservation, Inner>()

function gateOf(client: Turns): Inner | undefined {
  return sharedSlots().gates.get(client) as Inner | undefined
}

/** Builds the gate of one client. All gates of a thread share one map of sessions. */
export function makeGate(parts: GateParts): Gate {
  const { turns, host, state, clock } = parts
  const { gates } = sharedSlots()
  const mine = new Set<Reservation>()
  const leases = makeSlotLeases(parts.leases)
  let outbox: Parameters<Gate["useOutbox"]>[0] | undefined
  let disposed = false

  const flight = makeFlight({
    host,
    state,
    clock,
    leases,
    tell,
    isDisposed: () => disposed,
    forgotten: (reservation) => mine.delete(reservation),
  })

  const sendAll = makeContextSender({ state, flight, lost, send: (message) => raw("prompt", message) })

  function tell(level: LogLevel, about: Pick<Reservation, "sessionID" | "source">, what: string, extra: object = {}) {
    try {
      parts.log(level, `[prompt-async-gate] ${what}`, { sessionID: about.sessionID, source: about.source, ...extra })
    } catch {
      return // A log that cannot be written must not change what happens to the prompt.
    }
  }

  function take(seed: Parameters<typeof reserve>[0], as?: "storing"): Reservation {
    const reservation = reserve(seed, as)
    mine.add(reservation)
    owners.set(reservation, inner)
    return reservation
  }

  function report(
    about: { readonly sessionID: string; readonly source: string; readonly intent?: GateIntent },
    result: PromptAsyncGateResult,
  ): PromptAsyncGateResult {
    const { status, ...rest } = result
    const level = status === "failed" || status === "rejected" ? "error" : "info"
    const detail = "error" in rest ? { error: String(rest.error) } : "response" in rest ? {} : rest
    tell(level, about, status, { ...detail, ...(about.intent ? { intent: about.intent.id } : {}) })
    return result
  }

  function refuseNow(sessionID: string, directory: string | undefined): PromptAsyncGateResult | undefined {
    if (disposed) return { status: "unavailable" }
    if (state.isFenced(state.directoryOf(sessionID) ?? directory)) return { status: "blocked", reason: "disposing" }
    return state.phase(sessionID) === "dead" ? { status: "blocked", reason: "deleted" } : undefined
  }

  /** Whether the call still may go on, as far as this process knows. */
  function lost(reservation: Reservation): PromptAsyncGateResult | undefined {
    if (reservation.revoked) return reservation.revoked
    if (!holds(reservation)) return { status: "reserved", reservedBy: holderOf(reservation.sessionID) ?? "released" }
    return refuseNow(reservation.sessionID, reservation.directory)
  }

  /** The last look, in the tick of the send: and nobody else has begun. */
  function stopNow(reservation: Reservation): PromptAsyncGateResult | undefined {
    const phase = state.phase(reservation.sessionID)
    const busy = phase === "step" || phase === "window" || phase === "admitting"
    if (busy || slotOf(reservation.sessionID)?.storing) return reservation.revoked ?? { status: "active" }
    return lost(reservation)
  }

  async function prompt(mode: Mode, args: PromptArgs): Promise<PromptAsyncGateResult> {
    const { sessionID, source } = args
    if (typeof turns.session?.[mode] !== "function") return report(args, { status: "unavailable" })
    const refusal = refuseNow(sessionID, args.directory)
    if (refusal) return report(args, refusal)
    const holder = holderOf(sessionID)
    if (holder !== undefined) return report(args, { status: "reserved", reservedBy: holder })
    const directory = state.directoryOf(sessionID) ?? args.directory
    const kind = mode === "prompt" ? "context" : "wake"
    const reservation = take({ sessionID, source, kind, directory, stage: "settling" })
    try {
      await settle(reservation, args.settleMs ?? DEFAULT_PROMPT_ASYNC_IDLE_SETTLE_MS)
      const ready = lost(reservation) ?? (await prepare(reservation, args))
      return report(args, "status" in ready ? ready : await dispatch(mode, reservation, args, ready))
    } finally {
      if (reservation.stage === "settling" || reservation.stage === "checking") flight.letGo(reservation)
    }
  }

  async function settle(reservation: Reservation, ms: number): Promise<void> {
    if (ms <= 0) return Promise.resolve()
    await new Promise<void>((resolve) => {
      const cancel = arm(clock, reservation, ms, resolve)
      reservation.wake = () => {
        cancel()
        resolve()
      }
    })
    delete reservation.wake
  }

  /** Lease, check, contexts; answers the input as it will be sent, or why it will not. */
  async function prepare(reservation: Reservation, args: PromptArgs): Promise<PromptAsyncGateResult | Ready> {
    const { sessionID, intent, input } = args
    reservation.stage = "checking"
    const elsewhere = await leases.take(sessionID)
    if (elsewhere !== undefined) {
      tell("info", reservation, `its lease is ${elsewhere}`)
      return { status: "active" }
    }
    const gone = lost(reservation)
    if (gone) return gone
    const verdict =
      args.checkStatus === false
        ? await checkIntentOnly({ host, state }, sessionID, input, intent)
        : await check({ host, state }, sessionID, args.directory, intent)
    if (verdict.kind === "stop") {
      tell("debug", reservation, verdict.why)
      if (verdict.result.status === "rejected") flight.bury(sessionID)
      return reservation.revoked && verdict.result.status === "active" ? reservation.revoked : verdict.result
    }
    const contexts = reservation.kind === "wake" && !stopNow(reservation) ? outbox?.(sessionID, intent?.id) : undefined
    const undelivered = contexts && (await sendAll(reservation, contexts, args))
    if (undelivered) return undelivered
    const own = reservation.kind === "context" ? marked(input, args.source) : input
    return stopNow(reservation) ?? { input: complete(own, verdict.identity, intent, clock.now()) }
  }

  async function dispatch(
    mode: Mode,
    reservation: Reservation,
    args: PromptArgs,
    { input }: Ready,
  ): Promise<PromptAsyncGateResult> {
    const holdMs = Math.max(1, args.postDispatchHoldMs ?? DEFAULT_PROMPT_ASYNC_POST_DISPATCH_HOLD_MS)
    reservation.stage = "sending"
    reservation.messageID = input.messageID
    state.expectOwn(input.messageID)
    const limit = {
      ms: args.dispatchTimeoutMs ?? DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS,
      ...(args.intent ? { intentID: args.intent.id } : {}),
    }
    const sent = await flight.send(
      reservation,
      () => raw(mode, input),
      limit,
      (late) => {
        tell(late.kind === "ok" ? "warn" : "error", reservation, `came back after its time-out: ${late.kind}`)
        flight.landed(reservation, late, holdMs)
      },
    )
    return flight.landed(reservation, sent, holdMs)
  }

  /** The two raw calls. A throw before the promise is a failure like any other. */
  async function raw(mode: Mode, input: PromptInput): Promise<unknown> {
    return mode === "prompt" ? turns.session.prompt(input) : turns.session.promptAsync(input)
  }

  async function store(args: ContextArgs): Promise<PromptAsyncGateResult> {
    const { sessionID, source, at } = args
    if (typeof turns.session?.prompt !== "function") return report(args, { status: "unavailable" })
    const refusal = refuseNow(sessionID, args.directory)
    if (refusal) return report(args, refusal)
    const slot = slotOf(sessionID)
    const holder = slot?.storing ?? (at === "idle" || isSending(slot?.reservation) ? slot?.reservation : undefined)
    if (holder) return report(args, { status: "reserved", reservedBy: holder.source })
    if (at !== "idle" && !state.inTool(sessionID, at.toolCall)) return report(args, { status: "active" })
    const directory = state.directoryOf(sessionID) ?? args.directory
    const seed = { sessionID, source, kind: "context", directory, stage: "checking" } as const
    const reservation = take(seed, at === "idle" ? undefined : "storing")
    try {
      const busy = at === "idle" ? await confirmIdle(reservation, args) : undefined
      const contexts = Symbol.asyncIterator in args.message ? args.message : one(args.message)
      const undelivered = busy ?? (await sendAll(reservation, contexts, args))
      return report(args, undelivered ?? { status: "dispatched", response: undefined })
    } finally {
      if (reservation.stage !== "limbo") flight.letGo(reservation)
    }
  }

  async function confirmIdle(reservation: Reservation, args: ContextArgs): Promise<PromptAsyncGateResult | undefined> {
    const { sessionID, directory } = args
    if ((await leases.take(sessionID)) !== undefined) return { status: "active" }
    const gone = lost(reservation)
    if (gone) return gone
    const asked = await state.ask(sessionID, directory)
    if (asked.kind === "gone") flight.bury(sessionID)
    if (asked.kind !== "quiet") return reservation.revoked ?? refuse(asked).result
    return asked.tail.kind === "open" ? { status: "active" } : stopNow(reservation)
  }

  async function whenQuiet(directory?: string): Promise<void> {
    const sends = [...mine].flatMap((reservation) =>
      directory === undefined || reservation.directory === directory ? (reservation.inFlight ?? []) : [],
    )
    if (sends.length === 0) return
    let cancel: (() => void) | undefined
    const limit = new Promise<void>((resolve) => {
      cancel = clock.setTimer(QUIESCE_MS, resolve)
    })
    await Promise.race([Promise.allSettled(sends), limit])
    cancel?.()
  }

  const inner: Inner = { prompt, store, release: flight.release, tell }
  gates.set(turns, inner)
  const unsubscribe = state.subscribe(listen({ state, flight, leases, mine, tell, isDisposed: () => disposed }))

  return {
    turns,
    useOutbox(made) {
      outbox = made
    },
    rested(sessionID) {
      const slot = slotOf(sessionID)
      if (!slot?.turn || slot.reservation || slot.storing) return
      delete slot.turn
      leases.dropIfUnused(sessionID)
    },
    whenQuiet,
    async dispose() {
      disposed = true
      for (const reservation of mine) flight.retire(reservation)
      await whenQuiet()
      for (const reservation of mine) flight.letGo(reservation)
      unsubscribe()
      if (gates.get(turns) === inner) gates.delete(turns)
      await leases.settled()
    },
  }
}

async function* one(message: PromptInput): Contexts {
  return (yield message).status === "dispatched"
}
