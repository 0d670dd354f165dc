import type { Ask } from "../../../core/board.ts"
import type { DraftReply } from "../../../core/protocol.ts"
import { workingSession } from "../../../core/task.ts"
import { displayable } from "../../../core/text.ts"
import type { App } from "../../app.tsx"
import { openAllow, openAnswer, openReject } from "../../dialogs/asks.tsx"
import { openTell } from "../../dialogs/tell.tsx"
import { openEditor } from "../../editor.ts"
import { isRunning, type Card } from "../store.tsx"
import { cellsOf } from "../../ui/segments.ts"
import { layoutOf } from "../layout.ts"
import { leadsOut, refused, type Behaviour, type BehavioursOf, type Desk } from "./behaviour.tsx"

/** The host's own command for its dialog of providers and logins. */
const CONNECT = "provider.connect"

/** The agent at work: looked at, told, stopped, answered, taken up again. */
export function agentCommands(desk: Desk): BehavioursOf<"Agent"> {
  const { app, onCard, forDraft } = desk

  const ask = (card: Card): Ask | undefined => card.facts()?.asks[0]
  const asksLarge = (card: Card) => card.run().kind === "asks_large"
  const asks = (card: Card) => (ask(card) ? undefined : "it asks nothing")

  function allow(card: Card, reply: "once" | "always") {
    if (asksLarge(card)) return void app.act(card, "taking it in", "review.allowLarge", { sessionID: card.id })
    const request = ask(card)
    if (!request) return
    if (request.kind === "question") return openAnswer(app, card, request)
    const send = (chosen: "once" | "always") =>
      void app.act(card, "allowing", "ask.permission", {
        sessionID: card.id,
        ask: { id: request.id, directory: request.directory },
        reply: chosen,
      })
    if (isWholeOnCard(app, card)) send(reply)
    else openAllow(app, card, request, send)
  }

  function retry(card: Card) {
    const action = retryOf(card)
    if (!action) return
    if (action.type !== "task.restore") return void app.act(card, action.pending, action.type, action.body as never)
    void app.act(card, action.pending, action.type, action.body).then((answer) => {
      // It may have another session: the cursor stays with it.
      if (answer.ok) app.selection.expect(answer.value.sessionID)
    })
  }

  async function createAgain({ id: draftID, title, tasks }: DraftReply) {
    app.tell({ level: "info", text: `creating: ${title}`, key: draftID })
    const ended = app.board.startMaking({ id: draftID, titles: tasks.map((task) => task.title) })
    const answer = await app.ask("draft.retry", { draftID })
    ended()
    if (answer.ok) app.selection.expect(answer.value.tasks[0]!.sessionID)
    app.tell(
      answer.ok
        ? { level: "success", text: answer.value.text, key: draftID }
        : { level: "error", text: `not created: ${answer.error.text}`, key: draftID },
    )
  }

  function copying(what: (card: Card) => string): Behaviour {
    return {
      when: (card) => (card ? undefined : "no card is selected"),
      run(card) {
        if (!card) return
        const text = what(card)
        const copied = app.host.renderer.copyToClipboardOSC52(text)
        app.tell(
          copied
            ? { level: "info", text: `copied ${text}`, key: "copy" }
            : { level: "warning", text: `this terminal does not take the clipboard: ${text}`, key: "copy" },
        )
      },
    }
  }

  return {
    "kagan.open": {
      when: (card) =>
        !card ? "no card is selected" : card.facts()?.source === "record" ? "its session is gone" : undefined,
      run: (card) => card && app.host.route.navigate("session", { sessionID: workingSession(card.entry.meta) }),
    },
    "kagan.tell": onCard(
      (card) => openTell(app, card),
      (card) => (card.column() === "done" ? "it is done: F makes a task that follows from it" : undefined),
    ),
    "kagan.stop": onCard(
      (card) => void app.act(card, "stopping", "task.stop", { sessionID: card.id }),
      (card) =>
        isRunning(card) || helperRuns(card) || leadsOut(card, "X") ? undefined : refused({ kind: "nothing_runs" }),
    ),
    "kagan.retry": forDraft((draft) => void createAgain(draft), {
      ...onCard(retry, (card) => (retryOf(card) ? undefined : "there is nothing to retry")),
      hint: (card) => retryOf(card)?.hint,
    }),
    "kagan.allow": {
      ...onCard(
        (card) => allow(card, "once"),
        (card) => (asksLarge(card) ? undefined : asks(card)),
      ),
      hint: (card) => (ask(card)?.kind === "question" ? "answer" : undefined),
    },
    "kagan.always": onCard(
      (card) => allow(card, "always"),
      (card) => (ask(card)?.kind === "question" ? "a question is answered, not allowed (y)" : asks(card)),
    ),
    "kagan.reject": onCard((card) => openReject(app, card, ask(card)!), asks),
    "kagan.connect": {
      run() {
        const opened = app.host.keymap.dispatchCommand(CONNECT)
        if (!opened.ok)
          app.tell({ level: "warning", text: "open a session and type /connect: this OpenCode knows no other way" })
      },
    },
    "kagan.editor": {
      when: (card) =>
        !card ? "no card is selected" : card.facts()?.worktree === "missing" ? "its folder is missing" : undefined,
      run(card) {
        if (!card) return
        const { taskNumber, worktree } = card.entry.meta
        void openEditor(app.host.renderer, worktree, app.env).then((ended) => {
          if (!ended.ok) app.tell({ level: "warning", text: ended.error, taskNumber, key: "editor" })
        })
      },
    },
    "kagan.copy": copying((card) => card.entry.meta.branch),
    "kagan.copy.path": copying((card) => card.entry.meta.worktree),
  }
}

