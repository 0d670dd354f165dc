import { expect } from "vitest"
import type { TaskMeta } from "../../src/core/task.ts"
import type { Board } from "../kit/board.ts"
import type { HostServer } from "../kit/host.ts"
import { startModel, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openTasks, type SeenTasks } from "../kit/tasks.ts"
import { openWindow } from "../kit/window.ts"

export const LIMIT = 2

/** Two OpenCode processes on one repository, each with a board. */
export interface Windows {
  readonly boards: readonly [Board, Board]
  readonly hosts: readonly [HostServer, HostServer]
  readonly seen: SeenTasks
  readonly model: Model
  readonly box: Sandbox
  dispose(): Promise<void>
}

export async function openWindows(): Promise<Windows> {
  const model = await startModel(
    defaultKaganScript({
      file: (request) => `task-${/#(\d+)/.exec(request.messages.map(({ text }) => text).join("\n"))?.[1]}.txt`,
    }),
  )
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probes = [await makeProbe(box.root, "probe-one"), await makeProbe(box.root, "probe-two")] as const
  const hosts: HostServer[] = []
  const boards: Board[] = []
  for (const probe of probes) {
    const options = { inProgressLimit: LIMIT, intake: { enabled: false } }
    await box.writeConfig({ plugin: [[pluginPath(), options], probe.spec] as never })
    const { host, board } = await openWindow(box, probe)
    hosts.push(host)
    boards.push(board)
  }
  return {
    boards: [boards[0]!, boards[1]!],
    hosts: [hosts[0]!, hosts[1]!],
    seen: openTasks(hosts[0]!, boards[0]!.repo),
    model,
    box,
    async dispose() {
      for (const host of hosts) await host.stop()
      await box.dispose()
      await model.dispose()
    },
  }
}

/** Numbers that look like chance and are the same in each run. */
function dice(seed: number) {
  let state = seed
  return (n: number) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % n
  }
}

/**
 * Both boards at once create, rename, reorder, move, rule and approve, `rounds` times two operations; after each round
 * the limit holds, and in the end nothing that was answered is lost.
 */
export async function play({ boards, hosts, seen, box }: Windows, rounds: number, seed: number): Promise<void> {
  const roll = dice(seed)
  /** Every title that a card was given, and was told that it has. */
  const titles = new Map<string, string[]>()
  const created: number[] = []
  let drafts = 0

  async function act(board: Board, other: number): Promise<void> {
    const tasks = (await seen.all()).filter((task) => !task.trashedAt)
    const task = tasks[(roll(Math.max(1, tasks.length)) + other) % Math.max(1, tasks.length)]
    const what = tasks.length < 4 ? 0 : roll(8)
    if (what === 0 && tasks.length < 8) {
      const title = `Task of draft ${++drafts}`
      const made = await board.get("task.create", { draftID: `draft-${drafts}`, title, description: "" })
      created.push(made.taskNumber)
      titles.set(made.sessionID, [title])
      return
    }
    if (!task) return
    const { sessionID } = task
    if (what === 1) {
      const title = `Renamed ${roll(1_000)} by ${other}`
      const edited = await board.ask("task.edit", { sessionID, title })
      if (edited.ok) titles.set(sessionID, [...(titles.get(sessionID) ?? []), title])
    } else if (what === 2) await board.get("task.reorder", { sessionID, order: roll(100) })
    else await forward(board, task)
  }

  async function forward(board: Board, task: TaskMeta): Promise<void> {
    const { sessionID, review } = task
    if (task.lastGatedStatus === "backlog") await board.ask("task.move", { sessionID, to: "in_progress" })
    if (task.lastGatedStatus !== "review" || review?.validator?.state !== "done") return
    if (review.ruled < review.findings) {
      const reason = "as it was asked for"
      await board.ask("findings.rule", { sessionID, rulings: [{ finding: "F1", disposition: "intended", reason }] })
    } else await board.ask("task.approve", { sessionID, snapshot: review.snapshot!.commit })
  }

  for (let round = 0; round < rounds; round++) {
    // In the same instant, and often at the same card.
    const sharing = roll(3) === 0 ? 0 : 1
    await Promise.all([act(boards[0], 0), act(boards[1], sharing)])
    const running = (await seen.all()).filter((task) => task.lastGatedStatus === "in_progress")
    expect(running.length, `round ${round}`).toBeLessThanOrEqual(LIMIT)
  }

  const all = await seen.all()
  expect(all.map((task) => task.taskNumber)).toEqual(created.toSorted((a, b) => a - b))
  expect(new Set(created).size).toBe(created.length)
  for (const { sessionID } of all) {
    const session = (await hosts[1].client.session.get({ sessionID })).data!
    // Two renames in the same instant may end either way; an older title never comes back.
    expect(titles.get(sessionID)!.slice(-2)).toContain(session.title)
  }
  for (const board of boards) {
    const known = (await board.get("board.facts", {})).facts.map((facts) => facts.sessionID)
    for (const task of all) expect(known).toContain(task.sessionID)
  }
  const log = await box.repo.git("log", "--format=%(trailers:key=Kagan-Task,valueonly)", "main")
  const merged = log.split("\n").filter((line) => line.trim() !== "")
  expect(new Set(merged).size, "merged twice").toBe(merged.length)
  expect(merged).toHaveLength(all.filter((task) => task.merge?.state === "merged").length)
}
