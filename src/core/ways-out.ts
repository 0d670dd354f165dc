import type { RunStateKind } from "./board.ts"

/** What the person can do in a state with one key of the board. */
export type WayOut = { readonly key: string; readonly effect: string }

const stop: WayOut = { key: "X", effect: "stops it, helpers and commands included" }
const resume: WayOut = { key: "r", effect: "goes on in the same session" }
const asIs: WayOut = { key: "m", effect: "reviews what is there as it is" }
const backlog: WayOut = { key: "b", effect: "back to Backlog; worktree and intake are kept" }
const trash: WayOut = { key: "d", effect: "into the trash, with undo" }
const open: WayOut = { key: "o", effect: "opens its session" }
const again: WayOut = { key: "r", effect: "takes a new snapshot and reviews it" }
const connect: WayOut = { key: "c", effect: "opens OpenCode's own dialog to connect a provider, for a missing login" }
const sendBack: WayOut = { key: "s", effect: "sends it back to the agent" }

type StateRow = {
  /** What is true of the card, in a few words. */
  readonly means: string
  readonly out: readonly WayOut[]
}

const TABLE: Readonly<Record<RunStateKind, StateRow>> = {
  draft: {
    means: "typed, and not a task yet",
    out: [
      { key: "r", effect: "tries to create it again" },
      { key: "d", effect: "discards what was typed" },
    ],
  },
  preparing: {
    means: "its setup runs (also of a worktree that was put back), or intake has not begun",
    out: [stop],
  },
  setup_failed: {
    means: "a setup command failed; nothing starts in a half-made worktree",
    out: [
      { key: "r", effect: "runs the setup again, as it is configured now" },
      { key: "w", effect: "goes on without it, with a reason" },
      trash,
    ],
  },
  intake_running: {
    means: "the intake helper reads the code",
    out: [{ key: "w", effect: "waives intake, with a reason" }, stop],
  },
  intake_failed: {
    means: "intake ended without a report; that opens no gate",
    out: [
      { key: "r", effect: "runs intake again" },
      { key: "w", effect: "waives intake, with a reason" },
    ],
  },
  needs_answers: {
    means: "required decisions are open",
    out: [{ key: "i", effect: "opens the decisions to approve or override" }],
  },
  ready: {
    means: "agreed: it can be started",
    out: [{ key: "m", effect: "starts it" }],
  },
  queued: {
    means: "the work limit or a dependency holds it back, in the order of asking",
    out: [{ key: "b", effect: "takes the wish back" }],
  },
  starting: {
    means: "its turn is wanted and not seen to run yet",
    out: [stop],
  },
  working: {
    means: "a turn runs",
    out: [stop],
  },
  retrying: {
    means: "the host waits for the provider, until then",
    out: [stop],
  },
  asks_permission: {
    means: "it or a subagent asks for a permission",
    out: [
      { key: "y", effect: "allows it once" },
      { key: "x", effect: "rejects it" },
    ],
  },
  asks_question: {
    means: "it or a subagent asks a question",
    out: [
      { key: "y", effect: "answers it" },
      { key: "x", effect: "dismisses it" },
    ],
  },
  checking: {
    means: "the host has not answered yet what it does; that is never taken for idle",
    out: [stop],
  },
  asks_large: {
    means: "much that is untracked would go into the snapshot; nobody said yet that it belongs to the task",
    out: [{ key: "y", effect: "takes it in: it belongs to the task" }, sendBack],
  },
  session_blocked: {
    means: "an undo is open in its session, or the session is archived",
    out: [open, backlog],
  },
  interrupted: {
    means: "the turn ended without finishing: stopped, dismissed, rejected, or OpenCode ended",
    out: [resume, asIs, backlog, trash],
  },
  failed: {
    means: "the turn ended with an error, or its prompt was lost",
    out: [resume, asIs, backlog, connect],
  },
  stalled: {
    means: "no sign of life for longer than `stallAfter`",
    out: [stop, open],
  },
  command_running: {
    means: "OpenCode was killed and a command of its agent still writes into the worktree",
    out: [{ key: "X", effect: "ends the commands that a dead OpenCode left behind" }],
  },
  elsewhere: {
    means: "another window runs its turn",
    out: [open],
  },
  reviewing: {
    means: "the snapshot is taken or the reviewer reads it",
    out: [{ key: "w", effect: "waives the review, with a reason" }, stop],
  },
  review_failed: {
    means: "the reviewer ended without findings; the review counts as not done",
    out: [
      { key: "r", effect: "runs the reviewer again" },
      { key: "w", effect: "waives the review, with a reason" },
    ],
  },
  no_changes: {
    means: "the snapshot equals the base",
    out: [again, sendBack, { key: "b", effect: "sends it back, with a note" }],
  },
  needs_triage: {
    means: "findings have no ruling, or are to be fixed",
    out: [{ key: "v", effect: "opens the review to rule on the findings" }, sendBack],
  },
  changed_since_review: {
    means: "the worktree is no longer what was reviewed",
    out: [again],
  },
  conflicts: {
    means: "a merge into the base would conflict",
    out: [{ key: "U", effect: "brings the base in; the conflict goes back to its agent" }, sendBack, again],
  },
  approvable: {
    means: "everything is ruled, and the worktree equals the snapshot",
    out: [{ key: "a", effect: "approves exactly this snapshot and merges it" }, sendBack],
  },
  merging: {
    means: "the approved snapshot is being merged",
    out: [],
  },
  merge_failed: {
    means: "git refused the merge; nothing was changed",
    out: [{ key: "a", effect: "approves again" }, again, sendBack],
  },
  in_base: {
    means: "it was merged outside the board",
    out: [{ key: "a", effect: "closes it as merged" }],
  },
  done_merged: {
    means: "judged and merged",
    out: [],
  },
  done_left: {
    means: "judged and left unmerged, with a reason",
    out: [],
  },
  folder_missing: {
    means: "its worktree is not where it was",
    out: [
      {
        key: "r",
        effect:
          "puts the worktree back at the tip of its branch, with what is brought along, and sets it up again; one that was only given another name is moved back",
      },
      trash,
    ],
  },
  branch_gone: {
    means: "its worktree stands on another branch than the task's, or on none",
    out: [{ key: "E", effect: "opens the worktree to put the branch back" }, trash],
  },
  session_gone: {
    means: "its session or its metadata was deleted; the card is shown from its record",
    out: [
      { key: "r", effect: "makes a new session in the same worktree from the record" },
      { key: "d", effect: "discards the record; nothing is deleted from disk" },
    ],
  },
  problem: {
    means: "something failed; the words say what",
    out: [{ key: "r", effect: "tries again; in Review with a new snapshot" }, trash],
  },
  read_only: {
    means: "a newer Kagan wrote it, or a field cannot be read",
    out: [open],
  },
}

/**
 * Every run state with its ways out, the one that is meant first. A state that goes on by itself may have none; one that
 * waits for the person always has one. Pure data: the board, the docs and the tests read it.
 */
export const WAYS_OUT = column("out")

/** What each run state means, in a few words. */
export const STATE_MEANS = column("means")

function column<K extends keyof StateRow>(name: K): Readonly<Record<RunStateKind, StateRow[K]>> {
  const rows = Object.entries(TABLE).map(([kind, row]) => [kind, row[name]])
  return Object.fromEntries(rows) as Record<RunStateKind, StateRow[K]>
}
