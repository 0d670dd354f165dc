import { describe, expect, test } from "vitest"
import { compareSurroundings, readBaseline, trespassLines, type Surroundings } from "../../src/core/containment.ts"

const quiet: Surroundings = { files: { "a.txt": "1" }, settings: { "core.editor": "1" }, hooks: { "pre-commit": "1" } }

describe("what changed around a task", () => {
  test("nothing, when nothing did", () => {
    expect(trespassLines(compareSurroundings(quiet, quiet))).toEqual([])
  })

  test("a new dirty file, and one that was dirty and changed again; not one that became clean", () => {
    const now = { ...quiet, files: { "a.txt": "2", "src/x.ts": "1" } }
    expect(compareSurroundings(quiet, now).files).toEqual(["a.txt", "src/x.ts"])
    expect(compareSurroundings(quiet, { ...quiet, files: {} }).files).toEqual([])
  })

  test("settings and hooks that came, went or changed, also ones with the names of things that every object has", () => {
    const now = { ...quiet, settings: { "core.hookspath": "1", constructor: "1" }, hooks: { "pre-commit": "2" } }
    const found = compareSurroundings(quiet, now)
    expect(found.settings).toEqual(["constructor", "core.editor", "core.hookspath"])
    expect(found.hooks).toEqual(["pre-commit"])
  })

  test("is said in a line per kind, with hostile names made harmless and long lists cut", () => {
    const files = ["\u001b[31mred\nline", ...Array.from({ length: 20 }, (_, at) => `f${at}`)]
    const [line, ...others] = trespassLines({ files, settings: [], hooks: [] })
    expect(others).toEqual([])
    expect(line).toContain("Your own checkout changed during this task")
    expect(line).toContain("and 16 more")
    expect(/\p{Cc}/u.test(line ?? "")).toBe(false)
  })

  test("a stored baseline is read whole or not at all", () => {
    const good = { v: 1, generation: 1, at: 5, ...quiet }
    expect(readBaseline(JSON.parse(JSON.stringify(good)))).toEqual(good)
    for (const bad of [
      undefined,
      null,
      3,
      {},
      { ...good, v: 2 },
      { ...good, files: { a: 1 } },
      { ...good, hooks: undefined },
    ])
      expect(readBaseline(bad)).toBeUndefined()
  })
})
