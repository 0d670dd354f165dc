import { createMemo, createSignal, Show } from "solid-js"
import type { Ask } from "../../core/board.ts"
import { openDialog, type App } from "../app.tsx"
import type { Card } from "../board/store.tsx"
import { openConfirm } from "./confirm.tsx"
import { wrap } from "../../core/text.ts"
import { Choices, DialogFrame, Paragraph, Scrolled, TextDialog, useDialogSpace } from "../ui/dialog.tsx"

type Question = Extract<Ask, { kind: "question" }>

/** Answers the agent's question on the board: its options, or free text where it takes some. */
export function openAnswer(app: App, card: Card, ask: Question) {
  const answers: string[][] = []
  const next = (index: number) => {
    const question = ask.questions[index]
    if (!question) {
      app.host.ui.dialog.clear()
      return void app.act(card, "answering", "ask.question", {
        sessionID: card.id,
        ask: { id: ask.id, directory: ask.directory },
        answers,
      })
    }
    const take = (answer: string[]) => {
      answers[index] = answer
      next(index + 1)
    }
    const title = `#${card.entry.meta.taskNumber} asks${ask.questions.length > 1 ? ` (${index + 1} of ${ask.questions.length})` : ""}`
    openDialog(app, () => <OneQuestion app={app} title={title} question={question} take={take} />)
  }
  next(0)
}

function OneQuestion(props: {
  readonly app: App
  readonly title: string
  readonly question: Question["questions"][number]
  readonly take: (answer: string[]) => void
}) {
  const { app, question } = props
  const space = useDialogSpace()
  const [picked, setPicked] = createSignal<readonly string[]>([])
  const write = () =>
    openDialog(app, () => (
      <TextDialog
        title={props.title}
        about={question.question}
        placeholder="Your answer"
        submit={(text) => {
          if (text.trim() === "") return "an answer needs a word"
          props.take([...picked(), text.trim()])
          return undefined
        }}
      />
    ))
  const toggle = (option: string) =>
    setPicked((list) => (list.includes(option) ? list.filter((other) => other !== option) : [...list, option]))
  const choices = () => [
    ...question.options.map((option, index) => ({
      title: question.multiple ? `${picked().includes(option) ? "[x]" : "[ ]"} ${option}` : option,
      key: index < 9 ? `${index + 1}` : undefined,
      choose: () => (question.multiple ? void toggle(option) : props.take([option])),
    })),
    ...(question.multiple && picked().length > 0
      ? [{ title: "Send these", key: "s", choose: () => props.take([...picked()]) }]
      : []),
    ...(question.custom || question.options.length === 0
      ? [{ title: "Write an answer …", key: "w", choose: write }]
      : []),
  ]
  return (
    <DialogFrame title={props.title} hint="Enter chooses · Esc leaves it open · x on the board dismisses it">
      <Paragraph text={question.question} width={space.width()} most={5} />
      <Show when={choices().length > 0}>
        <Choices choices={choices()} width={space.width()} rows={Math.max(2, space.rows() - 5)} filter={false} />
      </Show>
    </DialogFrame>
  )
}

type Permission = Extract<Ask, { kind: "permission" }>

/** Allows what the agent asks where its card had no room for all of it: the whole is read first. */
export function openAllow(app: App, card: Card, ask: Permission, allow: (reply: "once" | "always") => void) {
  openDialog(app, () => <Allow app={app} card={card} ask={ask} allow={allow} />, "large")
}

function Allow(props: {
  readonly app: App
  readonly card: Card
  readonly ask: Permission
  readonly allow: (reply: "once" | "always") => void
}) {
  const { app, card, ask, allow } = props
  const space = useDialogSpace("large")
  const [read, setRead] = createSignal(false)
  const choose = (reply: "once" | "always") => () => {
    app.host.ui.dialog.clear()
    allow(reply)
  }
  const lines = createMemo(() => wrap(ask.text, space.width()).map((text) => [{ text }]))
  const unread = () => (read() ? {} : { not: "PgDn shows the rest of it first" })
  return (
    <DialogFrame title={`#${card.entry.meta.taskNumber} asks`} size="large" hint="Esc leaves it open">
      <Scrolled
        lines={lines()}
        width={space.width()}
        rows={Math.max(1, Math.min(lines().length, space.rows() - 5))}
        onEnd={() => setRead(true)}
      />
      <box height={1} flexShrink={1} />
      <Choices
        filter={false}
        width={space.width()}
        rows={4}
        choices={[
          { title: "Leave it open", key: "n", choose: () => app.host.ui.dialog.clear() },
          { title: "Allow it once", key: "y", ...unread(), choose: choose("once") },
          { title: "Allow it always", key: "a", ...unread(), choose: choose("always") },
          { title: "Reject it …", key: "x", choose: () => openReject(app, card, ask) },
        ]}
      />
    </DialogFrame>
  )
}

/** Rejects what the agent asks: a permission with a word for it, a question by ending its turn. */
export function openReject(app: App, card: Card, ask: Ask) {
  const number = card.entry.meta.taskNumber
  const request = { id: ask.id, directory: ask.directory }
  if (ask.kind === "question") {
    return openConfirm(app, {
      title: `Dismiss the question of #${number}?`,
      text: "Dismissing it ends the agent's turn; the card is interrupted until you resume it (r).",
      no: "Leave it open",
      yes: "Dismiss it",
      confirm: () => void app.act(card, "dismissing", "ask.question", { sessionID: card.id, ask: request }),
    })
  }
  return openDialog(app, () => (
    <TextDialog
      title={`Reject what #${number} asks`}
      about={ask.text}
      placeholder="What it should do instead (empty ends its turn)"
      submit={(text) => {
        app.host.ui.dialog.clear()
        const message = text.trim()
        void app.act(card, "rejecting", "ask.permission", {
          sessionID: card.id,
          ask: request,
          reply: "reject",
          ...(message === "" ? {} : { message }),
        })
        return undefined
      }}
    />
  ))
}
