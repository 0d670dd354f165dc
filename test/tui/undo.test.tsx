import { afterEach, expect, test } from "vitest"
import { task } from "./cards.ts"
import { openStage, type Stage } from "./stage.tsx"

let stage: Stage
afterEach(() => stage?.close())

/** The server half takes its time for everything that is done to a card. */
async function slowly() {
  const answered: ReturnType<typeof Promise.withResolvers<object>>[] = []
  const later = () => {
    const answer = Promise.withResolvers<object>()
    answered.push(answer)
    return answer.promise as never
  }
  const answers = { "task.archive": later, "task.reorder": later }
  stage = await openStage({ width: 160, height: 45, sessions: [task(1, "First"), task(2, "Second")], answers })
  return async (value: object) => {
    answered.shift()!.resolve(value)
    await stage.settle()
  }
}

test("u before the answer takes back what was asked for last, once that is answered", async () => {
  const answer = await slowly()
  await stage.press("J")
  await answer({ text: "" })
  await stage.press("A", "u")
  stage.shows("undoing: archive of #")
  expect(stage.server.asked()).toHaveLength(2)
  await answer({ text: "archived" })
  expect(stage.server.asked().slice(1)).toEqual([
    { type: "task.archive", sessionID: "ses_1", archived: true },
    { type: "task.archive", sessionID: "ses_1", archived: false },
  ])
})

test("what was refused is nothing to take back", async () => {
  const answer = await slowly()
  await stage.press("J")
  await answer({ text: "" })
  await stage.press("A")
  await answer({ kind: "refused", text: "not now" })
  await stage.press("u")
  expect(stage.server.asked().at(-1)).toMatchObject({ type: "task.reorder", order: 1 })
})
