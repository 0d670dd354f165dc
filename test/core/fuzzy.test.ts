import { describe, expect, test } from "vitest"
import { fuzzyFilter, fuzzyPlaces, fuzzyScore } from "../../src/core/fuzzy.ts"

describe("what is typed finds", () => {
  test.each([
    ["sonnet", "Claude Sonnet 4"],
    ["cs4", "Claude Sonnet 4"],
    ["son cla", "Claude Sonnet 4"],
    ["fiinto", "fix-invoice-total"],
    ["onn", "Claude Sonnet 4"],
    ["", "anything"],
    ["登录", "修复登录问题"],
  ])("%j in %j", (typed, text) => expect(fuzzyScore(typed, text)).toBeDefined())

  test.each([
    ["sonnex", "Claude Sonnet 4"],
    ["ntc", "Claude Sonnet 4"],
    ["son opus", "Claude Sonnet 4"],
  ])("not %j in %j", (typed, text) => expect(fuzzyScore(typed, text)).toBeUndefined())
})

test("the beginning of a word comes before the inside of one, and that before scattered letters", () => {
  const found = fuzzyFilter("ma", ["mint-apple", "format", "main", "release/main", "other"], (name) => name)
  expect(found).toEqual(["main", "release/main", "format", "mint-apple"])
})

test.each([
  ["sonnet", "Claude Sonnet 4", "       ^^^^^^  "],
  ["cs4", "Claude Sonnet 4", "^      ^      ^"],
  ["son cla", "Claude Sonnet 4", "^^^    ^^^     "],
  ["fiinto", "fix-invoice-total", "^^  ^^      ^^   "],
  ["", "anything", "        "],
  ["none", "anything", "        "],
  ["登录", "修复登录问题", "  ^^  "],
  ["i", "İi", "  "],
])("%j is found in %j at its letters", (typed, text, marks) => {
  const places = fuzzyPlaces(typed, text)
  expect(Array.from({ length: marks.length }, (_, at) => (places.has(at) ? "^" : " ")).join("")).toBe(marks)
})

test("equals keep their order, and nothing typed keeps all", () => {
  const names = ["b main", "a main", "c main"]
  expect(fuzzyFilter("main", names, (name) => name)).toEqual(names)
  expect(fuzzyFilter("  ", names, (name) => name)).toBe(names)
})

test("text without end is searched in bounded time", () => {
  expect(fuzzyScore("abababababababab", "a b ".repeat(50_000))).toBeDefined()
  expect(fuzzyScore("abababababababax", "a b ".repeat(50_000))).toBeUndefined()
})
