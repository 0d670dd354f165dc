import { readdir } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, expect, test } from "vitest"
import type { ValidatorMeta } from "../../src/core/task.ts"
import { openBoard, type Board } from "../kit/board.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { defaultKaganScript, firstAddedLine } from "../kit/model-script.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openTasks, type SeenTasks } from "../kit/tasks.ts"
import { planted } from "./parts.ts"

let model: Model
let box: Sandbox
let host: HostServer
let board: Board
let seen: SeenTasks
let marks: string
/** What the agent's commands answered. */
const results: string[] = []

/** A text that creates a file if any part of the way takes it for a command. */
const hostile = (name: string) =>
  `$(touch ${marks}/${name}) \`touch ${marks}/${name}\` ; touch ${marks}/${name} # ' && touch ${marks}/${name} ' %0a`

beforeAll(async () => {
  const others = defaultKaganScript()
  model = await startModel((request, nth) => {
    if (request.kind === "work") {
      results.push(...request.toolResults)
      if (request.toolResults.length > 0) return text(hostile("answer"))
      const files = { ...planted(join(marks, "planted")), "note.txt": `${hostile("file")}\n` }
      const code = `const fs=require("fs"),path=require("path");for(const [f,t] of Object.entries(${JSON.stringify(files)})){fs.mkdirSync(path.dirname(f),{recursive:true});fs.writeFileSync(f,t)}`
      const command = `node -e "$(echo ${btoa(code)} | base64 -d)"`
      return toolCalls({ name: "bash", args: { command, description: hostile("description") } })
    }
    if (request.kind === "validator" && request.toolResults.length === 0) {
      const added = firstAddedLine(request.messages.map((message) => message.text).join("\n"))
      const finding = {
        kind: "bug",
        severity: "low",
        confidence: 5,
        title: hostile("finding"),
        detail: hostile("detail"),
      }
      const findings = [{ ...finding, ...(added ? { location: `${added.file}:${added.line}` } : {}) }]
      return toolCalls({ name: "kagan_findings", args: { summary: hostile("summary"), findings } })
    }
    return others(request, nth)
  })
  box = await makeSandbox({ plugin: false, model, where: "project" })
  marks = join(box.root, "marks")
  await box.repo.git("init", "-q", marks)
  const probe = await makeProbe(box.root, "probe-board")
  const options = { worktree: { setup: ["true"] } }
  await box.writeConfig({ plugin: [[pluginPath(), options] as never, probe.spec] })
  host = await startServer(box)
  await host.client.session.list()
  board = await openBoard(probe, box.repo.dir)
  seen = openTasks(host, board.repo)
})

afterAll(async () => {
  await host?.stop()
  await box?.dispose()
  await model?.dispose()
})

const traces = async () => (await readdir(marks)).filter((name) => name !== ".git")

test("C102 C105 hostile words through a whole life, and a branch that brings its own commands: nothing of it is run", async () => {
  // Slashes are of no use in a branch's name: a file beside the repository is the mark.
  const base = "x$(touch${IFS}c102)"
  await box.repo.git("branch", base)
  const made = await board.get("task.create", {
    draftID: "d-hostile",
    title: hostile("title").replaceAll("\n", " "),
    description: `${hostile("task")}\n${hostile("line")}`,
    baseBranch: base,
  })
  const id = made.sessionID
  await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
  await board.get("intake.answer", {
    sessionID: id,
    answers: [{ decision: 0, kind: "overridden", text: hostile("decision") }] as never,
  })
  await board.get("task.move", { sessionID: id, to: "in_progress" })
  const review = await seen.until(
    id,
    "reviewed",
    (meta) => meta.review?.validator?.state === "done" || meta.review?.snapshot?.files === 0,
  )
  expect(results.join("")).not.toContain("Error")
  expect(review.review!.snapshot!.files).toBeGreaterThan(5)
  const helper = await seen.helper<ValidatorMeta>(review.review!.validator!.sessionID!)
  expect(helper.findings?.[0]?.title).toContain("touch")
  const rulings = helper.findings!.map(({ id: finding }) => ({
    finding,
    disposition: "intended" as const,
    reason: hostile("reason"),
  }))
  await board.get("findings.rule", { sessionID: id, rulings })
  const snapshot = review.review!.snapshot!.commit
  const { commit } = await board.get("task.approve", { sessionID: id, snapshot, message: hostile("message") })
  expect((await box.repo.git("rev-parse", base)).trim()).toBe(commit)
  expect(await box.repo.git("show", `${commit}:note.txt`)).toContain("touch")
  // The next task starts from what was merged: its branch has the plugin, the tool and the settings from its beginning.
  const next = await board.get("task.create", {
    draftID: "d-next",
    title: "The next",
    description: "",
    baseBranch: base,
  })
  const meta = await seen.until(next.sessionID, "intake done", (one) => one.intake?.state === "done")
  expect(await traces()).toEqual([])
  for (const folder of [box.root, box.repo.dir, review.worktree, meta.worktree]) {
    expect(await readdir(folder)).not.toContain("c102")
  }
  const config = (await host.clientFor(meta.worktree).config.get()).data!
  expect(config.model).not.toBe("evil/m9")
})
