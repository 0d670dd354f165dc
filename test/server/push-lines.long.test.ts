import { afterAll, beforeAll, expect, test } from "vitest"
import { judgeCommand } from "../../src/core/push.ts"
import { taskRules } from "../../src/server/permissions.ts"
import harmless from "../fixtures/commands/harmless.json"
import pushes from "../fixtures/commands/pushes.json"
import { makeCommandStage, type CommandStage } from "../kit/commands.ts"

let stage: CommandStage
beforeAll(async () => {
  stage = await makeCommandStage()
})
afterAll(() => stage?.repo.dispose())

/** The host's own match of a rule: a star stands for anything, the whole text counts. */
function isDeniedPolitely(line: string): boolean {
  const rules = taskRules({ root: stage.repo.dir, pushGuard: true }).filter((rule) => rule.permission === "bash")
  return rules.some(({ pattern, action }) => {
    const source = pattern.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
    return action === "deny" && new RegExp(`^${source.join("[\\s\\S]*")}$`).test(line)
  })
}

test("every push of the corpus: what each layer holds by itself, and that nothing arrives when all do their part", async () => {
  const env = await stage.blockedEnv()
  const held = { polite: 0, parser: 0, git: 0, together: 0 }
  const wrong: string[] = []
  for (const { line, holds, also } of pushes) {
    const shell = line.startsWith("bash") ? "bash" : "sh"
    const polite = isDeniedPolitely(line)
    const parser = judgeCommand(line).verdict === "deny"
    await stage.run(line, { shell, env })
    const git = (await stage.published()).length === 0
    await stage.reset()
    if (polite) held.polite++
    if (parser) held.parser++
    if (git) held.git++
    if (parser || git) held.together++
    else wrong.push(`${line}: nothing holds it`)
    if (parser !== (holds === "parser")) wrong.push(`${line}: the parser ${parser ? "holds" : "misses"} it`)
    if (!git && [holds, ...also].includes("git")) wrong.push(`${line}: the block of git misses it`)
  }
  const figures = Object.entries(held).map(([layer, count]) => `${layer} ${count}/${pushes.length}`)
  process.stdout.write(`pushes held: ${figures.join(", ")}\n`)
  expect(wrong).toEqual([])
  expect(held.together).toBe(pushes.length)
})

test("every harmless line of the corpus is allowed, and runs under the block without publishing", async () => {
  const env = await stage.blockedEnv()
  const polite = harmless.filter(({ line }) => isDeniedPolitely(line)).length
  process.stdout.write(`harmless lines refused: polite ${polite}/${harmless.length}, parser 0/${harmless.length}\n`)
  for (const entry of harmless) {
    expect(judgeCommand(entry.line).verdict, entry.line).toBe("allow")
    await stage.run(entry.line, { env, shell: "shell" in entry ? (entry.shell as string) : "sh" })
    const refs = (await stage.published()).filter((one) => one.startsWith("refs"))
    expect(refs, entry.line).toEqual([])
    await stage.reset()
  }
})
