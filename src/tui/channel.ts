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
import { err, ok, type Result } from "../core/result.ts"
import { readWire } from "../core/wire.ts"
import type { Time } from "./time.ts"

/**
 * The board's end of the channel between the two halves.
 *
 *   connect ─ hello in the lobby, repeated ─► up ─ requests and pushes on the repository's name
 *                       │ no answer                 │ the server half says "up" again
 *                       ▼                           ▼
 *                    missing ◄── wait for "up" ──  hello
 *
 * While it waits in `missing` nothing is armed: the server half announces itself when it comes.
 */
export type LinkState =
  | { readonly kind: "connecting" }
  | ({ readonly kind: "up" } & ReplyOf<"hello">)
  | { readonly kind: "missing" }
  | { readonly kind: "other_version"; readonly version: string }

export type Ask = <T extends RequestType>(type: T, body: RequestOf<T>) => Promise<Result<ReplyOf<T>, RequestFailure>>

export type Link = {
  readonly state: () => LinkState
  /** Says hello for this directory, again if it was said before. */
  readonly connect: (directory: string) => void
  readonly ask: Ask
  /** Tells the server half whether anyone looks at the board. */
  readonly announce: (open: boolean) => void
  readonly close: () => void
}

/** One name on which messages are sent and received. */
export type Port = { readonly post: (wire: Wire) => void; readonly close: () => void }
export type OpenPort = (name: string, receive: (data: unknown) => void) => Port

type Waiting = { readonly wire: Wire; readonly settle: (result: Result<unknown, RequestFailure>) => void }

const HELLO_GAPS = [300, 700, 1_000, 2_000, 3_000, 4_000, 6_000]
/** More hellos, one each `LIMIT`, while a task waits to be created: on a slow machine the server half comes late. */
const HELLOS_FOR_CREATION = 8
const CREATES: ReadonlySet<RequestType> = new Set(["task.create", "tasks.create"])
const RESEND_AFTER = 4_000
const LIMIT = 10_000
const LONG_LIMIT = 120_000
const LONG: ReadonlySet<RequestType> = new Set([
  "task.create",
  "tasks.create",
  "doctor.run",
  "doctor.repair",
  "update.check",
  "update.install",
  "intake.split",
  "draft.retry",
  "task.approve",
  "task.update",
  "task.purge",
  "purge.preview",
  "merge.preview",
  "review.again",
  "review.files",
  "review.sizes",
  "review.file",
  "task.move",
])

