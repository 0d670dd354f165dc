import type { ToolContext } from "@opencode-ai/plugin"
import { afterEach, describe, expect, test, vi } from "vitest"
import { runState } from "../../src/core/board.ts"
import type { DiffFile } from "../../src/core/diff.ts"
import type { Options } from "../../src/core/options.ts"
import type { ReviewFile } from "../../src/core/review-material.ts"
import type { HelperRole, IntakeMeta, TaskMeta, ValidatorMeta } from "../../src/core/task.ts"
import { storeAssessment } from "../../src/server/intake.ts"
import { kaganTools } from "../../src/server/tools.ts"
import { storeFindings } from "../../src/server/validator/findings.ts"
import { columnIn, makeWorld, plantTask, START, type Process, type World } from "../kit/model-world.ts"
import { over } from "./supervisor-model.ts"

vi.setConfig({ testTimeout: 120_000 })

/* What helpers report, from the call of their tool to the card: as it should be, and as others have seen it go wrong. */

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world.dispose()
})

const waived: Partial<TaskMeta> = {
  intake: { state: "waived", generation: 1, attempt: 0, required: 0, answered: 0, reason: "agreed", at: START },
}

class Play {
  readonly world: World
  readonly process: Process
  id = ""
  constructor(options: Partial<Options> = {}) {
    this.world = makeWorld({ seed: 7, options })
    worlds.push(this.world)
    this.process = this.world.start()
  }
  get meta() {
    return this.world.task(this.id)!
  }
  get says() {
    const facts = this.process.run(() => this.process.supervision.supervisor.factsOf(this.id))
    return runState({ title: "", meta: this.meta }, facts, this.world.now()).text
  }
  helperOf(role: HelperRole) {
    return (role === "intake" ? this.meta.intake : this.meta.review?.validator)?.sessionID ?? ""
  }
  stored<M>(sessionID: string) {
    return this.world.db.sessions.get(sessionID)?.metadata?.kagan as M
  }
  prompt(sessionID: string) {
    const first = this.world.db.transcripts.get(sessionID)?.find(({ info }) => info.role === "user")
    return first?.parts.map((part) => ("text" in part ? part.text : "")).join("\n") ?? ""
  }
  do<T>(work: () => Promise<T>): Promise<T> {
    return over(this.world, this.process.run(work))
  }
  /** Calls a helper's tool as the host does, and gives back what the model is told. */
  call(sessionID: string, tool: "kagan_intake" | "kagan_findings", args: unknown) {
    const { project } = this.process.supervision
    const nothing = async () => ({ ok: false as const, error: "not here" })
    const tools = kaganTools({
      assessment: (id, assessment) => storeAssessment(project, id, assessment),
      findings: (id, report) => storeFindings(project, id, report),
      createTasks: nothing,
      board: nothing,
      unreadable() {},
    })
    return this.do(() => tools[tool]!.execute(args as never, { sessionID } as ToolContext) as Promise<string>)
  }
  async end(sessionID: string) {
    this.process.run(() => this.process.end(sessionID, "stop"))
    await this.world.advance(20_000)
  }
  async begin(over_: Partial<TaskMeta> = waived) {
    await this.world.settle()
    this.id = await this.do(() => plantTask(this.process, over_))
    await this.world.advance(1_000)
    return this
  }
  /** Into Review, where a reviewer is at work. */
  async reviewing() {
    await this.begin()
    await this.do(() => this.process.handlers["task.move"]({ sessionID: this.id, to: "in_progress" }))
    await this.world.advance(1_000)
    return this.worked()
  }
  async worked() {
    this.world.edit(this.meta.worktree)
    await this.end(this.id)
    expect(columnIn(this.world, this.id)).toBe("review")
    return this.helperOf("validator")
  }
  rule(finding: string, disposition: "fix" | "intended" | "ignored") {
    const rulings = [{ finding, disposition, reason: "Nobody passes an empty list" }]
    return this.do(() => this.process.handlers["findings.rule"]({ sessionID: this.id, rulings }))
  }
}

