import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { taskRules } from "../../src/server/permissions.ts"
import type { Board } from "../kit/board.ts"
import type { Events } from "../kit/events.ts"
import type { HostServer } from "../kit/host.ts"
import { startModel, text, toolCalls, type Model } from "../kit/model.ts"
import { defaultKaganScript } from "../kit/model-script.ts"
import { makeProbe, type Probe } from "../kit/probe/probe.ts"
import { makeSandbox, pluginPath, type Sandbox } from "../kit/sandbox.ts"
import type { SeenTasks } from "../kit/tasks.ts"
import { openWindow } from "../kit/window.ts"
import { must } from "./contract/bench.ts"
import { ask } from "./parts.ts"

/*
 * Kagan between two other plugins, one loaded before it and one after it, both of which set configuration and change
 * what the host hands from hook to hook; and the remembered "always" of a person.
 */

let model: Model
let box: Sandbox
let before: Probe
let after: Probe
let host: HostServer
let board: Board
let seen: SeenTasks
let events: Events
let remote: string

/** What the working agent runs: one answer after the other, each with some lines; a step is taken before it is sent. */
let answers: { readonly first?: () => Promise<unknown>; readonly lines: readonly string[] }[] = []
let results: string[] = []
/** Where the programs of the forges, which do nothing else, note that they were called. */
const forges = () => join(box.root, "forges.log")

