import { describe, expect, test } from "vitest"
import {
  describeChange,
  fileMark,
  hunksContain,
  readingOrder,
  unifiedText,
  verifyCitation,
  type DiffFile,
} from "../../src/core/diff.ts"

const file = (over: Partial<DiffFile> = {}): DiffFile => ({
  path: "a.ts",
  kind: "modified",
  nature: "text",
  oldMode: "100644",
  newMode: "100644",
  oldObject: "1".repeat(40),
  newObject: "2".repeat(40),
  insertions: 1,
  deletions: 1,
  hunks: [
    {
      oldStart: 10,
      oldLines: 3,
      newStart: 12,
      newLines: 4,
      heading: "function f()",
      added: [{ start: 13, end: 14 }],
      removed: [{ start: 11, end: 11 }],
      text: " x\n-y\n+z\n+zz\n w\n",
    },
  ],
  ...over,
})
const diff = (...files: DiffFile[]) => ({ from: "a", to: "b", files, insertions: 0, deletions: 0 })

test("a hunk contains what it shows, and a range that touches it", () => {
  expect([11, 12, 15, 16].map((line) => hunksContain(file(), line))).toEqual([false, true, true, false])
  expect(hunksContain(file(), 1, 12)).toBe(true)
  expect(hunksContain(file(), 16, 99)).toBe(false)
})

test("of a deleted file the old lines count", () => {
  const gone = file({
    kind: "deleted",
    hunks: [{ ...file().hunks[0]!, oldStart: 1, oldLines: 3, newStart: 0, newLines: 0 }],
  })
  expect(verifyCitation(diff(gone), { path: "a.ts", line: 3 })).toBe("verified")
  expect(verifyCitation(diff(gone), { path: "a.ts", line: 4 })).toBe("no_line")
})

describe("a cited file", () => {
  const files = diff(
    file({ path: "b/a.ts" }),
    file({ path: "ü.ts" }),
    file({ path: "new.ts", oldPath: "old.ts", kind: "renamed" }),
  )
  test.each([
    ["b/a.ts", "file"],
    ["./b/a.ts", "file"],
    ["u\u0308.ts", "file"],
    ["b/ü.ts", "file"],
    ["old.ts", "file"],
    ["a.ts", "no_file"],
    ["", "none"],
  ])("named %j is %s", (path, verdict) => expect(verifyCitation(files, { path })).toBe(verdict))
})

test("what decides more than its own content is marked and read first, the order is otherwise kept", () => {
  const marked: Record<string, string | undefined> = {
    "opencode.jsonc": "opencode",
    "sub/.OpenCode/agent/x.md": "opencode",
    "src/.gitattributes": "attributes",
    ".gitmodules": "attributes",
    ".husky/pre-commit": "hooks",
    "lefthook.yml": "hooks",
    "CLAUDE.md": "instructions",
    "src/opencode.ts": undefined,
    "docs/agents.md.txt": undefined,
  }
  for (const [path, mark] of Object.entries(marked)) expect(fileMark(path), path).toBe(mark)
  const files = [file({ path: "b" }), file({ path: "x", mark: "hooks" }), file({ path: "a" })]
  expect(readingOrder(files).map((one) => one.path)).toEqual(["x", "b", "a"])
})

test.each([
  [file(), "modified"],
  [file({ kind: "added", oldMode: "000000", insertions: 0 }), "added empty"],
  [file({ kind: "mode", newMode: "100755" }), "mode 644→755"],
  [file({ kind: "renamed", oldPath: "b.ts", newMode: "100755" }), "renamed from b.ts 644→755"],
  [file({ kind: "type", nature: "link", oldNature: "text" }), "file → link"],
  [file({ nature: "binary" }), "modified binary"],
  [file({ nature: "submodule" }), "submodule 11111111 → 22222222"],
])("a change is named in a few words (%#)", (one, words) => expect(describeChange(one)).toBe(words))

test("the text of a file is bounded and says when it is cut", () => {
  expect(unifiedText(file())).toEqual({ text: `@@ -10,3 +12,4 @@ function f()\n${file().hunks[0]!.text}`, cut: false })
  const cut = unifiedText(file(), 20)
  expect(cut).toEqual({ text: "@@ -10,3 +12,4 @@ fu\n", cut: true })
  expect(unifiedText(file({ cut: { lines: 1, bytes: 9 } })).cut).toBe(true)
})
