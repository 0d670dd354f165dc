import { expect, test } from "vitest"
import { makeTail } from "../../src/server/tail.ts"

test("of chunks of any length the last bytes are kept, as they came", () => {
  for (let round = 0; round < 200; round++) {
    const size = 1 + (round % 17)
    const tail = makeTail(size)
    let all = ""
    for (let n = 0; n < 12; n++) {
      const chunk = `${round}-${n}`.repeat((round * 7 + n * 5) % 6)
      all += chunk
      tail.take(Buffer.from(chunk))
      expect(tail.end().toString()).toBe(all.slice(-size))
      expect(tail.end(3).toString()).toBe(all.slice(-Math.min(3, size)))
    }
  }
})
