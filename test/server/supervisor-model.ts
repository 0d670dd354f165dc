import fc from "fast-check"
import { runState } from "../../src/core/board.ts"
import {
  columnOf,
  type Assessment,
  type IntakeMeta,
  type Status,
  type TaskMeta,
  type ValidatorMeta,
  type IntakePointer,
} from "../../src/core/task.ts"
import { storeAssessment } from "../../src/server/intake.ts"
import type { Session } from "../../src/shared/host.ts"
import { makeWorld, plantTask, REPO, START, type Process, type World } from "../kit/model-world.ts"

/*
 * Random lives of three tasks on two boards, in one or two processes that may be killed anywhere, with events that get
 * lost, come twice or in another order. Numbers choose: the n-th living process, task or turn.
 */

const TASKS = 3
const LIMIT = 2
const STATUS = ["backlog", "in_progress", "review", "done"] as const

const waived: Partial<TaskMeta> = {
  intake: { state: "waived", generation: 1, attempt: 0, required: 0, answered: 0, reason: "agreed", at: START },
}

const nth = fc.nat({ max: 5 })
const times = [0, 10, 300, 2_000, 6_000, 16_000, 16_000, 61_000]

const step = fc.oneof(
  {
    weight: 45,
    arbitrary: fc.record({ do: fc.constant("next"), by: nth, task: nth, fix: fc.integer({ min: 0, max: 3 }) }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant("move"), by: nth, task: nth, to: fc.constantFrom(...STATUS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("as is"), by: nth, task: nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("write"), task: nth, to: fc.constantFrom(...STATUS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("foreign key"), task: nth }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant("turn"),
      turn: nth,
      how: fc.constantFrom(
        "stop",
        "stop",
        "stop",
        "stop",
        "aborted",
        "auth",
        "network",
        "dismissed",
        "silent",
        "retry",
      ),
    }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("agree"), by: nth, task: nth, waive: fc.boolean() }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("kill"), by: nth, after: fc.nat({ max: 80 }) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("start") }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant("time"), ms: fc.constantFrom(...times) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("ask"),
      by: nth,
      task: nth,
      what: fc.constantFrom("stop", "resume", "tell", "again", "retry", "waive review", "leave"),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("rule"), by: nth, task: nth, fix: fc.boolean() }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("send back"), by: nth, task: nth, fresh: fc.boolean() }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("approve"), by: nth, task: nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("trash"), by: nth, task: nth, trashed: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("delete"), task: nth }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("restore"), by: nth, task: nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("edit"), task: nth }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("jump"), ms: fc.constantFrom(-3_600_000, 30_000, 86_400_000) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("events"),
      drop: fc.constantFrom(0, 30, 100),
      twice: fc.constantFrom(0, 40),
    }),
  },
)

/** One thing that somebody does: what else it needs depends on what it is. */
export type Step = { readonly do: string; readonly [detail: string]: any }

export const lives = fc.record({
  seed: fc.nat({ max: 0x7fffffff }),
  resume: fc.constantFrom("ask", "auto"),
  /** How many of the tasks are agreed on from the beginning. */
  agreed: fc.nat({ max: TASKS }),
  two: fc.boolean(),
  /** Whether each step waits until everything has come to rest. */
  steps: fc.array(fc.record({ step: step as fc.Arbitrary<Step>, rest: fc.boolean() }), { minLength: 5, maxLength: 40 }),
})

export type Life = typeof lives extends fc.Arbitrary<infer T> ? T : never

/**
 * Lives one life, and answers everything that went wrong in it. `note` is told what happened, so that somebody can see
 * that the lives are worth living.
 */
export async function live(life: Life, note: (what: string) => void = () => {}): Promise<readonly string[]> {
  const wrong: string[] = []
  const helpers = new Set<string>()
  const world: World = makeWorld({
    seed: life.seed,
    options: { inProgressLimit: LIMIT, resume: life.resume as "ask" | "auto", intake: { enabled: true, retries: 1 } },
    changed(before, after) {
      judgeChange(world, before, after, helpers, wrong)
      tellChange(before, after, note)
    },
  })
  try {
    world.start()
    if (life.two) world.start()
    await world.settle()
    const first = world.processes[0]!
    const ids: string[] = []
    for (let n = 0; n < TASKS; n++)
      ids.push(await first.run(() => over(world, plantTask(first, n < life.agreed ? waived : {}))))
    await world.advance(500)
    for (const { step, rest } of life.steps) {
      await take(world, ids, step)
      if (rest) await world.advance(200)
    }
    await heal(world)
    judgeEnd(world, ids, wrong)
    for (const process of world.processes) if (!process.alive) note("killed")
    for (const count of world.merges.values()) if (count > 0) note("merged")
    return [...world.db.wrong, ...wrong]
  } finally {
    await world.dispose()
  }
}

