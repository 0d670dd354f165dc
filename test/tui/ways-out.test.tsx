import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { RUN_STATES } from "../../src/core/board.ts"
import { WAYS_OUT } from "../../src/core/ways-out.ts"
import { COMMANDS, spellKey } from "../../src/tui/board/keys.ts"
import { stateRows } from "../core/run-states.ts"
import { NOW, sampleMeta, shownFacts } from "../core/sample.ts"
import { intakeOf, session } from "./cards.ts"
import { openStage, START, type Stage } from "./stage.tsx"

/*
 * Walks docs/lifecycle.md: a card for each row of the states, and each key that its table offers pressed on it. A key
 * counts as bound when it asks the server half, opens a dialog or another screen.
 */

let stage: Stage

/** The same moment, on the stage's clock. */
function shift<T>(value: T): T {
  if (typeof value === "number") return (value > NOW - 10_000_000 ? value - NOW + START : value) as T
  if (Array.isArray(value)) return value.map(shift) as T
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, shift(one)])) as T
}

const cards = stateRows.map(([kind, text, meta, facts], at) => {
  const sessionID = `ses_${at + 1}`
  const full = { ...sampleMeta(shift(meta)), sessionID, taskNumber: at + 1 }
  const seen = { ...shownFacts(shift(facts)), sessionID }
  const record = seen.source === "record" ? { record: { title: text, meta: full } } : {}
  return { kind, text, sessionID, meta: full, facts: { ...seen, ...record } }
})

beforeAll(async () => {
  stage = await openStage({
    width: 160,
    height: 45,
    sessions: cards.flatMap(({ kind, text, sessionID, meta, facts }) => {
      if ("record" in facts) return []
      const decisions = [{ question: "Which?", assumption: "This.", required: true }]
      const child = kind === "needs_answers" ? [intakeOf(meta.taskNumber, { decisions })] : []
      const intake = meta.intake && { ...meta.intake, sessionID: `ses_i${meta.taskNumber}` }
      return [session(sessionID, text, { ...meta, intake }), ...child]
    }),
    facts: cards.map((card) => card.facts),
    answers: { "board.facts": () => ({ facts: cards.map((card) => card.facts), drafts: [draft] }) },
    options: { inProgressLimit: 1_000 },
    env: { EDITOR: "true" },
  })
  await stage.settle()
})
afterAll(() => stage?.close())

const draft = { id: "d-1", title: "Typed", description: "", tasks: [], problem: "no such base" } as never

const commandOf = (key: string) => COMMANDS.find((row) => row.keys.some((bound) => spellKey(bound) === key))

/** Presses a key on the card under the cursor; answers what came of it. */
async function press(key: string): Promise<string> {
  const asked = stage.server.asked().length
  const navigated = stage.host.navigated.length
  await stage.press(key)
  const request = stage.server.asked()[asked]
  if (request) return request.type
  if (stage.host.navigated.length > navigated) {
    stage.host.navigate({ name: "kagan" })
    stage.app.close()
    return "another screen"
  }
  if (stage.host.dialogs() === 0) return "nothing"
  await stage.press("esc")
  return "a dialog"
}

describe.each(cards)("$kind: $text", ({ kind, sessionID }) => {
  test("is what the card says", () => {
    expect(stage.app.board.card(sessionID)?.run().kind).toBe(kind)
  })

  test.each(WAYS_OUT[kind].map(({ key, effect }) => [key, effect] as const))("%s %s", async (key) => {
    const command = commandOf(key)
    expect(command, "no command has that key").toBeDefined()
    const card = stage.app.board.card(sessionID)
    expect(stage.commands.when(command!.id, card)).toBeUndefined()
  })
})

test("a draft's keys", () => {
  stage.app.selection.select("draft:d-1")
  for (const { key } of WAYS_OUT.draft) expect(stage.commands.when(commandOf(key)!.id)).toBeUndefined()
})

