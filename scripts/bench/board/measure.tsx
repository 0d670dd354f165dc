import { heapStats } from "bun:jsc"
import type { TaskMeta } from "../../../src/core/task.ts"
import { BOARD_ROUTE } from "../../../src/tui/app.tsx"
import { sessionReader, type Session } from "../../../src/tui/client.ts"
import { startServer } from "../../../test/kit/host.ts"
import { makeSandbox } from "../../../test/kit/sandbox.ts"
import { facts, inReview, sessionOf, task } from "../../../test/tui/cards.ts"
import { openStage, START, type Stage } from "../../../test/tui/stage.tsx"
import { median, report, timed, worked, type Figure } from "../report.ts"

/*
 * The board at 10 to 5,000 cards: how soon a key is on the screen, how many events it takes in between two frames, what
 * it asks of the host after the first load, what it holds after an hour, and what an idle board costs. Keys and events
 * are told in processor time, which is what decides whether a frame is late. All of it, or the parts that are named:
 * `npm run bench -- board keys idle`.
 */

const SIZES = [10, 100, 1_000, 5_000]
const FRAME_MS = 1_000 / 60
const KEYS = 240
const SCREEN = { width: 160, height: 45 }

/** A board as it grows: 60 of 100 done, some of everything else. */
function cards(count: number): Session[] {
  return Array.from({ length: count }, (_, index) => card(index + 1, 0))
}

function card(number: number, turn: number): Session {
  const title = `Task ${number} of many, with a title of an ordinary length ${turn === 0 ? "" : turn}`
  const kind = number % 10
  if (kind < 6) {
    const commit = `${number}`.padEnd(40, "0")
    return task(number, title, {
      lastGatedStatus: "done",
      merge: { state: "merged", commit, target: "main", at: START },
    })
  }
  if (kind < 7) return inReview(number, title, { findings: 3, ruled: turn % 3 })
  return task(number, title, kind < 8 ? ({ lastGatedStatus: "in_progress" } satisfies Partial<TaskMeta>) : {})
}

const percentile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!

async function opened(count: number): Promise<Stage> {
  const stage = await openStage({ ...SCREEN, sessions: cards(count) })
  // The code is warm before anything is measured.
  for (let i = 0; i < 40; i++) await stage.keyToFrame(WAY[i % WAY.length]!)
  return stage
}

/** Through all columns, down and up. */
const WAY = [..."jjjjjjkkjlkjjkljjjklkhhjjhk"]

async function keyTimes(count: number): Promise<number[]> {
  const stage = await opened(count)
  const times: number[] = []
  for (let i = 0; i < KEYS; i++) times.push(await worked(() => stage.keyToFrame(WAY[i % WAY.length]!)))
  stage.close()
  return times
}

async function keyFigures(): Promise<Figure[]> {
  const p95 = new Map<number, number>()
  for (const size of SIZES) p95.set(size, percentile(await keyTimes(size), 0.95))
  const base = p95.get(10)!
  return [
    ...SIZES.map((size) => ({
      name: `key to frame, p95, ${size} cards`,
      value: p95.get(size)!,
      unit: "ms",
      ...(size === 1_000 ? { budget: 16 } : {}),
    })),
    ...SIZES.slice(1).map((size) => ({
      name: `key to frame, ${size} cards against 10`,
      value: p95.get(size)! / base,
      unit: "×",
      ...(size === 1_000 ? { budget: 1.5 } : {}),
    })),
  ]
}

/** How many session events fit between two frames without one of them being late, and what they cost. */
async function eventFigures(count: number): Promise<Figure[]> {
  const stage = await opened(count)
  let turn = 1
  const frame = async (events: number) => {
    const first = (turn * 7) % count
    for (let i = 0; i < events; i++) stage.app.board.take(card(((first + i * 13) % count) + 1, turn))
    turn++
    await stage.draw()
  }
  const frames = async (events: number, rounds: number) => {
    const times: number[] = []
    for (let i = 0; i < rounds; i++) times.push(await worked(() => frame(events)))
    return percentile(times, 0.95)
  }
  await frames(16, 30)
  const at1000 = await frames(Math.round(1_000 / 60), 120)
  let fits = 1
  for (let events = 1; events <= 4_096; events *= 2) {
    if ((await frames(events, 20)) > FRAME_MS) break
    fits = events
  }
  const fresh = await medianOf(20, (i) => {
    stage.app.board.take(card(count + 1 + i, 0))
    return stage.draw()
  })
  stage.close()
  const mark = `${count} cards`
  return [
    {
      name: `frame with 1,000 events a second, p95, ${mark}`,
      value: at1000,
      unit: "ms",
      ...(count === 1_000 ? { budget: FRAME_MS } : {}),
    },
    { name: `events a second without a late frame, ${mark}`, value: fits * 60, unit: "" },
    { name: `a new card, event to frame, ${mark}`, value: fresh, unit: "ms" },
  ]
}

async function medianOf(rounds: number, work: (round: number) => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let i = 0; i < rounds; i++) times.push(await worked(() => work(i)))
  return median(times)
}

