import { randomUUID } from "node:crypto"
import type { Result } from "../core/result.ts"
import type { Clock } from "./clock.ts"
import type { Host, LogLevel } from "./host.ts"
import { makeSender } from "./inject/send.ts"
import { openOutbox, type Content, type Outbox, type StageRefusal } from "./inject/outbox.ts"
import {
  promptAsyncAfterSessionIdle,
  storeContext,
  type ContextArgs,
  type Gate,
  type PromptArgs,
  type PromptAsyncGateResult,
} from "./prompt-async-gate.ts"
import type { Change, SessionState } from "./session-state.ts"
import type { Store } from "./store.ts"

/**
 * Injection: model-facing context that costs no model request. What is told is written to the session's outbox at once
 * and stored in its transcript when that is free of charge:
 *
 *   inject ─► outbox ─┬─ at a confirmed idle ───────────────► stored
 *                     ├─ in the awaited hooks of a tool call ► stored after the batch's results, read by the next step
 *                     └─ before a wake, under the same lock ─► stored, then the prompt
 *
 * Never outside these: a message that arrives in the final step makes the model run once more (1.18.33).
 *
 *   const inject = makeInject({ gate, state, store, host, clock, log })
 *   inject.inject(sessionID, { source: "reference:#12", kind: "reference", text })
 *   "tool.execute.before": (call) => inject.aroundTool(call.sessionID, call.callID), the same in ".after"
 *   "chat.message": (input) => inject.admitting(input.sessionID, input.messageID)
 *   inject.prompt({ …arguments of the gate, intent }, contexts)   // contexts and prompt, or neither
 */
export interface Inject {
  /** Accepts at once and durably; when it reaches the transcript is nobody's concern. Never starts a turn. */
  inject(sessionID: string, content: Content): Result<Accepted, StageRefusal>
  /**
   * A wake with contexts of its own, which stand before it: allowed, all of them; refused by `allow` or by the host,
   * none. The same intent again adds none a second time.
   */
  prompt(
    args: PromptArgs & { readonly intent: NonNullable<PromptArgs["intent"]> },
    contexts: readonly Content[],
    allow?: () => Admission,
  ): Promise<PromptAsyncGateResult | { readonly status: "refused"; readonly reason: string }>
  /** Takes back what waits for an intent that is given up, also from the transcript. */
  withdraw(sessionID: string, intentID: string): Promise<void>
  /** Awaited in both hooks of a tool call: sends what is staged, and never fails the tool. */
  aroundTool(sessionID: string, callID: string): Promise<void>
  /** Awaited in `chat.message`: lets what is on its way arrive before a foreign prompt goes on. */
  admitting(sessionID: string, messageID: string | undefined): Promise<void>
  /** Sends what is staged if the session is at rest: for start-up and looks. */
  kick(sessionID: string): void
  /** How many contexts wait; of one kind: those that no wake of their own will take along. */
  waiting(sessionID: string, kind?: string): number
  /** Resolves when no flush is on its way or about to begin. */
  whenIdle(): Promise<void>
  /** Waits for what is on its way (2 s at most). What is accepted later is only written down. */
  dispose(): Promise<void>
}

export type { Content, StageRefusal }
export type Accepted = { readonly id: string; readonly seq: number }
export type Admission = { readonly allow: true } | { readonly allow: false; readonly reason: string }

export type InjectParts = {
  readonly gate: Pick<Gate, "turns" | "useOutbox">
  readonly state: SessionState
  readonly store: Pick<Store, "paths">
  readonly host: Pick<Host, "session" | "messages" | "message" | "deleteMessage">
  readonly clock: Clock
  readonly log: (level: LogLevel, message: string, extra?: Record<string, unknown>) => void
}

/** A short wait, so that a wake that follows at once takes the contexts along instead of finding the session reserved. */
const IDLE_DELAY_MS = 100
const HOOK_BUDGET_MS = 5_000
const ADMIT_WAIT_MS = 1_000
const DISPOSE_MS = 2_000
const RETRY_MS = 1_000
const MAX_RETRY_MS = 60_000

