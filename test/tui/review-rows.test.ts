import { describe, expect, test } from "vitest"
import { changedWords } from "../../src/core/words.ts"
import { patchLines, type CodeLine } from "../../src/tui/review/lines.ts"
import {
  fileRows,
  findingAt,
  findingRows,
  gutterOf,
  stopsOf,
  type Judged,
  type Row,
} from "../../src/tui/review/rows.ts"
import { colourLines, type Highlighter } from "../../src/tui/review/syntax.tsx"
import { isItem, treeOf, type TreeInput } from "../../src/tui/review/tree.ts"
import { finding } from "./cards.ts"

const PATCH = `diff --git a/a.ts b/a.ts
@@ -41,3 +41,4 @@ export async function deliver()
   const res = await post(url, body)
-  if (!res.ok) throw new DeliveryError(res.status)
+  for (let n = 0; !res.ok && n < max; n++) {
+    await sleep(delay(n))
   return res
@@ -90,2 +91,3 @@
   last()
+\tif (ok) {\u202e // \u2066begin

\\ No newline at end of file
`
const file = (patch = PATCH, kind = "modified") => ({ path: "a.ts", kind, insertions: 3, deletions: 1, patch })
const layout = { cells: 60, split: false, folded: new Set<number>(), generation: 1 }
const rowsOf = (findings: readonly Judged[] = [], over: Partial<typeof layout> = {}, patch = PATCH) =>
  fileRows(patchLines(file(patch)), findings, { ...layout, ...over })
const codeOf = (row: Row | undefined) => (row?.kind === "code" ? row.sides : undefined)

describe("lines of a patch", () => {
  test("numbers on both sides, a missing newline as a note, a bare blank line as context (C036)", () => {
    const shown = patchLines(file()).map((line) => [
      line.kind,
      "old" in line || "new" in line ? gutterOf(line as CodeLine) : "",
      line.text,
    ])
    expect(shown).toEqual([
      ["hunk", "", "@@ -41,3 +41,4 @@ export async function deliver()"],
      ["context", "  41   41 ", "  const res = await post(url, body)"],
      ["delete", "  42      ", "  if (!res.ok) throw new DeliveryError(res.status)"],
      ["add", "       42 ", "  for (let n = 0; !res.ok && n < max; n++) {"],
      ["add", "       43 ", "    await sleep(delay(n))"],
      ["context", "  43   44 ", "  return res"],
      ["hunk", "", "@@ -90,2 +91,3 @@"],
      ["context", "  90   91 ", "  last()"],
      ["add", "       92 ", "    if (ok) {<202E> // <2066>begin"],
      ["context", "  91   93 ", ""],
      ["note", "", "no newline at the end"],
    ])
  })

  test("a patch with nothing in it says what kind of change it is", () => {
    expect(patchLines(file("", "mode changed"))).toEqual([{ kind: "note", text: "mode changed: no lines to show" }])
  })

  test("changed words are marked on both sides, and not where a line became another one", () => {
    const marked = (before: string, after: string) => {
      const words = changedWords(before, after)
      return [words.before.map((span) => before.slice(...span)), words.after.map((span) => after.slice(...span))]
    }
    expect(marked("const limit = 5 * MINUTE", "const limit = 10 * MINUTE")).toEqual([["5"], ["10"]])
    expect(marked("a(b, c)", "a(b, c, d)")).toEqual([[], [", d"]])
    expect(marked("return old(1)", "throw new Error()")).toEqual([[], []])
    expect(marked("", "x")).toEqual([[], []])
    expect(marked("same", "same")).toEqual([[], []])
    const long = Array.from({ length: 900 }, (_, i) => `w${i}`).join(" ")
    expect(marked(`${long} x`, `${long} y`)).toEqual([["x"], ["y"]])
  })
})