/** An hour with ten events a second: what is held at its end against what was held after six minutes. */
async function hourFigures(): Promise<Figure[]> {
  const count = 1_000
  const stage = await opened(count)
  const before = stage.server.requests.length
  const heap: number[] = []
  for (let tenth = 1; tenth <= 10; tenth++) {
    for (let second = 0; second < 360; second++) {
      for (let i = 0; i < 10; i++) {
        const number = ((tenth * 360 + second * 10 + i) % count) + 1
        stage.app.board.take(card(number, tenth * 1_000 + second))
        if (i === 0) stage.push({ type: "facts", facts: facts(number, { doing: `second ${second}` }) })
        if (i === 1) stage.app.board.takeProgress(sessionOf(number), { done: second % 7, total: 7 })
        if (i === 2 && second % 30 === 0) stage.app.tell({ level: "info", text: `notice ${tenth} ${second}` })
      }
      await stage.clock.advance(1_000)
      if (second % 4 === 0) await stage.draw()
    }
    Bun.gc(true)
    heap.push(heapStats().heapSize)
  }
  const asked = stage.server.requests.length - before
  stage.close()
  return [
    { name: "heap after an hour of events against a tenth of it", value: heap[9]! / heap[0]!, unit: "×", budget: 1.1 },
    { name: "requests to the server half in that hour", value: asked, unit: "", budget: 0 },
  ]
}

/** Nothing runs and nothing waits: no timer, no request, no frame, over an hour. */
async function idleFigures(): Promise<Figure[]> {
  const idle = cards(1_000).filter((_, index) => (index + 1) % 10 < 6)
  const stage = await openStage({ ...SCREEN, sessions: idle })
  await stage.settle()
  const before = stage.server.requests.length
  const armed = stage.clock.pending()
  await stage.clock.advance(3_600_000)
  await stage.settle()
  const figures = [
    { name: "timers of an idle board", value: armed, unit: "", budget: 0 },
    { name: "requests of an idle board in an hour", value: stage.server.requests.length - before, unit: "", budget: 0 },
  ]
  stage.close()
  return figures
}

/** On the real host: 1,000 tasks among 4,000 other sessions, from nothing to the first frame. */
async function firstPaint(): Promise<Figure[]> {
  const box = await makeSandbox({ plugin: false })
  const server = await startServer(box)
  try {
    const { client } = server
    const wanted = cards(1_000)
    const make = async (index: number) => {
      const source = wanted[index]
      const created = await client.session.create({ title: source?.title ?? `Another session ${index}` })
      if (!created.data) throw new Error(`no session: ${JSON.stringify(created.error)}`)
      if (!source) return
      const kagan = { ...(source.metadata as { kagan: object }).kagan, sessionID: created.data.id }
      await client.session.update({ sessionID: created.data.id, metadata: { kagan } })
    }
    for (let from = 0; from < 5_000; from += 20) {
      await Promise.all(Array.from({ length: 20 }, (_, i) => make(from + i)))
    }
    const reader = sessionReader(client)
    let lists = 0
    let found = 0
    const list = async () => {
      const sessions = await reader.sessions()
      if (!sessions.ok) throw new Error(sessions.error)
      found = sessions.value.length
      return sessions
    }
    await list()
    const listed: number[] = []
    const painted: number[] = []
    let shown = 0
    for (let round = 0; round < 5; round++) {
      listed.push(await timed(list))
      const route = { name: "home" }
      const stage = await openStage({ ...SCREEN, route, read: { sessions: () => (lists++, list()) }, empty: true })
      painted.push(
        await timed(async () => {
          stage.host.navigate({ name: BOARD_ROUTE })
          while (stage.app.board.state.phase !== "ready") await new Promise((resolve) => setImmediate(resolve))
          await stage.draw()
        }),
      )
      shown = stage.app.board.total()
      const before = lists
      for (let i = 0; i < 200; i++) stage.app.board.take(card(i + 1, 1))
      await stage.settle()
      lists = lists - before
      stage.close()
    }
    return [
      {
        name: "first frame of 1,000 tasks in 5,000 sessions against the list call",
        value: median(painted) / median(listed),
        unit: "×",
        budget: 1.3,
      },
      { name: "the host's list call of 5,000 sessions", value: median(listed), unit: "ms" },
      { name: "tasks or sessions that were missing", value: 1_000 - shown + (5_000 - found), unit: "", budget: 0 },
      { name: "list calls after the first load", value: lists, unit: "", budget: 0 },
    ]
  } finally {
    await server.stop()
    await box.dispose()
  }
}

const PARTS: Readonly<Record<string, () => Promise<Figure[]>>> = {
  keys: keyFigures,
  events: async () => [...(await eventFigures(10)), ...(await eventFigures(1_000)), ...(await eventFigures(5_000))],
  hour: hourFigures,
  idle: idleFigures,
  paint: firstPaint,
}

const wanted = process.argv.slice(2).filter((word) => !word.startsWith("--"))
const unknown = wanted.filter((word) => !(word in PARTS))
if (unknown.length > 0)
  throw new Error(`no such part: ${unknown.join(", ")}; there are: ${Object.keys(PARTS).join(", ")}`)
const figures: Figure[] = []
for (const [name, measure] of Object.entries(PARTS)) {
  if (wanted.length === 0 || wanted.includes(name)) figures.push(...(await measure()))
}
report(figures)