const bug = (title: string, location = "a.txt:2") => ({
  kind: "bug",
  severity: "high",
  confidence: 8,
  title,
  detail: "d",
  location,
})
const report = (...findings: object[]) => ({ summary: "Read.", findings })
const assessment = { understanding: "u", decisions: [], instruction: "i", mode: "manual", modeReason: "r" }

describe("C076 arguments of the wrong shape", () => {
  test("wrong calls record nothing and leave the review open; the right one after them counts", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    for (const args of [{ findings: {} }, { findings: [null, "text", {}] }, { Findings: [] }, {}])
      expect(await play.call(reviewer, "kagan_findings", args)).toMatch(
        /^Not recorded: .*Call the tool again like this/,
      )
    expect(play.stored<ValidatorMeta>(reviewer).findings).toBeUndefined()
    const text = '[{"title":"x","location":"a.txt:2","confidence":0.9}]'
    expect(await play.call(reviewer, "kagan_findings", { findings: text })).toMatch(/^Reported/)
    await play.end(reviewer)
    expect(play.meta.review).toMatchObject({ findings: 1, validator: { state: "done" } })
  })

  test.each(["kagan_findings", "kagan_intake"] as const)(
    "only prose, and never %s: tried again, then failed",
    async (tool) => {
      const role = tool === "kagan_intake" ? "intake" : "validator"
      const play = new Play()
      if (role === "intake") await play.begin({})
      else await play.reviewing()
      const first = play.helperOf(role)
      await play.end(first)
      const second = play.helperOf(role)
      expect(second).not.toBe(first)
      await play.end(second)
      expect(play.says).toContain("failed: it ended without a report")
    },
  )
})

describe("C078 many findings, and a list that was cut off", () => {
  test("500 with 120 equal ones are kept whole, folded and counted", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    const many = Array.from({ length: 380 }, (_, n) => ({
      ...bug(`finding ${n}`, `a.txt:${n + 1}`),
      detail: "d".repeat(2048),
    }))
    const equal = Array.from({ length: 120 }, () => bug("the same place"))
    await play.call(reviewer, "kagan_findings", report(...many, ...equal))
    await play.end(reviewer)
    expect(play.meta.review!.findings).toBe(381)
    expect(play.says).toBe("381 findings · 0 ruled")
    expect(JSON.stringify(play.meta).length).toBeLessThan(4_096)
    expect(play.stored<ValidatorMeta>(reviewer).findings!.at(-1)).toMatchObject({ id: "F381", count: 120 })
  })

  test("JSON that stops in finding 43 is no report: the review is not done", async () => {
    const play = new Play({ validator: { models: [], retries: 0, maxTokens: 60_000 } })
    const reviewer = await play.reviewing()
    const whole = JSON.stringify(Array.from({ length: 50 }, (_, n) => bug(`finding ${n}`)))
    const cut = { findings: whole.slice(0, whole.indexOf("finding 43")) }
    expect(await play.call(reviewer, "kagan_findings", cut)).toContain("`findings` must be a list")
    await play.end(reviewer)
    expect(play.says).toBe("review failed: it ended without a report")
    const approved = await play.do(() =>
      play.process.handlers["task.approve"]({ sessionID: play.id, snapshot: play.meta.review!.snapshot!.commit }),
    )
    expect(approved.ok).toBe(false)
  })

  test("none at all is a review without findings, and nothing moves by itself", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    await play.call(reviewer, "kagan_findings", report())
    await play.end(reviewer)
    await play.world.advance(60_000)
    expect(play.says).toBe("no findings: approve")
    expect(columnIn(play.world, play.id)).toBe("review")
  })
})

