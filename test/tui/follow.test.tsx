import { afterEach, describe, expect, test } from "vitest"
import { inReview, task } from "./cards.ts"
import { openStage, type Stage, type StageOptions } from "./stage.tsx"

let stage: Stage
const open = async (options: StageOptions) =>
  (stage = await openStage({
    width: 160,
    height: 45,
    answers: { "task.create": () => ({ sessionID: "ses_9", taskNumber: 9, text: "made" }), ...options.answers },
    ...options,
  }))
afterEach(() => stage?.close())

const create = async () => {
  await stage.press("enter")
  const { draftID: _, ...asked } = stage.server.asked().find(({ type }) => type === "task.create")!
  return asked
}

describe("a new task from a card", () => {
  test("that follows from it names it, and can be changed before it is made", async () => {
    await open({ sessions: [inReview(26, "Retry webhooks")] })
    await stage.press("F")
    stage.shows("Follows from #26 Retry webhooks.")
    await stage.type(": jitter")
    expect(await create()).toMatchObject({
      title: "Follow-up of #26: jitter",
      description: "Follows from #26 Retry webhooks.",
    })
  })

  test("that is the same again has all that was chosen for the first", async () => {
    const model = { providerID: "anthropic", modelID: "opus" }
    const chosen = { description: "Old words", model, agent: "build", scope: "services", baseBranch: "next" }
    await open({ sessions: [task(1, "Twice", { ...chosen, dependsOn: [2] }), task(2, "Other")] })
    await stage.press("enter")
    await stage.type("duplicate")
    await stage.press("enter")
    stage.shows("The same as #1, once more.")
    expect(await create()).toEqual({
      type: "task.create",
      title: "Twice",
      description: "Old words\n\nThe same as #1, once more.",
      baseBranch: "next",
      model,
      agent: "build",
      scope: "services",
      dependsOn: [2],
    })
  })

  test("takes a long description from its file; one that cannot be read is told, and nothing opens", async () => {
    const long = [task(1, "Long", { description: "begin", descriptionFile: true })]
    await open({ sessions: long, answers: { "task.description": () => ({ description: "begin and end" }) } })
    stage.commands.run("kagan.duplicate")
    await stage.settle()
    stage.shows("begin and end")
    await stage.press("esc")
    stage.server.answers["task.description"] = () => ({ kind: "failed", text: "no such file" })
    stage.commands.run("kagan.duplicate")
    await stage.settle()
    stage.shows("no such file")
    expect(stage.host.dialogs()).toBe(0)
  })

  test("is kept apart from what n keeps, and waits for the server half", async () => {
    await open({ sessions: [task(1, "First")] })
    await stage.press("n")
    await stage.type("Half typed")
    await stage.press("esc", "F")
    stage.showsNot("Half typed")
    await stage.type(", later")
    await stage.press("esc", "F")
    stage.shows("Follow-up of #1, later")
    await stage.press("esc", "n")
    stage.shows("Half typed")
  })
})
