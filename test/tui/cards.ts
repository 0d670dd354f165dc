import type { TaskFacts } from "../../src/core/board.ts"
import type { Assessment, Finding, IntakeMeta, TaskMeta, ValidatorMeta } from "../../src/core/task.ts"
import type { Session } from "../../src/tui/client.ts"
import { REPO, START } from "./stage.tsx"

const HASH = "7be21c0".padEnd(40, "0")

export const sessionOf = (number: number) => `ses_${number}`

/** A session that is a card. */
export function task(number: number, title: string, meta: Partial<TaskMeta> = {}): Session {
  const id = sessionOf(number)
  const full: TaskMeta = {
    v: 1,
    boardTask: true,
    sessionID: id,
    repo: REPO,
    taskNumber: number,
    status: meta.lastGatedStatus ?? "backlog",
    lastGatedStatus: "backlog",
    order: number,
    baseBranch: "main",
    baseCommit: HASH,
    branch: `kagan/${number}`,
    worktree: `/home/ann/.worktrees/${number}`,
    generation: 1,
    intake: { state: "done", generation: 1, attempt: 1, required: 0, answered: 0, at: START },
    ...meta,
  }
  return session(id, title, full)
}

export function session(id: string, title: string, kagan: object, parentID?: string): Session {
  return {
    id,
    title,
    directory: `/home/ann/.worktrees/${id}`,
    metadata: { kagan },
    cost: 0,
    ...(parentID ? { parentID } : {}),
  } as unknown as Session
}

export function intakeOf(
  number: number,
  assessment: Partial<Assessment>,
  answers: IntakeMeta["answers"] = [],
): Session {
  const meta: IntakeMeta = {
    v: 1,
    role: "intake",
    sessionID: `ses_i${number}`,
    repo: REPO,
    intakeParent: sessionOf(number),
    generation: 1,
    assessment: {
      understanding: "",
      decisions: [],
      instruction: "",
      mode: "assisted",
      modeReason: "touches auth",
      ...assessment,
    },
    ...(answers.length > 0 ? { answers } : {}),
  }
  return session(meta.sessionID, "intake", meta, sessionOf(number))
}

export function validatorOf(
  number: number,
  findings: readonly Finding[],
  rulings: ValidatorMeta["rulings"] = [],
): Session {
  const meta: ValidatorMeta = {
    v: 1,
    role: "validator",
    sessionID: `ses_v${number}`,
    repo: REPO,
    validatorParent: sessionOf(number),
    generation: 1,
    snapshot: HASH,
    findings,
    ...(rulings.length > 0 ? { rulings } : {}),
  }
  return session(meta.sessionID, "validator", meta, sessionOf(number))
}

export function finding(id: string, change: Partial<Finding> = {}): Finding {
  return {
    id,
    kind: "bug",
    severity: "medium",
    confidence: 7,
    title: `Finding ${id}`,
    detail: "",
    citation: "none",
    ...change,
  }
}

export const SNAPSHOT = {
  commit: HASH,
  tree: HASH,
  base: HASH,
  generation: 1,
  files: 2,
  insertions: 86,
  deletions: 12,
  at: START,
}

export function inReview(
  number: number,
  title: string,
  change: Partial<NonNullable<TaskMeta["review"]>> = {},
): Session {
  return task(number, title, {
    lastGatedStatus: "review",
    review: {
      snapshot: SNAPSHOT,
      validator: { state: "done", sessionID: `ses_v${number}`, generation: 1, attempt: 1, at: START },
      findings: 0,
      ruled: 0,
      fix: 0,
      ...change,
    },
  })
}

export function facts(number: number, change: Partial<TaskFacts> = {}): TaskFacts {
  return {
    sessionID: sessionOf(number),
    source: "session",
    activity: { kind: "idle" },
    asks: [],
    worktree: "present",
    unreadable: [],
    readOnly: false,
    ...change,
  }
}

/** A board like that of a working day. */
export function workingDay(): { sessions: Session[]; facts: TaskFacts[] } {
  return {
    sessions: [
      task(31, "Rate-limit the login route", {
        intake: { state: "done", sessionID: "ses_i31", generation: 1, attempt: 1, required: 2, answered: 0, at: START },
      }),
      intakeOf(31, {
        understanding: "Brute force on /login; no limiter exists.",
        decisions: [
          {
            question: "Is a limit per address enough behind the proxy?",
            assumption: "yes, X-Forwarded-For is trusted (#19)",
            required: true,
          },
          { question: "Should the limit be configurable?", assumption: "no, five a minute", required: true },
        ],
        instruction: "Add a limiter of five tries per minute and address to POST /login.",
      }),
      task(32, "Cache the exchange rates", { model: { providerID: "anthropic", modelID: "opus" }, dependsOn: [28] }),
      task(33, "Describe the error codes", {
        status: "in_progress",
        awaiting: { wish: "in_progress", text: "queued (2/2 in progress)", since: START },
      }),
      task(28, "Split the invoice service", { lastGatedStatus: "in_progress", startedAt: START - 240_000 }),
      task(29, "Move CI to the new runner", { lastGatedStatus: "in_progress", startedAt: START - 240_000 }),
      inReview(26, "Retry webhooks with backoff", { findings: 3, ruled: 1 }),
      validatorOf(
        26,
        [
          finding("F1", {
            severity: "high",
            title: "The signature is computed once",
            detail: "A retry after 5 min sends the old timestamp; the receiver rejects it. Re-sign inside the loop.",
            location: { path: "src/webhooks/deliver.ts", line: 43 },
            citation: "verified",
          }),
          finding("F2", { kind: "uncertainty", severity: "low", title: "No test for the last try" }),
          finding("F3", {
            kind: "misalignment",
            title: "Changes the public API",
            location: { path: "src/index.ts", line: 3 },
            citation: "no_file",
          }),
        ],
        [{ finding: "F2", disposition: "fix", snapshot: HASH, at: START }],
      ),
      inReview(27, "Pagination for /orders", { findings: 0 }),
      task(25, "Typo in the README", {
        lastGatedStatus: "done",
        merge: { state: "merged", commit: "9f3c1e2".padEnd(40, "0"), target: "main", at: START },
      }),
      task(23, "Fix flaky order test", {
        lastGatedStatus: "done",
        merge: { state: "left", reason: "not needed", at: START },
      }),
    ],
    facts: [
      facts(31),
      facts(28, { activity: { kind: "busy", since: START - 240_000 }, doing: "edit src/inv/tax.ts", lastSign: START }),
      facts(29, {
        activity: { kind: "blocked", text: "permission" },
        asks: [
          {
            kind: "permission",
            id: "per_1",
            sessionID: sessionOf(29),
            directory: "/home/ann/.worktrees/29",
            permission: "bash",
            patterns: ["docker compose up -d"],
            text: "run docker compose up -d",
          },
        ],
      }),
      facts(27, { conflicts: ["src/orders.ts", "src/page.ts"] }),
    ],
  }
}