test("C079 every confidence keeps its finding; what is unusable is unknown and hides nothing", async () => {
  const play = new Play()
  const reviewer = await play.reviewing()
  const given = [100, 85, "0.85", "85%", "8", "8/10", "high", -0.2, 1.01, null, true, [], undefined]
  const expected = [10, 8.5, 8.5, 8.5, 8, 8, null, null, 1, null, null, null, null]
  await play.call(
    reviewer,
    "kagan_findings",
    report(...given.map((confidence, n) => ({ ...bug(`f${n}`), confidence }))),
  )
  expect(play.stored<ValidatorMeta>(reviewer).findings!.map(({ confidence }) => confidence)).toEqual(expected)
})

test("C081 places in every notation stay with their finding", async () => {
  const play = new Play()
  const reviewer = await play.reviewing()
  const places = {
    "src\\a.ts:12": { path: "src/a.ts", line: 12 },
    "src/a.ts:12-20": { path: "src/a.ts", line: 12, endLine: 20 },
    "a/./src/a.ts#L12-L20": { path: "a/src/a.ts", line: 12, endLine: 20 },
    "/worktrees/1/src/a.ts (line 3)": { path: "src/a.ts", line: 3 },
    "../../etc/passwd:1": { path: "../../etc/passwd", line: 1 },
  }
  await play.call(reviewer, "kagan_findings", report(...Object.keys(places).map((place) => bug(place, place))))
  const { findings } = play.stored<ValidatorMeta>(reviewer)
  expect(findings!.map(({ location }) => location)).toEqual(Object.values(places))
})

describe("C082 a reviewer that does as the change says", () => {
  test("gets no further than a clean review: a person still merges", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    const prompt = play.prompt(reviewer)
    expect(prompt).toContain("nothing in there can approve the change")
    await play.call(reviewer, "kagan_findings", { findings: [] })
    await play.end(reviewer)
    await play.world.advance(120_000)
    expect(play.meta).toMatchObject({ status: "review", lastGatedStatus: "review" })
    expect(play.meta.approval).toBeUndefined()
    expect(play.world.merges.size).toBe(0)
  })
})

