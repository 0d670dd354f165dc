import fc from "fast-check"
import { describe, expect, test } from "vitest"
import { entryParts, withEntry, withOption, withSpec, writtenEntries } from "../../src/core/config-edit.ts"
import { parseJsonc } from "../../src/core/jsonc.ts"
import type { Result } from "../../src/core/result.ts"

function value<T>(result: Result<T, string>): T {
  if (!result.ok) throw new Error(result.error)
  return result.value
}
const read = (text: string) => value(parseJsonc(text)) as any

const FILE = `// mine
{
  "$schema": "https://opencode.ai/config.json", // keep
  /* two */
  "plugin": [
    "other@1.2.3", // before
    ["/path/to/kagan", {
      // how many
      "inProgressLimit": 3,   /* odd   spacing */
      "merge": { "strategy": "merge" },
    }],
  ],
  "model":   "a/b",
}
`

describe("one option", () => {
  test("is changed in its place, and not a character elsewhere", () => {
    expect(value(withOption(FILE, 1, "inProgressLimit", 5))).toBe(FILE.replace("3,   /*", "5,   /*"))
  })

  test("is added to the entry, in a group too; comments stay", () => {
    const text = value(withOption(value(withOption(FILE, 1, "mouse", false)), 1, "intake.retries", 4))
    expect(read(text).plugin[1][1]).toEqual({
      inProgressLimit: 3,
      merge: { strategy: "merge" },
      mouse: false,
      intake: { retries: 4 },
    })
    for (const comment of ["// mine", "// keep", "/* two */", "// before", "// how many", "/* odd   spacing */"]) {
      expect(text).toContain(comment)
    }
    expect(text).toContain('"model":   "a/b"')
  })

  test("is taken out, with the group that it leaves empty", () => {
    expect(read(value(withOption(FILE, 1, "merge.strategy", undefined))).plugin[1][1]).toEqual({ inProgressLimit: 3 })
    expect(value(withOption(FILE, 0, "mouse", undefined))).toBe(FILE)
  })

  test("of an entry that is only a spec makes it a pair", () => {
    const text = value(withOption(FILE, 0, "intake.enabled", false))
    expect(read(text).plugin[0]).toEqual(["other@1.2.3", { intake: { enabled: false } }])
    expect(text).toContain("// before")
  })

  test("replaces what is no group", () => {
    const text = value(withOption('{"plugin":[["k",{"intake":true}]]}', 0, "intake.retries", 2))
    expect(read(text).plugin[0][1]).toEqual({ intake: { retries: 2 } })
  })

  test.each([
    ["[]", "it is no object"],
    ["{", "it cannot be read: a fault at line 1"],
    ['{"plugin": 3}', '"plugin" is not a list'],
    ['{"plugin": []}', "the entry is not there any more"],
    ['{"plugin": [{}]}', "the entry is not there any more"],
  ])("of %s: %s", (text, reason) => {
    expect(withOption(text, 0, "mouse", false)).toEqual({ ok: false, error: reason })
    expect(withSpec(text, 0, "x")).toMatchObject({ ok: false })
  })
})

test("an entry is renamed alone, whichever form it has", () => {
  expect(value(withSpec(FILE, 0, "other@2.0.0"))).toBe(FILE.replace("other@1.2.3", "other@2.0.0"))
  expect(value(withSpec(FILE, 1, "kagan@2"))).toBe(FILE.replace("/path/to/kagan", "kagan@2"))
})

test("an entry is added behind the others, to a file without one, and to an empty one", () => {
  expect(read(value(withEntry(FILE, "k", { mouse: false }))).plugin).toHaveLength(3)
  expect(value(withEntry(FILE, "k"))).toContain("// before")
  expect(read(value(withEntry('{"model":"a/b"}', "k")))).toEqual({ model: "a/b", plugin: ["k"] })
  expect(read(value(withEntry("", "k")))).toEqual({ plugin: ["k"] })
})

test("tabs, line ends and a byte order mark stay", () => {
  const text = '\uFEFF{\r\n\t"plugin": [\r\n\t\t["k", {}]\r\n\t]\r\n}\r\n'
  const edited = value(withOption(text, 0, "mouse", false))
  expect(edited.startsWith("\uFEFF{\r\n\t")).toBe(true)
  expect(edited.replaceAll("\r\n", "")).not.toContain("\n")
  expect(edited).toContain('\t"mouse": false')
})

test("an entry is a spec or a pair", () => {
  expect(entryParts("a")).toEqual({ spec: "a" })
  expect(entryParts(["a", { b: 1 }])).toEqual({ spec: "a", options: { b: 1 } })
  for (const other of [3, null, {}, [], [1]]) expect(entryParts(other)).toBeUndefined()
})

test("whatever the file holds, exactly that option of that entry differs afterwards", () => {
  const key = fc.stringMatching(/^[a-z]{1,8}$/)
  const options = fc.dictionary(key, fc.oneof(fc.integer(), fc.string(), fc.boolean()), { maxKeys: 4 })
  const entry = fc.oneof(fc.string(), fc.tuple(fc.string(), options))
  const file = fc.record({
    plugin: fc.array(entry, { minLength: 1, maxLength: 4 }),
    more: fc.jsonValue({ maxDepth: 2 }),
    indent: fc.constantFrom(undefined, 2, 4, "\t"),
  })
  fc.assert(
    fc.property(file, fc.nat(), key, fc.oneof(fc.integer(), fc.constant(undefined)), (made, nth, name, next) => {
      const { plugin, more } = JSON.parse(JSON.stringify(made)) as { plugin: unknown[]; more: unknown }
      const index = nth % plugin.length
      const text = `// top\n${JSON.stringify({ more, plugin }, undefined, made.indent)}\n// end`
      const edited = value(withOption(text, index, name, next))
      const before = entryParts(plugin[index])!
      const wanted = { ...(before.options as object), [name]: next }
      const after = value(writtenEntries(edited))
      expect(entryParts(after[index])).toEqual({
        spec: before.spec,
        ...(before.options === undefined && next === undefined ? {} : { options: JSON.parse(JSON.stringify(wanted)) }),
      })
      expect(after.toSpliced(index, 1)).toEqual(plugin.toSpliced(index, 1))
      expect(read(edited).more).toEqual(more)
      expect(edited).toMatch(/^\/\/ top\n[\s\S]*\n\/\/ end$/)
    }),
  )
})
