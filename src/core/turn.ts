/**
 * What the end of a transcript says about the last turn. Pure: messages in (oldest first, as the host lists them),
 * one reading out. `readTail` is asked for sessions that are not busy; `live` tells whether somebody may still be
 * running the session, which decides between "not answered yet" and "will never be answered".
 */

/** The shape of a message as far as a tail is read; the host's own messages fit it. */
export type TailMessage = { readonly info: TailInfo; readonly parts: readonly TailPart[] }

export type TailInfo = {
  readonly id: string
  readonly role: "user" | "assistant"
  readonly time: { readonly created: number; readonly completed?: number }
  readonly parentID?: string
  readonly finish?: unknown
  readonly error?: unknown
  readonly summary?: unknown
}

export type TailPart = {
  readonly type: string
  readonly tool?: string
  readonly text?: string
  readonly synthetic?: boolean
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly state?: unknown
}

export const FAILURE_CLASSES = [
  "auth",
  "quota",
  "rate_limit",
  "model_not_found",
  "context_overflow",
  "network",
  "other",
] as const
export type FailureClass = (typeof FAILURE_CLASSES)[number]

export type InterruptReason =
  | "aborted"
  | "question_dismissed"
  | "permission_rejected"
  | "host_died"
  | "output_length"
  /** It ended after its tool calls or without saying how, and nothing tells why. */
  | "no_finish"

/** `messageID` is the message that decided; `at` when that message was made or completed. */
export type Tail =
  | { readonly kind: "empty" }
  | { readonly kind: "finished"; readonly messageID: string; readonly at: number }
  | { readonly kind: "interrupted"; readonly reason: InterruptReason; readonly messageID: string; readonly at: number }
  | {
      readonly kind: "failed"
      readonly class: FailureClass
      readonly text: string
      readonly messageID: string
      readonly at: number
    }
  /** Somebody owes the next step: a tool that has not ended, an answer that is being written or has not begun. */
  | {
      readonly kind: "open"
      readonly what: "unanswered" | "tool" | "streaming"
      readonly messageID: string
      readonly at: number
    }

/** What an injected context carries in its part's metadata, under the key `kagan`. */
export type ContextMark = {
  readonly inject: string
  readonly seq: number
  readonly source: string
  readonly kind: string
}

/**
 * The mark of one of our own contexts, `undefined` for every other message. Text alone never counts, since anybody can
 * type it: all parts must be synthetic and carry the provenance in their metadata.
 */
export function contextMark(message: TailMessage): ContextMark | undefined {
  if (message.info.role !== "user" || message.parts.length === 0) return undefined
  let mark: ContextMark | undefined
  for (const part of message.parts) {
    const found = part.metadata?.kagan as Partial<ContextMark> | undefined
    if (part.type !== "text" || part.synthetic !== true || typeof found?.inject !== "string") return undefined
    mark ??= { inject: found.inject, seq: found.seq ?? 0, source: found.source ?? "", kind: found.kind ?? "" }
  }
  return mark
}

/** The kind of context that carries a word of the person. */
export const TOLD = "tell"

/** Whether the person told something after this message, the last of a turn: nobody has read it. */
export function isUnheard(messages: readonly TailMessage[], ended: string): boolean {
  const end = messages.findIndex((message) => message.info.id === ended)
  return end >= 0 && messages.slice(end + 1).some((message) => contextMark(message)?.kind === TOLD)
}

/**
 * Reads the end of a transcript. `live: true` (the default): somebody may be running the session, so what is unended
 * is open. `live: false`: nobody is, so it will stay as it is and the host died in the middle.
 */
export function readTail(messages: readonly TailMessage[], options: { readonly live?: boolean } = {}): Tail {
  const live = options.live ?? true
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]!
    const skip = lookThrough(messages, index, live)
    if (skip > 0) {
      index -= skip - 1
      continue
    }
    return message.info.role === "user" ? readUser(message, live) : readAssistant(message, live)
  }
  return { kind: "empty" }
}

/** Whether every message given could be looked through, so that an older one decides. */
export function needsMore(messages: readonly TailMessage[], complete: boolean): boolean {
  return !complete && readTail(messages, { live: false }).kind === "empty"
}

/** How many messages, counted back from `index`, say nothing about the turn: our contexts, compactions, shell lines. */
function lookThrough(messages: readonly TailMessage[], index: number, live: boolean): number {
  const message = messages[index]!
  if (message.info.role === "user") {
    if (contextMark(message)) return 1
    return !live && isForeignContext(message) ? 1 : 0
  }
  if (message.info.time.completed === undefined || message.info.error !== undefined) return 0
  const asked = findAsked(messages, index)
  if (asked === undefined) return 0
  const question = messages[asked]!
  const aside = message.info.summary === true ? isCompaction(question) : isShell(question)
  return aside ? index - asked + 1 : 0
}

/** The user message that an assistant message answers, when nothing but our contexts stands between them. */
function findAsked(messages: readonly TailMessage[], index: number): number | undefined {
  const parentID = messages[index]!.info.parentID
  for (let at = index - 1; at >= 0; at--) {
    const message = messages[at]!
    if (message.info.role === "user" && (message.info.id === parentID || parentID === undefined)) return at
    if (message.info.id !== parentID && !contextMark(message)) return undefined
  }
  return undefined
}

const isCompaction = (message: TailMessage) => message.parts.some((part) => part.type === "compaction")

