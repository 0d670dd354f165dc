import { describe, expect, test } from "vitest"
import { parsePlannedTasks } from "../../src/core/planning.ts"
import type { Push } from "../../src/core/protocol.ts"
import { ok } from "../../src/core/result.ts"
import { createFrom, createPlanned, finishLeftDrafts, type Creating } from "../../src/server/creation.ts"
import type { Project } from "../../src/server/project.ts"
import type { Supervisor } from "../../src/server/supervisor.ts"
import { draft, NOTHING, three, workshop, type Workshop } from "../shared/create-workshop.ts"

/** The creation of a repository, with what it tells boards and asks of the supervisor. */
function creating(shop: Workshop, watch?: Parameters<Workshop["start"]>[0]) {
  const create = shop.start(watch)
  const pushed: Push[] = []
  const looked: string[] = []
  const moves: string[] = []
  const project = {
    tasks: create.tasks,
    host: create.host,
    clock: create.clock,
    push: (push: Push) => void pushed.push(push),
    remember: async () => undefined,
  } as unknown as Project
  const supervisor = {
    look: async (sessionID: string) => void looked.push(sessionID),
    async move(sessionID: string, to: string) {
      const read = await create.tasks.read(sessionID)
      const waits = read.ok && read.value.task.meta.dependsOn !== undefined
      moves.push(to)
      return ok(waits ? { kind: "queued", text: "queued after others" } : { kind: "accepted" })
    },
  } as unknown as Supervisor
  const parts: Creating = { project, supervisor, create }
  const drafts = () => pushed.flatMap((push) => (push.type === "drafts" ? [push.drafts] : []))
  return { parts, drafts, looked, moves }
}

function planned(tasks: readonly object[]) {
  const read = parsePlannedTasks({ tasks })
  if (!read.ok) throw new Error(read.error)
  return read.value
}

describe("tasks that were planned in a conversation", () => {
  const wanted = [
    { title: "Parse it", description: "All of it." },
    { title: "Show it", dependsOn: ["parse it"], model: "test/one", baseBranch: "main" },
  ]

  test("are made with what was asked of each, and answered with their numbers", async () => {
    await using shop = await workshop()
    const { parts, drafts, looked } = creating(shop)
    expect(await createPlanned(parts, "ses_1", planned(wanted))).toEqual(
      ok("Created, all in Backlog: #1 Parse it; #2 Show it."),
    )
    const metas = await Promise.all(looked.map((id) => parts.create.tasks.read(id)))
    expect(metas.map((read) => read.ok && read.value.task.meta)).toMatchObject([
      { taskNumber: 1, description: "All of it." },
      { taskNumber: 2, dependsOn: [1], baseBranch: "main", model: { providerID: "test", modelID: "one" } },
    ])
    expect(drafts().at(-1)).toEqual([])
  })

  test("fail together: the model reads which and why, and the board keeps one draft however often it is tried", async () => {
    await using shop = await workshop()
    const { parts, drafts } = creating(shop)
    const bad = [wanted[0]!, { ...wanted[1]!, baseBranch: "nowhere" }]
    for (let attempt = 0; attempt < 2; attempt++) {
      const refused = await createPlanned(parts, "ses_1", planned(bad))
      expect(refused.ok ? "" : refused.error).toMatch(/^Nothing was created: "Show it": .*nowhere.*kept as a draft/)
    }
    expect(await shop.left()).toEqual(NOTHING)
    expect(drafts().at(-1)).toMatchObject([
      { title: "2 tasks: Parse it · Show it", problem: expect.stringContaining("nowhere") },
    ])
    // Corrected, it takes the place of the draft.
    expect((await createPlanned(parts, "ses_1", planned(wanted))).ok).toBe(true)
    expect(drafts().at(-1)).toEqual([])
  })
})

test("what is to be started is, in order, and the answer says what is queued", async () => {
  await using shop = await workshop()
  const { parts, moves } = creating(shop)
  const made = await createFrom(parts, { ...draft(three.slice(0, 2)), start: { waiver: "agreed in the split" } })
  expect(made.ok && made.value.text).toBe("#1, #2 created and #1 started, #2 queued")
  expect(moves).toEqual(["in_progress", "in_progress"])
})

test("what a dead process left is finished once, and boards hear that the draft is gone", async () => {
  await using shop = await workshop()
  const dying = creating(shop, (effect) => {
    if (effect === "metadata") throw new Error("died")
    return undefined
  })
  await expect(createFrom(dying.parts, draft(three))).rejects.toThrow("died")
  const { parts, drafts, looked } = creating(shop)
  await Promise.all([finishLeftDrafts(parts), finishLeftDrafts(parts)])
  expect(looked).toHaveLength(3)
  expect(drafts().at(-1)).toEqual([])
  expect((await shop.left()).sessions).toHaveLength(3)
})
