import { createEffect, createMemo, createSignal, on, onCleanup, type Accessor } from "solid-js"
import type { ReplyOf } from "../../core/protocol.ts"
import type { App } from "../app.tsx"
import type { Card } from "./store.tsx"

/** What came of the commands of a card, its setup or the checks on its snapshot, and the one that runs. */
export type LiveOutput = Pick<ReplyOf<"setup.output">, "results" | "running"> & {
  readonly sessionID: string
  readonly what: "setup" | "checks"
  readonly problem?: string
}

const PAUSE = 1_000

/** The commands of the card that is looked at: asked when they change, and every second while one runs. */
export function createLiveOutput(app: App, card: Accessor<Card | undefined>): Accessor<LiveOutput | undefined> {
  const [output, setOutput] = createSignal<LiveOutput>()
  let isGone = false
  onCleanup(() => (isGone = true))

  const what = createMemo((): LiveOutput["what"] | undefined => {
    const { setup, review } = card()?.entry.meta ?? {}
    if (setup?.state === "running" || setup?.state === "failed") return "setup"
    return review?.snapshot && review.checks ? "checks" : undefined
  })
  const stamp = createMemo(() => {
    const shown = card()
    if (!shown || what() === undefined || app.link().kind !== "up") return undefined
    const { setup, review } = shown.entry.meta
    return what() === "setup"
      ? `${shown.id} setup ${setup?.state} ${setup?.at}`
      : `${shown.id} ${review?.snapshot?.commit} ${review?.checks?.state} ${review?.checks?.at}`
  })
  createEffect(on(stamp, () => void read()))

  const run = createMemo(() => {
    const { setup, review } = card()?.entry.meta ?? {}
    return (what() === "setup" ? setup?.state : review?.checks?.state) === "running"
  })
  createEffect(() => {
    if (!run()) return
    const look = () => {
      cancel = app.time.setTimer(PAUSE, look)
      void read()
    }
    let cancel = app.time.setTimer(PAUSE, look)
    onCleanup(() => cancel())
  })

  async function read() {
    const sessionID = card()?.id
    const kind = what()
    if (sessionID === undefined || kind === undefined || stamp() === undefined) return
    const answer = await app.ask(kind === "setup" ? "setup.output" : "review.checks", { sessionID })
    if (isGone) return
    setOutput({
      sessionID,
      what: kind,
      ...(answer.ok ? answer.value : { results: [], problem: answer.error.text }),
    })
  }

  return () => {
    const known = output()
    return stamp() !== undefined && known?.sessionID === card()?.id && known?.what === what() ? known : undefined
  }
}