type Box = {
  readonly outbox: Outbox
  draining?: Promise<void>
  /** The one pending attempt at idle. */
  timer?: () => void
  retryMs: number
}

export function makeInject(parts: InjectParts): Inject {
  const { gate, state, store, host, clock } = parts
  const boxes = new Map<string, Box>()
  let disposed = false

  function tell(level: LogLevel, sessionID: string, what: string, extra: Record<string, unknown> = {}) {
    parts.log(level, `[inject] ${what}`, { sessionID, ...extra })
  }

  const send = makeSender({ host, state, clock, tell, isAway })

  function boxOf(sessionID: string): Box {
    const found = boxes.get(sessionID)
    if (found) return found
    const outbox = openOutbox(store.paths.session(sessionID).outbox, (text) => tell("error", sessionID, text))
    const made: Box = { outbox, retryMs: RETRY_MS }
    boxes.set(sessionID, made)
    return made
  }

  function stage(sessionID: string, content: Content, intentID?: string): Result<Accepted, StageRefusal> {
    const item = { ...content, id: randomUUID(), at: clock.now(), ...(intentID ? { intentID } : {}) }
    const staged = boxOf(sessionID).outbox.stage(item)
    if (!staged.ok) tell("error", sessionID, `not accepted: ${staged.error.text}`, { source: content.source })
    return staged
  }

  /** At rest, or perhaps: the gate asks the host before anything is sent. */
  function mayBeIdle(sessionID: string): boolean {
    const phase = state.phase(sessionID)
    return phase === "idle" || phase === "unknown"
  }

  /** A call to the host now would find nothing, or bring a disposed instance back. */
  function isAway(sessionID: string): boolean {
    const phase = state.phase(sessionID)
    return disposed || phase === "dead" || phase === "fenced"
  }

  function soon(sessionID: string, ms: number) {
    const box = boxOf(sessionID)
    if (disposed || box.timer) return
    box.timer = clock.setTimer(ms, () => {
      delete box.timer
      void flush(sessionID, "idle")
    })
  }

  /** One drain per session at a time; who comes meanwhile waits for it. */
  async function flush(sessionID: string, at: ContextArgs["at"]): Promise<void> {
    const box = boxOf(sessionID)
    while (box.draining) await box.draining
    if (disposed || box.outbox.next(undefined) === undefined) return
    box.draining = drain(sessionID, box, at).finally(() => delete box.draining)
    await box.draining
  }

  async function drain(sessionID: string, box: Box, at: ContextArgs["at"]): Promise<void> {
    const message = send(sessionID, box.outbox, undefined, at)
    const result = await storeContext({ client: gate.turns, sessionID, source: "inject:outbox", message, at })
    if (result.status === "dispatched") {
      box.retryMs = RETRY_MS
      return
    }
    const waitsForTurn = result.status === "active" && !mayBeIdle(sessionID)
    if (waitsForTurn || result.status === "blocked" || result.status === "rejected" || at !== "idle") return
    soon(sessionID, box.retryMs)
    box.retryMs = Math.min(box.retryMs * 2, MAX_RETRY_MS)
  }

  function heard(change: Change) {
    if (change.kind === "dead") return forget(change.sessionID)
    if (change.kind !== "idle" && change.kind !== "unblocked") return
    if (state.tracked(change.sessionID) || boxes.has(change.sessionID)) kick(change.sessionID)
  }

  function kick(sessionID: string) {
    if (!mayBeIdle(sessionID) || boxOf(sessionID).outbox.next(undefined) === undefined) return
    soon(sessionID, IDLE_DELAY_MS)
  }

  function forget(sessionID: string) {
    const box = boxes.get(sessionID)
    if (!box) return
    box.timer?.()
    boxes.delete(sessionID)
    const lost = box.outbox.open()
    for (const item of lost) box.outbox.giveUp(item, "the session is deleted")
    if (lost.length > 0) tell("warn", sessionID, `${lost.length} contexts dropped: the session is deleted`)
  }

  /** Deletes what was stored for a prompt that is not: while the session runs, the host refuses that. */
  async function withdraw(sessionID: string, intentID: string): Promise<void> {
    const box = boxOf(sessionID)
    for (const item of box.outbox.ofIntent(intentID)) {
      if (item.state === "given_up") continue
      if (item.messageID !== undefined) {
        const gone = await host.deleteMessage(sessionID, item.messageID)
        if (!gone.ok && gone.error.kind !== "not_found") {
          tell("warn", sessionID, `a context stays without its prompt: ${gone.error.text}`, { id: item.id })
        }
      }
      box.outbox.giveUp(item, "its prompt was refused")
    }
  }

  function within(ms: number, work: Promise<unknown>): Promise<void> {
    let cancel: (() => void) | undefined
    const limit = new Promise<void>((resolve) => {
      cancel = clock.setTimer(ms, resolve)
    })
    return Promise.race([work.then(() => undefined), limit]).finally(() => cancel?.())
  }

  const drains = () => Promise.allSettled([...boxes.values()].flatMap((box) => box.draining ?? []))

  gate.useOutbox((sessionID, intentID) => {
    const box = boxOf(sessionID)
    return box.outbox.next(intentID) ? send(sessionID, box.outbox, intentID, "idle") : undefined
  })
  const unsubscribe = state.subscribe(heard)

  return {
    inject(sessionID, content) {
      const staged = stage(sessionID, content)
      if (staged.ok && mayBeIdle(sessionID)) soon(sessionID, IDLE_DELAY_MS)
      return staged
    },
    async prompt(args, contexts, allow) {
      const { sessionID, intent } = args
      const admission = allow?.() ?? { allow: true }
      if (!admission.allow) return { status: "refused", reason: admission.reason }
      // What was taken back with a refused prompt is told again with the next attempt.
      if (
        boxOf(sessionID)
          .outbox.ofIntent(intent.id)
          .every((item) => item.state === "given_up")
      ) {
        for (const content of contexts) {
          const staged = stage(sessionID, content, intent.id)
          if (staged.ok) continue
          await withdraw(sessionID, intent.id)
          return { status: "refused", reason: staged.error.text }
        }
      }
      const result = await promptAsyncAfterSessionIdle(args)
      if (result.status === "rejected") await withdraw(sessionID, intent.id)
      return result
    },
    withdraw,
    async aroundTool(sessionID, callID) {
      state.enterTool(sessionID, callID)
      try {
        if (!state.tracked(sessionID) && !boxes.has(sessionID)) return
        await within(HOOK_BUDGET_MS, flush(sessionID, { toolCall: callID }))
      } catch (cause) {
        tell("error", sessionID, `a drain failed: ${String(cause)}`)
      } finally {
        state.leaveTool(sessionID, callID)
      }
    },
    async admitting(sessionID, id) {
      if (!state.foreignPrompt(sessionID, id)) return
      const draining = boxes.get(sessionID)?.draining
      if (draining) await within(ADMIT_WAIT_MS, draining)
    },
    kick,
    waiting(sessionID, kind) {
      const open = boxOf(sessionID).outbox.open()
      if (kind === undefined) return open.length
      return open.filter((item) => item.kind === kind && item.intentID === undefined).length
    },
    async whenIdle() {
      for (;;) {
        const busy = [...boxes].filter(([, box]) => box.draining || box.timer)
        if (busy.length === 0) return
        await Promise.all(
          busy.map(async ([sessionID, box]) => {
            box.timer?.()
            delete box.timer
            await flush(sessionID, "idle")
          }),
        )
        if (busy.every(([, box]) => box.timer)) return
      }
    },
    async dispose() {
      disposed = true
      unsubscribe()
      for (const box of boxes.values()) box.timer?.()
      await within(DISPOSE_MS, drains())
    },
  }
}
