import { DEFAULT_OPTIONS, type Options } from "../../src/core/options.ts"
import type { LookFacts } from "../../src/core/decide.ts"
import type { TaskFacts } from "../../src/core/board.ts"
import type { IntakePointer, SnapshotRef, Task, TaskMeta } from "../../src/core/task.ts"

export const SHA = "0123456789abcdef0123456789abcdef01234567"
export const NOW = 1_800_000_000_000

/** A task as it stands right after its creation; `over` changes what a test is about. */
export function sampleMeta(over: Partial<TaskMeta> = {}): TaskMeta {
  return {
    v: 1,
    boardTask: true,
    sessionID: "ses_1",
    repo: "repo-1",
    taskNumber: 1,
    status: "backlog",
    lastGatedStatus: "backlog",
    order: 1,
    baseBranch: "main",
    baseCommit: SHA,
    branch: "kagan/1-sample",
    worktree: "/w/1-sample",
    generation: 1,
    setup: { state: "skipped", at: NOW },
    ...over,
  }
}

export function sampleTask(over: Partial<TaskMeta> = {}, title = "Sample"): Task {
  return { title, meta: sampleMeta(over) }
}

export function intakeDone(over: Partial<IntakePointer> = {}): IntakePointer {
  return { state: "done", sessionID: "ses_i", generation: 1, attempt: 1, required: 1, answered: 1, at: NOW, ...over }
}

export function snapshot(over: Partial<SnapshotRef> = {}): SnapshotRef {
  return { commit: SHA, tree: SHA, base: SHA, generation: 1, files: 2, insertions: 3, deletions: 1, at: NOW, ...over }
}

export function lookFacts(over: Partial<LookFacts> = {}): LookFacts {
  return {
    source: "session",
    activity: { kind: "idle" },
    worktree: "present",
    readOnly: false,
    now: NOW,
    endAfterIntent: false,
    unheard: false,
    helpers: {},
    claimAlive: false,
    mergeClaimAlive: false,
    mayStart: false,
    ...over,
  }
}

export function shownFacts(over: Partial<TaskFacts> = {}): TaskFacts {
  return {
    sessionID: "ses_1",
    source: "session",
    activity: { kind: "idle" },
    asks: [],
    worktree: "present",
    unreadable: [],
    readOnly: false,
    ...over,
  }
}

export function options(over: Partial<Options> = {}): Options {
  return { ...DEFAULT_OPTIONS, ...over }
}
