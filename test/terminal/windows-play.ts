import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "vitest"
import { STATUSES, type Status, type TaskMeta } from "../../src/core/task.ts"
import { startModel, toolCalls, text, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe, type Probe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { board, onBoard, type CardSeen } from "../kit/screen-board.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/*
 * Two people before two OpenCodes on one repository. Both press keys at the same time, often at the same card; what
 * holds afterwards is read from the sessions, the histories, git and both screens.
 */

export const LIMIT = 2
/** On a machine that is busy with other things as well. */
const PATIENCE = 240_000

export interface Windows {
  readonly tuis: readonly [Terminal, Terminal]
  readonly box: Sandbox
  readonly model: Model
  /** Every task, with its title, as one of the two processes reads it. */
  tasks(by?: 0 | 1): Promise<readonly (TaskMeta & { readonly title: string })[]>
  dispose(): Promise<void>
}

export async function openWindows(): Promise<Windows> {
  const script = defaultKaganScript({
    file: (request) => `task-${/#(\d+)/.exec(request.messages.map((one) => one.text).join("\n"))?.[1]}.txt`,
  })
  const model = await startModel((request, nth) => {
    if (request.kind !== "validator") return script(request, nth)
    if (request.toolResults.length > 0) return text("Done.")
    return toolCalls({ name: "kagan_findings", args: { summary: "As it was asked for.", findings: [] } })
  })
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probe = await makeProbe(box.root, "probe-windows")
  const options = { inProgressLimit: LIMIT, intake: { enabled: false } }
  await box.writeConfig({ plugin: [pluginPath(), probe.spec], options })
  const tuis: Terminal[] = []
  for (let n = 0; n < 2; n++) {
    const tui = await startTui(box, { cols: 150, rows: 50 })
    tuis.push(tui)
    await tui.waitFor("ctrl+p", PATIENCE)
    await tui.press("ctrl+x", "k")
    await tui.waitFor((screen) => screen.includes("n makes the first task") && !screen.includes("connecting"), PATIENCE)
  }
  return {
    tuis: [tuis[0]!, tuis[1]!],
    box,
    model,
    tasks: (by = 0) => readTasks(probe, box.repo.dir, tuis[by]!.pid),
    async dispose() {
      for (const tui of tuis) await tui.stop()
      await box.dispose()
      await model.dispose()
    },
  }
}

async function readTasks(probe: Probe, dir: string, pid: number) {
  const half = await probe.server(dir, pid)
  const sessions = await half.run(async (p) => {
    const { data } = await p.client.session.list({ scope: "project", limit: 10_000 })
    return (data ?? []).map(({ id, title, metadata }) => ({ id, title, kagan: metadata?.kagan as any }))
  })
  return sessions
    .flatMap(({ id, title, kagan }) => (kagan?.boardTask && kagan.sessionID === id ? [{ ...kagan, title }] : []))
    .toSorted((a, b) => a.taskNumber - b.taskNumber) as (TaskMeta & { title: string })[]
}

/** Numbers that look like chance and are the same in each run. */
function dice(seed: number) {
  let state = seed
  return (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % n
  }
}

/** `rounds` times two operations at once, on up to `most` cards; then all that must hold, whatever they came to. */
export async function play(windows: Windows, rounds: number, seed: number, most: number): Promise<void> {
  const roll = dice(seed)
  const typed: string[] = []

  async function create(tui: Terminal) {
    const title = `Task ${typed.length + 1} of many`
    typed.push(title)
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type(title)
    await tui.press("enter")
    await tui.waitGone("New task")
    await madeOf(tui, title)
  }

  /** A card, wherever somebody has moved it by now; a draft that was kept with a reason is tried again. */
  async function madeOf(tui: Terminal, title: string): Promise<void> {
    const draft = `draft ${title}`
    const isCard = (screen: string) =>
      board(screen).columns.some(({ cards }) => cards.some((one) => one.title === title))
    const seen = await tui.waitFor((screen) => isCard(screen) || screen.includes(draft), PATIENCE)
    if (isCard(seen)) return
    await tui.press("1", "G", "r")
    await tui.waitGone(draft, PATIENCE)
    await madeOf(tui, title)
  }

  /** Everything that was asked for is answered: no card says that it waits for that. */
  const answered = (tui: Terminal) => tui.waitFor((screen) => !/◔ (to |reordering|merging)/.test(screen), PATIENCE)

  async function select(tui: Terminal, { number, status }: CardSeen): Promise<boolean> {
    const here = board(tui.screen()).column(status)
    const at = here.cards.findIndex((card) => card.number === number)
    if (at < 0) return false
    await tui.press(String(STATUSES.indexOf(status) + 1), "g", ...Array.from({ length: at }, () => "j"))
    const seen = await tui.waitFor(onBoard("a card under the cursor", (now) => now.selected !== undefined))
    return board(seen).selected?.number === number
  }

  async function approve(tui: Terminal, card: CardSeen) {
    if (!(await select(tui, card))) return
    await tui.press("a")
    // Refused where the other window was faster: then the card does not offer it any more.
    const offered = (screen: string) => board(screen).card(card.number)?.lines.some(isApprovable) ?? false
    const seen = await tui.waitFor((screen) => screen.includes(`Approve #${card.number}`) || !offered(screen))
    if (!seen.includes(`Approve #${card.number}`)) return
    // Enter before that would leave the dialog open where the base has moved on meanwhile.
    await tui.waitFor(/into main at [0-9a-f]{7}/)
    await tui.press("enter")
    await tui.waitGone(`Approve #${card.number}`)
    await answered(tui)
  }

  async function press(tui: Terminal, card: CardSeen | undefined, key: string) {
    if (!card || !(await select(tui, card))) return
    await tui.press(key)
    await answered(tui)
  }

  /** What somebody would do who sees this screen; `lot` is thrown once for both where they shall meet at one card. */
  async function act(tui: Terminal, lot: number): Promise<void> {
    const seen = board(tui.screen())
    const pick = (status: Status) => {
      const { cards } = seen.column(status)
      return cards[lot % Math.max(1, cards.length)]
    }
    const ready = seen.column("review").cards.filter((card) => card.lines.some(isApprovable))
    if (typed.length < 4) return create(tui)
    if (ready.length > 0 && lot % 3 > 0) return approve(tui, ready[lot % ready.length]!)
    if (lot % 7 === 0) return press(tui, pick("in_progress"), "b")
    if (lot % 5 === 0 && typed.length < most) return create(tui)
    if (lot % 4 === 0) return press(tui, pick("backlog"), lot % 8 === 0 ? "J" : "K")
    return press(tui, pick("backlog"), "m")
  }

  /** Where the agents were slower than the hands, the two windows wait for a card and approve it at the same time. */
  async function approveTogether() {
    if ((await windows.tasks()).some((task) => task.merge?.state === "merged")) return
    const [one, other] = windows.tuis
    const seen = board(one.screen())
    const idle = (["in_progress", "review"] as const).every((status) => seen.column(status).cards.length === 0)
    if (idle) await press(one, seen.column("backlog").cards[0], "m")
    const ready = (screen: string) =>
      board(screen)
        .column("review")
        .cards.find((card) => card.lines.some(isApprovable))
    const card = ready(await one.waitFor((screen) => ready(screen) !== undefined, PATIENCE))!
    await other.waitFor((screen) => board(screen).card(card.number)?.lines.some(isApprovable) ?? false, PATIENCE)
    await Promise.all(windows.tuis.map((tui) => approve(tui, card)))
  }

  for (let round = 0; round < rounds; round++) {
    const lots = [roll(1_000), roll(1_000)]
    if (roll(3) === 0) lots[1] = lots[0]!
    await Promise.all(windows.tuis.map((tui, n) => act(tui, lots[n]!)))
    const running = (await windows.tasks()).filter((task) => task.lastGatedStatus === "in_progress")
    expect(running.length, `round ${round}`).toBeLessThanOrEqual(LIMIT)
  }
  await approveTogether()
  await settled(windows, typed.length)
  await judge(windows, typed)
}

const isApprovable = (line: string) => line.includes("no findings: approve")

/** Everything that was typed is a task, and both screens show every card where it stands. */
async function settled(windows: Windows, count: number): Promise<void> {
  for (const [n, tui] of windows.tuis.entries()) {
    const by = n as 0 | 1
    for (const end = Date.now() + PATIENCE; ;) {
      const tasks = await windows.tasks(by)
      const wanted = tasks.map((task) => `#${task.taskNumber} ${task.lastGatedStatus}`)
      const cards = board(tui.screen()).columns.flatMap((column) => column.cards)
      const shown = cards.map((card) => `#${card.number} ${card.status}`)
      if (tasks.length === count && wanted.toSorted().join() === shown.toSorted().join()) break
      if (Date.now() > end) expect({ count: tasks.length, shown: shown.toSorted() }).toEqual({ count, shown: wanted })
      await Bun.sleep(50)
    }
  }
}

async function judge({ tasks, box }: Windows, typed: readonly string[]): Promise<void> {
  const all = await tasks()
  expect(all.map((task) => task.title).toSorted()).toEqual(typed.toSorted())
  const numbers = all.map((task) => task.taskNumber)
  expect(new Set(numbers).size, "a number twice").toBe(numbers.length)
  for (const task of all) {
    // Who moved it last may be written down first; what went in and what came out tell where it stands all the same.
    const moves = movesOf(box.repo.dir, task.sessionID)
    for (const status of STATUSES) {
      const into = moves.filter((move) => move.to === status).length
      const outOf = moves.filter((move) => move.from === status).length
      const expected = Number(task.lastGatedStatus === status) - Number(status === "backlog")
      expect(into - outOf, `#${task.taskNumber}, ${status}: ${JSON.stringify(moves)}`).toBe(expected)
    }
  }
  const log = await box.repo.git("log", "--format=%(trailers:key=Kagan-Task,valueonly)", "main")
  const merged = log.split("\n").filter((line) => line.trim() !== "")
  expect(new Set(merged).size, "merged twice").toBe(merged.length)
  expect(merged).toHaveLength(all.filter((task) => task.merge?.state === "merged").length)
}

type Move = { readonly from: Status; readonly to: Status }

/** The moves in a task's history. */
function movesOf(dir: string, sessionID: string): Move[] {
  const lines = readFileSync(join(dir, ".git/kagan", sessionID, "history.jsonl"), "utf8").split("\n")
  return lines
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as { kind: string } & Move)
    .filter(({ kind, from, to }) => kind === "move" && from !== to)
}
