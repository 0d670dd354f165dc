import { createEffect, createMemo, createSignal, on, onCleanup, type Accessor } from "solid-js"
import type { ReplyOf } from "../../core/protocol.ts"
import type { App } from "../app.tsx"
import type { Card } from "./store.tsx"

/** What came of the checks on a card's snapshot, and the one that runs. */
export type LiveChecks = Pick<ReplyOf<"review.checks">, "results" | "running"> & {
  readonly sessionID: string
  readonly problem?: string
}

const PAUSE = 1_000

/** The checks of the card that is looked at: asked when they change, and every second while one runs. */
export function createLiveChecks(app: App, card: Accessor<Card | undefined>): Accessor<LiveChecks | undefined> {
  const [checks, setChecks] = createSignal<LiveChecks>()
  let isGone = false
  onCleanup(() => (isGone = true))

  const stamp = createMemo(() => {
    const shown = card()
    const { snapshot, checks: summary } = shown?.entry.meta.review ?? {}
    if (!shown || !snapshot || !summary || app.link().kind !== "up") return undefined
    return `${shown.id} ${snapshot.commit} ${summary.state} ${summary.at}`
  })
  createEffect(on(stamp, () => void read()))

  const run = createMemo(() => card()?.entry.meta.review?.checks?.state === "running")
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
    if (sessionID === undefined || stamp() === undefined) return
    const answer = await app.ask("review.checks", { sessionID })
    if (isGone) return
    setChecks({ sessionID, ...(answer.ok ? answer.value : { results: [], problem: answer.error.text }) })
  }

  return () => (stamp() !== undefined && checks()?.sessionID === card()?.id ? checks() : undefined)
}
