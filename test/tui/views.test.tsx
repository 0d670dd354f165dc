import { afterEach, expect, test } from "vitest"
import type { Comment } from "../../src/core/comments.ts"
import type { CommandID } from "../../src/tui/board/keys.ts"
import { width as cells } from "../../src/core/text.ts"
import { inReview, task } from "./cards.ts"
import { hostileBoard } from "./fuzz.tsx"
import { harmful, HOSTILE_TITLES } from "./hostile.ts"
import { openStage, START, TIP, type Stage } from "./stage.tsx"

/*
 * Every view and every dialog, at three sizes, on a board whose every text is a hostile title: nothing acts or hides,
 * nothing is wider than the screen, and each says what it is. As text they stand in one file for each size.
 */

type View = {
  readonly name: string
  /** Words of its own. */
  readonly says: string | RegExp
  readonly open: (stage: Stage) => unknown
  /** Keys that lead on from there. */
  readonly keys?: readonly string[]
}

const run = (id: CommandID, number?: number) => (stage: Stage) =>
  stage.commands.run(id, number === undefined ? undefined : stage.app.board.card(`ses_${number}`))
const entry = (id: Parameters<Stage["commands"]["enter"]>[0]) => (stage: Stage) => stage.commands.enter(id)
const review = (stage: Stage) => stage.host.navigate({ name: "kagan.review", params: { sessionID: "ses_6" } })
const stay = () => {}

