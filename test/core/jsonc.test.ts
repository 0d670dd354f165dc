import fc from "fast-check"
import { expect, test } from "vitest"
import { parseJsonc } from "../../src/core/jsonc.ts"

test.each([
  ['{"a": 1}', { a: 1 }],
  ['\uFEFF{"a": 1}', { a: 1 }],
  ['{\n  // one\n  "a": 1, /* two\n lines */ "b": [1, 2,],\n}', { a: 1, b: [1, 2] }],
  ['{"url": "http://x//y", "c": "/* no */", "d": "a,]"}', { url: "http://x//y", c: "/* no */", d: "a,]" }],
  ['{"q": "\\"// still text", "e": "\\\\"}', { q: '"// still text', e: "\\" }],
  ["[1,\n// end\n]", [1]],
])("%j", (text, value) => expect(parseJsonc(text)).toEqual({ ok: true, value }))

test.each(["{", '{"a": }', '{"a": "x', "{'a': 1}", '{"a" 1}', ""])("%j is refused", (text) => {
  expect(parseJsonc(text).ok).toBe(false)
})

test("JSON stays what it is, with comments and trailing commas between", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = JSON.stringify(value, null, 1)
      const expected = JSON.parse(text) as unknown
      expect(parseJsonc(text)).toEqual({ ok: true, value: expected })
      expect(parseJsonc(`/* a */ ${text} // b`)).toEqual({ ok: true, value: expected })
      const commas = text.replace(/([^[{,\s])\n(\s*)([\]}])$/, "$1,\n$2$3")
      expect(parseJsonc(commas)).toEqual({ ok: true, value: expected })
    }),
  )
})
