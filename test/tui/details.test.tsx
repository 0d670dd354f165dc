import { afterEach, describe, expect, test } from "vitest"
import type { CheckResult } from "../../src/core/checks.ts"
import { facts, inReview, SNAPSHOT, task, validatorOf, finding } from "./cards.ts"
import { openStage, START, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())
const open = async (options: StageOptions) => (stage = await openStage({ width: 100, height: 60, ...options }))

const CHECKS: readonly CheckResult[] = [
  { name: "types", command: "tsc", outcome: "passed", text: "exit 0", ms: 41_000 },
  {
    name: "lint",
    command: "oxlint",
    outcome: "failed",
    text: "exit 1",
    ms: 6_000,
    output: "src/a.ts\n  unused x\n1 problem",
  },
  { name: "e2e", command: "play", outcome: "not_run", text: "the worktree is not the snapshot: a.ts changed" },
]
const checked = (state: "running" | "done" = "done") =>
  inReview(1, "Retry webhooks", {
    checks: { state, passed: 1, failed: 1, notRun: 1, failing: ["lint"], at: START },
  })

describe("the details of a card", () => {
  test("tell each check with how it ended, and the output of what failed", async () => {
    await open({
      sessions: [checked()],
      answers: { "review.checks": () => ({ snapshot: SNAPSHOT.commit, results: CHECKS }) },
    })
    await stage.press("space")
    stage.shows("✓ types: passed (41s)")
    stage.shows("✗ lint: exit 1 · 1 problem (6s)")
    stage.shows("  unused x")
    stage.shows("○ e2e: not run: the worktree is not the snapshot: a.ts changed")
  })

  test("tell what happened and why, the newest first, every refusal with its reason", async () => {
    const day = 86_400_000
    await open({
      sessions: [task(1, "Retry webhooks")],
      answers: {
        "task.history": () => ({
          lines: [
            { at: START, kind: "verdict", text: "In Progress refused: 2 decisions are open" },
            { at: START - day, kind: "edit", text: "created from main" },
          ],
          earlier: 0,
          unreadable: 1,
        }),
      },
    })
    await stage.press("space")
    const text = stage.lines().join("\n")
    expect(text).toMatch(/12:00 In Progress refused: 2 decisions are open/)
    expect(text).toMatch(/31 Dec 2029 12:00 created from main/)
    expect(text.indexOf("refused")).toBeLessThan(text.indexOf("created from"))
    stage.shows("1 line of its history cannot be read")
  })

  test("read a long history page by page as it is scrolled, and ask nothing that was not wanted", async () => {
    const asked: (number | undefined)[] = []
    await open({
      height: 24,
      sessions: [task(1, "Retry webhooks")],
      answers: {
        "task.history": ({ before }: { before?: number }) => {
          asked.push(before)
          const end = before ?? 240
          const lines = Array.from({ length: Math.min(100, end) }, (_, index) => ({
            at: START,
            kind: "edit" as const,
            text: `line ${end - 1 - index}`,
          }))
          return { lines, earlier: Math.max(0, end - 100), unreadable: 0 }
        },
      },
    })
    await stage.press("space")
    stage.shows("line 239")
    expect(asked).toEqual([undefined])
    for (let i = 0; i < 40; i++) await stage.press("pagedown")
    expect(asked).toEqual([undefined, 140, 40])
    stage.shows("line 0")
    stage.showsNot("earlier line")
  })

  test("are told anew when something happened to the card, and only then", async () => {
    const session = task(1, "Retry webhooks")
    await open({ sessions: [session] })
    await stage.press("space")
    const count = () => stage.server.requests.filter(({ type }) => type === "task.history").length
    expect(count()).toBe(1)
    for (let i = 0; i < 20; i++) stage.app.board.take(session)
    stage.push({ type: "facts", facts: facts(1, { doing: "read a file" }) })
    await stage.settle()
    expect(count()).toBe(1)
    stage.app.board.take(task(1, "Retry webhooks", { lastGatedStatus: "in_progress", startedAt: START }))
    await stage.settle()
    expect(count()).toBe(2)
  })

  test("show a long description whole, from its file", async () => {
    await open({
      height: 24,
      sessions: [task(1, "Long", { description: "begin", descriptionFile: true })],
      answers: { "task.description": () => ({ description: `begin ${"x".repeat(5_000)} end-of-it` }) },
    })
    await stage.press("space")
    for (let i = 0; i < 20 && !stage.frame().includes("end-of-it"); i++) await stage.press("pagedown")
    stage.shows("end-of-it")
  })

  test("show the reviewer's report, and each finding with its ruling and reason", async () => {
    const validator = validatorOf(
      1,
      [finding("F1"), finding("F2")],
      [{ finding: "F1", disposition: "intended", reason: "agreed in #3", snapshot: SNAPSHOT.commit, at: START }],
    )
    const { kagan } = validator.metadata as { kagan: object }
    await open({
      sessions: [
        inReview(1, "Retry webhooks", { findings: 2, ruled: 1 }),
        { ...validator, metadata: { kagan: { ...kagan, summary: "Does what was asked, but signs once." } } },
      ],
    })
    await stage.press("space")
    stage.shows("Does what was asked, but signs once.")
    stage.shows("F1 bug · medium · Finding F1 (intended: agreed in #3)")
    stage.shows("F2 bug · medium · Finding F2")
  })

  test("say what is missing when the server half does not answer", async () => {
    await open({
      sessions: [task(1, "Retry webhooks")],
      answers: { "task.history": () => ({ kind: "failed", text: "the history cannot be read: EACCES" }) },
    })
    await stage.press("space")
    stage.shows("the history cannot be read: EACCES")
  })
})

