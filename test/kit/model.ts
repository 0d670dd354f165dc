import { defaultKaganScript } from "./model-script.ts"
import { startWire, type WireRequest, type WireResponse } from "./wire.ts"

/** What a request is for, told by the tools that it offers. */
export type RequestKind = "intake" | "validator" | "plan" | "title" | "work"

export interface RecordedRequest {
  /** 1 for the first request of this model. */
  readonly n: number
  readonly kind: RequestKind
  readonly model: string
  /** All system messages. */
  readonly system: string
  /** Names of the tools offered. */
  readonly tools: readonly string[]
  readonly messages: readonly ChatMessage[]
  /** The text of the last user message. */
  readonly lastUser: string
  /** Results of tool calls that came in since the model last spoke; empty when a person (or Kagan) spoke last. */
  readonly toolResults: readonly string[]
  /** The request as it was sent. */
  readonly body: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>
  /** How it ended; undefined while it is open. */
  outcome?: "answered" | "refused" | "cut" | "client gone"
}

export interface ChatMessage {
  readonly role: string
  readonly text: string
  readonly toolCalls: readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
}

export type Reply =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "tools"; readonly calls: readonly ToolCall[]; readonly text?: string }
  | { readonly type: "delay"; readonly ms: number; readonly reply: Reply }
  | { readonly type: "hang"; readonly after: string }
  | { readonly type: "cut"; readonly after: string }
  | { readonly type: "failure"; readonly status: number; readonly retryAfter?: number; readonly message?: string }

export interface ToolCall {
  readonly name: string
  readonly args: unknown
}

/** Decides an answer. `nth` counts the requests of this kind, from 1; `request.n` counts all. */
export type Script = (request: RecordedRequest, nth: number) => Reply | Promise<Reply>

/** An answer in words, after which the turn is over. */
export const text = (value: string): Reply => ({ type: "text", text: value })
/** One or several tool calls in one answer. */
export const toolCalls = (...calls: ToolCall[]): Reply => ({ type: "tools", calls })
/** The same answer, later. To hold an answer until a test says so, return a promise from the script instead. */
export const delay = (ms: number, reply: Reply): Reply => ({ type: "delay", ms, reply })
/** Opens the stream, perhaps says something, and never goes on. */
export const hang = (after = ""): Reply => ({ type: "hang", after })
/** Says something and breaks the connection in the middle. */
export const cut = (after = "I was about to"): Reply => ({ type: "cut", after })
/** An HTTP error; `retryAfter` in seconds. */
export const failure = (
  status: 400 | 401 | 402 | 403 | 404 | 429 | 500 | 503,
  more: { retryAfter?: number; message?: string } = {},
): Reply => ({
  type: "failure",
  status,
  ...more,
})

/** The given answers one after the other; the last one is repeated. */
export function sequence(...replies: readonly [Reply, ...Reply[]]): Script {
  let next = 0
  return () => replies[Math.min(next++, replies.length - 1)]!
}

export interface Model {
  /** Base address for an OpenAI-compatible provider, ending in /v1. */
  readonly url: string
  /** Every request so far, in order of arrival. */
  readonly requests: readonly RecordedRequest[]
  /** Replaces the script; requests that are open keep the one they began with. */
  script(next: Script): void
  /** The first request, past or future, that `matches`. */
  waitForRequest(matches: (request: RecordedRequest) => boolean, ms?: number): Promise<RecordedRequest>
  count(kind?: RequestKind): number
  /** How many requests wait for (more of) an answer. */
  open(): number
  /** Runs `act` when the n-th request (of that kind) has arrived, before anything is answered; for crash tests. */
  at(n: number, act: (request: RecordedRequest) => void, kind?: RequestKind): void
  /** Closes all connections. Throws if the script threw, or if a request could not be understood. */
  dispose(): Promise<void>
}

/** Starts a scripted model on loopback that speaks the streaming chat-completions dialect and records every request. */
export async function startModel(script: Script = defaultKaganScript()): Promise<Model> {
  const requests: RecordedRequest[] = []
  const waiting = new Set<() => void>()
  const triggers: { n: number; kind: RequestKind | undefined; act: (request: RecordedRequest) => void }[] = []
  const errors: unknown[] = []
  let current = script
  let open = 0

  const count = (kind?: RequestKind) => (kind ? requests.filter((one) => one.kind === kind).length : requests.length)

  async function answer(incoming: WireRequest, response: WireResponse): Promise<void> {
    if (incoming.method !== "POST" || !incoming.path.endsWith("/chat/completions")) {
      return sendJson(response, incoming.path.endsWith("/models") ? 200 : 404, { object: "list", data: [] })
    }
    const request = readRequest(JSON.parse(incoming.body), requests.length + 1, incoming.headers)
    requests.push(request)
    const nth = count(request.kind)
    open++
    response.onClose(() => {
      request.outcome ??= "client gone"
      open--
      for (const look of waiting) look()
    })
    for (const trigger of triggers) {
      if (trigger.kind && trigger.kind !== request.kind) continue
      if (trigger.n === (trigger.kind ? nth : request.n)) trigger.act(request)
    }
    for (const look of waiting) look()
    await send(response, request, await current(request, nth))
  }

  const server = await startWire((incoming, response) => {
    answer(incoming, response).catch((error: unknown) => {
      errors.push(error)
      sendJson(response, 500, { error: { message: String(error), type: "script_error" } })
    })
  })

  return {
    url: `http://127.0.0.1:${server.port}/v1`,
    requests,
    script: (next) => void (current = next),
    waitForRequest: (matches, ms = 90_000) =>
      new Promise((resolve, reject) => {
        const look = () => {
          const found = requests.find(matches)
          if (!found) return
          done()
          resolve(found)
        }
        const timer = setTimeout(() => {
          done()
          reject(new Error(`no such model request within ${ms} ms; seen: ${summary(requests)}`))
        }, ms)
        const done = () => {
          clearTimeout(timer)
          waiting.delete(look)
        }
        waiting.add(look)
        look()
      }),
    count,
    open: () => open,
    at: (n, act, kind) => void triggers.push({ n, kind, act }),
    async dispose() {
      await server.close()
      if (errors.length > 0)
        throw new AggregateError(errors, `the scripted model failed: ${errors.map(String).join("; ")}`)
    },
  }
}