/** `!command` of the person: the host writes a synthetic pair and asks no model (1.18.33). */
const SHELL_TEXT = "The following tool was executed by the user"
const isShell = (message: TailMessage) =>
  message.parts.length > 0 && message.parts.every((part) => part.synthetic === true && part.text === SHELL_TEXT)

/** Somebody else's context: synthetic throughout, no prompt of ours and not the host's "continue" after a compaction. */
function isForeignContext(message: TailMessage): boolean {
  return (
    message.parts.length > 0 &&
    message.parts.every(
      (part) =>
        part.type === "text" && part.synthetic === true && !part.metadata?.compaction_continue && !part.metadata?.kagan,
    )
  )
}

function readUser(message: TailMessage, live: boolean): Tail {
  const place = { messageID: message.info.id, at: message.info.time.created }
  return live ? { kind: "open", what: "unanswered", ...place } : { kind: "interrupted", reason: "host_died", ...place }
}

function readAssistant({ info, parts }: TailMessage, live: boolean): Tail {
  const place = { messageID: info.id, at: info.time.completed ?? info.time.created }
  if (info.error !== undefined && info.error !== null) return readError(info.error, place)
  const unended = parts.some((part) => part.type === "tool" && isUnended(part))
  if (unended || info.time.completed === undefined) {
    if (!live) return { kind: "interrupted", reason: "host_died", ...place }
    return { kind: "open", what: unended ? "tool" : "streaming", ...place }
  }
  if (info.finish === "stop" || info.finish === true) return { kind: "finished", ...place }
  if (info.finish === "length") return { kind: "interrupted", reason: "output_length", ...place }
  if (info.finish === "content-filter" || info.finish === "error") {
    return { kind: "failed", class: "other", text: `the model ended with "${info.finish}"`, ...place }
  }
  const reason = refusalIn(parts) ?? (info.finish === "tool-calls" && !live ? "host_died" : "no_finish")
  return { kind: "interrupted", reason, ...place }
}

type ToolState = { readonly status?: unknown; readonly error?: unknown }

function isUnended(part: TailPart): boolean {
  const status = (part.state as ToolState | undefined)?.status
  return status === "pending" || status === "running"
}

/** The texts that the host writes into a tool part when the person refuses (1.18.33). */
function refusalIn(parts: readonly TailPart[]): InterruptReason | undefined {
  for (const part of parts.toReversed()) {
    const state = part.state as ToolState | undefined
    if (part.type !== "tool" || state?.status !== "error" || typeof state.error !== "string") continue
    if (state.error.includes("dismissed this question")) return "question_dismissed"
    if (state.error.includes("rejected permission")) return "permission_rejected"
  }
  return undefined
}

function readError(error: unknown, place: { readonly messageID: string; readonly at: number }): Tail {
  const name = nameOf(error)
  if (name === "MessageAbortedError") return { kind: "interrupted", reason: "aborted", ...place }
  if (name === "MessageOutputLengthError") return { kind: "interrupted", reason: "output_length", ...place }
  return { kind: "failed", ...classifyError(error), ...place }
}

/** The class of an error that the host reports on a message or in `session.error`, with a text for the person. */
export function classifyError(error: unknown): { readonly class: FailureClass; readonly text: string } {
  const name = nameOf(error)
  const data = (error as { data?: { message?: unknown; statusCode?: unknown; responseBody?: unknown } } | undefined)
    ?.data
  const message = typeof data?.message === "string" ? data.message : ((error as { message?: unknown })?.message ?? name)
  const text = typeof message === "string" && message !== "" ? message : "an error without a text"
  const status = typeof data?.statusCode === "number" ? data.statusCode : undefined
  const body = typeof data?.responseBody === "string" ? data.responseBody.slice(0, 4_000) : ""
  return { class: classOf(name, status, `${text}\n${body}`), text }
}

function nameOf(error: unknown): string {
  const name = (error as { name?: unknown } | undefined)?.name
  return typeof name === "string" ? name : ""
}

const QUOTA =
  /insufficient[_ ]quota|quota (has been )?exceeded|exceeded your current quota|credit balance|out of credits|billing|payment required|usage limit/i
const OVERFLOW =
  /context[_ ]length|maximum context|context window|prompt is too long|too many (input )?tokens|input is too long/i
const NO_MODEL =
  /model[_ ]not[_ ]found|model .{0,80}(not found|does not exist|not supported)|unknown model|no such model/i
const NO_NETWORK =
  /ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EPIPE|fetch failed|unable to connect|socket|network|timed? ?out|connection (closed|error|refused)/i

function classOf(name: string, status: number | undefined, text: string): FailureClass {
  if (name === "ContextOverflowError" || OVERFLOW.test(text)) return "context_overflow"
  if (status === 402 || QUOTA.test(text)) return "quota"
  if (status === 429 || status === 529 || /rate[_ ]limit|too many requests|overloaded/i.test(text)) return "rate_limit"
  if (name === "ProviderModelNotFoundError" || NO_MODEL.test(text)) return "model_not_found"
  if (name === "ProviderAuthError" || status === 401 || status === 403) return "auth"
  if (/invalid (api|x-api) ?-?key|incorrect api key|unauthori[sz]ed|authentication/i.test(text)) return "auth"
  if ((status !== undefined && status >= 500) || NO_NETWORK.test(text)) return "network"
  return "other"
}
