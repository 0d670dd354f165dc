import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { openBoard, type Board } from "../kit/board.ts"
import { startServer, type HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import { openTasks, type SeenTasks } from "../kit/tasks.ts"

let model: Model
let box: Sandbox
let host: HostServer
let board: Board
let seen: SeenTasks
let remote: string

/** The command lines that the working agent runs, one after the other, and what each of them gave. */
let lines: string[] = []
let results: string[] = []

beforeAll(async () => {
  const others = defaultKaganScript()
  model = await startModel((request, nth) => {
    if (request.kind !== "work") return others(request, nth)
    results.push(...request.toolResults)
    const command = lines.shift()
    return command === undefined ? text("Done.") : toolCalls({ name: "bash", args: { command, description: "Run it" } })
  })
  box = await makeSandbox({
    plugin: false,
    model,
    where: "project",
    files: { "a.txt": "a\n", "push.sh": `git push origin HEAD:refs/heads/script\n` },
  })
  remote = join(box.root, "origin.git")
  await box.repo.git("init", "-q", "--bare", "-b", "main", remote)
  await box.repo.git("remote", "add", "origin", remote)
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [pluginPath(), probe.spec] })
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

const refs = () => box.repo.git("-C", remote, "for-each-ref", "--format=%(refname)")

describe("a supervised session", () => {
  let id: string

  test("C097 C100 is stopped before a push, in its shells and in its worktree, and is told why", async () => {
    lines = [
      "git push origin HEAD:refs/heads/plain",
      "sh -c 'git -C . push origin HEAD:refs/heads/nested'",
      "sh push.sh",
      'env -i PATH="$PATH" sh push.sh',
      "git fetch origin && echo fetched",
      `node -e 'require("fs").writeFileSync(process.argv[1], "x")' '${join(box.repo.dir, "stray.txt")}'`,
    ]
    results = []
    id = (await board.get("task.create", { draftID: "d-push", title: "Try to push", description: "" })).sessionID
    await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")
    await board.get("intake.waive", { sessionID: id, reason: "nothing to decide here" })
    await board.get("task.move", { sessionID: id, to: "in_progress" })
    await seen.until(id, "in Review with a snapshot", (meta) => meta.review?.snapshot !== undefined)
    expect(await refs()).toBe("")
    expect(results).toHaveLength(6)
    expect(results[0]).toContain("Kagan stopped this command")
    expect(results[1]).toContain("Kagan stopped this command")
    expect(results[2]).toContain("kagan-blocked")
    expect(results[3]).toContain("kagan-blocked")
    expect(results[4]).toContain("fetched")
  })

  test("C106 what it wrote into the person's checkout stands on its card", async () => {
    const end = Date.now() + 60_000
    let outside: readonly string[] | undefined
    while (!outside && Date.now() < end) {
      outside = (await board.get("board.facts", {})).facts.find((facts) => facts.sessionID === id)?.outside
      await Bun.sleep(50)
    }
    expect(outside?.join("\n")).toContain("Your own checkout changed during this task: stray.txt")
  })
})

test("an ordinary session, and the person's own folder, push as before", async () => {
  lines = ["env | grep -c kagan-blocked || true", "git push -q origin HEAD:refs/heads/person && echo pushed"]
  results = []
  const session = (await host.client.session.create({ title: "Just talking" })).data!
  await host.client.session.prompt({ sessionID: session.id, parts: [{ type: "text", text: "push it" }] })
  expect(results[0]).toMatch(/^0/)
  expect(results[1]).toContain("pushed")
  expect(await refs()).toContain("refs/heads/person")
})