test("X is offered where what would be stopped is still wanted, and not for the end of a helper that has reported", async () => {
  const decisions = [{ question: "Which?", assumption: "This.", required: true }]
  const open = (state: "running" | "done") => {
    const helper = { state, sessionID: "ses_i1", generation: 1, attempt: 1, at: START, required: 1, answered: 0 }
    const meta = { ...sampleMeta({}), sessionID: "ses_1", taskNumber: 1, intake: helper } as never
    return openStage({
      sessions: [session("ses_1", "Asks", meta), intakeOf(1, { decisions })],
      facts: [{ ...shownFacts({}), sessionID: "ses_1", helper: { kind: "busy", since: START } } as never],
    })
  }
  for (const [state, kind, isOffered] of [
    ["running", "intake_running", true],
    ["done", "needs_answers", false],
  ] as const) {
    const screen = await open(state)
    const card = screen.app.board.card("ses_1")!
    expect(card.run().kind).toBe(kind)
    expect(screen.commands.when("kagan.stop", card) === undefined).toBe(isOffered)
    screen.close()
  }
})

test("every state is walked", () => {
  const walked = new Set<string>(["draft", ...cards.map((card) => card.kind)])
  expect(RUN_STATES.filter((kind) => !walked.has(kind))).toEqual([])
})

describe("what the keys of the stuck states ask for", () => {
  const of = (kind: string, text = "") =>
    cards.find((card) => card.kind === kind && card.text.includes(text))!.sessionID

  test.each([
    ["session_gone", "", "r", "task.restore"],
    ["folder_missing", "missing", "r", "task.resume"],
    ["queued", "queued", "b", "task.move"],
    ["interrupted", "stopped by you", "r", "task.resume"],
    ["failed", "auth", "r", "task.resume"],
    ["changed_since_review", "a.ts", "r", "review.again"],
    ["review_failed", "", "r", "helper.retry"],
    ["intake_failed", "", "r", "helper.retry"],
    ["command_running", "", "X", "task.stop"],
    ["asks_permission", "", "y", "ask.permission"],
    ["asks_question", "", "y", "a dialog"],
    ["session_gone", "", "d", "a dialog"],
    ["in_base", "", "a", "a dialog"],
  ])("%s %s: %s → %s", async (kind, text, key, expected) => {
    stage.app.selection.select(of(kind, text))
    expect(await press(key)).toBe(expected)
  })

  test("c opens the host's own dialog for providers, and says how else where there is none", async () => {
    stage.app.selection.select(of("failed", "auth"))
    await stage.press("c")
    stage.shows("/connect")
    const opened: string[] = []
    const off = stage.host.keymap().registerLayer({
      commands: [{ name: "provider.connect", run: () => void opened.push("connect") }],
    })
    await stage.press("c")
    off()
    expect(opened).toEqual(["connect"])
  })

  test("a wish that waits is taken back to the column in which the card stands, also in Review", async () => {
    const queued = cards.filter((card) => card.kind === "queued")
    for (const { sessionID, meta } of queued) {
      stage.app.selection.select(sessionID)
      await press("b")
      expect(stage.server.asked().at(-1)).toMatchObject({ type: "task.move", sessionID, to: meta.lastGatedStatus })
    }
  })

  test("discarding asks first, and says what stays", async () => {
    stage.app.selection.select(of("session_gone"))
    await stage.press("d")
    stage.shows("the branch kagan/1-sample and the folder")
    await stage.press("y")
    expect(stage.server.asked().at(-1)).toMatchObject({ type: "task.discard", sessionID: of("session_gone") })
  })
})

describe("the footer says what a key does to this card", () => {
  test.each([
    ["asks_question", "y answer"],
    ["asks_permission", "y allow"],
    ["changed_since_review", "r review again"],
    ["session_gone", "r bring back"],
    ["session_gone", "d discard"],
    ["queued", "b take back"],
    ["interrupted", "r resume"],
    ["failed", "c connect"],
  ])("%s: %s", async (kind, hint) => {
    stage.app.selection.select(cards.find((card) => card.kind === kind)!.sessionID)
    await stage.settle()
    stage.shows(hint)
  })
})
