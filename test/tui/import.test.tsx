import { afterEach, expect, test } from "vitest"
import { task } from "./cards.ts"
import { openStage, type Stage } from "./stage.tsx"

let stage: Stage
afterEach(() => stage.close())

const LIST = "- [ ] First\n  with words\n- [ ] Second\n- [x] Third\n- [ ] On the board"

async function open() {
  stage = await openStage({
    sessions: [task(1, "on the board")],
    answers: { "tasks.create": () => ({ tasks: [], text: "#2, #3 created" }) },
  })
  stage.commands.enter("kagan.task.import")
  await stage.settle()
}

test("a pasted list is shown before anything is created, and created together", async () => {
  await open()
  await stage.paste(LIST)
  await stage.press("enter")
  stage.shows("Create 2 tasks")
  stage.shows("+ First")
  stage.shows(/Third +ticked off/)
  stage.shows(/On the board +on the board already/)
  expect(stage.server.asked()).toEqual([])
  await stage.press("y")
  expect(stage.server.asked()).toEqual([
    {
      type: "tasks.create",
      draftID: expect.any(String),
      tasks: [
        { title: "First", description: "with words" },
        { title: "Second", description: "" },
      ],
    },
  ])
  stage.shows("#2, #3 created")
})

test("a second import offers nothing of what is there", async () => {
  await open()
  for (const [number, title] of [
    [2, "First"],
    [3, "second"],
  ] as const)
    stage.app.board.take(task(number, title))
  await stage.paste(LIST)
  await stage.press("enter")
  stage.shows("There is nothing to create")
  await stage.press("enter", "y")
  expect(stage.server.asked()).toEqual([])
})

test("a text without an item says so and stays; the list can be changed; Esc creates nothing", async () => {
  await open()
  await stage.paste("just words")
  await stage.press("enter")
  stage.shows("no line of it is an item")
  stage.shows("just words")
  await stage.press("shift+enter")
  await stage.paste("- [ ] Now")
  await stage.press("enter")
  stage.shows("Create 1 task")
  await stage.press("e")
  stage.shows("- [ ] Now")
  await stage.press("esc")
  expect(stage.server.asked()).toEqual([])
  expect(stage.host.dialogs()).toBe(0)
})
