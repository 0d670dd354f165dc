import type { ToolContext } from "@opencode-ai/plugin"
import { describe, expect, test } from "vitest"
import { z } from "zod"
import { err, ok } from "../../src/core/result.ts"
import { kaganTools, type HelperReports } from "../../src/server/tools.ts"

function setup(change: Partial<HelperReports> = {}) {
  const calls: unknown[][] = []
  const note =
    (name: string) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args])
      return ok(`${name} recorded`)
    }
  const tools = kaganTools({
    assessment: note("assessment"),
    findings: note("findings"),
    createTasks: note("createTasks"),
    board: note("board"),
    unreadable: (...args) => void calls.push(["unreadable", ...args]),
    ...change,
  })
  const run = (name: string, args: unknown, sessionID = "ses_1", agent = "kagan-plan") =>
    tools[name]!.execute(args as never, { sessionID, agent } as ToolContext)
  return { tools, calls, run }
}

const assessment = { understanding: "u", decisions: [], instruction: "i", mode: "manual", modeReason: "r" }

describe("the four tools", () => {
  test("have a schema that says what every field means", () => {
    const { tools } = setup()
    expect(Object.keys(tools)).toEqual(["kagan_intake", "kagan_findings", "kagan_create_tasks", "kagan_board"])
    const schema = z.toJSONSchema(z.object(tools["kagan_findings"]!.args as unknown as z.ZodRawShape))
    expect(schema).toMatchObject({
      required: ["summary", "findings"],
      properties: {
        findings: {
          items: {
            required: ["kind", "severity", "confidence", "title", "detail"],
            properties: { kind: { enum: ["misalignment", "bug", "uncertainty"] } },
          },
        },
      },
    })
    for (const tool of Object.values(tools)) expect(tool.description).toMatch(/\w/)
  })

  test("those that plan do nothing for another agent than the planner's", async () => {
    const { calls, run } = setup()
    for (const agent of ["build", "kagan-helper", "", "Kagan-Plan"]) {
      expect(await run("kagan_create_tasks", { tasks: [{ title: "a" }] }, "ses_1", agent)).toMatch(/^Refused/)
      expect(await run("kagan_board", {}, "ses_1", agent)).toMatch(/^Refused/)
    }
    expect(calls).toEqual([])
  })

  test("pass on what they read, with the session that called", async () => {
    const { calls, run } = setup()
    expect(await run("kagan_intake", assessment)).toBe("assessment recorded")
    expect(await run("kagan_findings", { findings: '[{"title":"x"}]' }, "ses_2")).toBe("findings recorded")
    expect(await run("kagan_create_tasks", { tasks: [{ title: "a" }] })).toBe("createTasks recorded")
    expect(await run("kagan_board", {})).toBe("board recorded")
    expect(calls).toEqual([
      ["assessment", "ses_1", assessment],
      ["findings", "ses_2", { summary: "", findings: [expect.objectContaining({ title: "x" })], dropped: 0 }],
      ["createTasks", "ses_1", [expect.objectContaining({ title: "a" })]],
      ["board", "ses_1"],
    ])
  })

  test("C076 six identical wrong calls: each refused with reason and example, each counted, nothing passed on", async () => {
    const { calls, run } = setup()
    for (let n = 0; n < 6; n++) {
      expect(await run("kagan_findings", { Findings: [] })).toMatch(/^Not recorded: .*Call the tool again like this/)
    }
    expect(calls).toHaveLength(6)
    expect(
      calls.every(
        ([name, sessionID, tool]) => name === "unreadable" && sessionID === "ses_1" && tool === "kagan_findings",
      ),
    ).toBe(true)
  })

  test("C084 a session that may not report is told so, in words", async () => {
    const { run } = setup({ findings: async () => err("This session is not the reviewer of a task.") })
    expect(await run("kagan_findings", { summary: "s", findings: [] })).toBe(
      "This session is not the reviewer of a task.",
    )
  })
})
