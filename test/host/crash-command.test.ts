import { existsSync } from "node:fs"
import { join } from "node:path"
import { expect, test, vi } from "vitest"
import { runState } from "../../src/core/board.ts"
import { startModel, text, toolCalls } from "../kit/model.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath } from "../kit/sandbox.ts"
import { openWindow } from "../kit/window.ts"

vi.setConfig({ testTimeout: 600_000 })

test("a command that outlives a killed OpenCode is named on the card, holds the snapshot back, and is ended by a stop", async () => {
  const command = "touch begun.txt; while true; do date > late.txt; sleep 0.2; done"
  const model = await startModel((request) =>
    request.kind === "work" && request.toolResults.length === 0
      ? toolCalls({ name: "bash", args: { command, description: "Works for a long time" } })
      : text("Done."),
  )
  const box = await makeSandbox({ plugin: false, model, where: "project", config: { permission: { bash: "allow" } } })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [[pluginPath(), { intake: { enabled: false } }], probe.spec] as never })
  let { host, board, seen } = await openWindow(box, probe)
  const state = async (sessionID: string) => {
    const { facts } = await board.get("board.facts", {})
    const own = facts.find((one) => one.sessionID === sessionID)
    return runState({ title: "", meta: await seen.read(sessionID) }, own, Date.now())
  }
  try {
    const { sessionID } = await board.get("task.create", { draftID: "d", title: "Runs long", description: "" })
    const { worktree } = await seen.read(sessionID)
    await board.get("task.move", { sessionID, to: "in_progress" })
    const patience = { timeout: 90_000, interval: 100 }
    await vi.waitFor(() => expect(existsSync(join(worktree, "begun.txt"))).toBe(true), patience)
    await host.kill9()
    ;({ host, board, seen } = await openWindow(box, probe))
    await vi.waitFor(async () => expect((await state(sessionID)).kind).toBe("command_running"), patience)

    // Reviewed as it is: the snapshot waits as long as somebody writes there.
    const resumed = await board.ask("task.resume", { sessionID })
    expect(resumed.ok).toBe(false)
    await board.get("task.stop", { sessionID })
    await vi.waitFor(async () => expect((await state(sessionID)).kind).toBe("interrupted"), patience)
    await board.get("task.move", { sessionID, to: "review", asIs: true })
    const review = await seen.until(sessionID, "snapshot", (meta) => meta.review?.snapshot !== undefined)
    expect(review.review!.snapshot!.files).toBe(2)
  } finally {
    await host.stop()
    await box.dispose()
    await model.dispose()
  }
})