export function makeLink(input: {
  readonly version: string
  readonly time: Time
  readonly onState: (state: LinkState) => void
  readonly onPush: (push: Push) => void
  readonly openPort?: OpenPort
  readonly newID?: () => string
}): Link {
  const openPort = input.openPort ?? broadcastPort
  const newID = input.newID ?? (() => crypto.randomUUID())
  const waiting = new Map<string, Waiting>()
  let state: LinkState = { kind: "connecting" }
  let directory = ""
  let closed = false
  let repoPort: { readonly name: string; readonly port: Port } | undefined
  /** An answer to it is taken whenever it comes, also when nobody waits for it any more. */
  let helloID = ""
  let seeking = false
  let cancelHello = () => {}
  let open = false
  /** What was asked while the halves look for each other: it goes out when they have met. */
  let held: (() => void)[] = []
  let creations = 0

  const lobby = openPort(LOBBY, (data) => {
    const wire = readWire(data)
    if (!wire || closed) return
    if (wire.kagan === "up") {
      if (directory === "") sayHere()
      else sayHello()
    }
    if (wire.kagan === "reply" && wire.id === helloID) {
      cancelHello()
      seeking = false
      helloID = ""
      if (wire.ok) greet(wire.value as ReplyOf<"hello">)
    }
  })

  /** The host may know the directory late: until then the server half hears at least that there is a board. */
  function sayHere() {
    lobby.post({ kagan: "board", open: false, directory: "" })
  }
  sayHere()

  function setState(next: LinkState) {
    state = next
    input.onState(next)
    if (next.kind === "connecting") return
    const now = held
    held = []
    creations = 0
    for (const go of now) go()
  }

  function greet(reply: ReplyOf<"hello">) {
    if (reply.version !== input.version) return setState({ kind: "other_version", version: reply.version })
    const name = channelName(reply.repo)
    if (repoPort?.name !== name) {
      repoPort?.port.close()
      repoPort = { name, port: openPort(name, receive) }
    }
    if (open) repoPort.port.post({ kagan: "board", open, directory })
    // A half that was opened anew has not heard what the one before it was asked; what it has heard it does not repeat.
    for (const { wire } of waiting.values()) repoPort.port.post(wire)
    setState({ kind: "up", ...reply })
  }

  function receive(data: unknown) {
    const wire = readWire(data)
    if (!wire || closed) return
    if (wire.kagan === "push") return input.onPush(wire.push)
    if (wire.kagan !== "reply") return
    const request = waiting.get(wire.id)
    if (!request) return
    request.settle(wire.ok ? ok(wire.value) : err(wire.error))
  }

  function sayHello() {
    cancelHello()
    const id = newID()
    helloID = id
    seeking = true
    let attempt = 0
    const send = () => {
      if (closed || helloID !== id) return
      lobby.post({ kagan: "request", id, type: "hello", body: { directory, version: input.version }, directory })
      const gap = HELLO_GAPS[attempt++]
      cancelHello = input.time.setTimer(gap ?? LIMIT, gap === undefined ? giveUp : send)
    }
    const giveUp = () => {
      if (creations > 0 && attempt < HELLO_GAPS.length + HELLOS_FOR_CREATION) return send()
      seeking = false
      setState({ kind: "missing" })
    }
    // Once missing it stays so until it answers: what is asked meanwhile is refused at once, with the reason.
    if (state.kind !== "up" && state.kind !== "missing") setState({ kind: "connecting" })
    send()
  }

  return {
    state: () => state,
    connect(next) {
      if (closed || next === "") return
      if (next === directory && (state.kind === "up" || seeking)) return
      directory = next
      sayHello()
    },
    async ask<T extends RequestType>(type: T, body: RequestOf<T>) {
      if (!closed && state.kind === "connecting") {
        if (CREATES.has(type)) creations++
        await new Promise<void>((resolve) => held.push(resolve))
      }
      if (closed || !repoPort || state.kind !== "up") {
        return err<RequestFailure>({ kind: "unanswered", text: linkProblem(state) ?? "the board was closed" })
      }
      return new Promise<Result<ReplyOf<T>, RequestFailure>>((resolve) => {
        const id = newID()
        const wire: Wire = { kagan: "request", id, type, body, directory }
        const limit = LONG.has(type) ? LONG_LIMIT : LIMIT
        const cancelResend = input.time.setTimer(RESEND_AFTER, () => repoPort?.port.post(wire))
        const cancelLimit = input.time.setTimer(limit, () =>
          settle(err({ kind: "unanswered", text: `no answer from Kagan's server half within ${limit / 1000} s` })),
        )
        const settle = (result: Result<unknown, RequestFailure>) => {
          cancelResend()
          cancelLimit()
          waiting.delete(id)
          resolve(result as Result<ReplyOf<T>, RequestFailure>)
        }
        waiting.set(id, { wire, settle })
        repoPort?.port.post(wire)
      })
    },
    announce(next) {
      open = next
      repoPort?.port.post({ kagan: "board", open, directory })
    },
    close() {
      if (open) repoPort?.port.post({ kagan: "board", open: false, directory })
      closed = true
      cancelHello()
      for (const go of held) go()
      for (const request of waiting.values()) request.settle(err({ kind: "unanswered", text: "the board was closed" }))
      lobby.close()
      repoPort?.port.close()
    },
  }
}

/** Why the board can only look, in one sentence; undefined when it can act. */
export function linkProblem(
  state: LinkState,
  config?: { readonly spec: string; readonly file: string; readonly listed: boolean; readonly attached: boolean },
): string | undefined {
  switch (state.kind) {
    case "up":
      return state.readOnly
    case "connecting":
      return "waiting for Kagan's server half"
    case "missing":
      if (config?.attached)
        return "Kagan shows, but cannot act in an attached window: start opencode in the repository itself"
      return config === undefined || config.listed
        ? "Kagan shows, but cannot act: its server half does not answer; restart OpenCode, or see its log"
        : `Kagan shows, but cannot act: add "${config.spec}" to "plugin" in ${config.file}`
    case "other_version":
      return `Kagan shows, but cannot act: its server half is version ${state.version}: restart OpenCode`
  }
}

function broadcastPort(name: string, receive: (data: unknown) => void): Port {
  const channel = new BroadcastChannel(name)
  channel.addEventListener("message", (event: MessageEvent) => receive(event.data))
  return { post: (wire) => channel.postMessage(wire), close: () => channel.close() }
}
