import type { Ask } from "../../core/board.ts"
import {
  backOf,
  forwardOf,
  judgeApproval,
  judgeMove,
  judgeSendBack,
  refusalText,
  type MoveFacts,
  type Refusal,
} from "../../core/rules.ts"
import { WAYS_OUT } from "../../core/ways-out.ts"
import { columnOf, STATUS_TITLE, STATUSES, workingSession, type Status } from "../../core/task.ts"
import { BOARD_ROUTE, REVIEW_ROUTE, type App } from "../app.tsx"
import { openApprove } from "../dialogs/approve.tsx"
import { openConfirm } from "../dialogs/confirm.tsx"
import { openAnswer, openReject } from "../dialogs/asks.tsx"
import { openCreate } from "../dialogs/create.tsx"
import { openEdit } from "../dialogs/edit.tsx"
import { openFilter } from "../dialogs/filter.tsx"
import { openHelpOf } from "../dialogs/help.tsx"
import { openIntake } from "../dialogs/intake.tsx"
import { openMenu } from "../dialogs/menu.tsx"
import { openNotices } from "../dialogs/past-notices.tsx"
import { openReason } from "../dialogs/reason.tsx"
import { openSendBack } from "../dialogs/send-back.tsx"
import { openTell } from "../dialogs/tell.tsx"
import { openEditor } from "../editor.ts"
import { COMMANDS, ENTRIES, REVIEW_COMMANDS, type CommandID, type EntryID, type ReviewCommandID } from "./keys.ts"
import { isDraftCard, isRunning, type Card } from "./store.tsx"

type Behaviour = {
  /** Why it cannot be done now; undefined: it can. Asked before the person tries. */
  readonly when?: (card: Card | undefined) => string | undefined
  readonly run: (card: Card | undefined) => void
}

export type Commands = ReturnType<typeof createCommands>

