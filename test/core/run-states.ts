import type { Ask, RunStateKind, TaskFacts } from "../../src/core/board.ts"
import type { TaskMeta, WakeIntent } from "../../src/core/task.ts"
import { intakeDone, NOW, snapshot } from "./sample.ts"

/* Every run state with what brings a card there: for the state's own test, and for whoever walks the table of ways out. */

const intent: WakeIntent = {
  id: "i",
  messageID: "m",
  partID: "p",
  purpose: "start",
  text: "go",
  at: NOW,
  deliveredAt: NOW,
}
const helper = { state: "running" as const, sessionID: "h", generation: 1, attempt: 1, at: NOW }
const done = { ...helper, state: "done" as const }
const finished = { kind: "finished" as const, messageID: "m2", at: NOW, text: "" }
const permission: Ask = {
  kind: "permission",
  id: "a",
  sessionID: "s",
  directory: "/w",
  permission: "bash",
  patterns: [],
  text: "run ls",
}
const question: Ask = {
  kind: "question",
  id: "q",
  sessionID: "s",
  directory: "/w",
  questions: [{ question: "Which?", options: [], multiple: false, custom: true }],
}

export const backlog = (over: Partial<TaskMeta> = {}): Partial<TaskMeta> => ({ intake: intakeDone(), ...over })
export const working = (over: Partial<TaskMeta> = {}): Partial<TaskMeta> => ({
  status: "in_progress",
  lastGatedStatus: "in_progress",
  intake: intakeDone(),
  run: { intent },
  ...over,
})
export const reviewing = (over: Partial<NonNullable<TaskMeta["review"]>> = {}, more: Partial<TaskMeta> = {}) =>
  working({
    status: "review",
    lastGatedStatus: "review",
    review: { snapshot: snapshot(), validator: done, findings: 1, ruled: 1, fix: 0, ...over },
    ...more,
  })

export type StateRow = readonly [kind: RunStateKind, text: string, meta: Partial<TaskMeta>, facts?: Partial<TaskFacts>]

