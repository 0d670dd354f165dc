import type { PromptInput } from "../host.ts"
import type { SessionState } from "../session-state.ts"
import type { Flight } from "./flight.ts"
import { holds, type PromptAsyncGateResult, type Reservation } from "./slots.ts"

/**
 * Contexts one after the other: each `yield` answers what became of that message. Returns whether everything was
 * delivered or given up, so that nothing is left that a wake would have to wait for.
 */
export type Contexts = AsyncGenerator<PromptInput, boolean, PromptAsyncGateResult>

export const DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS = 30_000

const RELEASED: PromptAsyncGateResult = { status: "reserved", reservedBy: "released" }

/** Makes what stores contexts under a reservation: of a wake, before its prompt, or of their own. */
export function makeContextSender(parts: {
  readonly state: Pick<SessionState, "expectOwn">
  readonly flight: Flight
  readonly lost: (reservation: Reservation) => PromptAsyncGateResult | undefined
  readonly send: (message: PromptInput) => Promise<unknown>
}) {
  const { state, flight, lost, send } = parts

  /** Sends contexts under the reservation, in order. `undefined`: nothing is left. */
  async function sendAll(
    reservation: Reservation,
    contexts: Contexts,
    args: { readonly dispatchTimeoutMs?: number },
  ): Promise<PromptAsyncGateResult | undefined> {
    let result: PromptAsyncGateResult | undefined
    try {
      for (;;) {
        const next = result ? await contexts.next(result) : await contexts.next()
        if (next.done) return next.value ? undefined : (result ?? { status: "failed", error: new Error("held back") })
        const stopped = reservation.releaseAsked ? RELEASED : lost(reservation)
        if (stopped) return stopped
        result = await sendContext(reservation, next.value, args)
        if (reservation.stage !== "limbo" && holds(reservation)) continue
        await contexts.next(result)
        return result
      }
    } finally {
      await contexts.return(false)
    }
  }

  async function sendContext(
    reservation: Reservation,
    message: PromptInput,
    args: { readonly dispatchTimeoutMs?: number },
  ): Promise<PromptAsyncGateResult> {
    const { messageID } = message
    if (message.noReply !== true || messageID === undefined) {
      throw new TypeError("a context is a noReply message with an id")
    }
    const before = reservation.stage
    reservation.stage = "sending"
    reservation.messageID = messageID
    state.expectOwn(messageID)
    const call = () => send(message)
    const sent = await flight.send(
      reservation,
      call,
      { ms: args.dispatchTimeoutMs ?? DEFAULT_PROMPT_DISPATCH_TIMEOUT_MS },
      () => flight.letGo(reservation),
    )
    if (reservation.stage === "sending") reservation.stage = before
    if (sent.kind === "rejected" && sent.httpStatus === 404) flight.bury(reservation.sessionID)
    switch (sent.kind) {
      case "ok":
        return { status: "dispatched", response: sent.response }
      case "rejected":
        return { status: "rejected", httpStatus: sent.httpStatus }
      case "failed":
      case "timeout":
        return { status: "failed", error: sent.error }
      case "abandoned":
        return reservation.revoked ?? { status: "failed", error: new Error("given up while it was on its way") }
    }
  }

  return sendAll
}