export async function over<T>(world: World, promise: Promise<T>): Promise<T> {
  let done = false
  void promise.finally(() => (done = true))
  for (let n = 0; n < 200 && !done; n++) await world.advance(50)
  return promise
}

export const living = (world: World) => world.processes.filter((process) => process.alive)

function turnsOf(world: World): { by: Process; sessionID: string }[] {
  return living(world).flatMap((by) =>
    [...by.turns].flatMap(([sessionID, turn]) => (turn.begun ? [{ by, sessionID }] : [])),
  )
}

export async function take(world: World, ids: string[], step: Step): Promise<void> {
  const choices = living(world)
  const by = choices.length > 0 ? choices[(step.by ?? 0) % choices.length] : undefined
  const at = (step.task ?? 0) % ids.length
  const id = ids[at]!
  const meta = world.task(id)
  /** A board asks, and nobody waits for the answer. */
  const ask = (work: (process: Process) => Promise<unknown>) => {
    if (by) void by.run(() => work(by))
  }
  switch (step.do) {
    case "next":
      return next(world, ids, at, { by: step.by, fix: step.fix }, ask)
    case "move":
      return ask((p) => p.handlers["task.move"]({ sessionID: id, to: step.to }))
    case "as is":
      return ask((p) => p.handlers["task.move"]({ sessionID: id, to: "review", asIs: true }))
    case "write":
      return write(world, id, (kagan) => ({ ...kagan, status: step.to }))
    case "foreign key":
      // Between our read and our write nothing can be kept apart; at any other time it is.
      if (!world.disk.lock?.alive) write(world, id, (kagan) => kagan, { other: "kept" })
      return
    case "turn": {
      const turns = turnsOf(world)
      const turn = turns[step.turn % Math.max(1, turns.length)]
      if (turn) await endTurn(world, turn, step.how)
      return
    }
    case "agree": {
      if (step.waive) return ask((p) => p.handlers["intake.waive"]({ sessionID: id, reason: "agreed before" }))
      return ask((p) => p.handlers["intake.answer"]({ sessionID: id, answers: [{ decision: 0, kind: "approved" }] }))
    }
    case "kill":
      if (by) world.kill(by, step.after)
      return
    case "start":
      if (choices.length < 2) world.start()
      return
    case "time":
      return world.advance(step.ms)
    case "ask":
      return ask((p) => {
        const sessionID = id
        const reason = "for a good reason"
        switch (step.what) {
          case "stop":
            return p.handlers["task.stop"]({ sessionID })
          case "resume":
            return p.handlers["task.resume"]({ sessionID })
          case "tell":
            return p.handlers["task.tell"]({ sessionID, text: "Mind the gap." })
          case "again":
            return p.handlers["review.again"]({ sessionID })
          case "retry":
            return p.handlers["helper.retry"]({
              sessionID,
              role: meta && columnOf(meta) === "review" ? "validator" : "intake",
            })
          case "waive review":
            return p.handlers["validator.waive"]({ sessionID, reason })
          default:
            return p.handlers["task.leave"]({ sessionID, reason })
        }
      })
    case "rule":
      return ask((p) =>
        p.handlers["findings.rule"]({
          sessionID: id,
          rulings: [{ finding: "F1", disposition: step.fix ? "fix" : "intended", reason: "as it was asked for" }],
        }),
      )
    case "send back":
      return ask((p) =>
        p.handlers["task.sendBack"]({ sessionID: id, mode: step.fresh ? "fresh" : "continue", note: "Do better." }),
      )
    case "approve":
      return ask((p) =>
        p.handlers["task.approve"]({ sessionID: id, snapshot: meta?.review?.snapshot?.commit ?? "none" }),
      )
    case "trash":
      return ask((p) => p.handlers["task.trash"]({ sessionID: id, trashed: step.trashed }))
    case "delete": {
      for (const session of world.db.sessions.values()) {
        if (session.id === id || session.parentID === id) world.db.sessions.delete(session.id)
      }
      return
    }
    case "restore":
      return ask(async (p) => {
        const restored = await p.handlers["task.restore"]({ sessionID: id })
        if (restored.ok) ids[at] = restored.value.sessionID
      })
    case "edit":
      if (meta) world.edit(meta.worktree)
      return
    case "jump":
      world.jump(step.ms)
      return
    case "events":
      world.events = { drop: step.drop, twice: step.twice }
      return
  }
}

