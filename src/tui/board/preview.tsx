import { createEffect, createMemo, createResource, onCleanup } from "solid-js"
import { wrap } from "../../core/text.ts"
import { workingSession } from "../../core/task.ts"
import { useApp } from "../app.tsx"
import type { TailMessage } from "../client.ts"
import { LinePane } from "../ui/line-pane.tsx"
import type { Segment } from "../ui/segments.ts"
import { checkLines } from "./check-lines.ts"
import type { Commands } from "./commands.tsx"
import { createLiveOutput } from "./live-output.tsx"

const MESSAGES = 8
const RUNNING_LINES = 200

/** What is being done on the selected card now, as it comes: by its agent, a helper, its setup or its checks. */
export function Preview(props: { readonly commands: Commands; readonly width: number; readonly height: number }) {
  const app = useApp()
  const card = () => props.commands.selected()
  /** Who is at work: a helper while one reads, else the agent. */
  const sessionID = createMemo(() => {
    const shown = card()
    if (!shown) return undefined
    const { intake, review } = shown.entry.meta
    const kind = shown.run().kind
    const helper =
      kind === "intake_running" ? intake?.sessionID : kind === "reviewing" ? review?.validator?.sessionID : undefined
    return helper ?? workingSession(shown.entry.meta)
  })
  createEffect(() => app.watch(sessionID()))
  onCleanup(() => app.watch(undefined))
  const output = createLiveOutput(app, card)
  /** Commands say more than a session in which nothing goes on yet. */
  const commandsFirst = () => output()?.what === "setup" || card()?.entry.meta.review?.checks?.state === "running"
  const [tail] = createResource(
    () => {
      const id = sessionID()
      // Read again when it says something, and when the server half saw it do something.
      return id === undefined ? undefined : { id, n: app.said(), doing: card()?.facts()?.doing }
    },
    async ({ id }): Promise<{ id: string; messages: readonly TailMessage[]; problem?: string }> => {
      const answer = await app.reader.tail(id, MESSAGES)
      return answer.ok ? { id, messages: answer.value } : { id, messages: [], problem: answer.error }
    },
  )
  const lines = createMemo<Segment[][]>(() => {
    const shown = tail.latest
    const width = props.width - 4
    const live = output()
    if (live && commandsFirst()) return checkLines(live, app.glyphs, width, RUNNING_LINES)
    if (!sessionID()) return [[{ text: "No card is selected.", tone: "muted" }]]
    if (!shown || shown.id !== sessionID()) return [[{ text: "Reading …", tone: "muted" }]]
    if (shown.problem !== undefined) return [[{ text: shown.problem, tone: "error" }]]
    const out = shown.messages.flatMap((message) => messageLines(message, width))
    return out.length > 0 ? out : [[{ text: "It has not said anything yet.", tone: "muted" }]]
  }, [])
  return (
    <LinePane
      title={card() ? `#${card()!.entry.meta.taskNumber} live` : "live"}
      lines={lines()}
      width={props.width}
      height={props.height}
      about={sessionID()}
      follow
    />
  )
}

function messageLines({ role, text, tools }: TailMessage, width: number): Segment[][] {
  const own = role === "user"
  const out: Segment[][] = []
  if (text.trim() !== "") {
    for (const line of wrap(text.trim(), width - 2)) {
      out.push([
        { text: own ? "› " : "  ", tone: "primary" },
        { text: line, tone: own ? "muted" : "text" },
      ])
    }
  }
  for (const tool of tools)
    out.push([
      { text: "  · ", tone: "info" },
      { text: tool, tone: "muted" },
    ])
  return out
}