describe("while checks run", () => {
  test("the preview shows their output as it comes, and nothing is asked any more afterwards", async () => {
    let written = "collecting"
    await open({
      sessions: [checked("running")],
      answers: {
        "review.checks": () => ({
          snapshot: SNAPSHOT.commit,
          results: CHECKS.slice(0, 1),
          running: { name: "lint", command: "oxlint src", output: written },
        }),
      },
    })
    await stage.press("p")
    stage.shows("lint runs: oxlint src")
    stage.shows("collecting")
    written += "\nfile 17 of 90"
    await stage.clock.advance(1_000)
    await stage.settle()
    stage.shows("file 17 of 90")
    stage.app.board.take(checked("done"))
    await stage.settle()
    const before = stage.server.requests.length
    await stage.clock.advance(60_000)
    await stage.settle()
    expect(stage.server.requests.length).toBe(before)
  })
})

describe("while the worktree is set up", () => {
  const setUp = (state: "running" | "failed" | "done") =>
    task(1, "Retry webhooks", {
      setup: { state, at: START, ...(state === "failed" ? { text: "npm ended with 1" } : {}) },
    })

  test("the preview shows what its commands write, and why they failed; the details as well", async () => {
    let reply: object = { results: [], running: { name: "npm ci", command: "npm ci", output: "fetching 12 of 90" } }
    await open({
      height: 30,
      sessions: [setUp("running")],
      answers: { "setup.output": () => reply as never },
      tail: () => [{ role: "assistant", text: "I have begun.", tools: [] }] as never,
    })
    await stage.press("p")
    stage.shows("npm ci runs: npm ci")
    stage.shows("fetching 12 of 90")
    reply = { results: [], running: { name: "npm ci", command: "npm ci", output: "fetching 80 of 90" } }
    await stage.clock.advance(1_000)
    await stage.settle()
    stage.shows("fetching 80 of 90")
    reply = { results: [{ name: "npm ci", outcome: "failed", text: "ended with 1", output: "ENOENT: no lockfile" }] }
    stage.app.board.take(setUp("failed"))
    await stage.settle()
    stage.shows("ENOENT: no lockfile")
    const before = stage.server.requests.length
    await stage.clock.advance(60_000)
    expect(stage.server.requests.length).toBe(before)
    await stage.press("p", "space")
    stage.shows("─ Setup")
    stage.shows("ENOENT: no lockfile")
    stage.app.board.take(setUp("done"))
    await stage.press("space", "p")
    stage.shows("I have begun.")
  })
})