function summary(requests: readonly RecordedRequest[]): string {
  return requests.map((one) => `#${one.n} ${one.kind} "${one.lastUser.slice(0, 60)}"`).join(", ") || "none"
}

function sendJson(response: WireResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  response.open(status, { "content-type": "application/json", ...headers })
  response.write(JSON.stringify(value))
  response.end()
}

function readRequest(body: any, n: number, headers: WireRequest["headers"]): RecordedRequest {
  const messages: ChatMessage[] = (body.messages ?? []).map((message: any) => ({
    role: String(message.role),
    text: contentText(message.content),
    toolCalls: (message.tool_calls ?? []).map((call: any) => ({
      id: String(call.id),
      name: String(call.function?.name),
      arguments: String(call.function?.arguments ?? ""),
    })),
  }))
  const tools: string[] = (body.tools ?? []).map((tool: any) => String(tool.function?.name))
  const system = messages
    .filter((message) => message.role === "system" || message.role === "developer")
    .map((message) => message.text)
    .join("\n")
  const lastSpoken = messages.findLastIndex((message) => message.role !== "tool")
  return {
    n,
    kind: kindOf(tools, system),
    model: String(body.model),
    system,
    tools,
    messages,
    lastUser: messages.findLast((message) => message.role === "user")?.text ?? "",
    toolResults: messages.slice(lastSpoken + 1).map((message) => message.text),
    body,
    headers,
  }
}

function contentText(content: unknown): string {
  if (typeof content === "string") return content
  if (!Array.isArray(content)) return ""
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("")
}

function kindOf(tools: readonly string[], system: string): RequestKind {
  if (tools.includes("kagan_intake")) return "intake"
  if (tools.includes("kagan_findings")) return "validator"
  if (tools.includes("kagan_create_tasks")) return "plan"
  if (tools.length === 0 && /title generator|thread title/i.test(system)) return "title"
  return "work"
}

async function send(response: WireResponse, request: RecordedRequest, reply: Reply): Promise<void> {
  if (reply.type === "delay") {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, reply.ms)
      response.onClose(() => {
        clearTimeout(timer)
        resolve()
      })
    })
    return send(response, request, reply.reply)
  }
  if (response.closed) return
  if (reply.type === "failure") {
    request.outcome = "refused"
    const message = reply.message ?? `scripted failure ${reply.status}`
    const headers: Record<string, string> =
      reply.retryAfter === undefined ? {} : { "retry-after": String(reply.retryAfter) }
    return sendJson(
      response,
      reply.status,
      { error: { message, type: "scripted", code: String(reply.status) } },
      headers,
    )
  }

  const chunk = (fields: object) => {
    const base = { id: `chatcmpl-${request.n}`, object: "chat.completion.chunk", created: 1, model: request.model }
    response.write(`data: ${JSON.stringify({ ...base, choices: [], ...fields })}\n\n`)
  }
  const say = (words: string) => {
    for (const piece of words.match(/[\s\S]{1,200}/g) ?? []) {
      chunk({ choices: [{ index: 0, delta: { role: "assistant", content: piece }, finish_reason: null }] })
    }
  }
  response.open(200, { "content-type": "text/event-stream", "cache-control": "no-cache" })
  if (reply.type === "hang") return say(reply.after)
  if (reply.type === "cut") {
    say(reply.after)
    request.outcome = "cut"
    // A client that gets the words and the end of the connection in one packet sees a failed request, not a broken one.
    await new Promise((resolve) => setTimeout(resolve, 100))
    return response.cut()
  }

  if (reply.text) say(reply.text)
  if (reply.type === "tools") {
    for (const [index, call] of reply.calls.entries()) {
      const spoken = {
        name: call.name,
        arguments: typeof call.args === "string" ? call.args : JSON.stringify(call.args),
      }
      const toolCall = { index, id: `call_${request.n}_${index}`, type: "function", function: spoken }
      chunk({ choices: [{ index: 0, delta: { role: "assistant", tool_calls: [toolCall] }, finish_reason: null }] })
    }
  }
  chunk({ choices: [{ index: 0, delta: {}, finish_reason: reply.type === "tools" ? "tool_calls" : "stop" }] })
  chunk({ usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } })
  request.outcome = "answered"
  response.write("data: [DONE]\n\n")
  response.end()
}
