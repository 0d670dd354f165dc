import { rename } from "node:fs/promises"
import { join } from "node:path"
import { expect, test, vi } from "vitest"
import { runState } from "../../src/core/board.ts"
import { openBoard } from "../kit/board.ts"
import { startServer } from "../kit/host.ts"
import { startModel, text, toolCalls } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath } from "../kit/sandbox.ts"
import { openTasks } from "../kit/tasks.ts"
import { checkoutAt } from "../shared/git/throwaway.ts"
import { patience } from "./commands-rig.ts"

vi.setConfig({ testTimeout: 300_000 })

test("C118 after a move of the repository its cards go on in their worktrees; a renamed worktree goes back by r", async () => {
  const others = defaultKaganScript()
  const model = await startModel((request, nth) => {
    if (request.kind !== "work") return others(request, nth)
    return request.toolResults.length === 0
      ? toolCalls({ name: "write", args: { filePath: "made.txt", content: "made\n" } })
      : text("Done.")
  })
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [[pluginPath(), { intake: { enabled: false } }], probe.spec] as never })
  const before = await startServer(box)
  await before.client.session.list()
  const old = await openBoard(probe, box.repo.dir)
  const made = await old.get("tasks.create", {
    draftID: "d-two",
    tasks: ["First", "Second"].map((title) => ({ title, description: "" })),
  })
  const branches = await box.repo.git("for-each-ref", "--format=%(refname)", "refs/heads")
  await before.stop()

  const moved = join(box.root, "moved")
  await rename(box.repo.dir, moved)
  const host = await startServer(box, { cwd: moved })
  try {
    await host.client.session.list({ directory: moved })
    const board = await openBoard(probe, moved)
    const seen = openTasks(host, board.repo)
    expect((await seen.all()).map(({ taskNumber }) => taskNumber)).toEqual([1, 2])
    const [first, second] = made.tasks.map(({ sessionID }) => sessionID) as [string, string]
    const state = async (sessionID: string) => {
      const { facts } = await board.get("board.facts", {})
      const own = facts.find((one) => one.sessionID === sessionID)
      return { ...runState({ title: "", meta: await seen.read(sessionID) }, own, Date.now()), worktree: own?.worktree }
    }
    for (const sessionID of [first, second])
      await vi.waitFor(
        async () => expect(await state(sessionID)).toMatchObject({ kind: "ready", worktree: "present" }),
        patience,
      )
    await board.get("task.move", { sessionID: first, to: "in_progress" })
    const meta = await seen.until(first, "reviewed", (now) => now.review?.validator?.state === "done")
    expect(meta.review?.snapshot?.files).toBe(1)

    const { worktree } = await seen.read(second)
    await rename(worktree, `${worktree}2`)
    await board.get("task.resume", { sessionID: second })
    await vi.waitFor(
      async () => expect(await state(second)).toMatchObject({ kind: "ready", worktree: "present" }),
      patience,
    )
    expect(await checkoutAt(moved).git("for-each-ref", "--format=%(refname)", "refs/heads")).toBe(branches)
  } finally {
    await host.stop()
    await box.dispose()
    await model.dispose()
  }
})
