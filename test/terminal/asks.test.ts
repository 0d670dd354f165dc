import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { hang, startModel, text, toolCalls, type Model, type RecordedRequest, type Reply } from "../kit/model.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** An agent that asks at every turn, answered without leaving the board. */
let model: Model
let box: Sandbox
let tui: Terminal
/** What the agent does at its next requests, one after the other. */
let next: ((request: RecordedRequest) => Reply)[] = []

const run = (command: string) => toolCalls({ name: "bash", args: { command, description: "a command" } })
const question = (question: string, ...labels: string[]) =>
  toolCalls({
    name: "question",
    args: {
      questions: [{ question, header: "Choice", options: labels.map((label) => ({ label, description: label })) }],
    },
  })

oneStory()
beforeAll(async () => {
  model = await startModel((request) => {
    if (request.kind === "work") return next.shift()?.(request) ?? text("I have nothing to do.")
    if (request.kind !== "validator" || request.toolResults.length > 0) return text("Done.")
    return toolCalls({ name: "kagan_findings", args: { summary: "Nothing to say.", findings: [] } })
  })
  const foreman = { mode: "subagent", description: "Has others do it", permission: { task: "allow" } }
  box = await makeSandbox({ model, config: { permission: { bash: "ask" }, agent: { foreman }, subagent_depth: 2 } })
  tui = await startTui(box, { cols: 80, rows: 24 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const says = (words: string | RegExp) => cardIn(1, "in_progress", words)
const working = (words: string | RegExp) => tui.waitFor(says(words))

describe("what an agent asks is answered on the board", () => {
  test("ctrl+enter creates and starts, with a reason for leaving out the intake", async () => {
    next = [() => run("echo one > one.txt")]
    await tui.press("n")
    await tui.waitFor("New task")
    await tui.type("Tidy up the cellar")
    await tui.press("ctrl+enter")
    await tui.waitFor("Start without intake: why?")
    await tui.press("enter")
    await working("asks: run echo one > one.txt")
  })

  test("y allows a command once", async () => {
    next = [() => run("touch two.txt")]
    await command(tui, "kagan.allow", says("asks: run touch two.txt"))
  })

  test("ctrl+y allows the like of it always", async () => {
    next = [() => run("touch three.txt"), () => run("rm -rf cellar && echo that nothing of it is left")]
    // The third is not asked about.
    await command(tui, "kagan.always", says("asks: run rm -rf cellar"))
  })

  test("x rejects one, with a word that the agent gets", async () => {
    next = [() => question("Which colour?", "Red", "Blue")]
    // Its card has no room for all of it.
    await tui.press("y")
    await tui.waitFor("rm -rf cellar && echo that nothing of it is left")
    await tui.waitFor("Allow it once")
    await tui.press("esc")
    await tui.waitGone("Allow it once")
    await command(tui, "kagan.reject", "Reject what #1 asks")
    await tui.type("Leave the cellar alone.")
    await tui.press("enter")
    await working("asks: Which colour?")
    expect(model.requests.at(-1)?.toolResults.join("\n")).toContain("Leave the cellar alone.")
  })

  test("a question is answered by one of its options", async () => {
    next = [() => question("What is its name?", "Nobody")]
    await tui.press("y")
    await tui.waitFor("Blue")
    await tui.press("2")
    await working("asks: What is its name?")
    expect(model.requests.at(-1)?.toolResults.join("\n")).toContain("Blue")
  })

  test("or in one's own words", async () => {
    next = [() => question("Shall I go on?", "Yes")]
    await tui.press("y")
    await tui.waitFor("Nobody")
    await tui.press("w")
    await tui.type("Aurora")
    await tui.press("enter")
    await working("asks: Shall I go on?")
    expect(model.requests.at(-1)?.toolResults.join("\n")).toContain("Aurora")
  })

  test("a dismissed question ends the turn, and r resumes it", async () => {
    next = [() => hang("I am thinking")]
    await tui.press("x")
    await tui.waitFor("Dismiss the question of #1?")
    await tui.press("y")
    await working("dismissed")
    await command(tui, "kagan.retry", says("● working"))
    await model.waitForRequest((request) => request.lastUser.includes("Please go on"))
  })
})

describe("what its sub-agents ask stands on its card, and is answered there", () => {
  const delegate = (prompt: string, agent: string) =>
    toolCalls({ name: "task", args: { description: "a part of it", prompt, subagent_type: agent } })

  test("also two generations down", async () => {
    next = [
      () => delegate("See to the floor.", "foreman"),
      () => delegate("Sweep it.", "general"),
      () => run("sweep floor"),
    ]
    await command(tui, "kagan.stop", says("stopped by you"))
    await tui.press("r")
    await working("asks: run sweep floor")
    expect(model.requests.at(-1)?.lastUser).toContain("Sweep it.")
    next = [() => text("Swept."), () => text("Seen to."), () => hang("I am thinking")]
    await tui.press("y")
    await working("● working")
    await model.waitForRequest((request) => request.toolResults.some((result) => result.includes("Seen to.")))
  })
})

describe("a word to the agent", () => {
  test("t while it works is kept for its next step, X stops it", async () => {
    await command(tui, "kagan.tell", "Tell the agent of #1")
    await tui.type("Mind the step.")
    await tui.press("enter")
    await tui.waitFor("read at the next step")
    await tui.press("X")
    await working("stopped")
  })

  test("t while it rests starts it with that word, and what was told before is there", async () => {
    next = [() => text("Finished.")]
    const before = model.count()
    await tui.press("t")
    await tui.waitFor("Tell the agent of #1")
    await tui.type("Go on, carefully.")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "review", "no findings"))
    const request = model.requests[before]!
    expect(request.kind).toBe("work")
    expect(request.lastUser).toContain("Go on, carefully.")
    expect(request.messages.map((one) => one.text).join("\n")).toContain("Mind the step.")
  })
})