/** What each command of the table does, and when it may: the same rules as the server half asks, before it is asked. */
export function createCommands(app: App) {
  const { board, selection } = app
  let undo: { readonly text: string; readonly run: () => void }[] = []

  const refused = (refusal: Refusal | undefined) => (refusal ? refusalText(refusal) : undefined)

  /** A command on a card that the server half has to carry out. */
  function onCard(run: (card: Card) => void, when?: (card: Card) => string | undefined): Behaviour {
    return {
      when: (card) => {
        if (!card) return "no card is selected"
        if (card.entry.readOnly) return refused({ kind: "read_only" })
        return app.unable() ?? when?.(card)
      },
      run: (card) => card && run(card),
    }
  }

  const inColumn = (status: Status) => (card: Card) =>
    card.column() === status ? undefined : refused({ kind: "not_in_column", needed: status })

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
      intakeEnabled: app.options().intake.enabled,
    }
  }

  function judged(card: Card, to: Status | undefined): string | undefined {
    if (to === undefined) {
      if (card.column() === "review") return refused({ kind: "approval_needed" })
      return refused({ kind: "already_there", to: card.column() })
    }
    const verdict = judgeMove(card.entry.meta, to, moveFacts(card))
    return verdict.ok ? undefined : refusalText(verdict.error)
  }

  async function move(card: Card, to: Status, undoable: boolean) {
    const from = card.column()
    const answer = await app.act(card, `to ${STATUS_TITLE[to]}`, "task.move", { sessionID: card.id, to })
    if (answer.ok && undoable) remember(`move of #${card.entry.meta.taskNumber}`, () => void move(card, from, false))
  }

  const isQueued = (card: Card) => card.run().kind === "queued"
  const runsInProgress = (card: Card) => card.column() === "in_progress" && isRunning(card)

  function reviewAsIs(card: Card) {
    openConfirm(app, {
      title: `Review #${card.entry.meta.taskNumber} as it is?`,
      text: "The agent is at work. Reviewing now stops it, and what is in the worktree at this moment is reviewed.",
      no: "Let it work",
      yes: "Stop it and review",
      confirm: () => void app.act(card, "to Review", "task.move", { sessionID: card.id, to: "review", asIs: true }),
    })
  }

  function remember(text: string, run: () => void) {
    undo = [...undo.slice(-19), { text, run }]
  }

  function approvalProblem(card: Card): string | undefined {
    const snapshot = card.entry.meta.review?.snapshot
    if (card.column() !== "review") return refused({ kind: "not_in_column", needed: "review" })
    if (!snapshot) return refused({ kind: "no_snapshot" })
    const verdict = judgeApproval(card.entry.meta, { snapshot: snapshot.commit }, card.facts()?.changedSince ?? [])
    return verdict.ok ? undefined : refusalText(verdict.error)
  }

  function reorder(card: Card, step: -1 | 1) {
    const ids = board.columns()[card.column()].filter((id) => !isDraftCard(id))
    const at = ids.indexOf(card.id)
    const order = orderBetween(ids.toSpliced(at, 1), at + step, (id) => board.card(id)?.entry.meta.order ?? 0)
    if (order === undefined) return
    const before = card.entry.meta.order
    void app.act(card, "reordering", "task.reorder", { sessionID: card.id, order })
    remember(`reorder of #${card.entry.meta.taskNumber}`, () =>
      app.act(card, "reordering", "task.reorder", { sessionID: card.id, order: before }),
    )
  }

  const edge = (card: Card, step: -1 | 1) => {
    const ids = board.columns()[card.column()].filter((id) => !isDraftCard(id))
    const at = ids.indexOf(card.id) + step
    return at < 0 ? "it stands at the top" : at >= ids.length ? "it stands at the bottom" : undefined
  }

  function waive(card: Card) {
    const { meta } = card.entry
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
    if (card.column() === "backlog") {
      if (meta.intake?.state === "waived") return "intake is waived already"
      if (meta.intake?.state === "done" && meta.intake.answered >= meta.intake.required) return "intake is done"
      return undefined
    }
    if (card.column() !== "review") return "there is nothing to waive here"
    const state = meta.review?.validator?.state
    return state === "done" || state === "waived" ? "the review is done" : undefined
  }

  function retry(card: Card) {
    const action = retryOf(card)
    if (!action) return
    void app.act(card, action.pending, action.type, action.body as never)
  }

  function leave(card: Card) {
    openReason(app, {
      title: `#${card.entry.meta.taskNumber} done without merge: why?`,
      reasons: ["Not wanted any more", "Merged by hand", "Superseded by another task"],
      choose: (reason) => void app.act(card, "closing", "task.leave", { sessionID: card.id, reason }),
    })
  }

  const ask = (card: Card): Ask | undefined => card.facts()?.asks[0]
  const asks = (card: Card) => (ask(card) ? undefined : "it asks nothing")

  function allow(card: Card, reply: "once" | "always") {
    const request = ask(card)
    if (!request) return
    if (request.kind === "question") return openAnswer(app, card, request)
    void app.act(card, "allowing", "ask.permission", {
      sessionID: card.id,
      ask: { id: request.id, directory: request.directory },
      reply,
    })
  }

  function toggle(card: Card, what: "archive" | "trash") {
    const { meta, title } = card.entry
    const on = what === "archive" ? meta.archivedAt === undefined : meta.trashedAt === undefined
    const send = (value: boolean) =>
      what === "archive"
        ? app.act(card, value ? "archiving" : "bringing back", "task.archive", { sessionID: card.id, archived: value })
        : app.act(card, value ? "to the trash" : "bringing back", "task.trash", { sessionID: card.id, trashed: value })
    void send(on).then((answer) => {
      if (answer.ok) remember(`${what} of #${meta.taskNumber} ${title}`, () => void send(!on))
    })
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

  const draft = () => {
    const id = selection.card()
    return id === undefined ? undefined : board.draft(id)
  }

  /** What a command does when the cursor is on a draft, which is no task yet. */
  function forDraft(run: () => void, task: Behaviour): Behaviour {
    return {
      when: (card) => (draft() ? app.unable() : task.when?.(card)),
      run: (card) => (draft() ? run() : task.run(card)),
    }
  }

  function openDraft() {
    const found = draft()
    if (found) openCreate(app, found)
    else openMenu(app, commands, undefined)
  }

  async function createAgain() {
    const found = draft()
    if (!found) return
    const { id: draftID, title, description } = found
    app.tell({ level: "info", text: `creating: ${title}`, key: draftID })
    const answer = await app.ask("task.create", { draftID, title, description })
    if (answer.ok) app.selection.expect(answer.value.sessionID)
    app.tell(
      answer.ok
        ? { level: "success", text: answer.value.text, key: draftID }
        : { level: "error", text: `not created: ${answer.error.text}`, key: draftID },
    )
  }

  async function discardDraft() {
    const found = draft()
    if (!found) return
    const answer = await app.ask("draft.discard", { draftID: found.id })
    app.tell(answer.ok ? { level: "info", text: answer.value.text } : { level: "error", text: answer.error.text })
  }

  const table: Readonly<Record<CommandID, Behaviour>> = {
    "kagan.left": { run: () => selection.horizontal(-1) },
    "kagan.right": { run: () => selection.horizontal(1) },
    "kagan.down": { run: () => selection.vertical(1) },
    "kagan.up": { run: () => selection.vertical(-1) },
    "kagan.first": { run: () => selection.first() },
    "kagan.last": { run: () => selection.last() },
    "kagan.page.down": {
      run: () => (app.pane() ? app.setPaneTop(app.paneTop() + 10) : selection.vertical(5)),
    },
    "kagan.page.up": { run: () => (app.pane() ? app.setPaneTop(app.paneTop() - 10) : selection.vertical(-5)) },
    "kagan.column.1": { run: () => selection.goTo(STATUSES[0]) },
    "kagan.column.2": { run: () => selection.goTo(STATUSES[1]) },
    "kagan.column.3": { run: () => selection.goTo(STATUSES[2]) },
    "kagan.column.4": { run: () => selection.goTo(STATUSES[3]) },
    "kagan.next": {
      when: () => (board.needing().length === 0 ? "nothing needs you" : undefined),
      run: () => void selection.nextOf(board.needing()),
    },
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
    "kagan.back": onCard(
      (card) => {
        if (card.column() === "review") openSendBack(app, card)
        else void move(card, isQueued(card) ? "backlog" : backOf(card.column())!, true)
      },
      (card) => {
        if (card.column() === "review") return sendBackProblem(card)
        // A wish that waits can be taken back.
        return isQueued(card) ? undefined : judged(card, backOf(card.column()))
      },
    ),
    "kagan.edit": forDraft(
      openDraft,
      onCard((card) => openEdit(app, card, remember)),
    ),
    "kagan.lower": onCard(
      (card) => reorder(card, 1),
      (card) => edge(card, 1),
    ),
    "kagan.higher": onCard(
      (card) => reorder(card, -1),
      (card) => edge(card, -1),
    ),
    "kagan.archive": onCard(
      (card) => toggle(card, "archive"),
      (card) => (isRunning(card) ? refused({ kind: "stop_first" }) : undefined),
    ),
    "kagan.trash": forDraft(
      () => void discardDraft(),
      onCard(
        (card) => toggle(card, "trash"),
        (card) => (isRunning(card) ? refused({ kind: "stop_first" }) : undefined),
      ),
    ),
    "kagan.undo": {
      when: () => app.unable() ?? (undo.length === 0 ? "there is nothing to undo" : undefined),
      run() {
        const last = undo.at(-1)
        undo = undo.slice(0, -1)
        if (!last) return
        app.tell({ level: "info", text: `undoing: ${last.text}` })
        last.run()
      },
    },
    "kagan.open": {
      when: (card) =>
        !card ? "no card is selected" : card.facts()?.source === "record" ? "its session is gone" : undefined,
      run: (card) => card && app.host.route.navigate("session", { sessionID: workingSession(card.entry.meta) }),
    },
    "kagan.tell": onCard(
      (card) => openTell(app, card),
      (card) => (card.column() === "done" ? "it is done: make a new task (n)" : undefined),
    ),
    "kagan.stop": onCard(
      (card) => void app.act(card, "stopping", "task.stop", { sessionID: card.id }),
      (card) =>
        isRunning(card) || helperRuns(card) || leadsOut(card, "X") ? undefined : refused({ kind: "nothing_runs" }),
    ),
    "kagan.retry": forDraft(
      () => void createAgain(),
      onCard(retry, (card) => (retryOf(card) ? undefined : "there is nothing to retry")),
    ),
    "kagan.allow": onCard((card) => allow(card, "once"), asks),
    "kagan.always": onCard(
      (card) => allow(card, "always"),
      (card) => (ask(card)?.kind === "question" ? "a question is answered, not allowed (y)" : asks(card)),
    ),
    "kagan.reject": onCard((card) => openReject(app, card, ask(card)!), asks),
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
    "kagan.review": {
      when: (card) => {
        if (!card) return "no card is selected"
        return card.entry.meta.review?.snapshot ? undefined : refused({ kind: "no_snapshot" })
      },
      run: (card) => card && app.host.route.navigate(REVIEW_ROUTE, { sessionID: card.id }),
    },
    "kagan.approve": onCard((card) => openApprove(app, card), approvalProblem),
    "kagan.sendBack": onCard((card) => openSendBack(app, card), sendBackProblem),
    "kagan.leave": onCard(leave, inColumn("review")),
    "kagan.menu": { run: (card) => (card ? openMenu(app, commands, card) : openDraft()) },
    "kagan.details": { run: () => void app.togglePane("details") },
    "kagan.preview": { run: () => void app.togglePane("preview") },
    "kagan.filter": { run: () => openFilter(app) },
    "kagan.notices": { run: () => openNotices(app) },
    "kagan.help": { run: () => openHelpOf(app, COMMANDS, (id) => commands.run(id as CommandID)) },
    "kagan.dismiss": {
      run() {
        if (app.notices.shown().length > 0) app.notices.dismissAll()
        else if (app.pane()) app.closePane()
        else if (app.filter.text() !== "") app.filter.setText("")
      },
    },
    "kagan.close": { run: () => app.close() },
  }

  /** The note makes a send back possible without a finding, so only what no note can help is said before. */
  function sendBackProblem(card: Card): string | undefined {
    const verdict = judgeSendBack(card.entry.meta, "a note")
    return verdict.ok ? undefined : refusalText(verdict.error)
  }

  const selected = () => {
    const id = selection.card()
    return id === undefined ? undefined : board.card(id)
  }

  const commands = {
    selected,
    when: (id: CommandID, card: Card | undefined = selected()) => table[id].when?.(card),
    /** Runs it, or says why not. */
    run(id: CommandID, card: Card | undefined = selected()) {
      // The cursor stays on the card that the person acts upon, wherever it goes, also if they never moved it.
      if (card && card.id === selection.card()) selection.select(card.id)
      const why = table[id].when?.(card)
      if (why === undefined) return table[id].run(card)
      const taskNumber = card?.entry.meta.taskNumber
      app.tell({
        level: "warning",
        text: why,
        key: "refused",
        ...(taskNumber ? { taskNumber } : {}),
      })
    },
    /** A card let go over a column: the same gate as by key, and the same questions. */
    drop(id: string, to: Status) {
      const card = board.card(id)
      if (!card || card.column() === to) return
      selection.select(id)
      const from = card.column()
      if (to === "done" && from === "review") return commands.run("kagan.approve", card)
      if (to === forwardOf(from)) return commands.run("kagan.forward", card)
      if (to === backOf(from)) return commands.run("kagan.back", card)
      const why = app.unable() ?? judged(card, to)
      const { taskNumber } = card.entry.meta
      if (why !== undefined) return app.tell({ level: "warning", text: why, key: "refused", taskNumber })
      return void move(card, to, true)
    },
    keys: (id: CommandID): readonly string[] => bindingsOf(app, id),
    openBoard: () => app.host.route.navigate(BOARD_ROUTE),
  }
  return commands
}

