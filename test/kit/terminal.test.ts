import { afterAll, beforeAll, expect, test } from "vitest"
import { startModel, text, type Model } from "./model.ts"
import { isAlive, markedProcesses } from "./processes.ts"
import { makeSandbox, type Sandbox } from "./sandbox.ts"
import { startTui, type Terminal } from "./terminal.ts"

let model: Model
let sandbox: Sandbox
let tui: Terminal

beforeAll(async () => {
  model = await startModel((request) => text(request.kind === "title" ? "Bench" : `You said: ${request.lastUser}`))
  sandbox = await makeSandbox({ plugin: false, model })
  tui = await startTui(sandbox, { cols: 100, rows: 30 })
})
afterAll(async () => {
  await tui?.stop()
  await sandbox?.dispose()
  await model?.dispose()
})

test("the home screen of the real terminal UI is read, resized, and saved with colours", async () => {
  await tui.waitFor("Model One")
  const before = tui.lines().length
  tui.resize(80, 24)
  await tui.waitFor((screen) => screen.includes("Model One") && screen.split("\n").length === 24)
  expect(before).toBe(30)
  const picture = tui.svg()
  expect(picture).toContain("Model One")
  expect(new Set(picture.match(/fill="#[0-9a-f]{6}"/g)).size).toBeGreaterThan(3)
})

test("keys open and close the palette, and a typed prompt is answered on the screen", async () => {
  await tui.press("ctrl+p")
  await tui.waitFor("Commands")
  await tui.press("esc")
  await tui.waitGone("Commands")
  await tui.type("Hello ")
  await tui.paste("pasted")
  await tui.waitFor("Hello pasted")
  await tui.press("enter")
  await tui.waitFor("You said: Hello pasted")
})

test("what is not seen in time is reported with the screen and the log", async () => {
  await expect(tui.waitFor("This is nowhere", 50)).rejects.toThrow(/This is nowhere[\s\S]*screen[\s\S]*log[\s\S]*\w/)
})

test("quitting ends the program in order and leaves no process", async () => {
  await tui.quit()
  expect(await tui.exited).toBe(0)
  expect(isAlive(tui.pid)).toBe(false)
  expect(markedProcesses(sandbox.root)).toEqual([])
})