beforeAll(async () => {
  const others = defaultKaganScript()
  model = await startModel(async (request, nth) => {
    if (request.kind !== "work") return others(request, nth)
    results.push(...request.toolResults)
    const next = answers.shift()
    if (next === undefined) return text("Done.")
    await next.first?.()
    return toolCalls(...next.lines.map((command) => ({ name: "bash", args: { command, description: "Run it" } })))
  })
  box = await makeSandbox({
    plugin: false,
    model,
    where: "project",
    files: { "a.txt": "a\n", "push.sh": "git push origin HEAD:refs/heads/script\n" },
    config: {
      permission: { bash: { "ls *": "ask" } },
      agent: { mine: { mode: "primary", prompt: "The person's own.", permission: { "*": "allow" } } },
    },
  })
  const bin = join(box.root, "bin")
  await mkdir(bin)
  for (const name of ["gh", "glab", "hub"]) {
    await writeFile(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${forges()}'\n`)
    await chmod(join(bin, name), 0o755)
  }
  await writeFile(forges(), "")
  remote = join(box.root, "origin.git")
  await box.repo.git("init", "-q", "--bare", "-b", "main", remote)
  await box.repo.git("remote", "add", "origin", remote)
  before = await makeProbe(box.root, "probe-before", {
    server(p) {
      p.on("config", (config) => {
        config.permission = { ...config.permission, webfetch: "deny" }
        config.agent = { ...config.agent, early: { mode: "primary", prompt: "Early.", permission: { "*": "allow" } } }
        config.command = { ...config.command, early: { template: "Do it early." } }
      })
      p.on("tool.execute.before", (call, output) => {
        const line = output.args?.command
        if (call.tool === "bash" && line.startsWith("early: ")) output.args.command = line.slice(7)
      })
      p.on("tool.execute.after", (call, output) => {
        if (call.tool === "bash") output.output += "\n[early was here]"
      })
      p.on("shell.env", (_, output) => {
        Object.assign(output.env, { FROM_EARLY: "1", GIT_CONFIG_COUNT: "1" })
        Object.assign(output.env, { GIT_CONFIG_KEY_0: "user.name", GIT_CONFIG_VALUE_0: "Early Bird" })
      })
    },
  })
  after = await makeProbe(box.root, "probe-after", {
    server(p) {
      p.on("config", (config) => {
        p.record("saw", { agents: Object.keys(config.agent), commands: Object.keys(config.command) })
        config.permission = { ...config.permission, "git status *": "ask" }
        config.agent = { ...config.agent, late: { mode: "primary", prompt: "Late.", permission: { "*": "allow" } } }
        config.command = { ...config.command, late: { template: "Do it late." } }
      })
      p.on("tool.execute.before", (call, output) => {
        if (call.tool === "bash" && output.args.command === "true # late") output.args.command = "sh push.sh"
      })
      p.on("tool.execute.after", (call, output) => {
        if (call.tool === "bash") output.output += "\n[late was here]"
      })
      p.on("shell.env", (_, output) => {
        output.env.FROM_LATE = "1"
        if ((globalThis as { dropSettings?: boolean }).dropSettings) output.env.GIT_CONFIG_COUNT = "0"
      })
    },
  })
  const probe = await makeProbe(box.root, "probe-board")
  await box.writeConfig({ plugin: [before.spec, pluginPath(), after.spec, probe.spec] })
  ;({ host, board, seen } = await openWindow(box, probe, { env: { PATH: `${bin}:${process.env["PATH"]}` } }))
  events = await host.events()
})

afterAll(async () => {
  await host?.stop()
  await box?.dispose()
  await model?.dispose()
})

const refs = () => box.repo.git("-C", remote, "for-each-ref", "--format=%(refname)")

/** Refused before they run. */
const readable = [
  "bash -c 'git push origin HEAD'",
  "env -i HOME=$HOME PATH=$PATH git push origin HEAD",
  "CI=true git push origin HEAD",
  "gi\\t pu\\sh origin HEAD",
  "g=git; p=push; $g $p origin HEAD",
  "true && (git push origin HEAD)",
  "echo x | xargs -I{} git push origin HEAD",
  'eval "$(echo Z2l0IHB1c2ggb3JpZ2luIEhFQUQ= | base64 -d)"',
  "gh pr create --fill",
  "gh api -X POST repos/o/r/git/refs -f ref=refs/heads/x",
  "glab mr create --fill",
  "hub pull-request",
  "git send-pack ../origin.git HEAD:refs/heads/p",
  '"$(git --exec-path)/git-push" origin HEAD',
  'git --git-dir=../origin.git fetch "$PWD" HEAD:refs/heads/p',
  "git subtree push --prefix=src origin p",
  "git svn dcommit",
]

/** What no reader of lines sees through: git's own block holds them. */
const opaque = [
  "sh push.sh",
  'env -i PATH="$PATH" sh push.sh',
  `node -e 'require("child_process").spawnSync("git", ["push", "origin", "HEAD:refs/heads/node"], {stdio: "inherit"})'`,
]

describe("a plugin before ours and one after it", () => {
  let id: string
  let worktree: string

  test("C097 C099 C100 a task's agent: what each plugin did to a call and to a shell is there, and no push arrives", async () => {
    const late = await after.server(box.repo.dir)
    answers = [
      {
        lines: [
          'env | grep -E "^FROM_|^OPENCODE" | sort; git config user.name; git config --get-all "url.kagan-blocked://.pushInsteadOf" | wc -l',
          "early: git push origin HEAD:refs/heads/early",
          "true # late",
          "git fetch -q origin && echo fetched",
          `node -e 'require("fs").writeFileSync(process.argv[1], "x")' '${join(box.repo.dir, "stray.txt")}'`,
        ],
      },
      { lines: [...readable, ...opaque] },
      {
        first: () => late.run(() => void Object.assign(globalThis, { dropSettings: true })),
        lines: ["true # late"],
      },
    ]
    results = []
    id = (await board.get("task.create", { draftID: "d-1", title: "Between others", description: "" })).sessionID
    worktree = (await seen.until(id, "intake done", (meta) => meta.intake?.state === "done")).worktree
    await board.get("intake.waive", { sessionID: id, reason: "nothing to decide here" })
    await board.get("task.move", { sessionID: id, to: "in_progress" })
    await seen.until(id, "in Review", (meta) => meta.lastGatedStatus === "review")
    await late.run(() => void Object.assign(globalThis, { dropSettings: false }))
    expect(results).toHaveLength(6 + readable.length + opaque.length)
    const [env, early, rewritten, fetched] = results
    const dropped = results.at(-1)
    expect(fetched).toContain("fetched")
    for (const words of ["FROM_EARLY=1", "FROM_LATE=1", "Early Bird"]) expect(env).toContain(words)
    // Ours stands behind what was there: once in the shell, once in the worktree's own settings.
    expect(env).toMatch(/^\s*2\s*$/m)
    for (const result of [env, rewritten, dropped]) {
      expect(result).toContain("[early was here]")
      expect(result).toContain("[late was here]")
    }
    // The line is judged as it stands when it comes to us.
    expect(early).toContain("Kagan stopped this command")
    // What a later plugin makes of it is git's to hold, also where that plugin drops what the shell carries.
    expect(rewritten).toContain("kagan-blocked")
    expect(dropped).toContain("kagan-blocked")
    const tried = results.slice(5, -1)
    expect(tried.slice(0, readable.length).filter((result) => !result.includes("Kagan stopped this command"))).toEqual(
      [],
    )
    expect(tried.slice(readable.length).filter((result) => !result.includes("kagan-blocked"))).toEqual([])
    expect(await refs()).toBe("")
    expect(await readFile(forges(), "utf8")).toBe("")
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

  test("configuration: what the person, the one before and the one after set is all there, here and in the worktree", async () => {
    for (const directory of [box.repo.dir, worktree]) {
      const config = (await must(host.clientFor(directory).config.get())) as any
      expect(config.permission).toMatchObject({
        bash: { "ls *": "ask" },
        webfetch: "deny",
        "kagan_*": "deny",
        "git status *": "ask",
      })
      expect(Object.keys(config.agent)).toEqual(
        expect.arrayContaining(["mine", "early", "late", "kagan-helper", "kagan-plan"]),
      )
      expect(Object.keys(config.command)).toEqual(expect.arrayContaining(["early", "late", "kagan-task"]))
      for (const name of ["mine", "early"]) {
        expect(Object.entries(config.agent[name].permission)).toEqual([
          ["*", "allow"],
          ["kagan_*", "deny"],
        ])
      }
      expect(config.agent.late).toMatchObject({ prompt: "Late.", permission: { "*": "allow" } })
      const saw = after.records().find((record) => record.type === "saw" && record.directory === directory)!
      expect(saw["agents"]).toEqual(expect.arrayContaining(["early", "kagan-helper", "kagan-plan"]))
      expect(saw["commands"]).toEqual(expect.arrayContaining(["early", "kagan-task"]))
    }
  })

  test("an agent that a later plugin allows everything sees our tools, and they do nothing for it", async () => {
    const session = await must(host.client.session.create({ title: "Late" }))
    const from = model.requests.length
    const script = [
      { name: "kagan_create_tasks", args: { tasks: [{ title: "Sneaked in" }] } },
      { name: "kagan_board", args: {} },
      { name: "kagan_findings", args: { summary: "x", findings: [] } },
      { name: "kagan_intake", args: { understanding: "x", decisions: [], instruction: "x", mode: "manual" } },
    ]
    const answers: string[] = []
    let next = 0
    model.script((request) => {
      answers.push(...request.toolResults)
      const call = script[next++]
      return call ? toolCalls(call) : text("Done.")
    })
    await ask(host, box.repo.dir, session.id, "Plan", "late")
    expect(model.requests[from]!.tools).toContain("kagan_create_tasks")
    expect(answers).toHaveLength(4)
    expect(answers[0]).toContain("only /kagan-task plans")
    expect(answers[1]).toContain("only /kagan-task plans")
    for (const answer of answers.slice(2)) expect(answer).toMatch(/not|refused/i)
    expect((await seen.all()).map((meta) => meta.taskNumber)).toEqual([1])
  })

  test('a remembered "always" defeats the polite layer for this folder; the parser and git\'s block still hold', async () => {
    const run = (sessionID: string, command: string) => {
      const answers: string[] = []
      model.script((request) => {
        answers.push(...request.toolResults)
        if (request.toolResults.length > 0) return text("Done.")
        // A busy host sometimes misses the end of a command and waits for its limit, which is two minutes by default.
        return toolCalls({ name: "bash", args: { command, description: "Run it", timeout: 10_000 } })
      })
      return ask(host, worktree, sessionID, command, "build").then(() => answers.join("\n"))
    }
    const make = async (permission: object[]) =>
      (await must(host.clientFor(worktree).session.create({ title: "A session", permission: permission as never }))).id
    const push = "git push origin HEAD:refs/heads/always"
    const polite = () => make([...taskRules({ root: box.repo.dir, pushGuard: true })])

    expect(await run(await polite(), push)).toMatch(/rule|prevent/i)
    // The person allows it once and for all, in a session of their own in this folder.
    const own = await make([{ permission: "bash", pattern: "*", action: "ask" }])
    const from = events.all.length
    const turn = run(own, push)
    const asked = await events.waitFor((event) => event.type === "permission.asked", 60_000, from)
    expect(asked.properties["always"]).toEqual([expect.stringMatching(/^git push/)])
    // Answered as a person does, who sees it in the list: not in the instant of its event.
    const listed = async () => (await must(host.clientFor(worktree).permission.list())).map(({ id }) => id)
    await expect.poll(listed, { timeout: 60_000 }).toContain(asked.properties.id)
    await must(host.clientFor(worktree).permission.reply({ requestID: asked.properties.id, reply: "always" }))
    // Says at once when the answer did not reach the turn, which would wait for ever.
    await events.waitFor("permission.replied", 30_000, from)
    expect(await turn).toContain("kagan-blocked")
    // The same rules as before: nothing is denied any more, and the push runs into git's own block …
    const again = await run(await polite(), push)
    expect(again).not.toMatch(/rule|prevent/i)
    expect(again).toContain("kagan-blocked")
    // … and in the task's own session the line is refused before it runs.
    await seen.until(id, "reviewed", (meta) => meta.review?.validator?.state !== "running")
    expect(await run(id, push)).toContain("Kagan stopped this command")
    expect(await refs()).toBe("")
  })
})

test("C100 a subagent of a task is held as the task is", async () => {
  const answers: string[] = []
  model.script((request) => {
    const nested = request.messages.some((message) => message.role === "user" && message.text.includes("as a subagent"))
    answers.push(...request.toolResults.map((result) => `${nested ? "sub" : "task"}: ${result}`))
    if (nested) {
      const step = request.messages.filter((message) => message.role === "tool").length
      const command = ["git -C . push origin HEAD:refs/heads/sub", "sh push.sh", 'env -i PATH="$PATH" sh push.sh'][step]
      return command ? toolCalls({ name: "bash", args: { command, description: "Run it" } }) : text("Tried.")
    }
    if (request.toolResults.length > 0) return text("Done.")
    return toolCalls({
      name: "task",
      args: { description: "push", prompt: "Push it as a subagent.", subagent_type: "general" },
    })
  })
  const tasks = await seen.all()
  await ask(host, tasks[0]!.worktree, tasks[0]!.sessionID, "Let somebody else do it", "build")
  const sub = answers.filter((answer) => answer.startsWith("sub: "))
  expect(sub).toHaveLength(3)
  expect(sub[0]).toContain("Kagan stopped this command")
  expect(sub[1]).toContain("kagan-blocked")
  expect(sub[2]).toContain("kagan-blocked")
  expect(await refs()).toBe("")
})

test("an ordinary session, and the person's own folder, push as before", async () => {
  const heard: string[] = []
  const tried = ["env | grep -c kagan-blocked || true", "git push -q origin HEAD:refs/heads/person && echo pushed"]
  model.script((request) => {
    heard.push(...request.toolResults)
    return request.toolResults.length > 0
      ? text("Done.")
      : toolCalls(...tried.map((command) => ({ name: "bash", args: { command, description: "Run it" } })))
  })
  const session = await must(host.client.session.create({ title: "Just talking" }))
  await ask(host, box.repo.dir, session.id, "push it")
  expect(heard[0]).toMatch(/^0/)
  expect(heard[1]).toContain("pushed")
  expect(await refs()).toContain("refs/heads/person")
})