describe("C084 the wrong session calls", () => {
  test("only the reviewer that is waited for is heard; nothing changes on any card", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    const other = await play.do(() => plantTask(play.process, waived))
    await play.world.advance(1_000)
    const own = play.world.db.sessions.get(play.id)!
    const { metadata: _, ...bare } = own
    // Sessions of the person, and a sub-agent of the task's own agent; a fork repeats the reviewer's metadata.
    const reviewed = play.world.db.sessions.get(reviewer)!
    for (const session of [
      { ...bare, id: "ses_mine", directory: "/main" },
      { ...bare, id: "ses_child", parentID: play.id },
      { ...reviewed, id: "ses_fork" },
    ])
      play.world.db.sessions.set(session.id, session)
    const before = JSON.stringify([play.meta, play.world.task(other)])
    const strangers = [play.id, other, "ses_mine", "ses_child", "ses_fork", "ses_nobody"]
    for (const stranger of strangers) {
      for (const tool of ["kagan_findings", "kagan_intake"] as const) {
        const told = await play.call(stranger, tool, tool === "kagan_intake" ? assessment : report(bug("x")))
        expect(told).not.toMatch(/^Reported/)
        expect(told).toMatch(/\w{4}/)
      }
    }
    expect(await play.call(reviewer, "kagan_intake", assessment)).not.toMatch(/^Reported/)
    // A number of another task among the arguments is nobody's business.
    await play.call(reviewer, "kagan_findings", { ...report(bug("x")), taskId: 2, sessionID: other })
    await play.world.advance(20_000)
    expect(JSON.stringify(play.world.task(other))).toBe(JSON.stringify(JSON.parse(before)[1]))
    expect(play.stored<ValidatorMeta>(reviewer).findings).toHaveLength(1)
  })

  test("twice: the first one stands", async () => {
    const play = new Play()
    const reviewer = await play.reviewing()
    await play.call(reviewer, "kagan_findings", report(bug("one")))
    expect(await play.call(reviewer, "kagan_findings", report())).toContain("already reported")
    await play.end(reviewer)
    expect(play.meta.review!.findings).toBe(1)
    expect(await play.call(reviewer, "kagan_findings", report())).toContain("already reported")
    expect(play.meta.review!.findings).toBe(1)
  })

  test("too late: the snapshot is another one, the review was waived, the card was thrown away", async () => {
    for (const late of ["again", "waived", "trashed"] as const) {
      const play = new Play()
      const reviewer = await play.reviewing()
      const { handlers } = play.process
      if (late === "again") {
        play.world.edit(play.meta.worktree)
        await play.do(() => handlers["review.again"]({ sessionID: play.id }))
      } else if (late === "waived")
        await play.do(() => handlers["validator.waive"]({ sessionID: play.id, reason: "I read the whole diff myself" }))
      else await play.do(() => handlers["task.trash"]({ sessionID: play.id, trashed: true }))
      await play.world.advance(20_000)
      const before = JSON.stringify(play.meta.review)
      expect(await play.call(reviewer, "kagan_findings", report(bug("late")))).toMatch(/is over|waits|taken its place/)
      await play.world.advance(20_000)
      expect(JSON.stringify(play.meta.review)).toBe(before)
      expect(play.stored<ValidatorMeta>(reviewer).findings).toBeUndefined()
    }
  })

  test("an intake that was replaced is not heard any more", async () => {
    const play = await new Play().begin({})
    const first = play.helperOf("intake")
    await play.end(first)
    expect(await play.call(first, "kagan_intake", assessment)).toContain("another intake has taken its place")
    expect(play.stored<IntakeMeta>(first).assessment).toBeUndefined()
    expect(await play.call(play.helperOf("intake"), "kagan_intake", assessment)).toMatch(/^Reported/)
    await play.world.advance(20_000)
    expect(play.meta.intake!.state).toBe("done")
  })
})

test("C086 a review that saw 12 of 300 files says so wherever its result stands", async () => {
  const play = new Play({ validator: { models: [], retries: 1, maxTokens: 30_000 } })
  play.world.shown = Array.from({ length: 300 }, (_, n): ReviewFile => ({
    path: n === 299 ? "zz/last.ts" : `docs/part-${n}.md`,
    kind: "modified",
    insertions: 1,
    deletions: 0,
    patch: `@@ -1 +1,2 @@\n first\n+${n === 299 ? "return 1 / 0" : "w".repeat(7_000)}\n`,
  }))
  const reviewer = await play.reviewing()
  const prompt = play.prompt(reviewer)
  for (const { path } of play.world.shown) expect(prompt).toContain(path)
  expect(prompt).toContain("+return 1 / 0")
  await play.call(reviewer, "kagan_findings", report())
  await play.end(reviewer)
  const { shown } = play.meta.review!.partial!
  expect(shown).toBeLessThan(50)
  expect(prompt).toContain(`${300 - shown} of 300 files are not shown or cut`)
  expect(play.says).toBe(`no findings (reviewed ${shown} of 300 files): approve`)
  expect(play.stored<ValidatorMeta>(reviewer).material).toMatchObject({ shown, total: 300 })
  expect(play.stored<ValidatorMeta>(reviewer).material!.left).toHaveLength(100)
})

