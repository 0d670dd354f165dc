import {
  channelName,
  LOBBY,
  type ReplyOf,
  type RequestFailure,
  type RequestOf,
  type RequestType,
} from "../../src/core/protocol.ts"
import type { Probe } from "./probe/probe.ts"

export type Answer<T extends RequestType> =
  | { readonly ok: true; readonly value: ReplyOf<T> }
  | { readonly ok: false; readonly error: RequestFailure }

/** A board without a screen: speaks the protocol from inside the host's process, where the channel can be heard. */
export interface Board {
  readonly repo: string
  readonly hello: ReplyOf<"hello">
  ask<T extends RequestType>(type: T, body: RequestOf<T>): Promise<Answer<T>>
  /** The same, for answers that must not be a refusal. */
  get<T extends RequestType>(type: T, body: RequestOf<T>): Promise<ReplyOf<T>>
}

/** Says hello for `directory` until it is answered; `probe` has to run in that host, and in that process where one is named. */
export async function openBoard(probe: Probe, directory: string, version = "test", pid?: number): Promise<Board> {
  const half = await probe.server(directory, pid)
  const send = (name: string, type: string, body: unknown, tries: number) =>
    half.run(
      async (_p, name, type, body, tries, directory) => {
        const channel = new BroadcastChannel(name as string)
        const id = crypto.randomUUID()
        try {
          return await new Promise((resolve, reject) => {
            let left = tries as number
            let answered = false
            const post = () => {
              if (answered) return
              if (left-- <= 0) return reject(new Error(`no answer to ${type}`))
              channel.postMessage({ kagan: "request", id, type, body, directory })
              setTimeout(post, 2_000)
            }
            channel.addEventListener("message", (event: any) => {
              const wire = event.data
              if (wire?.kagan === "reply" && wire.id === id) {
                answered = true
                resolve(wire.ok ? { ok: true, value: wire.value } : { ok: false, error: wire.error })
              }
            })
            post()
          })
        } finally {
          channel.close()
        }
      },
      name,
      type,
      body,
      tries,
      directory,
    ) as Promise<any>
  const hello = await send(LOBBY, "hello", { directory, version }, 30)
  if (!hello.ok) throw new Error(`hello was refused: ${hello.error.text}`)
  const name = channelName(hello.value.repo)
  const board: Board = {
    repo: hello.value.repo,
    hello: hello.value,
    ask: (type, body) => send(name, type, body, 45),
    async get(type, body) {
      const answer = await board.ask(type, body)
      if (!answer.ok) throw new Error(`${type}: ${answer.error.text}`)
      return answer.value
    },
  }
  return board
}