/** What would bring this card on, in the state that it is in. */
async function next(
  world: World,
  ids: string[],
  at: number,
  step: { readonly by: number; readonly fix: number },
  ask: (work: (process: Process) => Promise<unknown>) => void,
): Promise<void> {
  const id = ids[at]!
  const meta = world.task(id)
  if (!meta) return take(world, ids, { do: "restore", by: step.by, task: at })
  const turn = turnsOf(world).find(({ sessionID }) => {
    const session = world.db.sessions.get(sessionID)
    const kagan = session?.metadata?.kagan as { workerParent?: string } | undefined
    return sessionID === id || session?.parentID === id || kagan?.workerParent === id
  })
  if (turn) return endTurn(world, turn, "stop")
  const column = columnOf(meta)
  if (meta.trashedAt) return take(world, ids, { do: "trash", by: step.by, task: at, trashed: false })
  if (column === "backlog") {
    const open = meta.intake?.state === "done" && meta.intake.answered < meta.intake.required
    if (open || meta.intake?.state === "failed")
      return take(world, ids, { do: "agree", by: step.by, task: at, waive: meta.intake!.state === "failed" })
    return ask((p) => p.handlers["task.move"]({ sessionID: id, to: "in_progress" }))
  }
  if (column === "in_progress") return ask((p) => p.handlers["task.resume"]({ sessionID: id }))
  if (column !== "review" || !meta.review) return
  if (meta.review.ruled < meta.review.findings)
    return take(world, ids, { do: "rule", by: step.by, task: at, fix: step.fix === 0 })
  if (meta.review.fix > 0) return take(world, ids, { do: "send back", by: step.by, task: at, fresh: step.fix === 1 })
  return take(world, ids, { do: "approve", by: step.by, task: at })
}

/** A script that knows the metadata and nothing of the rules. */
function write(world: World, id: string, change: (kagan: TaskMeta) => TaskMeta, more: object = {}) {
  const session = world.db.sessions.get(id)
  const kagan = world.task(id)
  if (!session || !kagan) return
  const metadata = { ...session.metadata, ...more, kagan: change(kagan) }
  world.db.sessions.set(id, { ...session, metadata, time: { ...session.time, updated: world.now() } } as Session)
}

const assessment: Assessment = {
  understanding: "It is understood.",
  decisions: [{ question: "Which?", assumption: "This.", required: true }],
  instruction: "Do it.",
  mode: "autonomous",
  modeReason: "small",
}

async function endTurn(world: World, { by, sessionID }: { by: Process; sessionID: string }, how: string) {
  const session = world.db.sessions.get(sessionID)
  const kagan = session?.metadata?.kagan as Partial<IntakeMeta | ValidatorMeta | TaskMeta> | undefined
  const role = kagan && "role" in kagan ? kagan.role : undefined
  const { project } = by.supervision
  if (how === "retry") return by.run(() => by.retry(sessionID, world.now() + 3_600_000))
  if (how === "stop") {
    if (role === "intake")
      await over(
        world,
        by.run(() => Promise.race([storeAssessment(project, sessionID, assessment), died(world, by)])),
      )
    else if (role === "validator")
      await over(
        world,
        by.run(() => Promise.race([report(by, sessionID), died(world, by)])),
      )
    else if (session) world.edit(session.directory)
  }
  // A report that never came back: its process is dead, and the turn with it.
  if (!by.alive) return
  by.run(() => by.end(sessionID, how === "silent" ? "stop" : (how as "stop")))
}

/** The report of a helper whose process dies never comes back. */
async function died(world: World, by: Process): Promise<undefined> {
  while (by.alive) {
    await new Promise<void>((resolve) => setImmediate(resolve))
    if (world.processes.length === 0) break
  }
  return undefined
}

export async function report(by: Process, sessionID: string) {
  const finding = {
    id: "F1",
    kind: "bug",
    severity: "low",
    confidence: 5,
    title: "A thing",
    detail: "It is so.",
    citation: "none",
  } as const
  return by.supervision.tasks.updateHelper<ValidatorMeta>(sessionID, "validator", (meta) =>
    meta.findings ? undefined : { ...meta, summary: "One thing.", findings: [finding] },
  )
}

const LEGAL = new Set([
  "backlog>in_progress",
  "in_progress>backlog",
  "in_progress>review",
  "review>in_progress",
  "review>backlog",
  "review>done",
])

