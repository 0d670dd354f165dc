import { expect, test, vi } from "vitest"
import { startModel } from "../kit/model.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath } from "../kit/sandbox.ts"
import { openWindow } from "../kit/window.ts"

vi.setConfig({ testTimeout: 600_000 })

test("100 tasks among 400 ordinary sessions: nothing is missing, numbers are right, ordinary ones are untouched", async () => {
  const model = await startModel()
  const box = await makeSandbox({ plugin: false, model, where: "project" })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [[pluginPath(), { intake: { enabled: false } }], probe.spec] as never })
  let { host, board, seen } = await openWindow(box, probe)
  try {
    for (let n = 1; n <= 10; n++)
      await board.get("task.create", { draftID: `draft-${n}`, title: `Task ${n}`, description: "" })
    await Promise.all(
      Array.from({ length: 8 }, async (_, lane) => {
        for (let n = 11 + lane; n <= 100; n += 8) await seen.plant({ taskNumber: n, lastGatedStatus: "backlog" })
        for (let n = lane; n < 400; n += 8) await host.client.session.create({ title: `Talk ${n}` })
      }),
    )
    await host.stop()
    ;({ host, board, seen } = await openWindow(box, probe))
    const tasks = await seen.all()
    expect(tasks.map((task) => task.taskNumber)).toEqual(Array.from({ length: 100 }, (_, n) => n + 1))
    await vi.waitFor(
      async () => {
        const { facts } = await board.get("board.facts", {})
        expect(new Set(facts.map(({ sessionID }) => sessionID))).toEqual(new Set(tasks.map((task) => task.sessionID)))
      },
      { timeout: 120_000, interval: 200 },
    )
    const next = await board.get("task.create", { draftID: "next", title: "One more", description: "" })
    expect(next.taskNumber).toBe(101)
    const talks = (await host.client.session.list({ limit: 10_000 })).data!.filter(({ title }) =>
      title.startsWith("Talk"),
    )
    expect(talks).toHaveLength(400)
    for (const talk of talks) expect(talk.metadata).toBeUndefined()
  } finally {
    await host.stop()
    await box.dispose()
    await model.dispose()
  }
})
