import { expect, test } from "vitest"
import type { TaskMeta } from "../../src/core/task.ts"
import { waitProblem } from "../../src/server/queue.ts"
import type { TaskRecord } from "../../src/shared/tasks.ts"
import { sampleMeta } from "../core/sample.ts"

const record = (taskNumber: number, dependsOn: readonly number[] = []): TaskRecord => {
  const sessionID = `ses_${taskNumber}`
  const meta: TaskMeta = { ...sampleMeta({}), sessionID, taskNumber, dependsOn }
  return { title: `Task ${taskNumber}`, sessionID, kagan: { ...meta } }
}
const board = [record(1), record(2, [1]), record(3, [2]), record(4)]

test("a task waits for others on the board", () => {
  expect(waitProblem(4, [3, 1], board)).toBeUndefined()
  expect(waitProblem(4, [], board)).toBeUndefined()
})

test("never for itself, over however many steps", () => {
  expect(waitProblem(1, [1], board)).toBe("#1 would wait for itself")
  expect(waitProblem(1, [3], board)).toBe("#1 would wait for itself")
  expect(waitProblem(1, [4], board)).toBeUndefined()
})

test("nor for what is not on the board", () => {
  expect(waitProblem(1, [4, 9], board)).toBe("it is to wait for #9, which is not on the board")
})

test("a circle among others that stands already ends the search", () => {
  const circle = [record(1), record(5, [6]), record(6, [5])]
  expect(waitProblem(1, [5], circle)).toBeUndefined()
})