export const stateRows: readonly StateRow[] = [
  ["preparing", "setting up", backlog({ setup: { state: "running", at: NOW } })],
  ["preparing", "waiting for intake", {}],
  ["ready", "ready (no intake)", {}, { intakeOff: true }],
  [
    "setup_failed",
    "setup failed: npm ci: exit 1",
    backlog({ setup: { state: "failed", text: "npm ci: exit 1", at: NOW } }),
  ],
  ["preparing", "setting up", working({ setup: { state: "running", again: true, at: NOW } }), { end: undefined }],
  [
    "setup_failed",
    "setup failed: npm ci: exit 1",
    reviewing({}, { setup: { state: "failed", again: true, text: "npm ci: exit 1", at: NOW } }),
  ],
  ["intake_running", "intake is reading", { intake: intakeDone({ state: "running" }) }],
  ["intake_failed", "intake failed: auth", { intake: intakeDone({ state: "failed", reason: "auth" }) }],
  ["needs_answers", "1 answer needed", { intake: intakeDone({ answered: 0 }) }],
  ["ready", "ready", backlog()],
  [
    "queued",
    "queued (2/2 in progress)",
    reviewing(
      { fix: 1 },
      { status: "in_progress", awaiting: { wish: "in_progress", text: "queued (2/2 in progress)", since: NOW } },
    ),
  ],
  [
    "queued",
    "queued (2/2 in progress)",
    backlog({ awaiting: { wish: "in_progress", text: "queued (2/2 in progress)", since: NOW } }),
  ],
  ["starting", "starting", working({ run: { intent: { ...intent, deliveredAt: undefined } } })],
  ["working", "working 0s · edit a.ts", working(), { activity: { kind: "busy" }, lastSign: NOW, doing: "edit a.ts" }],
  ["working", "finishing", working(), { end: finished }],
  [
    "retrying",
    "retrying until",
    working(),
    { activity: { kind: "retry", until: NOW, attempt: 2, text: "usage limit" } },
  ],
  [
    "retrying",
    "reviewer retries at",
    reviewing({ validator: helper, findings: 0, ruled: 0 }),
    { helper: { kind: "retry", until: NOW, attempt: 1, text: "usage limit" } },
  ],
  ["asks_permission", "asks: run ls", working(), { activity: { kind: "busy" }, asks: [permission] }],
  ["asks_question", "asks: Which?", working(), { activity: { kind: "busy" }, asks: [question] }],
  ["checking", "asking OpenCode what it does", working(), { activity: { kind: "unknown" } }],
  [
    "session_blocked",
    "an undo is open in its session",
    working(),
    { activity: { kind: "blocked", text: "an undo is open in its session" } },
  ],
  ["interrupted", "stopped by you", working(), { end: { kind: "interrupted", reason: "aborted", at: NOW } }],
  [
    "interrupted",
    "question dismissed",
    working(),
    { end: { kind: "interrupted", reason: "question_dismissed", at: NOW } },
  ],
  [
    "interrupted",
    "permission rejected",
    working(),
    { end: { kind: "interrupted", reason: "permission_rejected", at: NOW } },
  ],
  [
    "interrupted",
    "OpenCode ended in the middle",
    working(),
    { end: { kind: "interrupted", reason: "host_died", at: NOW } },
  ],
  [
    "interrupted",
    "stopped by you",
    working({ run: { intent: { ...intent, deliveredAt: undefined }, stoppedAt: NOW } }),
    {},
  ],
  ["interrupted", "nobody works on it", working({ run: undefined }), {}],
  ["failed", "auth: no key", working(), { end: { kind: "failed", errorClass: "auth", text: "no key", at: NOW } }],
  [
    "failed",
    "the prompt was lost: no such agent",
    working({ run: { intent: { ...intent, deliveredAt: undefined } } }),
    { lost: "no such agent" },
  ],
  ["stalled", "no sign of life for 11m", working(), { activity: { kind: "busy" }, lastSign: NOW - 661_000 }],
  [
    "stalled",
    "intake: no sign of life for 11m",
    { intake: intakeDone({ state: "running" }) },
    { helper: { kind: "busy" }, helperSign: NOW - 661_000 },
  ],
  ["command_running", "a command of a dead run goes on: sleep 60", working(), { command: "sleep 60" }],
  [
    "elsewhere",
    "running in another OpenCode",
    working(),
    { elsewhere: "another OpenCode", activity: { kind: "busy" } },
  ],
  ["reviewing", "reviewer is reading", reviewing({ validator: helper, findings: 0, ruled: 0 })],
  [
    "review_failed",
    "review failed: no report",
    reviewing({ validator: { ...helper, state: "failed", reason: "no report" } }),
  ],
  ["no_changes", "no changes", reviewing({ snapshot: snapshot({ files: 0 }), validator: undefined })],
  ["needs_triage", "1 finding · 0 ruled", reviewing({ ruled: 0 })],
  ["needs_triage", "1 finding to fix: send back", reviewing({ fix: 1 })],
  ["changed_since_review", "changed since review: a.ts", reviewing(), { changedSince: ["a.ts"] }],
  ["changed_since_review", "the agent is at work again", reviewing(), { activity: { kind: "busy" } }],
  ["conflicts", "conflicts with main: 1 file", reviewing(), { conflicts: ["a.ts"] }],
  ["approvable", "all ruled: approve", reviewing()],
  ["approvable", "no findings: approve", reviewing({ findings: 0, ruled: 0 })],
  ["merging", "merging", reviewing({}, { merge: { state: "claimed", at: NOW } })],
  ["merge_failed", "hook said no", reviewing({}, { merge: { state: "failed", reason: "hook said no", at: NOW } })],
  ["in_base", "already in main", reviewing(), { inBase: true }],
  ["done_merged", "merged", { status: "done", lastGatedStatus: "done", merge: { state: "merged", at: NOW } }],
  ["done_left", "left unmerged", { status: "done", lastGatedStatus: "done", merge: { state: "left", at: NOW } }],
  ["folder_missing", "its folder is missing", working(), { worktree: "missing" }],
  ["folder_missing", "its folder is not its own any more", working(), { worktree: "foreign" }],
  [
    "branch_gone",
    "its worktree stands on other",
    working(),
    { branch: "its worktree stands on other: git switch kagan/1" },
  ],
  ["session_gone", "its session is gone", working(), { source: "record", activity: { kind: "gone" } }],
  [
    "no_changes",
    "no changes · without vendor/lib (a repository of its own)",
    reviewing({ snapshot: { ...snapshot(), files: 0, nested: ["vendor/lib"] } }),
  ],
  ["problem", "no space left", working(), { problem: "no space left" }],
  [
    "asks_large",
    "3000 untracked files",
    reviewing({ findings: 0, ruled: 0, problem: "3000 untracked files", large: "asked" }),
  ],
  ["read_only", "written by a newer Kagan: read-only", working(), { readOnly: true }],
  ["read_only", "unreadable field branch", working(), { readOnly: true, unreadable: ["branch: expected a string"] }],
]
