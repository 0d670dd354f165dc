import { describe, expect, test } from "vitest"
import { STATUSES, type TaskMeta } from "../../src/core/task.ts"
import { makeShelves } from "../../src/tui/board/shelves.ts"
import { task } from "./cards.ts"

const at = (number: number, patch: Partial<TaskMeta> = {}) =>
  (task(number, "", patch).metadata as { kagan: TaskMeta }).kagan

describe("the shelves", () => {
  test("after any coming, going and moving the columns are as if sorted anew", () => {
    const shelves = makeShelves()
    const metas = new Map<string, TaskMeta>()
    let seed = 7
    const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below
    for (let step = 0; step < 3_000; step++) {
      const number = random(60) + 1
      const id = `ses_${number}`
      if (random(4) === 0) {
        expect(shelves.remove(id)).toBe(metas.delete(id))
        continue
      }
      const meta = at(number, {
        lastGatedStatus: STATUSES[random(4)]!,
        order: random(8),
        ...(random(5) === 0 ? { archivedAt: 1 } : {}),
        ...(random(7) === 0 ? { trashedAt: 1 } : {}),
      })
      shelves.put(id, meta)
      metas.set(id, meta)
    }
    const shelfOf = (meta: TaskMeta) => (meta.trashedAt ? "trashed" : meta.archivedAt ? "archived" : "active")
    for (const shelf of ["active", "archived", "trashed"] as const) {
      for (const status of STATUSES) {
        const expected = [...metas]
          .filter(([, meta]) => shelfOf(meta) === shelf && meta.lastGatedStatus === status)
          .toSorted(([, a], [, b]) =>
            shelf === "active" ? a.order - b.order || a.taskNumber - b.taskNumber : b.taskNumber - a.taskNumber,
          )
        expect(shelves.columns(shelf)[status]).toEqual(expected.map(([id]) => id))
      }
    }
    expect(shelves.total()).toBe(metas.size)
  })

  test("a list that nothing entered or left stays the same list, and so does what only says something else", () => {
    const shelves = makeShelves()
    shelves.put("ses_1", at(1))
    shelves.put("ses_2", at(2, { lastGatedStatus: "review" }))
    const before = shelves.columns("active")
    expect(shelves.put("ses_1", at(1, { description: "another" }))).toBe(false)
    expect(shelves.columns("active")).toBe(before)
    expect(shelves.put("ses_3", at(3))).toBe(true)
    expect(shelves.columns("active").review).toBe(before.review)
    expect(shelves.columns("active").backlog).toEqual(["ses_1", "ses_3"])
  })

  test("a number is found as long as its card is there, and the copy that went takes nobody else's", () => {
    const shelves = makeShelves()
    shelves.put("ses_a", at(1))
    shelves.put("ses_b", at(1))
    shelves.remove("ses_b")
    expect(shelves.byNumber(1)).toBe("ses_a")
    shelves.remove("ses_a")
    expect(shelves.byNumber(1)).toBeUndefined()
  })
})
