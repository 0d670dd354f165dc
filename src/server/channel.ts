import {
  channelName,
  LOBBY,
  type Push,
  type ReplyOf,
  type RequestFailure,
  type RequestOf,
  type RequestType,
  type Wire,
} from "../core/protocol.ts"
import { cut } from "../core/loose.ts"
import { isRequestType, readBody } from "../core/request-shapes.ts"
import { err, ok, type Result } from "../core/result.ts"
import { readWire } from "../core/wire.ts"

/*
 * The server half's end of the channel to the boards of this process. It belongs to the module, not to an instance: a
 * directory whose instance is disposed does not make it deaf.
 *
 *   lobby        hello {directory} ─► which repository? ─► reply      "up" ─► boards say hello again
 *   repository   request {id} ─► seen before? ─► handler ─► reply     push ─► every board of it
 */

export type RepoRequest = Exclude<RequestType, "hello">

/** What a repository's server half does on request. A handler never rejects; a thrown one is a bug and is answered as one. */
export type Handlers = {
  readonly [T in RepoRequest]: (body: RequestOf<T>) => Promise<Result<ReplyOf<T>, RequestFailure>>
}

/** `undefined`: the directory is not ours to answer for, now; the board asks again. */
export type Greet = (hello: RequestOf<"hello">) => Promise<ReplyOf<"hello"> | undefined>

export type Port = { post(wire: Wire): void; close(): void }
export type OpenPort = (name: string, receive: (data: unknown) => void) => Port

export type ServerChannel = {
  /** From now on requests of this repository's boards are answered; again: by these handlers. */
  serve(repo: string, handlers: Handlers): void
  retire(repo: string): void
  /** Tells every board of the repository. Nothing is sent as long as none has said hello. */
  push(repo: string, push: Push): void
  /** A directory's server half has come up: boards of it that gave up say hello again. */
  announce(directory: string, version: string): void
  /** Whether a board stands open on the screen. */
  watched(repo: string): boolean
  /** Called with each change of `watched`. Returns the end of it. */
  onWatched(listener: (repo: string, watched: boolean) => void): () => void
  /** Whether any board of this process has been heard of, ever. */
  heard(): boolean
  close(): void
}

export type ChannelInput = {
  readonly greet: Greet
  readonly report: (text: string) => void
  readonly openPort?: OpenPort
}

/** Asking again changes nothing, so that their (large) replies need not be kept. */
const READS: ReadonlySet<string> = new Set<RequestType>([
  "hello",
  "board.facts",
  "base.list",
  "template.list",
  "review.checks",
  "task.description",
  "task.history",
  "setup.output",
  "board.stats",
  "review.files",
  "review.sizes",
  "review.file",
  "comments.list",
  "sendBack.preview",
])
const REMEMBERED = 400

const KEY = Symbol.for(`${LOBBY}/server`)

/** The one channel of this process. A second caller gets the same and takes over its `greet`. */
export function processChannel(input: ChannelInput): ServerChannel {
  const holder = globalThis as { [KEY]?: { channel: ServerChannel; input: ChannelInput } }
  const held = (holder[KEY] ??= (() => {
    const slot = { input } as { channel: ServerChannel; input: ChannelInput }
    slot.channel = openServerChannel({
      greet: (hello) => slot.input.greet(hello),
      report: (text) => slot.input.report(text),
      ...(input.openPort ? { openPort: input.openPort } : {}),
    })
    return slot
  })())
  held.input = input
  return held.channel
}

