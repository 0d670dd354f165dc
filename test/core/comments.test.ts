import fc from "fast-check"
import { describe, expect, test } from "vitest"
import {
  addComment,
  commentFinding,
  commentsToFix,
  countComments,
  deleteComment,
  editComment,
  MAX_COMMENTS,
  NO_COMMENTS,
  readComments,
  ruleComment,
  type Comment,
  type Comments,
} from "../../src/core/comments.ts"
import type { DiffFile, LineRange } from "../../src/core/diff.ts"
import { followComment, followLine, followPlace } from "../../src/core/follow.ts"
import { toFix } from "../../src/core/task.ts"
import { NOW, sampleMeta, SHA } from "./sample.ts"

const where = { by: "Ann", at: NOW, snapshot: SHA, base: SHA, generation: 1 }
const value = <T>(result: { ok: true; value: T } | { ok: false; error: string }): T => {
  if (!result.ok) throw new Error(result.error)
  return result.value
}
const withOne = (text = "Why twice?\nOnce is enough.") =>
  value(addComment(NO_COMMENTS, { text, location: { path: "a.ts", line: 3 }, quote: "  again()" }, where))

describe("comments", () => {
  test("a new one says who, when and on which snapshot, and is to be fixed", () => {
    expect(withOne().comments).toEqual([
      {
        id: "C1",
        text: "Why twice?\nOnce is enough.",
        location: { path: "a.ts", line: 3 },
        quote: "again()",
        ...where,
        disposition: "fix",
      },
    ])
  })

  test("numbers are never given twice, also after the last one was deleted", () => {
    const again = value(addComment(value(deleteComment(withOne(), "C1")), { text: "Another" }, where))
    expect(again.comments.map(({ id }) => id)).toEqual(["C2"])
  })

  test.each(["", "  \n "])(
    "an empty one (%j) is refused, and so are those beyond the limit and unknown ones",
    (text) => {
      const full: Comments = { next: 9, comments: Array.from({ length: MAX_COMMENTS }, () => withOne().comments[0]!) }
      expect(addComment(NO_COMMENTS, { text }, where)).toMatchObject({ ok: false })
      expect(addComment(full, { text: "One more" }, where)).toMatchObject({ ok: false })
      expect(editComment(withOne(), "C1", text, { at: 1, generation: 1 })).toMatchObject({ ok: false })
      expect(editComment(withOne(), "C7", "New", { at: 1, generation: 1 })).toMatchObject({ ok: false })
      expect(deleteComment(withOne(), "C7")).toMatchObject({ ok: false })
    },
  )

  test("what was sent back counts no more, until it is said or ruled again", () => {
    const sent = withOne()
    expect(commentsToFix(sent.comments, 1)).toHaveLength(1)
    expect(commentsToFix(sent.comments, 2)).toEqual([])
    const again = value(ruleComment(sent, "C1", { disposition: "fix", generation: 2 }))
    expect(commentsToFix(again.comments, 2)).toHaveLength(1)
    const edited = value(editComment(sent, "C1", "Still twice", { at: NOW + 1, generation: 2 }))
    expect(commentsToFix(edited.comments, 2)).toMatchObject([{ text: "Still twice", editedAt: NOW + 1 }])
    const settled = value(ruleComment(again, "C1", { disposition: "ignored", reason: " never mind ", generation: 2 }))
    expect(settled.comments[0]).toMatchObject({ disposition: "ignored", reason: "never mind" })
    expect(commentsToFix(settled.comments, 2)).toEqual([])
  })

  test("the task keeps counts only, which belong to one iteration", () => {
    const comments = countComments(withOne().comments, { at: NOW, generation: 1 })
    expect(comments).toEqual({ total: 1, fix: 1, generation: 1, at: NOW })
    expect(toFix(sampleMeta({ comments })).comments).toBe(1)
    expect(toFix(sampleMeta({ comments, generation: 2 })).comments).toBe(0)
  })

  test("as a finding its first line is the title; a removed or rewritten line is quoted", () => {
    const [comment] = withOne().comments
    expect(commentFinding(comment!)).toEqual({
      id: "C1",
      kind: "comment",
      severity: "medium",
      confidence: 10,
      title: "Why twice?",
      detail: "Once is enough.",
      location: { path: "a.ts", line: 3 },
      citation: "verified",
    })
    expect(commentFinding({ ...comment!, outdated: true }).detail).toBe("Once is enough.\nThe line was: again()")
    expect(commentFinding({ ...comment!, side: "old", text: "Keep it" }).detail).toBe("About the removed line: again()")
  })

  test("a stored file of another shape is named, not taken for none", () => {
    expect(readComments(JSON.parse(JSON.stringify(withOne())))).toEqual({ ok: true, value: withOne() })
    for (const bad of [null, [], {}, { next: 1, comments: [{ id: "C1" }] }]) {
      expect(readComments(bad)).toMatchObject({ ok: false })
    }
  })
})

