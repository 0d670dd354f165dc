import type { Clock } from "../clock.ts"
import type { Host, LogLevel } from "../host.ts"
import type { SessionState } from "../session-state.ts"
import type { SlotLeases } from "./leases.ts"
import { DispatchTimeout, readResponse, type Sent } from "./prompt.ts"
import { arm, free, holds, revoke, sharedSlots, slotOf, type PromptAsyncGateResult, type Reservation } from "./slots.ts"

/** What happens to a reservation from the send on: its time-out, its hold, the signs of its turn, and its end. */
export interface Flight {
  /** One raw call, bounded in time: what does not come back in time stays on its way, in limbo. */
  send(
    reservation: Reservation,
    call: () => Promise<unknown>,
    limit: Limit,
    onLate: (sent: Sent) => void,
  ): Promise<Sent>
  /** After the prompt itself came back. */
  landed(reservation: Reservation, sent: Sent, holdMs: number): PromptAsyncGateResult
  letGo(reservation: Reservation): void
  release(reservation: Reservation): void
  /** The session is deleted: nothing of it is kept, and nothing is sent to it any more. */
  bury(sessionID: string): void
  /** Its instance goes away: nothing of it may act any more. */
  retire(reservation: Reservation): void
  /** The turn was seen to run. */
  sign(reservation: Reservation): void
  /** The session was seen to come to rest. */
  rest(reservation: Reservation): void
  /** Something went wrong in the session, perhaps with this one. */
  doubt(reservation: Reservation): void
}

type Limit = { readonly ms: number; readonly intentID?: string }

type Parts = {
  readonly host: Pick<Host, "message">
  readonly state: SessionState
  readonly clock: Clock
  readonly leases: SlotLeases
  readonly isDisposed: () => boolean
  readonly tell: (level: LogLevel, about: Reservation, what: string, extra?: object) => void
  readonly forgotten: (reservation: Reservation) => void
}

/** Without a sign of the turn after this long, the transcript is asked. */
export const START_CEILING_MS = 5_000
/** A send that has not come back after this long is given up once the transcript says what became of it. */
export const LIMBO_CEILING_MS = 5 * 60_000
const MAX_RECHECK_MS = 60_000
/** An error may belong to the turn before, and our own message needs a moment to be stored (54 ms cold, 1.18.33). */
const DOUBT_MS = 250