/** A channel of its own; for tests, and for the one of the process. */
export function openServerChannel(input: ChannelInput): ServerChannel {
  const openPort = input.openPort ?? broadcastPort
  const repos = new Map<string, { port: Port; handlers: Handlers; greeted: boolean; open: Set<string> }>()
  const listeners = new Set<(repo: string, watched: boolean) => void>()
  const answered = new Map<string, Wire | "pending">()
  let heard = false

  const lobby = openPort(LOBBY, (data) => {
    const wire = readWire(data)
    if (wire?.kagan === "board") heard = true
    if (wire?.kagan === "request" && wire.type === "hello") void greetBoard(wire)
  })

  async function greetBoard(wire: Extract<Wire, { kagan: "request" }>): Promise<void> {
    heard = true
    const body = readBody("hello", wire.body)
    if (!body.ok) return
    const hello = body.value
    // Without an answer nothing is remembered: the same hello may be answered when it is repeated.
    await once(
      () => lobby,
      wire,
      async () => {
        const reply = await input.greet(hello)
        const repo = reply && repos.get(reply.repo)
        if (repo) repo.greeted = true
        return reply ? ok(reply) : undefined
      },
    )
  }

  function receive(repo: string, data: unknown): void {
    const wire = readWire(data)
    const entry = repos.get(repo)
    if (!wire || !entry) return
    if (wire.kagan === "board") {
      const before = entry.open.size > 0
      if (wire.open) entry.open.add(wire.directory)
      else entry.open.delete(wire.directory)
      entry.greeted = true
      if (entry.open.size > 0 !== before) for (const listener of listeners) listener(repo, entry.open.size > 0)
    }
    if (wire.kagan !== "request") return
    entry.greeted = true
    // The half may have been opened anew by the time of the answer.
    void once(
      () => repos.get(repo)?.port,
      wire,
      () => handle(entry.handlers, wire),
    )
  }

  async function handle(
    handlers: Handlers,
    wire: Extract<Wire, { kagan: "request" }>,
  ): Promise<Result<unknown, RequestFailure>> {
    const { type } = wire
    const handler = isRequestType(type) && type !== "hello" ? handlers[type] : undefined
    if (!handler) return err({ kind: "failed", text: `Kagan's server half does not know ${cut(String(type), 100)}` })
    const body = readBody(type, wire.body)
    if (!body.ok) return err({ kind: "failed", text: body.error })
    return (handler as (body: unknown) => Promise<Result<unknown, RequestFailure>>)(body.value)
  }

  /** Runs a request once however often it arrives, and answers each time that the answer may have been lost. */
  async function once(
    port: () => Port | undefined,
    wire: Extract<Wire, { kagan: "request" }>,
    run: () => Promise<Result<unknown, RequestFailure> | undefined>,
  ): Promise<void> {
    const known = answered.get(wire.id)
    if (known === "pending") return
    if (known) return post(port(), known)
    answered.set(wire.id, "pending")
    const result = await run().catch((cause: unknown) => {
      const text = cause instanceof Error ? cause.message : String(cause)
      input.report(`${wire.type}: ${cause instanceof Error ? (cause.stack ?? text) : text}`)
      return err<RequestFailure>({ kind: "failed", text: `a fault in Kagan: ${text}` })
    })
    answered.delete(wire.id)
    if (!result) return
    const reply: Wire = result.ok
      ? { kagan: "reply", id: wire.id, ok: true, value: result.value }
      : { kagan: "reply", id: wire.id, ok: false, error: result.error }
    if (!READS.has(wire.type)) remember(wire.id, reply)
    post(port(), reply)
  }

  function remember(id: string, reply: Wire): void {
    answered.set(id, reply)
    for (const [old, state] of answered) {
      if (answered.size <= REMEMBERED) break
      if (state !== "pending") answered.delete(old)
    }
  }

  function post(port: Port | undefined, wire: Wire): void {
    try {
      port?.post(wire)
    } catch (cause) {
      // What cannot be cloned is a bug of ours; the asker must not wait for it.
      const text = cause instanceof Error ? cause.message : String(cause)
      input.report(`a message could not be sent: ${text}`)
      if (wire.kagan === "reply" && wire.ok) {
        post(port, { kagan: "reply", id: wire.id, ok: false, error: { kind: "failed", text } })
      }
    }
  }

  return {
    serve(repo, handlers) {
      const entry = repos.get(repo)
      if (entry) entry.handlers = handlers
      else {
        const port = openPort(channelName(repo), (data) => receive(repo, data))
        repos.set(repo, { port, handlers, greeted: false, open: new Set() })
      }
    },
    retire(repo) {
      repos.get(repo)?.port.close()
      repos.delete(repo)
    },
    push(repo, push) {
      const entry = repos.get(repo)
      if (entry?.greeted) post(entry.port, { kagan: "push", push })
    },
    announce: (directory, version) => post(lobby, { kagan: "up", directory, version }),
    watched: (repo) => (repos.get(repo)?.open.size ?? 0) > 0,
    onWatched(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    heard: () => heard,
    close() {
      lobby.close()
      for (const entry of repos.values()) entry.port.close()
      repos.clear()
    },
  }
}

function broadcastPort(name: string, receive: (data: unknown) => void): Port {
  const channel = new BroadcastChannel(name)
  channel.addEventListener("message", (event: MessageEvent) => receive(event.data))
  // A host that ends by itself (`opencode run`) must not wait for boards.
  ;(channel as { unref?(): void }).unref?.()
  return { post: (wire) => channel.postMessage(wire), close: () => channel.close() }
}
