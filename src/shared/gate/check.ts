import type { Host, PromptInput } from "../host.ts"
import type { Asked, SessionState } from "../session-state.ts"
import { contextMark } from "../../core/turn.ts"
import { identityOf, isSelfContained, type GateIntent, type Identity } from "./prompt.ts"
import type { PromptAsyncGateResult } from "./slots.ts"

/** Whether something may be sent into a session now, and as whom. */
export type Verdict = { readonly kind: "go"; readonly identity: Identity } | Stop
type Stop = { readonly kind: "stop"; readonly result: PromptAsyncGateResult; readonly why: string }

type Checks = { readonly host: Pick<Host, "session" | "messages" | "message">; readonly state: SessionState }

const stop = (result: PromptAsyncGateResult, why: string): Stop => ({ kind: "stop", result, why })
const ALREADY: PromptAsyncGateResult = { status: "dispatched", response: undefined, already: true }

/** Asks the host in the session's own directory. What cannot be known counts as busy. */
export async function check(
  { host, state }: Checks,
  sessionID: string,
  directory: string | undefined,
  intent: GateIntent | undefined,
): Promise<Verdict> {
  const asked = await state.ask(sessionID, directory)
  if (asked.kind !== "quiet") return refuse(asked)
  const { tail, transcript, session } = asked
  const go: Verdict = { kind: "go", identity: identityOf(session, transcript.messages) }
  const own = intent && transcript.messages.findIndex((message) => message.info.id === intent.messageID)
  if (intent && own !== undefined && own >= 0) {
    // Stored and never answered: the host died before the turn began. The same ids again start it, once.
    const later = transcript.messages.slice(own + 1)
    return later.every((message) => contextMark(message)) ? go : stop(ALREADY, "its message is in the transcript")
  }
  if (tail.kind === "open") return stop({ status: "active" }, `the last turn is open (${tail.what})`)
  return intent && !transcript.whole ? proveAbsent({ host, state }, sessionID, intent, go) : go
}

/** Without a status: only for a session that the caller knows to be at rest. An intent is still sent once only. */
export async function checkIntentOnly(
  { host, state }: Checks,
  sessionID: string,
  input: PromptInput,
  intent: GateIntent | undefined,
): Promise<Verdict> {
  let identity: Identity = {}
  if (!isSelfContained(input)) {
    const [session, messages] = await Promise.all([host.session(sessionID), host.messages(sessionID, 30)])
    if (!session.ok && session.error.kind === "not_found") return refuse({ kind: "gone" })
    if (!messages.ok) return stop({ status: "active" }, messages.error.text)
    identity = identityOf(session.ok ? session.value : undefined, messages.value)
  }
  const go: Verdict = { kind: "go", identity }
  return intent ? proveAbsent({ host, state }, sessionID, intent, go) : go
}

/** Only a proven absence is sent. */
async function proveAbsent(
  { host, state }: Checks,
  sessionID: string,
  intent: GateIntent,
  go: Verdict,
): Promise<Verdict> {
  const phase = state.phase(sessionID)
  if (phase === "dead" || phase === "fenced") return stop({ status: "active" }, `the session is ${phase}`)
  const found = await host.message(sessionID, intent.messageID)
  if (!found.ok) {
    if (found.error.kind === "not_found") return refuse({ kind: "gone" })
    return stop({ status: "active" }, found.error.text)
  }
  return found.value === undefined ? go : stop(ALREADY, "its message is in the transcript")
}

/** The answer for a session that is not quiet. */
export function refuse(asked: Exclude<Asked, { kind: "quiet" }>): Stop {
  switch (asked.kind) {
    case "gone":
      return stop({ status: "rejected", httpStatus: 404 }, "the session is gone")
    case "unknown":
      return stop({ status: "active" }, asked.text)
    case "busy":
      return stop({ status: "active" }, "a turn is running")
    case "elsewhere":
      return stop({ status: "active" }, `it runs in ${asked.text}`)
    case "blocked":
      return stop({ status: "blocked", reason: asked.reason }, asked.reason)
  }
}
