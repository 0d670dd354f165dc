import { afterEach, describe, expect, test, vi } from "vitest"
import { holderOf } from "../../src/shared/gate/slots.ts"
import { get, openWorld, type World } from "../kit/running-world.ts"

vi.setConfig({ testTimeout: 120_000 })
const patience = { timeout: 90_000, interval: 20 }
let world: World
afterEach(() => world.dispose())

async function started(sessionID: string) {
  get(await world.handlers["task.move"]({ sessionID, to: "in_progress" }))
  await vi.waitFor(() => expect(world.promptsOf(sessionID)).toHaveLength(1), patience)
  await vi.waitFor(() => expect(holderOf(sessionID)).toBeUndefined(), patience)
}
/** Everything that stands in a session's transcript, as one text. */
async function transcript(sessionID: string) {
  const messages = get(await world.host.host.messages(sessionID))
  return messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === "text" ? [part.text] : []))).join("\n")
}

describe("#n in a description", () => {
  test("is injected at the start as that task is then; later changes of it change nothing", async () => {
    world = await openWorld({ intake: { enabled: false } })
    const source = await world.make("one", "The first.")
    const naming = await world.make("two", "Continue #1, and look at #77.")
    await started(naming)
    const before = await transcript(naming)
    expect(before).toContain("task #1, as it is now")
    expect(before).toContain("Title: Sample\nStatus: Backlog")
    expect(before).toContain("There is no task #77 on this board.")
    expect(world.pushes).toContainEqual(
      expect.objectContaining({
        type: "notice",
        level: "warning",
        text: expect.stringContaining("#77"),
        taskNumber: 2,
      }),
    )
    get(await world.handlers["task.edit"]({ sessionID: source, title: "Something else" }))
    for (let look = 0; look < 3; look++) await world.running.supervisor.look(naming)
    expect(await transcript(naming)).toBe(before)
    expect(world.promptsOf(naming)).toHaveLength(1)
  })

  test("is in the intake's prompt, and a description that names none adds nothing", async () => {
    world = await openWorld()
    await world.make("one", "The first, with a # and a list:\n# heading")
    const naming = await world.make("two", "After #1.")
    const promptOf = async (task: string) => {
      const child = await vi.waitFor(async () => {
        const pointer = (await world.metaOf(task)).intake
        expect(world.promptsOf(pointer?.sessionID ?? "")).toHaveLength(1)
        return pointer!.sessionID!
      }, patience)
      return transcript(child)
    }
    expect(await promptOf(naming)).toContain("task #1, as it is now")
    const [first] = world.host.prompts
    expect(JSON.stringify(first)).not.toContain("as it is now")
  })
})

test("the plan agent reads numbers, columns, titles, states and dependencies off the board, and moves nothing", async () => {
  world = await openWorld({ intake: { enabled: false } })
  expect(get(await world.running.reports.board("ses_any"))).toBe("The board is empty.")
  const created = get(
    await world.running.reports.createTasks("ses_any", [
      { title: "First", description: "", dependsOn: [], dependsOnPlanned: [] },
      { title: "Second\nline", description: "", dependsOn: [], dependsOnPlanned: [0] },
    ]),
  )
  expect(created).toContain("#1 First")
  const text = get(await world.running.reports.board("ses_any"))
  expect(text).toMatch(/^#1 Backlog \(.+\): First$/m)
  expect(text).toMatch(/^#2 Backlog \(.+\): Second line \[after #1\]$/m)
  expect(world.host.prompts).toEqual([])
})
