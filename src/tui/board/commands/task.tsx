import type { DraftReply } from "../../../core/protocol.ts"
import { backOf, forwardOf } from "../../../core/rules.ts"
import { openConfirm } from "../../dialogs/confirm.tsx"
import { openCreate } from "../../dialogs/create.tsx"
import { openEdit } from "../../dialogs/edit.tsx"
import { openDuplicate, openFollowUp } from "../../dialogs/follow.ts"
import { openIntake } from "../../dialogs/intake.tsx"
import { INTAKE_WAIVERS, openReason, REVIEW_WAIVERS } from "../../dialogs/reason.tsx"
import { openSendBack } from "../../dialogs/send-back.tsx"
import { isDraftCard, isRunning, type Card } from "../store.tsx"
import { refused, type Behaviour, type BehavioursOf, type Desk } from "./behaviour.tsx"
import { sendBackProblem } from "./review.tsx"

const SETUP_WAIVERS = ["Not needed for this task", "Made ready by hand", "The agent is to repair it"]

/** What becomes of a task: made, agreed, moved, put aside. */
export function taskCommands(desk: Desk): BehavioursOf<"Task"> {
  const { app, onCard, forDraft, judged, move, remember } = desk
  const { board } = app

  const isQueued = (card: Card) => card.run().kind === "queued"
  const isGone = (card: Card) => card.run().kind === "session_gone"
  const runsInProgress = (card: Card) => card.column() === "in_progress" && isRunning(card)
  const ids = (card: Card) => board.columns()[card.column()].filter((id) => !isDraftCard(id))

  function reviewAsIs(card: Card) {
    openConfirm(app, {
      title: `Review #${card.entry.meta.taskNumber} as it is?`,
      text: "The agent is at work. Reviewing now stops it, and what is in the worktree at this moment is reviewed.",
      no: "Let it work",
      yes: "Stop it and review",
      confirm: () => void app.act(card, "to Review", "task.move", { sessionID: card.id, to: "review", asIs: true }),
    })
  }

  function reorder(card: Card, step: -1 | 1) {
    const list = ids(card)
    const at = list.indexOf(card.id)
    const order = orderBetween(list.toSpliced(at, 1), at + step, (id) => board.card(id)?.entry.meta.order ?? 0)
    if (order === undefined) return
    const before = card.entry.meta.order
    const send = (place: number) => app.act(card, "reordering", "task.reorder", { sessionID: card.id, order: place })
    remember(`reorder of #${card.entry.meta.taskNumber}`, send(order), () => void send(before))
  }

  function edge(card: Card, step: -1 | 1) {
    const list = ids(card)
    const at = list.indexOf(card.id) + step
    return at < 0 ? "it stands at the top" : at >= list.length ? "it stands at the bottom" : undefined
  }

  const setupFailed = (card: Card) => card.run().kind === "setup_failed"

  function waive(card: Card) {
    const { meta } = card.entry
    if (setupFailed(card)) {
      return openReason(app, {
        title: `#${meta.taskNumber} without its setup: why?`,
        reasons: SETUP_WAIVERS,
        choose: (reason) => void app.act(card, "going on", "setup.waive", { sessionID: card.id, reason }),
      })
    }
    const title = `#${meta.taskNumber} without ${card.column() === "backlog" ? "intake" : "a reviewer"}: why?`
    openReason(app, {
      title,
      reasons: card.column() === "backlog" ? INTAKE_WAIVERS : REVIEW_WAIVERS,
      choose: (reason) =>
        card.column() === "backlog"
          ? void app.act(card, "waiving intake", "intake.waive", { sessionID: card.id, reason })
          : void app.act(card, "waiving the review", "validator.waive", { sessionID: card.id, reason }),
    })
  }

  function waiveProblem(card: Card): string | undefined {
    const { meta } = card.entry
    if (setupFailed(card)) return undefined
    if (card.column() === "backlog") {
      if (meta.intake?.state === "waived") return "intake is waived already"
      if (meta.intake?.state === "done" && meta.intake.answered >= meta.intake.required) return "intake is done"
      return undefined
    }
    if (card.column() !== "review") return "there is nothing to waive here"
    const state = meta.review?.validator?.state
    return state === "done" || state === "waived" ? "the review is done" : undefined
  }

  function toggle(card: Card, what: "archive" | "trash") {
    const { meta, title } = card.entry
    const on = what === "archive" ? meta.archivedAt === undefined : meta.trashedAt === undefined
    const send = (value: boolean) =>
      what === "archive"
        ? app.act(card, value ? "archiving" : "bringing back", "task.archive", { sessionID: card.id, archived: value })
        : app.act(card, value ? "to the trash" : "bringing back", "task.trash", { sessionID: card.id, trashed: value })
    remember(`${what} of #${meta.taskNumber} ${title}`, send(on), () => void send(!on))
  }

  /** What would be lost is named before anything is deleted; what is lost beyond that is asked about again. */
  async function purge(card: Card): Promise<void> {
    const { taskNumber } = card.entry.meta
    const seen = await app.ask("purge.preview", { sessionID: card.id })
    if (!seen.ok) return app.tell({ level: "error", text: seen.error.text, taskNumber })
    const { lost } = seen.value
    const losses = lost === "" ? "Nothing that only they hold would be lost." : `Lost for good: ${lost}.`
    openConfirm(app, {
      title: `Delete #${taskNumber} for good?`,
      text: `Its worktree, its branch, its snapshots and its conversation are deleted. ${losses}`,
      no: "Keep it in the trash",
      yes: "Delete all of it",
      confirm: () => void app.act(card, "deleting", "task.purge", { sessionID: card.id, lost }),
    })
  }

  async function discardDraft(draft: DraftReply) {
    const answer = await app.ask("draft.discard", { draftID: draft.id })
    app.tell(answer.ok ? { level: "info", text: answer.value.text } : { level: "error", text: answer.error.text })
  }

  function discard(card: Card) {
    const { taskNumber, worktree, branch } = card.entry.meta
    openConfirm(app, {
      title: `Discard #${taskNumber}?`,
      text: `Its session is gone. The card goes too, and nothing brings it back; the branch ${branch} and the folder ${worktree} stay.`,
      no: "Keep the card",
      yes: "Discard it",
      confirm: () => void app.act(card, "discarding", "task.discard", { sessionID: card.id }),
    })
  }

  /** The card itself stays as it is, so that it may be of a newer version too. */
  const fromCard = (open: (card: Card) => void): Behaviour => ({
    when: (card) => (card ? app.unable() : "no card is selected"),
    run: (card) => card && open(card),
  })

  const stopFirst = (card: Card) => (isRunning(card) ? refused({ kind: "stop_first" }) : undefined)

  return {
    "kagan.new": { when: () => app.unable(), run: () => openCreate(app) },
    "kagan.intake": onCard(
      (card) => openIntake(app, card),
      (card) =>
        card.intake()?.assessment
          ? undefined
          : card.column() === "backlog"
            ? refused({ kind: "intake_running" })
            : "it had no intake",
    ),
    "kagan.waive": onCard(waive, waiveProblem),
    "kagan.forward": onCard(
      (card) => (runsInProgress(card) ? reviewAsIs(card) : void move(card, forwardOf(card.column())!, false)),
      // What runs can be reviewed as it is, after a question.
      (card) => (runsInProgress(card) ? undefined : judged(card, forwardOf(card.column()))),
    ),
    "kagan.back": {
      ...onCard(
        (card) => {
          // A wish that waits is taken back: the card stays where it stands.
          if (isQueued(card)) void move(card, card.column(), false)
          else if (card.column() === "review") openSendBack(app, card)
          else void move(card, backOf(card.column())!, true)
        },
        (card) => {
          if (isQueued(card)) return undefined
          return card.column() === "review" ? sendBackProblem(card) : judged(card, backOf(card.column()))
        },
      ),
      hint: (card) => (isQueued(card) ? "take back" : undefined),
    },
    "kagan.edit": forDraft(
      (draft) => openCreate(app, draft),
      onCard((card) => void openEdit(app, card, remember)),
    ),
    "kagan.follow": fromCard((card) => openFollowUp(app, card)),
    "kagan.duplicate": fromCard((card) => void openDuplicate(app, card)),
    "kagan.lower": onCard(
      (card) => reorder(card, 1),
      (card) => edge(card, 1),
    ),
    "kagan.higher": onCard(
      (card) => reorder(card, -1),
      (card) => edge(card, -1),
    ),
    "kagan.archive": onCard((card) => toggle(card, "archive"), stopFirst),
    "kagan.trash": forDraft((draft) => void discardDraft(draft), {
      ...onCard((card) => (isGone(card) ? discard(card) : toggle(card, "trash")), stopFirst),
      hint: (card) => (isGone(card) ? "discard" : undefined),
    }),
    "kagan.purge": onCard(
      (card) => void purge(card),
      (card) =>
        card.entry.meta.trashedAt === undefined ? "only what is in the trash is deleted (d moves it there)" : undefined,
    ),
    "kagan.undo": {
      when: () => app.unable() ?? (desk.canUndo() ? undefined : "there is nothing to undo"),
      run: () => void desk.undo(),
    },
  }
}

/** A place between its new neighbours; `others` are the column's cards without the moved one. */
function orderBetween(others: readonly string[], at: number, orderOf: (id: string) => number): number | undefined {
  if (at < 0 || at > others.length) return undefined
  const before = others[at - 1]
  const after = others[at]
  if (before === undefined) return after === undefined ? undefined : orderOf(after) - 1
  if (after === undefined) return orderOf(before) + 1
  return (orderOf(before) + orderOf(after)) / 2
}