/** A helper that is still wanted runs; one that has reported only ends its turn. */
function helperRuns(card: Card): boolean {
  const { intake, review } = card.entry.meta
  const wanted = [intake, review?.validator].some((one) => one?.state === "claimed" || one?.state === "running")
  const kind = card.facts()?.helper?.kind
  return wanted && (kind === "busy" || kind === "retry")
}

/** What `r` means for the state the card is in; the table of ways out says where it means anything. */
function retryOf(card: Card) {
  const sessionID = card.id
  const { kind } = card.run()
  switch (kind) {
    case "intake_failed":
      return {
        hint: "ask again",
        pending: "asking again",
        type: "helper.retry",
        body: { sessionID, role: "intake" },
      } as const
    case "review_failed":
      return {
        hint: "review again",
        pending: "reviewing again",
        type: "helper.retry",
        body: { sessionID, role: "validator" },
      } as const
    case "session_gone":
      return { hint: "bring back", pending: "bringing back", type: "task.restore", body: { sessionID } } as const
    case "folder_missing":
      return { hint: "restore", pending: "restoring", type: "task.resume", body: { sessionID } } as const
    case "merging":
    case "reviewing":
      return undefined
  }
  // A review can be taken anew at any time; elsewhere only what is stuck goes on.
  if (card.column() === "review" && card.facts()?.problem === undefined)
    return { hint: "review again", pending: "reviewing again", type: "review.again", body: { sessionID } } as const
  const hint = kind === "interrupted" || kind === "failed" ? "resume" : undefined
  return leadsOut(card, "r")
    ? ({ hint, pending: "resuming", type: "task.resume", body: { sessionID } } as const)
    : undefined
}

/** Whether the card has room for all that it asks, so that the person has read what a key allows. */
function isWholeOnCard(app: App, card: Card): boolean {
  const { width, height } = app.host.renderer
  const layout = layoutOf({ width, height }, app.pane() !== undefined)
  if (layout.kind === "tiny" || layout.rows === 0) return false
  const { text } = card.run()
  const frame = 2
  const mark = 5
  return displayable(text) === text && cellsOf([{ text }]) <= Math.min(...layout.widths) - frame - mark
}
