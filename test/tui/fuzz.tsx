import { expect } from "vitest"
import type { TaskFacts } from "../../src/core/board.ts"
import type { ReviewFileReply } from "../../src/core/review-requests.ts"
import type { Finding } from "../../src/core/task.ts"
import type { Session } from "../../src/tui/client.ts"
import { COMMANDS, REVIEW_COMMANDS } from "../../src/tui/board/keys.ts"
import { facts, finding, inReview, intakeOf, SNAPSHOT, task, validatorOf } from "./cards.ts"
import { harmful, hostileText } from "./hostile.ts"
import { openStage, START, type Stage } from "./stage.tsx"

/*
 * Random bytes through every input to every surface: all texts of a board are hostile, every command of the tables is
 * pressed on a card of each column and on the review screen, and whatever is then drawn, toasted or notified must be
 * fit for a terminal.
 */

/** A board on which every text is of the given source. */
export function hostileBoard(text: () => string) {
  const line = () => text().replace(/[\r\n]/g, " ")
  const long = () => Array.from({ length: 6 }, text).join("\n")
  const findings: Finding[] = ["F1", "F2", "F3"].map((id) =>
    finding(id, {
      title: text(),
      detail: long(),
      location: { path: text() || "x", line: 2 },
      citation: id === "F1" ? "verified" : "no_file",
      severity: "high",
    }),
  )
  const model = { providerID: text(), modelID: text(), variant: text() }
  const common = { branch: `b${text()}`, worktree: `/w${text()}`, description: long(), model, scope: text() }
  const sessions: Session[] = [
    task(1, text(), {
      ...common,
      intake: { state: "done", sessionID: "ses_i1", generation: 1, attempt: 1, required: 2, answered: 0, at: START },
    }),
    intakeOf(1, {
      understanding: long(),
      decisions: [text(), text()].map((question) => ({ question, assumption: text(), required: true })),
      instruction: long(),
      modeReason: text(),
      split: [{ title: text(), description: text() }],
    }),
    task(2, text(), { ...common, denied: { wish: "in_progress", text: text(), at: START } } as never),
    task(3, text(), {
      ...common,
      intake: { state: "failed", generation: 1, attempt: 1, reason: text(), required: 0, answered: 0, at: START },
    }),
    task(4, text(), { ...common, lastGatedStatus: "in_progress", startedAt: START }),
    task(5, text(), { ...common, lastGatedStatus: "in_progress", startedAt: START }),
    inReview(6, text(), {
      findings: 3,
      ruled: 0,
      checks: { state: "done", passed: 0, failed: 2, notRun: 0, failing: [text(), text()], at: START },
      problem: text(),
    }),
    validatorOf(6, findings, [
      { finding: "F2", disposition: "ignored", reason: text(), snapshot: SNAPSHOT.commit, at: START },
    ]),
    task(7, text(), { ...common, lastGatedStatus: "done", merge: { state: "left", reason: text(), at: START } }),
  ]
  const seen: TaskFacts[] = [
    facts(1, { problem: text(), unreadable: [text(), text()] }),
    facts(2, { branch: text(), elsewhere: text() }),
    facts(4, {
      activity: { kind: "blocked", text: text() },
      doing: text(),
      asks: [
        {
          kind: "permission",
          id: "per_1",
          sessionID: "ses_4",
          directory: text(),
          permission: text(),
          patterns: [text()],
          text: text(),
        },
      ],
    }),
    facts(5, {
      activity: { kind: "blocked", text: text() },
      asks: [
        {
          kind: "question",
          id: "que_1",
          sessionID: "ses_5",
          directory: text(),
          questions: [{ question: text(), options: [text(), text()], multiple: true, custom: true }],
        },
      ],
    }),
    facts(6, { changedSince: [text()], conflicts: [text(), text()], outside: [text(), text()], command: text() }),
    facts(7, { end: { kind: "failed", errorClass: "other" as never, text: text(), at: START }, lost: text() }),
  ]
  const patch = `@@ -1,2 +1,3 @@ ${line()}\n ${line()}\n-${line()}\n+${line()}\n+${line()}\n`
  const files: ReviewFileReply[] = [
    { path: findings[0]!.location!.path, kind: "modified", insertions: 2, deletions: 1, patch },
    { path: text(), from: text(), kind: text(), insertions: 0, deletions: 0, patch: "", note: text() },
    { path: text(), kind: "added", insertions: 1, deletions: 0, patch: long() },
  ]
  const diff = { files, left: [text()] }
  const drafts = [
    {
      id: "d-1",
      title: text(),
      description: long(),
      problem: text(),
      tasks: [{ title: text(), description: long(), baseBranch: text() }],
    },
  ]
  return { sessions, facts: seen, diff, drafts }
}

export type FuzzRun = { readonly seed: number; readonly width: number; readonly height: number }

