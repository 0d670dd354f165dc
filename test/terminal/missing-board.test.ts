import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startModel, text, type Model } from "../kit/model.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { startTui } from "../kit/terminal.ts"

let model: Model
let box: Sandbox
beforeAll(async () => {
  model = await startModel(() => text("Done."))
  box = await makeSandbox({ model, tui: { plugin: [] } })
})
afterAll(async () => {
  await box?.dispose()
  await model?.dispose()
})

test("a terminal UI that does not list the plugin is told once which file lacks which line", async () => {
  const tui = await startTui(box, { cols: 160, rows: 40 })
  try {
    const screen = await tui.waitFor("Kagan has no board here", 120_000)
    const words = screen.replace(/[^\x21-\x7e]+/g, "")
    expect(words).toContain(join(box.home, ".config/opencode/tui.json"))
    expect(words).toContain('lackstheline"plugin":["file://')
  } finally {
    await tui.stop()
  }
})
