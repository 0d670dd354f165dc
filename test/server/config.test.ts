import { describe, expect, test } from "vitest"
import { applyConfig } from "../../src/server/config.ts"

type Live = {
  permission: Record<string, unknown>
  agent: Record<string, Record<string, unknown> & { permission: Record<string, unknown> }>
  command: Record<string, Record<string, unknown>>
  [key: string]: unknown
}

function applied(config: object): Live {
  const live = structuredClone(config)
  applyConfig(live)
  return live as Live
}

const lastKey = (rules: Record<string, unknown>) => Object.entries(rules).at(-1)

describe("our tools are denied, last", () => {
  test.each([
    [undefined, { "kagan_*": "deny" }],
    ["allow", { "*": "allow", "kagan_*": "deny" }],
    [
      { bash: "ask", "*": "allow" },
      { bash: "ask", "*": "allow", "kagan_*": "deny" },
    ],
    [
      { "kagan_*": "allow", edit: "deny" },
      { edit: "deny", "kagan_*": "deny" },
    ],
    [{ kagan_board: "allow" }, { kagan_board: "allow", "kagan_*": "deny" }],
  ])("permission %j", (permission, expected) => {
    const live = applied(permission === undefined ? {} : { permission })
    expect(live.permission).toEqual(expected)
    expect(lastKey(live.permission)).toEqual(["kagan_*", "deny"])
  })

  test("for each agent that is there, however its permission is written", () => {
    const live = applied({
      agent: {
        build: { permission: { "*": "allow" } },
        plan: { permission: "allow", model: "a/b" },
        mine: { prompt: "From an .md file", mode: "subagent" },
        off: { disable: true },
        strange: null,
      },
    })
    for (const name of ["build", "plan", "mine", "off"]) {
      expect(lastKey(live.agent[name]!.permission)).toEqual(["kagan_*", "deny"])
    }
    expect(live.agent["plan"]).toMatchObject({ model: "a/b", permission: { "*": "allow" } })
    expect(live.agent["mine"]).toMatchObject({ prompt: "From an .md file", mode: "subagent" })
    expect(live.agent["strange"]).toBeNull()
  })
})

describe("additive", () => {
  test("everything else stays as it was", () => {
    const config = {
      model: "a/b",
      plugin: ["x", ["y", { z: 1 }]],
      permission: { bash: { "git push*": "ask" } },
      agent: { reviewer: { prompt: "p" } },
      command: { deploy: { template: "t" } },
      mcp: { s: { type: "local", command: ["c"] } },
    }
    const live = applied(config)
    const { permission, agent, command, ...rest } = live
    expect(rest).toEqual({ model: "a/b", plugin: config.plugin, mcp: config.mcp })
    expect(permission["bash"]).toEqual({ "git push*": "ask" })
    expect(agent["reviewer"]!["prompt"]).toBe("p")
    expect(command["deploy"]).toEqual({ template: "t" })
  })

  test("a command or agent of our name keeps what the person set in it", () => {
    const live = applied({
      agent: { "kagan-plan": { model: "a/b", prompt: "Mine." } },
      command: { "kagan-task": { template: "Do $ARGUMENTS", model: "c/d" } },
    })
    expect(live.agent["kagan-plan"]).toMatchObject({ model: "a/b", prompt: "Mine.", mode: "primary", hidden: true })
    expect(live.command["kagan-task"]).toMatchObject({ template: "Do $ARGUMENTS", model: "c/d", agent: "kagan-plan" })
  })

  test("a second time changes nothing", () => {
    const once = applied({ permission: "ask", agent: { build: { permission: "allow" } } })
    expect(applied(once)).toEqual(once)
  })
})

describe("ours", () => {
  test("two agents that stand in no list, and the command that runs one of them", () => {
    const live = applied({})
    for (const name of ["kagan-helper", "kagan-plan"]) {
      expect(live.agent[name]).toMatchObject({ mode: "primary", hidden: true })
      expect(live.agent[name]!["prompt"]).toMatch(/\w/)
    }
    expect(live.command["kagan-task"]).toMatchObject({ agent: "kagan-plan" })
    expect(live.command["kagan-task"]!["template"]).toContain("$ARGUMENTS")
  })

  test("the plan agent writes nothing and has just the two tools of ours", () => {
    const rules = applied({}).agent["kagan-plan"]!.permission
    expect(Object.keys(rules)[0]).toBe("*")
    expect(rules["*"]).toBe("deny")
    expect(Object.keys(rules).filter((name) => name.startsWith("kagan"))).toEqual(["kagan_create_tasks", "kagan_board"])
    for (const tool of ["edit", "write", "bash", "task", "webfetch"]) expect(rules[tool]).toBeUndefined()
  })

  test("the helper agent has nothing of its own: what it may do is said by its session", () => {
    expect(applied({}).agent["kagan-helper"]!.permission).toEqual({ "*": "deny" })
  })
})
