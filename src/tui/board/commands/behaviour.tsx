import type { DraftReply } from "../../../core/protocol.ts"
import { judgeMove, refusalText, type MoveFacts, type Refusal } from "../../../core/rules.ts"
import { columnOf, STATUS_TITLE, type Status } from "../../../core/task.ts"
import { WAYS_OUT } from "../../../core/ways-out.ts"
import type { App } from "../../app.tsx"
import { isRunning, type Card } from "../store.tsx"
import type { CommandID, CommandIDsOf, Group } from "../keys.ts"

/** What a command of the table does. */
export type Behaviour = {
  /** Why it cannot be done now; undefined: it can. Asked before the person tries. */
  readonly when?: (card: Card | undefined) => string | undefined
  /** Short words for the footer where what it does depends on the card. */
  readonly hint?: (card: Card) => string | undefined
  readonly run: (card: Card | undefined) => void
}

/** The behaviour of every command of a group: a row without one, or one without a row, does not compile. */
export type BehavioursOf<G extends Group> = Readonly<Record<CommandIDsOf<G>, Behaviour>>

export type Desk = ReturnType<typeof makeDesk>

/** What the groups of commands work with: the rules asked beforehand, what can be undone, and each other. */
export function makeDesk(app: App, run: (id: CommandID) => void) {
  const { board, selection } = app
  let undo: { readonly text: string; readonly answer: Promise<{ readonly ok: boolean }>; readonly back: () => void }[] =
    []

  const draft = (): DraftReply | undefined => {
    const id = selection.card()
    return id === undefined ? undefined : board.draft(id)
  }

  function moveFacts(card: Card): MoveFacts {
    const open = (card.entry.meta.dependsOn ?? []).filter((number) => {
      const other = board.byNumber(number)
      return other !== undefined && columnOf(other.meta) !== "done"
    })
    return {
      turnRunning: isRunning(card),
      worktreeReady: card.facts()?.worktree !== "missing" && card.facts()?.worktree !== "foreign",
      inProgress: board.count("in_progress"),
      limit: app.options().inProgressLimit,
      openDependencies: open,
      intakeEnabled: app.options().intake.enabled && card.facts()?.intakeOff !== true,
    }
  }

  const desk = {
    app,
    /** Runs another command of the table. */
    command: run,

    /** A command on a card that the server half has to carry out. */
    onCard(act: (card: Card) => void, when?: (card: Card) => string | undefined): Behaviour {
      return {
        when: (card) => {
          if (!card) return "no card is selected"
          if (card.entry.readOnly) return refused({ kind: "read_only" })
          return app.unable() ?? when?.(card)
        },
        run: (card) => card && act(card),
      }
    },

    draft,
    /** What a command does when the cursor is on a draft, which is no task yet. */
    forDraft(act: (found: DraftReply) => void, task: Behaviour): Behaviour {
      return {
        ...task,
        when: (card) => (draft() ? app.unable() : task.when?.(card)),
        run(card) {
          const found = draft()
          if (found) act(found)
          else task.run(card)
        },
      }
    },

    inColumn: (status: Status) => (card: Card) =>
      card.column() === status ? undefined : refused({ kind: "not_in_column", needed: status }),

    /** Why a card may not go there; undefined: the server half will agree. */
    judged(card: Card, to: Status | undefined): string | undefined {
      if (to === undefined) {
        if (card.column() === "review") return refused({ kind: "approval_needed" })
        return refused({ kind: "already_there", to: card.column() })
      }
      const verdict = judgeMove(card.entry.meta, to, moveFacts(card))
      return verdict.ok ? undefined : refusalText(verdict.error)
    },

    async move(card: Card, to: Status, undoable: boolean) {
      const from = card.column()
      const answer = app.act(card, `to ${STATUS_TITLE[to]}`, "task.move", { sessionID: card.id, to })
      if (undoable) {
        desk.remember(`move of #${card.entry.meta.taskNumber}`, answer, () => void desk.move(card, from, false))
      }
      await answer
    },

    /**
     * Something that `u` takes back, as soon as it was asked for: a `u` before the answer waits for it. What was refused is
     * nothing to take back. The last twenty are kept.
     */
    remember(text: string, answer: Promise<{ readonly ok: boolean }>, back: () => void) {
      const entry = { text, answer, back }
      undo = [...undo.slice(-19), entry]
      void answer.then(({ ok }) => {
        if (!ok) undo = undo.filter((other) => other !== entry)
      })
    },
    canUndo: () => undo.length > 0,
    async undo() {
      const last = undo.at(-1)
      undo = undo.slice(0, -1)
      if (!last) return
      app.tell({ level: "info", text: `undoing: ${last.text}` })
      if ((await last.answer).ok) last.back()
    },
  }
  return desk
}

/** The words of a refusal. */
export const refused = (refusal: Refusal | undefined) => (refusal ? refusalText(refusal) : undefined)

/** The table of ways out of a state names this key. */
export const leadsOut = (card: Card, key: string) => WAYS_OUT[card.run().kind].some((way) => way.key === key)
