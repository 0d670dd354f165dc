import { RUN_STATES } from "../../src/core/board.ts"
import { judgeMove, refusalText, type MoveFacts } from "../../src/core/rules.ts"
import { STATUSES, STATUS_TITLE, type Status, type TaskMeta } from "../../src/core/task.ts"
import { STATE_MEANS, WAYS_OUT } from "../../src/core/ways-out.ts"

const SHA = "0".repeat(40)

/** A task with which nothing is wrong, in this column. */
function taskIn(status: Status): TaskMeta {
  const snapshot = { commit: SHA, tree: SHA, base: SHA, generation: 1, files: 1, insertions: 1, deletions: 0, at: 0 }
  return {
    v: 1,
    boardTask: true,
    sessionID: "s",
    repo: "r",
    taskNumber: 1,
    status,
    lastGatedStatus: status,
    order: 1,
    baseBranch: "main",
    baseCommit: SHA,
    branch: "kagan/1",
    worktree: "/w",
    generation: 1,
    setup: { state: "skipped", at: 0 },
    intake: { state: "done", generation: 1, attempt: 1, required: 1, answered: 1, at: 0 },
    review: { snapshot, findings: 1, ruled: 1, fix: 1 },
  }
}

const facts: MoveFacts = {
  turnRunning: false,
  worktreeReady: true,
  inProgress: 0,
  limit: 2,
  openDependencies: [],
  intakeEnabled: true,
}

/** Each is the one thing that is otherwise, where a start is wanted. */
const STARTS: readonly (readonly [what: string, meta: Partial<TaskMeta>, facts: Partial<MoveFacts>])[] = [
  ["everything is agreed and a place is free", {}, {}],
  ["the work limit is reached", {}, { inProgress: 2 }],
  ["a task that it depends on is not done", {}, { openDependencies: [7] }],
  ["its worktree is not there", {}, { worktreeReady: false }],
  ["its setup runs", { setup: { state: "running", at: 0 } }, {}],
  ["its setup failed", { setup: { state: "failed", at: 0 } }, {}],
  ["intake has not reported", { intake: undefined }, {}],
  [
    "intake failed",
    { intake: { state: "failed", reason: "no key", generation: 1, attempt: 2, required: 0, answered: 0, at: 0 } },
    {},
  ],
  [
    "a required decision is open",
    { intake: { state: "done", generation: 1, attempt: 1, required: 1, answered: 0, at: 0 } },
    {},
  ],
  [
    "intake was waived, with a reason",
    { intake: { state: "waived", generation: 1, attempt: 1, required: 1, answered: 0, at: 0 } },
    {},
  ],
  ["its model is not offered by a connected provider", {}, { modelUsable: { usable: false, model: "a/b" } }],
]

function verdict(meta: TaskMeta, to: Status, more: Partial<MoveFacts> = {}): string {
  const judged = judgeMove(meta, to, { ...facts, ...more })
  if (!judged.ok) return `refused: ${refusalText(judged.error)}`
  return judged.value.kind === "queued" ? judged.value.text : "accepted"
}

/** What a card can do, what it can be, and how it gets out of it: from the tables that the code decides by. */
export function lifecyclePage(): string {
  return [
    "# The life of a card",
    "",
    "Made by `bun scripts/docs.ts` from `src/core/rules.ts`, `src/core/board.ts` and `src/core/ways-out.ts`; do not edit.",
    "",
    "A card stands in the column of what was accepted last. What is wanted beyond that is a wish: judged at once, accepted, refused with a reason, or queued.",
    "",
    "## Moves",
    "",
    'For a card with which nothing is wrong; its turn is at rest, and one finding is ruled "fix".',
    "",
    `| from | ${STATUSES.map((to) => `to ${STATUS_TITLE[to]}`).join(" | ")} |`,
    `| --- | ${STATUSES.map(() => "---").join(" | ")} |`,
    ...STATUSES.map(
      (from) =>
        `| **${STATUS_TITLE[from]}** | ${STATUSES.map((to) => (from === to ? "–" : verdict(taskIn(from), to))).join(" | ")} |`,
    ),
    "",
    'Only an approval of an exact snapshot, or "done without merge" with a reason, moves a card to Done. A finished turn moves it to Review by itself. A running turn is never torn into Review: "review as is" stops it first.',
    "",
    "## What a start asks for",
    "",
    "| when | the move to In Progress is |",
    "| --- | --- |",
    ...STARTS.map(
      ([what, meta, more]) => `| ${what} | ${verdict({ ...taskIn("backlog"), ...meta }, "in_progress", more)} |`,
    ),
    "",
    "## What a card says of itself, and the ways out",
    "",
    "Derived at each look, never stored. The first way out is the one that is meant.",
    "",
    "| state | what it means | ways out |",
    "| --- | --- | --- |",
    ...RUN_STATES.map((kind) => {
      const ways = WAYS_OUT[kind].map(({ key, effect }) => `\`${key}\` ${effect}`).join("; ")
      return `| ${kind.replaceAll("_", " ")} | ${STATE_MEANS[kind]} | ${ways || "goes on, or ends, by itself"} |`
    }),
    "",
  ].join("\n")
}
