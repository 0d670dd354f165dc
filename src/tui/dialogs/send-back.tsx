import type { TextareaRenderable } from "@opentui/core"
import { createResource, createSignal, Match, onMount, Show, Switch } from "solid-js"
import { judgeSendBack, refusalText } from "../../core/rules.ts"
import { displayableLines, fit } from "../../core/text.ts"
import { openDialog, type App } from "../app.tsx"
import { hintLine } from "../board/rebinding.ts"
import type { Card } from "../board/store.tsx"
import { openConfirm } from "./confirm.tsx"
import { DialogFrame, fieldProps, Paragraph, useDialogCommands, useDialogSpace } from "../ui/dialog.tsx"
import { Line } from "../ui/line.tsx"

/** Shows exactly what the agent would get, to be edited and sent; after many iterations it asks first. */
export function openSendBack(app: App, card: Card) {
  const { meta } = card.entry
  const open = () => openDialog(app, () => <SendBack app={app} card={card} />, "xlarge")
  if (meta.generation < app.options().sendBack.stopThreshold) return open()
  return openConfirm(app, {
    title: `Send #${meta.taskNumber} back once more?`,
    text: `This was iteration ${meta.generation}. Is another one worth it? A smaller task, other words or your own hands may get further.`,
    no: "Leave it in Review",
    yes: "Go on",
    confirm: open,
  })
}

type Kept = { readonly base: string; readonly text: string }

/** The fences of a preview have another mark each time; what they hold is what counts. */
const unmarked = (text: string) => text.replaceAll(/<<<[A-Za-z0-9]+ /g, "<<<")

function SendBack(props: { readonly app: App; readonly card: Card }) {
  const { app, card } = props
  const { meta } = card.entry
  const key = `kagan.sendBack.${card.id}`
  const [preview] = createResource(() => app.ask("sendBack.preview", { sessionID: card.id }))
  const given = () => {
    const answer = preview()
    return answer?.ok ? answer.value : undefined
  }
  const failure = () => {
    const answer = preview()
    return answer && !answer.ok ? answer.error.text : undefined
  }
  /** What was edited before and not sent, as long as the same is to be fixed. */
  const initial = (text: string) => {
    const kept = app.host.kv.get<unknown>(key) as Kept | undefined
    return kept?.base === unmarked(text) && typeof kept.text === "string" ? kept.text : text
  }
  return (
    <Switch
      fallback={<DialogFrame title={`Send #${meta.taskNumber} back`} size="xlarge" hint="Reading …" children={[]} />}
    >
      <Match when={failure()}>
        {(text) => (
          <DialogFrame title={`Send #${meta.taskNumber} back`} size="xlarge" hint="Esc closes">
            <Paragraph text={text()} width={60} tone="error" most={4} />
          </DialogFrame>
        )}
      </Match>
      <Match when={given()}>
        {(value) => (
          <Preview
            app={app}
            card={card}
            prompt={value().prompt}
            preview={value().text}
            initial={initial(value().text)}
            keep={(text) =>
              app.host.kv.set(key, text === undefined ? undefined : { base: unmarked(value().text), text })
            }
          />
        )}
      </Match>
    </Switch>
  )
}

function Preview(props: {
  readonly app: App
  readonly card: Card
  readonly prompt: string
  readonly preview: string
  readonly initial: string
  /** Keeps what was typed until it was sent; nothing: it was. */
  readonly keep: (text: string | undefined) => void
}) {
  const { app, card, preview } = props
  const space = useDialogSpace("xlarge")
  const [isFresh, setFresh] = createSignal(app.options().sendBack.mode === "fresh")
  const [wrong, setWrong] = createSignal<string>()
  let area: TextareaRenderable | undefined
  let isSent = false
  let judged: string | undefined

  async function send() {
    judged = area?.plainText ?? ""
    const text = judged.trim()
    const verdict = judgeSendBack(card.entry.meta, text)
    if (!verdict.ok) return void setWrong(refusalText(verdict.error))
    if (text === "")
      return void setWrong("the agent would get nothing: write what it should do, or leave what was found")
    isSent = true
    props.keep(text)
    app.host.ui.dialog.clear()
    const answer = await app.act(card, "sending back", "task.sendBack", {
      sessionID: card.id,
      text,
      mode: isFresh() ? "fresh" : "continue",
    })
    if (!answer.ok) return
    props.keep(undefined)
    app.backToBoard()
  }

  useDialogCommands(() => ({
    "kagan.return.send": () => void send(),
    "kagan.return.mode": () => void setFresh(!isFresh()),
  }))
  onMount(() => {
    area?.focus()
    area?.gotoBufferHome()
  })
  const rows = () => Math.max(2, space.rows() - 4)
  return (
    <DialogFrame
      title={`Send #${card.entry.meta.taskNumber} back`}
      size="xlarge"
      hint={hintLine(app.rebinding, [
        ["kagan.return.send", "sends"],
        ["kagan.return.mode", "same or fresh session"],
        "shift+enter new line",
        "Esc leaves it for later",
      ])}
    >
      <Line
        width={space.width()}
        segments={[
          {
            text:
              preview === ""
                ? 'No finding is ruled "fix": the agent gets your words.'
                : "The agent gets this, as it stands here; your own words may come first:",
            tone: "muted",
          },
        ]}
      />
      <textarea
        ref={(it: TextareaRenderable) => (area = it)}
        width={space.width()}
        minHeight={2}
        maxHeight={rows()}
        // A blank line to begin with, for the person's own words.
        initialValue={initialText(props.initial)}
        placeholder="What it should do"
        onContentChange={() => {
          if (area?.plainText !== judged) setWrong(undefined)
          const text = (area?.plainText ?? "").trim()
          if (!isSent) props.keep(text === preview.trim() ? undefined : text)
        }}
        {...fieldProps(app)}
      />
      <Line width={space.width()} segments={[{ text: "Then     ", tone: "muted" }, { text: props.prompt }]} />
      <Line
        width={space.width()}
        segments={[
          { text: "Where    ", tone: "muted" },
          {
            text: isFresh()
              ? "a fresh session in the same worktree, which gets the task itself before this"
              : "the same session goes on",
          },
        ]}
      />
      <Show when={wrong()}>
        {(text) => <Line segments={[{ text: fit(text(), space.width()), tone: "error" }]} width={space.width()} />}
      </Show>
    </DialogFrame>
  )
}

/** The server half made it displayable already; whatever else is kept is made so here. */
function initialText(text: string): string {
  return text === "" ? "" : `\n\n${displayableLines(text).join("\n")}`
}