/** The keys in force: the person's own, else the table's. */
export function bindingsOf(app: App, id: CommandID | ReviewCommandID | EntryID): readonly string[] {
  return app.rebinding.keys[id] ?? DEFAULT_KEYS.get(id) ?? []
}

const DEFAULT_KEYS: ReadonlyMap<string, readonly string[]> = new Map(
  [...COMMANDS, ...REVIEW_COMMANDS, ...ENTRIES].map(({ id, keys }) => [id, keys]),
)

const INTAKE_WAIVERS = [
  "Small, self-contained change",
  "Already agreed in detail",
  "Repeats an earlier task",
  "An experiment to throw away",
]
const REVIEW_WAIVERS = ["I read the whole diff myself", "Only documentation or text", "A revert of known work"]

function helperRuns(card: Card): boolean {
  const kind = card.facts()?.helper?.kind
  return kind === "busy" || kind === "retry"
}

/** The table of ways out of a state names this key. */
const leadsOut = (card: Card, key: string) => WAYS_OUT[card.run().kind].some((way) => way.key === key)

/** What `r` means for the state the card is in; the table of ways out says where it means anything. */
function retryOf(card: Card) {
  const sessionID = card.id
  const { kind } = card.run()
  if (kind === "intake_failed") {
    return { pending: "asking again", type: "helper.retry", body: { sessionID, role: "intake" } } as const
  }
  if (kind === "review_failed") {
    return { pending: "reviewing again", type: "helper.retry", body: { sessionID, role: "validator" } } as const
  }
  // A review can be taken anew at any time; elsewhere only what is stuck goes on.
  if (card.column() === "review" && kind !== "session_gone" && kind !== "merging" && kind !== "reviewing") {
    return { pending: "reviewing again", type: "review.again", body: { sessionID } } as const
  }
  return leadsOut(card, "r") ? ({ pending: "resuming", type: "task.resume", body: { sessionID } } as const) : undefined
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