/** What no write may ever do, whoever writes. */
export function judgeChange(
  world: World,
  before: Session | undefined,
  after: Session,
  helpers: Set<string>,
  wrong: string[],
) {
  const was = before?.metadata?.kagan as Partial<TaskMeta> | undefined
  const is = after.metadata?.kagan as any
  if (before?.metadata?.other !== undefined && after.metadata?.other === undefined)
    wrong.push(`${after.id}: a foreign key is gone`)
  if (!before && is?.role && is.role !== "worker") {
    const key = [is.intakeParent ?? is.validatorParent, is.role, is.generation, is.attempt, is.claimedAt].join("/")
    if (helpers.has(key)) wrong.push(`helper twice: ${key}`)
    helpers.add(key)
  }
  if (!is?.boardTask || !was?.boardTask) return
  if (is.taskNumber !== was.taskNumber) wrong.push(`${after.id}: its number changed`)
  if (is.generation < was.generation!) wrong.push(`${after.id}: generation ${was.generation} → ${is.generation}`)
  const from = was.lastGatedStatus
  const to = is.lastGatedStatus as Status | undefined
  if (from !== to) judgeGate(was as TaskMeta, is as TaskMeta, after.id, wrong)
  for (const [role, old, now] of [
    ["intake", was.intake, is.intake],
    ["validator", was.review?.validator, is.review?.validator],
  ] as const) {
    if (now?.state !== "claimed" || now.at === old?.at) continue
    const next = !old || (role === "validator" && old.generation !== now.generation) || old.attempt + 1 === now.attempt
    if (!next) wrong.push(`${after.id}: ${role} claimed anew over ${JSON.stringify(old)}`)
  }
  if (to !== "in_progress" || from === to) return
  const others = [...world.db.sessions.values()].filter((session) => {
    const kagan = session.metadata?.kagan as Partial<TaskMeta> | undefined
    return session.id !== after.id && kagan?.boardTask && kagan.lastGatedStatus === "in_progress" && !kagan.trashedAt
  })
  if (others.length + 1 > LIMIT) wrong.push(`${after.id}: ${others.length + 1} in progress`)
}

function tellChange(before: Session | undefined, after: Session, note: (what: string) => void) {
  const was = before?.metadata?.kagan as any
  const is = after.metadata?.kagan as any
  if (is?.lastGatedStatus !== was?.lastGatedStatus) note(`${was?.lastGatedStatus} → ${is?.lastGatedStatus}`)
  if (is?.run?.workerID && !was?.run?.workerID) note("worker")
  if (is?.run?.stoppedAt && !was?.run?.stoppedAt) note("stopped")
  if (is?.run?.intent?.id?.startsWith("resume:") && was?.run?.intent?.id !== is.run.intent.id) note("resumed by itself")
  if (is?.awaiting && !was?.awaiting) note("queued")
  if (is?.denied && !was?.denied) note("denied")
  if (was?.sessionID === "" && is?.sessionID) note("restored")
  for (const [now, old] of [
    [is?.intake, was?.intake],
    [is?.review?.validator, was?.review?.validator],
  ]) {
    if (now?.state === "claimed" && old?.state === "claimed" && now.claim.pid !== old.claim.pid)
      note("claim taken over")
    if (now?.attempt > 1 && old?.attempt !== now.attempt) note("helper again")
    if (now?.state === "failed" && old?.state !== "failed") note("helper failed")
  }
}

function judgeGate(was: TaskMeta, is: TaskMeta, id: string, wrong: string[]) {
  const { lastGatedStatus: from } = was
  const to = is.lastGatedStatus!
  if (from === undefined) {
    // Seeded, or accepted on the way.
    if (to !== was.status && !LEGAL.has(`${was.status}>${to}`)) wrong.push(`${id}: seeded ${was.status} as ${to}`)
    return
  }
  if (!LEGAL.has(`${from}>${to}`)) wrong.push(`${id}: ${from} → ${to}`)
  if (is.status !== to) wrong.push(`${id}: gated ${to} while ${is.status} is wanted`)
  const agreed =
    is.intake?.state === "waived" || (is.intake?.state === "done" && is.intake.answered >= is.intake.required)
  if (from === "backlog" && to === "in_progress" && !agreed) wrong.push(`${id}: started without agreement`)
  if (to === "done" && is.merge?.state !== "merged" && is.merge?.state !== "left")
    wrong.push(`${id}: done without merge`)
}

