import { readdir } from "node:fs/promises"
import { afterAll, beforeAll, expect, test } from "vitest"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { firstAddedLine } from "../kit/model-script.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"
import { hostileText } from "../tui/hostile.ts"

/*
 * A card whose intake, work, diff and review are random bytes and terminal sequences, seen in the real terminal UI on
 * every surface of ours: the terminal's title, clipboard and modes stay as they are, and nothing of it is run.
 */

let model: Model
let box: Sandbox
let tui: Terminal

const say = hostileText(11)
const long = () => Array.from({ length: 5 }, say).join("\n")

beforeAll(async () => {
  model = await startModel((request) => {
    if (request.toolResults.length > 0) return text(long())
    switch (request.kind) {
      case "intake":
        return toolCalls({
          name: "kagan_intake",
          args: {
            understanding: `Understood ${long()}`,
            decisions: [{ question: `Which ${say()}`, assumption: `This ${say()}`, required: true }],
            instruction: `Do ${long()}`,
            mode: "autonomous",
            modeReason: say(),
          },
        })
      case "validator": {
        const added = firstAddedLine(request.messages.map((message) => message.text).join("\n"))
        const location = added ? { location: `${added.file}:${added.line}` } : {}
        return toolCalls({
          name: "kagan_findings",
          args: {
            summary: long(),
            findings: [1, 2, 3].map((n) => ({
              kind: "bug",
              severity: "low",
              confidence: n,
              title: `Found ${n} ${say()}`,
              detail: long(),
              ...location,
            })),
          },
        })
      }
      default:
        return toolCalls(
          { name: "write", args: { filePath: "hostile.txt", content: `${long()}\n$(touch pwned)\n` } },
          {
            name: "bash",
            args: {
              command: String.raw`printf '\033]0;pwned\007\033[2J\007\033]52;c;cHduZWQ=\007'`,
              description: say(),
            },
          },
        )
    }
  })
  box = await makeSandbox({ model })
  tui = await startTui(box, { cols: 120, rows: 36 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
  await tui.waitGone(/connecting|look only/)
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

test("random bytes through a whole life on the real screen", async () => {
  const before = tui.effects()
  const unchanged = () => {
    const now = tui.effects()
    expect({ ...now, titles: [], bells: 0 }).toEqual({ ...before, titles: [], bells: 0 })
    expect(now.titles.join("")).not.toContain("pwned")
  }
  await tui.press("n")
  await tui.waitFor("New task")
  await tui.paste(`Hostile ${say().replaceAll("\n", " ").slice(0, 60)}`)
  await tui.press("tab")
  await tui.paste(`About ${long()}`)
  await tui.press("enter")
  await tui.waitGone("New task")
  await tui.waitFor(/#1 Hostile/)
  await tui.waitFor("needs answers")
  unchanged()
  await tui.press("space")
  await tui.waitFor("Understood")
  await tui.press("space", "i")
  await tui.waitFor("Which")
  unchanged()
  await tui.press("enter")
  await tui.waitFor("✓ ready")
  await tui.press("esc", "m", "p")
  await tui.waitFor(/Review\s+1/, 120_000)
  unchanged()
  await tui.waitFor("needs triage", 120_000)
  await tui.press("esc", "3", "space")
  await tui.press("space", "v")
  await tui.waitFor("Found 1")
  unchanged()
  for (let n = 0; n < 3; n++) await tui.press("n", "pagedown")
  unchanged()
  await tui.press("q")
  await tui.waitFor("Backlog")
  await tui.press("N")
  await tui.waitFor("Notices")
  unchanged()
  expect(await readdir(box.repo.dir)).not.toContain("pwned")
})