const VIEWS: readonly View[] = [
  { name: "board", says: /Backlog/, open: stay },
  { name: "details", says: /Timeline|#1/, open: run("kagan.details", 1) },
  { name: "preview", says: "live", open: run("kagan.preview", 1) },
  { name: "tour", says: "1/5", open: entry("kagan.tour.open") },
  { name: "actions", says: "Type to narrow the actions", open: run("kagan.menu", 1) },
  { name: "new task", says: "New task", open: run("kagan.new") },
  { name: "base branch", says: "Base branch", open: run("kagan.new"), keys: ["tab", "tab", "space"] },
  { name: "start without intake", says: "Start without intake", open: run("kagan.new"), keys: ["ctrl+s"] },
  { name: "edit", says: "Edit #1", open: run("kagan.edit", 1) },
  { name: "follow-up", says: "Follow-up of #1", open: run("kagan.follow", 1) },
  { name: "duplicate", says: "New task", open: run("kagan.duplicate", 1) },
  { name: "intake", says: "Assumed", open: run("kagan.intake", 1) },
  { name: "own answer", says: "your answer", open: run("kagan.intake", 1), keys: ["o"] },
  { name: "ask again", says: "ask again", open: run("kagan.intake", 1), keys: ["r"] },
  { name: "instruction", says: "what the agent is told", open: run("kagan.intake", 1), keys: ["e"] },
  { name: "split", says: "Split #1 into 1 task", open: run("kagan.intake", 1), keys: ["s"] },
  { name: "reasons", says: "#3 without intake", open: run("kagan.waive", 3) },
  { name: "own reason", says: "#3 without intake", open: run("kagan.waive", 3), keys: ["o"] },
  { name: "tell", says: "Tell the agent of #4", open: run("kagan.tell", 4) },
  { name: "allow", says: "Leave it open", open: run("kagan.allow", 4) },
  { name: "reject", says: "Reject what #4 asks", open: run("kagan.reject", 4) },
  { name: "question", says: "#5 asks", open: run("kagan.allow", 5) },
  { name: "answer in words", says: "#5 asks", open: run("kagan.allow", 5), keys: ["w"] },
  { name: "dismiss a question", says: "Dismiss the question of #5", open: run("kagan.reject", 5) },
  { name: "review as it is", says: "#4", open: run("kagan.forward", 4) },
  { name: "approve", says: "Approve #8", open: run("kagan.approve", 8) },
  { name: "another branch", says: "Merge #8 into which branch?", open: run("kagan.approve", 8), keys: ["ctrl+t"] },
  { name: "done without merge", says: "#8 done without merge", open: run("kagan.leave", 8) },
  { name: "send back", says: "Send #6 back", open: run("kagan.sendBack", 6) },
  { name: "update from base", says: /Bring main into|Update from main/, open: run("kagan.update", 8) },
  { name: "review record", says: "Review record of #8", open: run("kagan.record", 8) },
  { name: "delete for good", says: "Delete #9 for good?", open: run("kagan.purge", 9) },
  { name: "filter", says: "Filter", open: run("kagan.filter") },
  { name: "past notices", says: "Notices", open: run("kagan.notices") },
  { name: "statistics", says: "Kagan: statistics", open: run("kagan.stats") },
  { name: "settings", says: "Kagan: settings", open: run("kagan.settings") },
  { name: "help", says: "Type to find a key", open: run("kagan.help") },
  { name: "import", says: "Import a checklist", open: entry("kagan.task.import") },
  { name: "doctor", says: "Kagan doctor", open: entry("kagan.doctor.open") },
  { name: "update", says: "Kagan: update", open: entry("kagan.update.open") },
  { name: "review", says: "3 findings, 0 ruled", open: review },
  { name: "review, list", says: /Files 3|findings/, open: review, keys: ["tab"] },
  { name: "files filter", says: "words of the path", open: review, keys: ["/"] },
  { name: "comment", says: "Comment on the task", open: review, keys: ["C"] },
  { name: "why a finding is set aside", says: "is ignored: why?", open: review, keys: ["n", "g"] },
  { name: "review keys", says: "Type to find a key", open: review, keys: ["?"] },
]

/** One title after the other, so that each text has another one. */
function titles(): () => string {
  let at = 0
  return () => HOSTILE_TITLES[at++ % HOSTILE_TITLES.length]!
}

let stage: Stage | undefined
afterEach(() => stage?.close())

test.each([
  [160, 45],
  [80, 24],
  [40, 12],
] as const)("%i×%i: every view and dialog, with hostile titles in all of it", async (width, height) => {
  const text = titles()
  const board = hostileBoard(text)
  const done = inReview(8, text(), { findings: 0 })
  const comment: Comment = {
    id: "C1",
    text: text(),
    generation: 1,
    snapshot: TIP,
    base: TIP,
    at: START,
    by: text(),
    disposition: "fix",
  }
  const { files, left } = board.diff
  stage = await openStage({
    width,
    height,
    sessions: [...board.sessions, done, task(9, text(), { trashedAt: START })],
    facts: board.facts,
    models: [{ providerID: text(), modelID: text(), name: text(), provider: text() }],
    tail: () => [{ role: "assistant", text: text(), tools: [text()] }],
    answers: {
      "base.list": () => ({ branches: [text(), text()], proposed: text(), dirty: [text()], dirtyCount: 1 }),
      "merge.preview": () => ({
        snapshot: TIP,
        target: text(),
        branches: [text(), text()],
        tip: TIP,
        behind: 2,
        conflicts: [text(), text()],
      }),
      "purge.preview": () => ({ lost: text() }),
      "sendBack.preview": () => ({ text: `${text()}\n${text()}`, prompt: text() }),
      "board.stats": () => ({
        tasks: 2,
        left: 0,
        rows: [{ label: text(), value: "3 h", of: text(), weeks: [1, null, 3] }],
      }),
      "settings.read": () => ({
        files: [{ path: text(), half: "server", scope: "project", counts: true, options: { resume: text() } }],
      }),
      "doctor.run": () => ({
        findings: [{ id: "x", group: "Git", level: "trouble", text: text(), cause: text(), repair: text() }],
      }),
      "update.check": () => ({ kind: "newer", version: "9.9.9", text: text() }),
      "review.files": () => ({
        from: "a".repeat(40),
        to: "b".repeat(40),
        files: files.map(({ path, from, kind }) => ({ path, kind, object: "c", ...(from ? { from } : {}) })),
        left,
        viewed: [],
        since: ["base"],
      }),
      "review.sizes": () => ({ sizes: files.map(({ path }) => [path, [1, 2]] as const) }),
      "review.file": ({ path }) => files.find((file) => file.path === path)!,
      "comments.list": () => ({ comments: [comment] }),
    },
  })
  const pages: string[] = []
  for (const { name, says, open, keys = [] } of VIEWS) {
    stage.host.navigate({ name: "kagan.board" })
    stage.app.host.ui.dialog.clear()
    stage.app.notices.dismissAll()
    stage.app.closePane()
    stage.app.tour.stop()
    await stage.settle()
    await open(stage)
    await stage.settle()
    await stage.press(...keys)
    const frame = stage.frame()
    const where = `${name}, ${width}×${height}:\n${frame}`
    stage.shows(says)
    expect(harmful(frame), where).toEqual([])
    expect(frame, where).not.toContain("could not be drawn")
    for (const line of frame.split("\n")) expect(cells(line), where).toBeLessThanOrEqual(width)
    pages.push(`── ${name}`, ...squeezed(stage.lines()))
  }
  await expect(`${pages.join("\n")}\n`).toMatchFileSnapshot(`frames/views-${width}x${height}.txt`)
})

/** Lines that repeat themselves are counted. */
function squeezed(lines: readonly string[]): string[] {
  const out: string[] = []
  for (let at = 0; at < lines.length;) {
    let end = at
    while (end < lines.length && lines[end] === lines[at]) end++
    out.push(lines[at]!)
    if (end - at > 1) out.push(`  (${end - at - 1} more like it)`)
    at = end
  }
  return out
}