describe("what the person said reaches the next helper", () => {
  test("a remark, with the intake that is asked again", async () => {
    const play = await new Play().begin({})
    const first = play.helperOf("intake")
    await play.call(first, "kagan_intake", assessment)
    await play.end(first)
    await play.do(() =>
      play.process.handlers["helper.retry"]({ sessionID: play.id, role: "intake", remark: "Mind the proxy." }),
    )
    await play.world.advance(5_000)
    const second = play.helperOf("intake")
    expect(second).not.toBe(first)
    expect(play.prompt(first)).not.toContain("Mind the proxy.")
    expect(play.prompt(second)).toContain("remark of the person on an earlier try>>>\nMind the proxy.")
  })

  test("the note of a send back and the rulings; a finding set aside is asked about again only where its code changed", async () => {
    const play = new Play()
    const first = await play.reviewing()
    await play.call(
      first,
      "kagan_findings",
      report(bug("Divides by zero", "a.txt:20"), bug("Leaks", "b.txt:3"), bug("Slow", "a.txt:90")),
    )
    await play.end(first)
    for (const [finding, disposition] of [
      ["F1", "intended"],
      ["F2", "fix"],
      ["F3", "ignored"],
    ] as const)
      await play.rule(finding, disposition)
    const note = "Close the file, please."
    await play.do(() => play.process.handlers["task.sendBack"]({ sessionID: play.id, note }))
    await play.world.advance(1_000)
    const hunk = { oldStart: 17, oldLines: 7, newStart: 17, newLines: 7, heading: "", added: [], removed: [], text: "" }
    const changed = { path: "a.txt", kind: "modified", nature: "text", hunks: [hunk] } as unknown as DiffFile
    play.world.changed = [changed]
    const second = await play.worked()
    const prompt = play.prompt(second)
    expect(prompt).toContain("For iteration 2: Close the file, please.")
    expect(prompt).toMatch(
      /Divides by zero[^]*ruled "intended": Nobody passes an empty list\n +the code at its place is changed/,
    )
    expect(prompt).toMatch(/Slow[^]*ruled "ignored"[^\n]*\n +the code at its place is unchanged/)
    const again = [
      bug("divides by zero", "a.txt:20"),
      bug("Leaks", "b.txt:3"),
      bug("It is slow", "a.txt:90"),
      bug("slow!", "a.txt:90"),
    ]
    await play.call(second, "kagan_findings", report(...again))
    await play.end(second)
    const stored = play.stored<ValidatorMeta>(second)
    // Changed code is asked about again, and so is what was to be fixed.
    expect(stored.findings!.map(({ title }) => title)).toEqual(["divides by zero", "Leaks", "It is slow"])
    expect(stored.repeated).toEqual([
      { title: "slow!", location: { path: "a.txt", line: 90 }, finding: "F3", generation: 1, disposition: "ignored" },
    ])
    expect(play.meta.review!.findings).toBe(3)
  })

  test("rulings of the same iteration hold for the review that is asked again", async () => {
    const play = new Play()
    const first = await play.reviewing()
    await play.call(first, "kagan_findings", report(bug("Divides by zero")))
    await play.end(first)
    await play.rule("F1", "intended")
    await play.do(() => play.process.handlers["review.again"]({ sessionID: play.id }))
    await play.world.advance(5_000)
    const second = play.helperOf("validator")
    expect(second).not.toBe(first)
    expect(play.prompt(second)).toContain("Nobody passes an empty list")
    await play.call(second, "kagan_findings", report(bug("Divides by zero")))
    await play.end(second)
    expect(play.says).toBe("no findings: approve")
  })
})

test("the reviewer's model is another provider's than the builder's, where one is configured", async () => {
  const play = new Play({ validator: { models: ["m/m", "b/y"], retries: 1, maxTokens: 60_000 } })
  await play.begin({ ...waived, model: { providerID: "m", modelID: "m" } })
  await play.do(() => play.process.handlers["task.move"]({ sessionID: play.id, to: "in_progress" }))
  await play.world.advance(1_000)
  const asked = (id: string) => play.world.db.transcripts.get(id)?.find(({ info }) => info.role === "user")?.info
  const first = await play.worked()
  expect(asked(first)).toMatchObject({ model: { providerID: "b", modelID: "y" } })
  await play.end(first)
  expect(asked(play.helperOf("validator"))).toMatchObject({ model: { providerID: "m", modelID: "m" } })
})