/** Everything that can go on by itself goes on, with a host that works again. */
export async function heal(world: World) {
  world.events = { drop: 0, twice: 0 }
  for (const process of living(world)) world.kill(process, Number.POSITIVE_INFINITY)
  if (living(world).length === 0) world.start()
  await world.advance(90_000)
  let before = ""
  for (let round = 0, quiet = 0; round < 20 && quiet < 2; round++) {
    // A board comes to the fore.
    for (const process of living(world)) void process.run(() => process.supervision.supervisor.refresh())
    await world.advance(500)
    for (const turn of turnsOf(world)) if (turn.by.alive) await endTurn(world, turn, "stop")
    await world.advance(quiet === 0 ? 16_000 : 61_000)
    const after = JSON.stringify([...world.db.sessions.values()].map((session) => session.metadata))
    quiet = after === before && turnsOf(world).length === 0 ? quiet + 1 : 0
    before = after
  }
}

const MUST_GO_ON = new Set([
  "preparing",
  "intake_running",
  "starting",
  "working",
  "retrying",
  "checking",
  "elsewhere",
  "stalled",
  "reviewing",
  "merging",
])

/** The session that carries the task of this number now: a restore may have been cut off before its answer. */
function sessionOf(world: World, id: string, taskNumber: number): string {
  if (world.task(id)) return id
  const found = [...world.db.sessions.values()].find((session) => {
    const kagan = session.metadata?.kagan as Partial<TaskMeta> | undefined
    return kagan?.boardTask && kagan.taskNumber === taskNumber && kagan.sessionID === session.id
  })
  return found?.id ?? id
}

/** In the end everything is at rest in a state with a way out, nothing is lost, and nothing was merged twice. */
function judgeEnd(world: World, ids: readonly string[], wrong: string[]) {
  for (const [snapshot, count] of world.merges) if (count > 1) wrong.push(`${snapshot} was merged ${count} times`)
  for (const process of living(world)) {
    for (const [n, known] of ids.entries()) {
      const id = sessionOf(world, known, n + 1)
      const meta = world.task(id)
      const facts = process.run(() => process.supervision.supervisor.factsOf(id))
      if (!facts) {
        wrong.push(`${id} is lost in ${process.pid}`)
        continue
      }
      if (!meta) {
        if (facts.source !== "record") wrong.push(`${id}: gone, and ${process.pid} does not say so`)
        continue
      }
      if (meta.trashedAt) continue
      const state = runState({ title: "", meta }, facts, world.now())
      if (MUST_GO_ON.has(state.kind))
        wrong.push(`${id} stays ${state.kind} in ${process.pid}: ${JSON.stringify({ meta, facts })}`)
      const freed = !state.needsYou && state.kind === "queued"
      if (freed && inProgress(world) < LIMIT) wrong.push(`${id} is queued although a place is free`)
    }
  }
  const numbers = [...world.db.sessions.values()].flatMap((session) => {
    const kagan = session.metadata?.kagan as TaskMeta | undefined
    return kagan?.boardTask && kagan.repo === REPO && kagan.sessionID === session.id ? [kagan.taskNumber] : []
  })
  if (new Set(numbers).size !== numbers.length) wrong.push(`numbers twice: ${numbers.join(", ")}`)
}

/** Places that are taken: a card whose session is gone stands where its record says, until somebody decides on it. */
function inProgress(world: World): number {
  const records = [...world.disk.files].flatMap(([path, text]) =>
    path.startsWith("/store/tasks/")
      ? [JSON.parse(text) as { sessionID: string; kagan: TaskMeta; discardedAt?: number }]
      : [],
  )
  return records.filter(({ sessionID, kagan, discardedAt }) => {
    const meta = world.task(sessionID) ?? kagan
    return columnOf(meta) === "in_progress" && !meta.trashedAt && discardedAt === undefined
  }).length
}

/** An intake that the person left out, so that nothing but the move itself is in the way of a start. */
export const agreed: IntakePointer = {
  state: "waived",
  generation: 1,
  attempt: 0,
  required: 0,
  answered: 0,
  reason: "agreed",
  at: START,
}

/** Its agent changes a file and ends, the reviewer reports one thing, and it is ruled: a started task is in Review after that. */
export async function bringToReview(
  world: World,
  process: Process,
  id: string,
  ruling: { readonly disposition: "fix" } | { readonly disposition: "intended"; readonly reason: string },
): Promise<void> {
  const say = <T>(work: () => Promise<T>) => over(world, process.run(work))
  await world.advance(1_000)
  world.edit(world.task(id)!.worktree)
  process.run(() => process.end(id, "stop"))
  await world.advance(2_000)
  const reviewer = world.task(id)!.review!.validator!.sessionID!
  await say(() => report(process, reviewer))
  process.run(() => process.end(reviewer, "stop"))
  await world.advance(2_000)
  const rulings = [{ finding: "F1", ...ruling }]
  await say(() => process.handlers["findings.rule"]({ sessionID: id, rulings }))
}
