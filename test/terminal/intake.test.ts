import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { defaultKaganScript } from "../kit/model-script.ts"
import { startModel, toolCalls, type Model, type RecordedRequest } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { board, cardIn, onBoard } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** Intake at the size of a plain terminal: asked again, overridden, put in the person's words, and split in three. */
let model: Model
let box: Sandbox
let tui: Terminal

const SPLIT = [
  { title: "Write the greeting", description: "Into a file of its own." },
  { title: "Greet by name", description: "The name comes first.", dependsOn: [0] },
  { title: "Greet in three languages", description: "German and French as well.", dependsOn: [1] },
]

const all = (request: RecordedRequest | undefined) => request?.messages.map((one) => one.text).join("\n") ?? ""
const taskIn = (request: RecordedRequest) => /Please do task #(\d+)/.exec(all(request))?.[1] ?? "x"

oneStory()
beforeAll(async () => {
  const script = defaultKaganScript({ file: (request) => `part-${taskIn(request)}.txt` })
  model = await startModel((request, nth) => {
    if (request.toolResults.length > 0) return script(request, nth)
    if (request.kind === "validator")
      return toolCalls({ name: "kagan_findings", args: { summary: "I have read it.", findings: [] } })
    if (request.kind !== "intake") return script(request, nth)
    const again = all(request).includes("Mind the tone.")
    return toolCalls({
      name: "kagan_intake",
      args: {
        understanding: again ? "Greetings, in a friendly tone." : "Greetings are wanted.",
        decisions: [{ question: "Who is greeted?", assumption: "Everybody", required: true }],
        instruction: "Write greetings.",
        mode: "assisted",
        modeReason: "People read them.",
        split: SPLIT,
      },
    })
  })
  box = await makeSandbox({ model, files: { "README.md": "# Sample\n" } })
  tui = await startTui(box, { cols: 80, rows: 24 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
  await tui.waitGone("connecting")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

/** Nothing is wider than the screen. */
function fits(screen: string) {
  expect(Math.max(...screen.split("\n").map((line) => Bun.stringWidth(line)))).toBeLessThanOrEqual(80)
  return screen
}

describe("intake, at 80×24", () => {
  test("i shows what was understood and proposed; r asks again with a remark", async () => {
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("Greet everywhere")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "backlog", "1 answer needed"))
    await tui.press("i")
    const dialog = fits(await tui.waitFor("Who is greeted?"))
    expect(dialog).toContain("Understood: Greetings are wanted.")
    expect(dialog).toContain("it proposes 3 tasks")
    expect(dialog).toContain("Enter approve · o override")
    expect(dialog).toContain("s split")
    await command(tui, "kagan.answers.again", "The intake reads again with your remark")
    await tui.type("Mind the tone.")
    await tui.press("enter")
    await model.waitForRequest((request) => request.kind === "intake" && all(request).includes("Mind the tone."))
    await tui.waitFor(cardIn(1, "backlog", "1 answer needed"))
    await tui.press("i")
    await tui.waitFor("in a friendly tone")
  })

  test("s starts nothing before the decisions are made; o overrides one", async () => {
    const preview = fits(await command(tui, "kagan.answers.split", "Split #1 into 3 tasks"))
    expect(preview).toMatch(/2 Greet by name[\s│]+after 1/)
    await tui.press("ctrl+enter")
    await tui.waitFor("1 required decision is open")
    await command(tui, "kagan.split.back", "Who is greeted?")
    await command(tui, "kagan.answers.override", "your answer")
    await tui.type("Only the reader")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "backlog", "ready"))
    await tui.press("i")
    await tui.waitFor("yours: Only the reader")
  })

  test("e puts what the agent is told into the person's words", async () => {
    await command(tui, "kagan.answers.edit", "what the agent is told")
    await tui.type(" Short ones.")
    await tui.press("enter")
    await tui.waitFor("yours: Only the reader")
    const dialog = fits(await command(tui, "kagan.text.down", "in your words"))
    expect(dialog).toContain("Write greetings. Short ones.")
    await command(tui, "kagan.text.up", "Understood: Greetings")
  })
})

describe("a split", () => {
  test("puts three tasks in the place of the one, and starts the first", async () => {
    await tui.press("s")
    await tui.waitFor("Split #1 into 3 tasks")
    await command(
      tui,
      "kagan.split.start",
      onBoard("#4 is queued", (seen) => seen.column("backlog").has("queued after #3")),
    )
    const seen = board(tui.screen())
    expect(seen.card(1)).toBeUndefined()
    expect(seen.card(3)?.lines.join(" ")).toContain("queued after #2")
    expect(seen.card(4)?.lines.join(" ")).toContain("queued after #3")
    await tui.press("3")
    await tui.waitFor(cardIn(2, "review", "no findings"))
    // Nobody reads for a part that was agreed on as part of the whole.
    expect(
      model.requests.filter(({ kind, toolResults }) => kind === "intake" && toolResults.length === 0),
    ).toHaveLength(2)
    const work = model.requests.find(({ kind }) => kind === "work")
    expect(work?.lastUser).toBe("Please do task #2: Write the greeting")
    expect(all(work)).toContain("Part 1 of 3 of #1 (Greet everywhere)")
    expect(all(work)).toContain("Who is greeted?\n  Only the reader")
  })

  test("each part starts when the one before it is done", async () => {
    for (const [number, next] of [
      [2, 3],
      [3, 4],
    ] as const) {
      await tui.press("3")
      await tui.waitFor(onBoard(`#${number} under the cursor`, (seen) => seen.selected?.number === number))
      await tui.press("a")
      await tui.waitFor(/into main at [0-9a-f]{7}/)
      expect(model.requests.some((request) => request.lastUser.startsWith(`Please do task #${next}`))).toBe(false)
      await tui.press("enter")
      await tui.waitFor(cardIn(next, "review", "no findings"))
    }
    const started = model.requests.filter(({ lastUser }) => lastUser.startsWith("Please do task")).map(taskIn)
    expect([...new Set(started)]).toEqual(["2", "3", "4"])
  })

  test("the task that was split is in the archive, with its answers", async () => {
    await tui.press("/")
    await tui.type("is:archived")
    await tui.press("enter", "1")
    await tui.waitFor(cardIn(1, "backlog", "ready"))
  })
})