describe("rows of a file", () => {
  test("a finding stands below the last line that it cites, on the new side; others stand above the diff", () => {
    const on = finding("F1", { location: { path: "a.ts", line: 42, endLine: 43 }, citation: "verified" })
    const off = finding("F2", { location: { path: "a.ts", line: 900 }, citation: "no_line" })
    const rows = rowsOf([{ finding: on }, { finding: off }])
    expect(findingAt(rows, "F2")).toBe(0)
    expect(rows[0]).toMatchObject({ text: expect.stringContaining("line not in diff") })
    const at = findingAt(rows, "F1")
    expect(codeOf(rows[at - 1])).toMatchObject([{ kind: "add", new: 43 }])
  })

  test("in a file that is gone a finding stands on its old line", () => {
    const on = finding("F1", { location: { path: "a.ts", line: 2 }, citation: "verified" })
    const rows = rowsOf([{ finding: on }], {}, "@@ -1,2 +0,0 @@\n-one\n-two\n")
    expect(codeOf(rows[findingAt(rows, "F1") - 1])).toMatchObject([{ old: 2, text: "two" }])
  })

  test("beside each other: removed and added lines pair up, context on both sides, none is lost", () => {
    const rows = rowsOf([], { split: true })
    const pairs = rows.flatMap((row) => (row.kind === "code" ? [row.sides.map((side) => side?.text.trim())] : []))
    expect(pairs).toEqual([
      ["const res = await post(url, body)", "const res = await post(url, body)"],
      ["if (!res.ok) throw new DeliveryError(res.status)", "for (let n = 0; !res.ok && n < max; n++) {"],
      [undefined, "await sleep(delay(n))"],
      ["return res", "return res"],
      ["last()", "last()"],
      [undefined, "if (ok) {<202E> // <2066>begin"],
      ["", ""],
    ])
    const on = finding("F1", { location: { path: "a.ts", line: 41 }, citation: "verified" })
    expect(rowsOf([{ finding: on }], { split: true }).filter((row) => row.kind === "finding")).toHaveLength(3)
  })

  test.each([false, true])(
    "a folded hunk keeps its head with its size, its findings right below (split: %s)",
    (split) => {
      const first = finding("F1", { location: { path: "a.ts", line: 43 }, citation: "verified" })
      const second = finding("F2", { location: { path: "a.ts", line: 92 }, citation: "verified" })
      const rows = rowsOf([{ finding: first }, { finding: second }], { folded: new Set([1]), split })
      expect(codeOf(rows[findingAt(rows, "F1") - 1])?.at(-1)).toMatchObject({ new: 43 })
      const at = findingAt(rows, "F2")
      expect(rows[at - 1]).toMatchObject({ kind: "hunk", hunk: 1, text: expect.stringContaining("1 changed lines") })
      expect(rows.some((row) => codeOf(row)?.at(-1)?.new === 92)).toBe(false)
      expect(rows[0]).toMatchObject({ kind: "hunk", hunk: 0 })
    },
  )

  test("the cursor stops at each line and once at a box; keys name one row each", () => {
    const rows = rowsOf([{ finding: finding("F1", { detail: "a\nb" }) }])
    const stops = stopsOf(rows).map((index) => rows[index]!.key)
    expect(new Set(stops).size).toBe(stops.length)
    expect(stops).toContain("f:F1")
  })

  test("a URL of 900 characters is read in whole, wrapped into the width (C071)", () => {
    const url = `https://example.org/${"x".repeat(880)}`
    const rows = findingRows({ finding: finding("F1", { detail: url }) }, { cells: 40, generation: 1 })
    const text = rows.flatMap((row) => (row.kind === "finding" && row.part === "text" ? [row.text] : []))
    expect(text.slice(1).join("")).toBe(url)
    for (const line of text) expect(line.length).toBeLessThanOrEqual(37)
  })
})

describe("syntax", () => {
  const highlight: Highlighter = async (text) =>
    [...text.matchAll(/\b(const|return|for)\b/g)].map((found) => [
      found.index,
      found.index + found[0].length,
      "keyword",
    ])

  test("spans fall on their lines on both sides", async () => {
    const lines = patchLines(file())
    const colours = await colourLines(lines, "a.ts", highlight)
    const shown = [...colours].map(([line, spans]) => spans.map(({ span }) => line.text.slice(...span)).join())
    expect(shown.toSorted()).toEqual(["const", "for", "return"])
  })

  test("a very long change stays without colours, and no parser is asked", async () => {
    const patch = `@@ -0,0 +1,4000 @@\n${"+const x\n".repeat(4000)}`
    const colours = await colourLines(patchLines(file(patch)), "a.ts", () => Promise.reject(new Error("asked")))
    expect(colours.size).toBe(0)
  })
})

describe("the list", () => {
  const entry = (path: string, over = {}) => ({ path, kind: "modified", object: path, ...over })
  const input = (over: Partial<TreeInput> = {}): TreeInput => ({
    files: [entry(".husky/pre-commit", { mark: "hooks" }), entry("src/a.ts"), entry("src/b.ts"), entry("README.md")],
    judged: [
      { finding: finding("F2", { location: { path: "src/a.ts", line: 9 } }) },
      { finding: finding("F1", { location: { path: "src/a.ts", line: 3 } }) },
      { finding: finding("F3", { location: { path: "gone.ts", line: 1 } }) },
    ],
    filter: "",
    viewed: new Set(["src/b.ts"]),
    folded: new Set(),
    isOpen: ({ ruling }) => !ruling,
    ...over,
  })
  const names = (over: Partial<TreeInput> = {}) =>
    treeOf(input(over)).map((one) => (isItem(one) ? one.key : `# ${one.heading}`))

  test("what is to be read first, then by folder, findings in the order of lines, then what is out of the diff", () => {
    expect(names()).toEqual([
      "# Files 4",
      "# read first",
      "p:.husky/pre-commit",
      "# src",
      "p:src/a.ts",
      "f:F1",
      "f:F2",
      "p:src/b.ts",
      "p:README.md",
      "# Out of the diff 1",
      "f:F3",
    ])
  })

  test.each([
    ["src", ["p:src/a.ts", "p:src/b.ts"]],
    ["is:open", ["p:src/a.ts"]],
    ["is:viewed", ["p:src/b.ts"]],
    ["is:new src", ["p:src/a.ts"]],
    ["nowhere", []],
  ])("a filter %j", (filter, files) => {
    expect(names({ filter }).filter((name) => name.startsWith("p:"))).toEqual(files)
  })

  test("a folded folder stands for its files; a finding in a renamed file is found under both names", () => {
    expect(names({ folded: new Set(["src"]) })).toContain("d:src")
    expect(names({ folded: new Set(["src"]) })).not.toContain("p:src/a.ts")
    const renamed = [entry("new.ts", { from: "gone.ts" })]
    expect(names({ files: renamed })).toEqual(["# Files 1", "p:new.ts", "f:F3", "# Out of the diff 2", "f:F2", "f:F1"])
  })
})
