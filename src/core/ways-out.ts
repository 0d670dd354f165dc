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
const sendBack: WayOut = { key: "s", effect: "sends it back to the agent" }

/**
 * Every run state with its ways out, the one that is meant first. A state that goes on by itself may have none; one that
 * waits for the person always has one. Pure data: the board, the docs and the tests read it.
 */
export const WAYS_OUT: Readonly<Record<RunStateKind, readonly WayOut[]>> = {
  draft: [
    { key: "r", effect: "tries to create it again" },
    { key: "d", effect: "discards what was typed" },
  ],
  preparing: [stop],
  setup_failed: [{ key: "r", effect: "runs the setup again" }, trash],
  intake_running: [{ key: "w", effect: "waives intake, with a reason" }, stop],
  intake_failed: [
    { key: "r", effect: "runs intake again" },
    { key: "w", effect: "waives intake, with a reason" },
  ],
  needs_answers: [{ key: "i", effect: "opens the decisions to approve or override" }],
  ready: [{ key: "m", effect: "starts it" }],
  queued: [{ key: "b", effect: "takes the wish back" }],
  starting: [stop],
  working: [stop],
  retrying: [stop],
  asks_permission: [
    { key: "y", effect: "allows it once" },
    { key: "x", effect: "rejects it" },
  ],
  asks_question: [
    { key: "y", effect: "answers it" },
    { key: "x", effect: "dismisses it" },
  ],
  checking: [stop],
  session_blocked: [open, backlog],
  interrupted: [resume, asIs, backlog, trash],
  failed: [resume, asIs, backlog],
  stalled: [stop, open],
  command_running: [{ key: "X", effect: "ends the commands that a dead OpenCode left behind" }],
  elsewhere: [open],
  reviewing: [{ key: "w", effect: "waives the review, with a reason" }, stop],
  review_failed: [
    { key: "r", effect: "runs the reviewer again" },
    { key: "w", effect: "waives the review, with a reason" },
  ],
  no_changes: [again, sendBack, { key: "b", effect: "sends it back, with a note" }],
  needs_triage: [{ key: "v", effect: "opens the review to rule on the findings" }, sendBack],
  changed_since_review: [again],
  conflicts: [sendBack, again],
  approvable: [{ key: "a", effect: "approves exactly this snapshot and merges it" }, sendBack],
  merging: [],
  merge_failed: [{ key: "a", effect: "approves again" }, again, sendBack],
  in_base: [{ key: "a", effect: "closes it as merged" }],
  done_merged: [],
  done_left: [],
  folder_missing: [trash],
  branch_gone: [{ key: "E", effect: "opens the worktree to put the branch back" }, trash],
  session_gone: [
    { key: "r", effect: "makes a new session in the same worktree from the record" },
    { key: "d", effect: "discards the record; nothing is deleted from disk" },
  ],
  problem: [{ key: "r", effect: "tries again" }, trash],
  read_only: [open],
}
