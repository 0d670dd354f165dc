import { createEffect, createMemo, createSignal, on, onCleanup, type Accessor } from "solid-js"
import type { HistoryLine } from "../../core/history.ts"
import type { App } from "../app.tsx"
import type { Card } from "./store.tsx"

/** What the server half knows of a card beyond its metadata. */
export type Story = {
  readonly sessionID: string
  readonly lines: readonly HistoryLine[]
  /** How many lines of the history are not read yet. */
  readonly earlier: number
  readonly unreadable: number
  /** A long description, whole. */
  readonly description?: string
  /** Why it could not be told. */
  readonly problem?: string
}

/**
 * The story of the card that is looked at: asked when the card, or something of it that makes history, changes. Pages of
 * the history are added as they are wanted.
 */
export function createStory(app: App, card: Accessor<Card | undefined>) {
  const [story, setStory] = createSignal<Story>()
  let reading = false
  let again = false
  let isGone = false
  onCleanup(() => (isGone = true))

  const stamp = createMemo(() => {
    const shown = card()
    if (!shown || app.link().kind !== "up") return undefined
    const { meta } = shown.entry
    const { intake, review, run, setup, merge, denied, awaiting } = meta
    return JSON.stringify([
      [shown.id, meta.status, meta.lastGatedStatus, meta.generation, meta.archivedAt, meta.trashedAt],
      [intake?.state, intake?.at, intake?.answered, setup?.state, denied?.at, awaiting?.since, merge?.state],
      [run?.intent?.id, run?.stoppedAt, run?.workerID, review?.snapshot?.commit, review?.ruled],
      [review?.checks?.state, review?.checks?.at, review?.validator?.state, review?.validator?.at, shown.run().kind],
    ])
  })
  createEffect(on(stamp, () => void read()))

  async function read() {
    if (reading) {
      again = true
      return
    }
    reading = true
    do {
      again = false
      const shown = card()
      if (!shown || stamp() === undefined) break
      const sessionID = shown.id
      const { descriptionFile } = shown.entry.meta
      const [history, text] = await Promise.all([
        app.ask("task.history", { sessionID }),
        descriptionFile ? app.ask("task.description", { sessionID }) : undefined,
      ])
      if (isGone) return
      const failed = [history, text].find((answer) => answer && !answer.ok)
      setStory({
        sessionID,
        ...(history.ok ? history.value : { lines: [], earlier: 0, unreadable: 0 }),
        ...(text?.ok ? { description: text.value.description } : {}),
        ...(failed && !failed.ok ? { problem: failed.error.text } : {}),
      })
    } while (again)
    reading = false
  }

  return {
    /** Of the card that is looked at now; undefined until it was told. */
    story: () => (story()?.sessionID === card()?.id ? story() : undefined),
    /** The next page of the history, when there is one. */
    async more() {
      const known = story()
      if (reading || !known || known.earlier === 0) return
      reading = true
      const { sessionID, earlier } = known
      const answer = await app.ask("task.history", { sessionID, before: earlier })
      reading = false
      if (isGone) return
      if (answer.ok && story()?.sessionID === sessionID) {
        const { lines, earlier: before, unreadable } = answer.value
        setStory({
          ...story()!,
          lines: [...known.lines, ...lines],
          earlier: before,
          unreadable: known.unreadable + unreadable,
        })
      }
      if (again) void read()
    },
  }
}
