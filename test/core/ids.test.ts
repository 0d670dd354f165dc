import fc from "fast-check"
import { expect, test } from "vitest"
import { messageID, partID } from "../../src/core/ids.ts"

test("ids have the host's form and follow from time and seed", () => {
  const at = Date.UTC(2030, 0, 1)
  expect(messageID(at, "a")).toMatch(/^msg_[0-9a-f]{12}[0-9A-Za-z]{14}$/)
  expect(partID(at, "a")).toMatch(/^prt_[0-9a-f]{12}[0-9A-Za-z]{14}$/)
  expect(messageID(at, "a")).toBe(messageID(at, "a"))
  expect(messageID(at, "a") < messageID(at + 1, "a")).toBe(true)
})

test("no two seeds share an id", () => {
  const seen = new Map<string, string>()
  for (let n = 0; n < 20_000; n++) {
    for (const seed of [`intake:ses_${n}`, `resume:msg_${n}`]) {
      const id = messageID(0, seed)
      expect(seen.get(id)).toBeUndefined()
      seen.set(id, seed)
    }
  }
  fc.assert(
    fc.property(fc.string(), fc.string(), (one, other) => {
      expect(messageID(7, one) === messageID(7, other)).toBe(one === other)
      expect(messageID(7, one).slice(4)).not.toBe(partID(7, one).slice(4))
    }),
  )
})
