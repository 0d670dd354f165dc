import { expect, test } from "vitest"
import { wholeFrames } from "./frames.ts"

function feed(...chunks: string[]): string[] {
  const passed: string[] = []
  const write = wholeFrames((bytes) => passed.push(Buffer.from(bytes).toString()))
  for (const chunk of chunks) write(Buffer.from(chunk))
  return passed
}

const frame = (text: string) => `\x1b[?2026h${text}\x1b[?2026l`

test("a frame is passed on when it is whole, and what is outside of frames at once", () => {
  expect(feed("before", "\x1b[?2026hon", "e", "\x1b[?2026l", "after")).toEqual(["before", frame("one"), "after"])
})

test("frames that come in one piece are passed on together, except one that has only begun", () => {
  expect(feed(`${frame("one")}x\x1b[?2026htw`, "o\x1b[?2026l")).toEqual([`${frame("one")}x`, frame("two")])
})

test("a marker may be cut anywhere", () => {
  const bytes = `a${frame("one")}b`
  for (let at = 1; at < bytes.length; at++) {
    const passed = feed(bytes.slice(0, at), bytes.slice(at))
    expect(passed.join("")).toBe(bytes)
    expect(passed.some((part) => part.includes("one") && !part.includes(frame("one")))).toBe(false)
  }
})

test("an escape at the end that begins nothing is passed on in the end", async () => {
  const passed: string[] = []
  const write = wholeFrames((bytes) => passed.push(Buffer.from(bytes).toString()))
  write(Buffer.from("a\x1b"))
  await expect.poll(() => passed.join(""), { timeout: 60_000 }).toBe("a\x1b")
})
