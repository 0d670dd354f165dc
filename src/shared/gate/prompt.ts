import { randomUUID } from "node:crypto"
import { messageID, partID } from "../../core/ids.ts"
import type { WakeIntent } from "../../core/task.ts"
import type { ContextMark } from "../../core/turn.ts"
import type { MessageWithParts, PromptInput, Session } from "../host.ts"

/** The ids of one intended turn, stored before it is sent. */
export type GateIntent = Pick<WakeIntent, "id" | "messageID" | "partID">

/** With what a session answers: a prompt that leaves one of these out would change it (1.18.33). */
export type Identity = Pick<PromptInput, "agent" | "model" | "variant">

/** The latest user message knows best, the session's row stands in for it. */
export function identityOf(session: Session | undefined, messages: readonly MessageWithParts[]): Identity {
  for (const { info } of messages.toReversed()) {
    if (info.role === "user") return pick(info.agent, info.model.providerID, info.model.modelID, info.model.variant)
  }
  return pick(session?.agent, session?.model?.providerID, session?.model?.id, session?.model?.variant)
}

function pick(agent?: string, providerID?: string, modelID?: string, variant?: string): Identity {
  return {
    ...(agent ? { agent } : {}),
    ...(providerID && modelID ? { model: { providerID, modelID } } : {}),
    ...(providerID && modelID && variant ? { variant } : {}),
  }
}

/** Whether the input says for itself as whom it is sent. */
export function isSelfContained(input: PromptInput): boolean {
  return input.agent !== undefined && input.model !== undefined
}

/** A message that nobody will answer is marked, or the next check would take it for a prompt that waits. */
export function marked(input: PromptInput, source: string): PromptInput {
  if (input.parts.every((part) => part.synthetic === true && part.metadata?.kagan !== undefined)) return input
  const kagan: ContextMark = { inject: randomUUID(), seq: 0, source, kind: "note" }
  const parts = input.parts.map((part) => ({ ...part, synthetic: true, metadata: { ...part.metadata, kagan } }))
  return { ...input, parts }
}

/**
 * The input with everything that must always be sent. What the caller gave stays; an input that lacks nothing is
 * passed on as the very object that it is.
 */
export function complete(
  input: PromptInput,
  identity: Identity,
  intent: GateIntent | undefined,
  now: number,
): PromptInput & { readonly messageID: string } {
  const seed = randomUUID().slice(0, 8)
  const id = intent?.messageID ?? input.messageID ?? messageID(now, seed)
  const partsDone =
    input.parts.every((part) => part.id !== undefined) && (!intent || input.parts[0]?.id === intent.partID)
  if (partsDone && isSelfContained(input) && input.messageID === id) return withID(input)
  const parts = input.parts.map((part, index) => {
    const own = index === 0 && intent ? intent.partID : part.id
    return { ...part, id: own ?? partID(now, `${seed}/${index}`) }
  })
  const model = input.model ?? identity.model
  const variant = input.model ? input.variant : (input.variant ?? identity.variant)
  const agent = input.agent ?? identity.agent
  return {
    ...input,
    messageID: id,
    parts,
    ...(agent ? { agent } : {}),
    ...(model ? { model } : {}),
    ...(variant ? { variant } : {}),
  }
}

const withID = (input: PromptInput) => input as PromptInput & { readonly messageID: string }

/** What came back of one send. */
export type Sent =
  | { readonly kind: "ok"; readonly response: unknown }
  | { readonly kind: "rejected"; readonly httpStatus: number }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "timeout"; readonly error: DispatchTimeout }
  /** Nobody waits for it any more: the session is deleted, or the gate is going away. */
  | { readonly kind: "abandoned" }

/** The host's client resolves 4xx and 5xx as `{error, response}`; only a server error leaves open what happened. */
export function readResponse(response: unknown): Sent {
  const answer = response as { error?: unknown; response?: { status?: unknown } } | undefined | null
  const status = answer?.response?.status
  const code = typeof status === "number" ? status : answer?.error === undefined ? 200 : 500
  if (code < 400 && answer?.error === undefined) return { kind: "ok", response }
  return code < 500 && code >= 400
    ? { kind: "rejected", httpStatus: code }
    : { kind: "failed", error: answer?.error ?? code }
}

/** The dispatch has not come back; it is still on its way, and the session stays reserved. */
export class DispatchTimeout extends Error {
  override readonly name = "DispatchTimeout"
  readonly intentID: string | undefined

  constructor(ms: number, intentID: string | undefined) {
    super(`the host has not taken the prompt within ${ms / 1000} s`)
    this.intentID = intentID
  }
}