/** A change as its steps; hunks hold up to `context` unchanged lines around what changed. */
function hunksOf(steps: readonly ("keep" | "add" | "remove")[], context: number) {
  const hunks: DiffFile["hunks"][number][] = []
  const mapped = new Map<number, number | undefined>()
  let [old, now] = [1, 1]
  const at = steps.map((step) => {
    const here = { step, old, now }
    if (step !== "add") mapped.set(old, step === "keep" ? now : undefined)
    if (step !== "add") old++
    if (step !== "remove") now++
    return here
  })
  const near = at.map((_, i) => at.slice(Math.max(0, i - context), i + context + 1).some(({ step }) => step !== "keep"))
  for (let i = 0; i < at.length; i++) {
    if (!near[i]) continue
    const from = i
    while (i + 1 < at.length && near[i + 1]) i++
    const part = at.slice(from, i + 1)
    const ranges = (kind: "add" | "remove", side: "old" | "now") => {
      const made: { start: number; end: number }[] = []
      for (const one of part.filter(({ step }) => step === kind)) {
        const last = made.at(-1)
        if (last?.end === one[side] - 1) last.end = one[side]
        else made.push({ start: one[side], end: one[side] })
      }
      return made as LineRange[]
    }
    const [oldLines, newLines] = [
      part.filter(({ step }) => step !== "add").length,
      part.filter(({ step }) => step !== "remove").length,
    ]
    hunks.push({
      oldStart: oldLines === 0 ? part[0]!.old - 1 : part[0]!.old,
      oldLines,
      newStart: newLines === 0 ? part[0]!.now - 1 : part[0]!.now,
      newLines,
      heading: "",
      added: ranges("add", "now"),
      removed: ranges("remove", "old"),
      text: "",
    })
  }
  return { hunks, mapped }
}

const text = (hunks: DiffFile["hunks"], over: Partial<DiffFile> = {}): DiffFile => ({
  path: "a.ts",
  kind: "modified",
  nature: "text",
  oldMode: "100644",
  newMode: "100644",
  oldObject: "1",
  newObject: "2",
  insertions: 0,
  deletions: 0,
  hunks,
  ...over,
})

describe("following a line", () => {
  test("each unchanged line is found where it is now, and each other one nowhere", () => {
    const steps = fc.array(fc.constantFrom("keep", "keep", "add", "remove"), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(steps, fc.integer({ min: 0, max: 3 }), (list, context) => {
        const { hunks, mapped } = hunksOf(list as ("keep" | "add" | "remove")[], context)
        for (const [line, now] of mapped) expect(followLine({ hunks }, line)).toBe(now)
      }),
      { numRuns: 500 },
    )
  })

  const { hunks } = hunksOf(["add", "keep", "keep", "remove", "keep"], 1)
  test("a range keeps its lines together; a file that was renamed is followed; one that is gone or odd is not", () => {
    const files = [text(hunks)]
    expect(followPlace({ files }, { path: "b.ts", line: 4 })).toEqual({ path: "b.ts", line: 4 })
    expect(followPlace({ files }, { path: "a.ts", line: 1, endLine: 2 })).toEqual({ path: "a.ts", line: 2, endLine: 3 })
    expect(followPlace({ files }, { path: "a.ts", line: 2, endLine: 4 })).toBeUndefined()
    expect(followPlace({ files: [text(hunks, { kind: "deleted" })] }, { path: "a.ts" })).toBeUndefined()
    expect(followPlace({ files: [text([], { nature: "binary" })] }, { path: "a.ts", line: 1 })).toBeUndefined()
    const renamed = text(hunks, { path: "new.ts", oldPath: "a.ts", kind: "renamed" })
    expect(followPlace({ files: [renamed] }, { path: "a.ts", line: 1 })).toEqual({ path: "new.ts", line: 2 })
    const copied = text([], { path: "copy.ts", oldPath: "a.ts", kind: "copied" })
    expect(followPlace({ files: [copied] }, { path: "a.ts", line: 1 })).toEqual({ path: "a.ts", line: 1 })
  })

  test("a comment moves with its line into the next snapshot, or is outdated for good", () => {
    const comment: Comment = withOne().comments[0]!
    const to = { snapshot: "f".repeat(40), base: SHA }
    const gone = hunksOf(["keep", "keep", "remove"], 1).hunks
    expect(followComment(comment, { files: [] }, { snapshot: SHA, base: SHA })).toBe(comment)
    expect(followComment({ ...comment, location: { path: "a.ts", line: 1 } }, { files: [text(hunks)] }, to)).toEqual({
      ...comment,
      ...to,
      location: { path: "a.ts", line: 2 },
    })
    const outdated = followComment(comment, { files: [text(gone)] }, to)
    expect(outdated).toEqual({ ...comment, ...to, outdated: true })
    expect(followComment(outdated, { files: [] }, { snapshot: SHA, base: SHA })).toMatchObject({ outdated: true })
    // Git has cleaned the old snapshot away.
    expect(followComment(comment, undefined, to)).toMatchObject({ outdated: true })
    const { location: _, ...onTask } = comment
    expect(followComment(onTask, undefined, to)).toEqual({ ...onTask, ...to })
    expect(followComment({ ...comment, side: "old" }, { files: [] }, to)).not.toHaveProperty("outdated")
    expect(followComment({ ...comment, side: "old" }, { files: [] }, { ...to, base: "e".repeat(40) })).toMatchObject({
      outdated: true,
    })
  })
})
