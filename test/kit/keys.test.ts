import { parseKeypress } from "@opentui/core"
import { expect, test } from "vitest"
import { keyBytes } from "./keys.ts"

test.each([
  ["enter", "return", ""],
  ["esc", "escape", ""],
  ["tab", "tab", ""],
  ["shift+tab", "tab", "shift"],
  ["space", "space", ""],
  ["backspace", "backspace", ""],
  ["delete", "delete", ""],
  ["up", "up", ""],
  ["shift+up", "up", "shift"],
  ["ctrl+right", "right", "ctrl"],
  ["pagedown", "pagedown", ""],
  ["home", "home", ""],
  ["j", "j", ""],
  ["J", "j", "shift"],
  ["?", "?", ""],
  ["ctrl+x", "x", "ctrl"],
  ["ctrl+enter", "return", "ctrl"],
  ["shift+enter", "return", "shift"],
])("the host understands the bytes of %s as %s with %s", (key, name, modifier) => {
  const heard = parseKeypress(keyBytes(key))!
  expect(heard.name).toBe(name)
  const modifiers = (["ctrl", "shift", "meta"] as const).filter((one) => heard[one])
  expect(modifiers.join("+")).toBe(modifier)
})

test("a key that does not exist is an error", () => {
  expect(() => keyBytes("entr")).toThrow("no such key: entr")
  expect(() => keyBytes("hyper+a")).toThrow("no such key: hyper+a")
})