export function makeFlight(parts: Parts): Flight {
  const { host, state, clock, leases, tell } = parts

  function letGo(reservation: Reservation) {
    parts.forgotten(reservation)
    free(reservation)
    reservation.abandon?.()
    leases.dropIfUnused(reservation.sessionID)
  }

  function send(
    reservation: Reservation,
    call: () => Promise<unknown>,
    limit: Limit,
    onLate: (sent: Sent) => void,
  ): Promise<Sent> {
    const answer = call().then(readResponse, (error: unknown): Sent => ({ kind: "failed", error }))
    reservation.inFlight = answer
    return new Promise<Sent>((resolve) => {
      let waiting = true
      const end = (sent: Sent) => {
        waiting = false
        cancel()
        delete reservation.abandon
        resolve(sent)
      }
      const cancel = arm(clock, reservation, limit.ms, () => {
        enterLimbo(reservation)
        end({ kind: "timeout", error: new DispatchTimeout(limit.ms, limit.intentID) })
      })
      reservation.abandon = () => end({ kind: "abandoned" })
      void answer.then((sent) => {
        delete reservation.inFlight
        if (waiting) return end(sent)
        if (holds(reservation)) onLate(sent)
        else if (sent.kind === "rejected" && sent.httpStatus === 404) bury(reservation.sessionID)
      })
    })
  }

  function landed(reservation: Reservation, sent: Sent, holdMs: number): PromptAsyncGateResult {
    switch (sent.kind) {
      case "ok":
        if (holds(reservation)) begin(reservation, holdMs)
        return { status: "dispatched", response: sent.response }
      case "rejected":
        letGo(reservation)
        if (sent.httpStatus === 404) bury(reservation.sessionID)
        return { status: "rejected", httpStatus: sent.httpStatus }
      case "failed":
        if (holds(reservation)) keep(reservation, holdMs)
        return { status: "failed", error: sent.error }
      case "timeout":
        return { status: "failed", error: sent.error }
      case "abandoned":
        return reservation.revoked ?? { status: "failed", error: new Error("given up while it was on its way") }
    }
  }

  /** After a failed attempt, or a stored message: nobody else at once. */
  function keep(reservation: Reservation, holdMs: number) {
    if (reservation.releaseAsked || isAway(reservation)) return letGo(reservation)
    reservation.stage = "holding"
    arm(clock, reservation, holdMs, () => letGo(reservation))
  }

  function begin(reservation: Reservation, holdMs: number) {
    if (reservation.kind === "context") return keep(reservation, holdMs)
    if (isAway(reservation)) return letGo(reservation)
    reservation.stage = "starting"
    reservation.holdUntil = clock.monotonic() + holdMs
    if (reservation.releaseAsked) return cutHold(reservation)
    arm(clock, reservation, holdMs, () => {
      if (reservation.evidence && !isAtRest(reservation)) becomeTurn(reservation)
    })
    lookIn(reservation, Math.max(START_CEILING_MS, holdMs))
  }

  /** Nobody waits for a sign of a turn that was released; the busy event still tells of it. */
  function cutHold(reservation: Reservation) {
    if (reservation.evidence) becomeTurn(reservation)
    else letGo(reservation)
  }

  /** A sign that comes after the end was heard may be an old one: the look in a few seconds asks the host. */
  const isAtRest = (reservation: Reservation) => !reservation.ended && state.phase(reservation.sessionID) === "idle"

  function becomeTurn(reservation: Reservation) {
    const slot = slotOf(reservation.sessionID)
    const { source, messageID, ended } = reservation
    if (slot && !ended) slot.turn = { source, ...(messageID ? { messageID } : {}) }
    letGo(reservation)
  }

  function enterLimbo(reservation: Reservation) {
    reservation.stage = "limbo"
    tell("error", reservation, "limbo: the host has not taken it in time, and it is still on its way")
    reservation.limboUntil = clock.monotonic() + LIMBO_CEILING_MS
    lookIn(reservation, LIMBO_CEILING_MS)
  }

  /** Asks the transcript in `ms`, unless that is done sooner anyway. */
  function lookIn(reservation: Reservation, ms: number) {
    const at = clock.monotonic() + ms
    if (reservation.recheck && reservation.recheck.at <= at) return
    reservation.recheck?.cancel()
    const cancel = arm(clock, reservation, ms, () => {
      delete reservation.recheck
      void look(reservation).then((again) => {
        if (!again || !holds(reservation)) return
        const patience = Math.min(Math.max(ms * 2, START_CEILING_MS), MAX_RECHECK_MS)
        lookIn(reservation, Math.max(patience, reservation.limboUntil - clock.monotonic()))
      })
    })
    reservation.recheck = { at, cancel }
  }

  /** No sign of the turn: did the message arrive, and does it run? `true`: not known yet. */
  async function look(reservation: Reservation): Promise<boolean> {
    const { sessionID, messageID, stage } = reservation
    if (!mayAct(reservation)) return false
    const found = await host.message(sessionID, messageID ?? "")
    if (!mayAct(reservation)) return false
    if (!found.ok) {
      if (found.error.kind === "not_found") bury(sessionID)
      return true
    }
    if (found.value === undefined && stage === "starting") {
      tell("error", reservation, "rejected late: the host took it and did not store it", { messageID })
      letGo(reservation)
      return false
    }
    // The turn that was seen may be somebody else's: what is on its way can still arrive.
    if (found.value === undefined && clock.monotonic() < reservation.limboUntil) return true
    const asked = await state.ask(sessionID, reservation.directory)
    if (!mayAct(reservation)) return false
    if (asked.kind === "gone") bury(sessionID)
    if (asked.kind === "busy" && found.value !== undefined) becomeTurn(reservation)
    const atRest = (asked.kind === "quiet" && asked.tail.kind !== "open") || asked.kind === "blocked"
    if (!atRest && asked.kind !== "elsewhere") return true
    const what = found.value === undefined ? "it never arrived" : "its turn is over"
    tell(found.value === undefined ? "error" : "info", reservation, `no sign of its turn, and ${what}`)
    letGo(reservation)
    return false
  }

  function mayAct(reservation: Reservation): boolean {
    if (!holds(reservation)) return false
    if (!isAway(reservation)) return true
    if (!reservation.inFlight) letGo(reservation)
    return false
  }

  /** Its instance is gone: a call to the host now would bring it back (1.18.33). */
  const isAway = (reservation: Reservation) => parts.isDisposed() || state.isFenced(reservation.directory)

  function release(reservation: Reservation) {
    tell("info", reservation, `released while ${reservation.stage}`)
    reservation.releaseAsked = true
    switch (reservation.stage) {
      case "settling":
      case "checking":
        revoke(reservation, { status: "reserved", reservedBy: "released" })
        return letGo(reservation)
      case "starting":
        return cutHold(reservation)
      case "holding":
        return letGo(reservation)
      case "sending":
      case "limbo":
        return
    }
  }

  function bury(sessionID: string) {
    if (state.phase(sessionID) !== "dead") state.observe({ type: "session.deleted", properties: { sessionID } })
    const slot = sharedSlots().slots.get(sessionID)
    if (slot) delete slot.turn
    for (const reservation of [slot?.reservation, slot?.storing]) {
      if (!reservation) continue
      revoke(reservation, { status: "blocked", reason: "deleted" })
      letGo(reservation)
    }
    leases.dropIfUnused(sessionID)
  }

  return {
    send,
    landed,
    letGo,
    release,
    bury,
    retire(reservation) {
      revoke(reservation, { status: "blocked", reason: "disposing" })
      if (reservation.inFlight) reservation.releaseAsked = true
      else if (reservation.stage !== "settling" && reservation.stage !== "checking") letGo(reservation)
    },
    sign(reservation) {
      if (reservation.kind !== "wake" || !["sending", "starting", "limbo"].includes(reservation.stage)) return
      reservation.evidence = true
      const held = clock.monotonic() < reservation.holdUntil
      if (reservation.stage === "starting" && !held && !isAtRest(reservation)) becomeTurn(reservation)
    },
    rest(reservation) {
      if (!reservation.evidence) return
      reservation.ended = true
      if (reservation.stage === "starting" && clock.monotonic() >= reservation.holdUntil) letGo(reservation)
      if (reservation.stage === "limbo") lookIn(reservation, DOUBT_MS)
    },
    doubt(reservation) {
      if (reservation.stage === "starting" && !reservation.evidence) lookIn(reservation, DOUBT_MS)
    },
  }
}