/** One board of one seed, walked through; fails at the first frame or message that is not fit for a terminal. */
export async function fuzz({ seed, width, height }: FuzzRun): Promise<number> {
  const text = hostileText(seed)
  const given = hostileBoard(text)
  const refused = () => ({ kind: "failed" as const, text: text() })
  const done = () => ({ text: text() })
  let frames = 0
  const stage = await openStage({
    width,
    height,
    sessions: given.sessions,
    facts: given.facts,
    models: [{ providerID: text(), modelID: text(), name: text(), provider: text() }],
    tail: () => [
      { role: "assistant" as const, text: text(), tools: [text()] },
      { role: "user" as const, text: text(), tools: [] },
    ],
    answers: {
      "board.facts": () => ({ facts: given.facts, drafts: given.drafts }),
      "base.list": () => ({ branches: [text(), text()], proposed: text(), dirty: [text()], dirtyCount: 1 }),
      "review.files": () => ({
        from: "a".repeat(40),
        to: "b".repeat(40),
        files: given.diff.files.map(({ path, from, kind }) => ({ path, kind, object: "c", ...(from ? { from } : {}) })),
        left: given.diff.left,
        viewed: [],
        since: ["base"],
      }),
      "review.sizes": () => ({ sizes: given.diff.files.map(({ path }) => [path, [1, 2]] as const) }),
      "review.file": ({ path }) => given.diff.files.find((file) => file.path === path) ?? refused(),
      "comments.list": () => ({ comments: [] }),
      "sendBack.preview": () => ({ text: text(), prompt: text() }),
      "review.checks": () => ({
        snapshot: text(),
        results: [{ name: text(), command: text(), output: text(), outcome: "failed", text: text(), folder: text() }],
      }),
      "task.create": refused,
      "task.edit": done,
      "task.move": refused,
      "task.tell": done,
      "task.stop": refused,
      "findings.rule": refused,
      "intake.answer": done,
      "ask.permission": refused,
      "ask.question": done,
    },
  })
  const check = (what: string) => {
    const frame = stage.frame()
    frames++
    const where = `seed ${seed}, ${width}×${height}, after ${what}:\n${frame}`
    expect(harmful(frame), where).toEqual([])
    expect(frame, where).not.toContain("could not be drawn")
    const said = [...stage.host.toasts.flatMap(({ message, title }) => [message, title ?? ""]), ...stage.host.attention]
    expect(harmful(said.join("")), where).toEqual([])
  }
  try {
    check("the first paint")
    for (const column of ["1", "2", "3", "4"]) {
      await stage.press(column)
      check(column)
      for (const { id, keys } of COMMANDS) {
        if (keys.length === 0 || id === "kagan.close" || id === "kagan.review" || id === "kagan.open") continue
        await through(stage, column, id, spelled(keys[0]), text, check)
      }
    }
    await garbage(stage, text)
    check("garbage on the channel")
    await stage.press("shift+n")
    check("past notices")
    await stage.press("esc")
    stage.host.navigate({ name: "kagan.review", params: { sessionID: "ses_6" } })
    await stage.settle()
    check("the review screen")
    for (const { id, keys } of REVIEW_COMMANDS) {
      if (id === "kagan.review.close" || id === "kagan.review.dismiss" || id === "kagan.review.open") continue
      await through(stage, "review", id, spelled(keys[0]), text, check)
    }
  } finally {
    stage.close()
  }
  return frames
}

/** Presses the key of a command, and where a dialog opens writes into it, sends it, and leaves it again. */
async function through(
  stage: Stage,
  where: string,
  id: string,
  key: string,
  text: () => string,
  check: (what: string) => void,
): Promise<void> {
  await stage.press(key)
  check(`${id} on ${where}`)
  for (let depth = 0; depth < 3 && stage.host.dialogs() > 0; depth++) {
    if (depth === 0) {
      await stage.paste(text())
      check(`words pasted into the dialog of ${id} on ${where}`)
      await stage.press("enter")
      check(`Enter in the dialog of ${id} on ${where}`)
    } else await stage.press("esc")
  }
  check(`leaving ${id} on ${where}`)
}

/** Whatever anybody in the process may post on the channel. */
async function garbage(stage: Stage, text: () => string): Promise<void> {
  const pushes: unknown[] = [
    null,
    text(),
    {},
    { type: text() },
    { type: "facts" },
    { type: "facts", facts: { sessionID: "ses_1" } },
    { type: "facts", facts: { ...facts(1), problem: { toString: 7 }, asks: [{ kind: text() }] } },
    { type: "facts", facts: facts(1, { problem: text(), doing: text() }) },
    { type: "drafts", drafts: [{ id: 7 }] },
    { type: "drafts", drafts: [{ id: "d-2", title: text(), description: text(), problem: text(), tasks: [] }] },
    { type: "changed", sessionIDs: [7, null] },
    { type: "notice", level: "error", text: text(), taskNumber: 1 },
    { type: "notice", level: text(), text: text() },
    { type: "notice", level: "warning", text: { length: 3 } },
    { type: "options", options: null, problems: text() },
  ]
  for (const push of pushes) stage.push(push as never)
  await stage.settle()
}

const SPELLINGS: Record<string, string> = { return: "enter", escape: "esc", comma: "," }

function spelled(key: string | undefined): string {
  const shifted = /^shift\+([a-z])$/.exec(key ?? "")
  return shifted ? shifted[1]!.toUpperCase() : (SPELLINGS[key!] ?? key!)
}
