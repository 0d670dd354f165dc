import { existsSync } from "node:fs"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { startModel, toolCalls, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { command } from "../kit/press.ts"
import { makeSandbox, type Sandbox } from "../kit/sandbox.ts"
import { cardIn } from "../kit/screen-board.ts"
import { oneStory } from "../kit/story.ts"
import { startTui, type Terminal } from "../kit/terminal.ts"

/** The base moves on while tasks are in Review: said by itself, brought in on one key, and a conflict goes to the agent. */
let model: Model
let box: Sandbox
let tui: Terminal

oneStory()
beforeAll(async () => {
  const script = defaultKaganScript()
  model = await startModel((request, nth) => {
    if (request.kind === "validator" && request.toolResults.length === 0)
      return toolCalls({ name: "kagan_findings", args: { summary: "I have read it.", findings: [] } })
    const told = request.messages.some((one) => one.text.includes("conflict with main in greeting.txt"))
    if (request.kind === "work" && told && request.toolResults.length === 0) {
      const command = "git add -A && git commit -qm work && git merge -q -X ours main"
      return toolCalls({ name: "bash", args: { command, description: "resolves the conflict" } })
    }
    return script(request, nth)
  })
  box = await makeSandbox({ model, files: { "README.md": "# Sample\n" } })
  tui = await startTui(box, { cols: 160, rows: 45 })
  await tui.waitFor("ctrl+p")
  await tui.press("ctrl+x", "k")
  await tui.waitFor("n makes the first task")
})
afterAll(async () => {
  await tui?.stop()
  await box?.dispose()
  await model?.dispose()
})

const git = async (...args: string[]) => (await box.repo.git(...args)).trim()
const branchOf = async (n: number) => git("for-each-ref", "--format=%(refname:short)", `refs/heads/kagan/${n}-*`)
const contains = (branch: string, commit: string) =>
  git("merge-base", "--is-ancestor", commit, branch).then(
    () => true,
    () => false,
  )

async function begin(title: string) {
  await tui.press("n")
  await tui.waitFor("New task")
  await tui.type(title)
  await tui.press("ctrl+enter")
  await tui.waitFor("Start without intake: why?")
  await tui.press("enter")
}

describe("a base that moves on", () => {
  test("two cards that change one file say so of each other", async () => {
    await begin("Greet the reader")
    await tui.waitFor(cardIn(1, "review", "no findings"))
    await begin("Greet the writer")
    await tui.waitFor(cardIn(2, "review", "same files as #1"))
    await tui.waitFor(cardIn(1, "review", "same files as #2"))
  })

  test("C041 a commit on the base in another terminal is on the cards without a key or a turn", async () => {
    await box.repo.write("other.txt", "news\n")
    await box.repo.commit("other news")
    await tui.waitFor(cardIn(1, "review", "1 behind"))
    await tui.waitFor(cardIn(2, "review", "1 behind"))
  })

  test("U brings it in, uncommitted work stays, and the card is reviewed again", async () => {
    await tui.press("3", "g")
    await tui.waitFor(/#1 approvable/)
    const asked = model.count("validator")
    await command(tui, "kagan.update", "Bring main into the branch of #1?")
    await tui.press("y")
    await tui.waitFor("main is in its branch now")
    await model.waitForRequest((request) => request.kind === "validator" && model.count("validator") > asked)
    await tui.waitFor((screen) => cardIn(1, "review", "no findings")(screen) && !cardIn(1, "review", "behind")(screen))
    expect(await contains(await branchOf(1), "main")).toBe(true)
  })

  test("a conflict is on the cards, and U gives it back to the same agent as what it has to resolve", async () => {
    await box.repo.write("greeting.txt", "Good day\n")
    await box.repo.commit("another greeting")
    await tui.waitFor(cardIn(1, "review", "conflicts with main: 1 file"))
    await tui.waitFor(cardIn(2, "review", "conflicts with main: 1 file"))
    await tui.press("U")
    await tui.waitFor("It conflicts in 1 file")
    await tui.press("y")
    await tui.waitFor("main conflicts in 1 file")
    await tui.waitFor(
      (screen) => cardIn(1, "review", "no findings")(screen) && !cardIn(1, "review", "conflicts")(screen),
    )
    expect(await contains(await branchOf(1), "main")).toBe(true)
    const told = model.requests.flatMap((one) => one.messages).find((one) => one.text.includes("conflict with main in"))
    expect(told?.text).toContain("- conflict with main in greeting.txt")
  })

  test("C047 the dialog says by how much the base moved on, and a base that moves behind it is not merged into", async () => {
    await box.repo.write("third.txt", "more news\n")
    await box.repo.commit("third news")
    await tui.waitFor(cardIn(1, "review", "1 behind"))
    await tui.press("a")
    await tui.waitFor("main moved on by 1 commit")
    await box.repo.write("fourth.txt", "late news\n")
    const late = await box.repo.commit("late news")
    await tui.press("enter")
    await tui.waitFor("main moved by 1 commit")
    expect(await git("rev-parse", "main")).toBe(late)
    await tui.press("esc", "a")
    await tui.waitFor("main moved on by 2 commits")
    await tui.press("enter")
    await tui.waitFor(cardIn(1, "done", /merged [0-9a-f]{7}/))
  })

  test("done without merge keeps the branch and says how to publish it", async () => {
    await tui.press("3", "g")
    await command(tui, "kagan.leave", "#2 done without merge: why?")
    await tui.press("enter")
    await tui.waitFor(cardIn(2, "done"))
    await tui.waitFor("no remote")
    expect(await branchOf(2)).toMatch(/^kagan\/2-/)
  })

  test("what is in the trash is deleted for good after its losses are named, and nothing of it is left", async () => {
    const [branch, worktree] = [
      await branchOf(2),
      (await git("worktree", "list", "--porcelain")).match(/worktree (.+2-.+)/)![1]!,
    ]
    await tui.press("4", "g", "j")
    await tui.press("d")
    await tui.waitFor("moved to trash")
    await tui.press("/")
    await tui.type("is:trashed")
    await tui.press("enter")
    await tui.waitFor(cardIn(2, "done"))
    await tui.press("4", "g")
    await command(tui, "kagan.purge", "Lost for good")
    await tui.press("y")
    await tui.waitFor("#2 is deleted")
    expect(existsSync(worktree)).toBe(false)
    expect(await git("branch", "--list", branch)).toBe("")
    expect(await git("for-each-ref", "refs/kagan/2")).toBe("")
    expect(await git("for-each-ref", "--format=%(refname)", "refs/kagan/1")).not.toBe("")
  })
})
