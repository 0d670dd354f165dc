import { describe, expect, test } from "vitest"
import {
  deniedReads,
  helperRules,
  helperTool,
  refusedSearch,
  taskRules,
  withoutSecrets,
} from "../../src/server/permissions.ts"

type Rules = ReturnType<typeof helperRules>

/** As the host judges: the last rule that matches tool and pattern (`*` spans slashes, a trailing ` *` may be absent). */
function judge(rules: Rules, permission: string, pattern: string): string | undefined {
  const matches = (glob: string, text: string) => {
    const body = glob
      .replace(/[.+^${}()|[\]\\]/g, "\\$&")
      .replace(/\*/g, "[\\s\\S]*")
      .replace(/\?/g, ".")
    return new RegExp(
      `^${body.endsWith(" [\\s\\S]*") ? `${body.slice(0, -" [\\s\\S]*".length)}( [\\s\\S]*)?` : body}$`,
    ).test(text)
  }
  return rules.findLast((rule) => matches(rule.permission, permission) && matches(rule.pattern, pattern))?.action
}

describe("a helper", () => {
  test.each(["intake", "validator"] as const)("%s reads, searches and reports, and nothing else", (role) => {
    const rules = helperRules(role)
    for (const tool of ["read", "grep", "glob", helperTool(role)]) expect(judge(rules, tool, "src/a.ts")).toBe("allow")
    for (const path of [".env", "app/.env", ".env.local", "app/.env.production"]) {
      expect(judge(rules, "read", path)).toBe("deny")
    }
    for (const tool of [
      "edit",
      "write",
      "bash",
      "webfetch",
      "task",
      "skill",
      "list",
      "external_directory",
      "server_tool",
      "kagan_create_tasks",
      "kagan_board",
      helperTool(role === "intake" ? "validator" : "intake"),
    ]) {
      expect(judge(rules, tool, "anything")).toBe("deny")
    }
  })

  test("what the person keeps from being read stays kept", () => {
    const denied = deniedReads({ read: { "*": "deny", "secrets/*": "deny", "docs/*": "allow" }, edit: { x: "deny" } })
    expect(denied).toEqual([{ permission: "read", pattern: "secrets/*", action: "deny" }])
    const rules = helperRules("intake", denied)
    expect(judge(rules, "read", "secrets/key")).toBe("deny")
    expect(judge(rules, "read", "src/a.ts")).toBe("allow")
    for (const none of [undefined, "allow", {}, { read: "deny" }]) expect(deniedReads(none)).toEqual([])
  })
})

describe("a task's session", () => {
  const rules = taskRules({ root: "/repo", pushGuard: true })

  test.each(["git push", "git push origin main", "cd x && git push", "git -C /r push origin"])(
    "%s is denied",
    (command) => expect(judge(rules, "bash", command)).toBe("deny"),
  )
  test.each(["git status", "git commit -m x", "npm test"])("%s is not judged here", (command) =>
    expect(judge(rules, "bash", command)).toBeUndefined(),
  )
  test.each([
    "opencode.json",
    "opencode.jsonc",
    "app/opencode.json",
    ".opencode/plugin/x.ts",
    "app/.opencode/agent/a.md",
  ])("an edit of %s asks", (path) => expect(judge(rules, "edit", path)).toBe("ask"))
  test("an edit of anything else is not judged here", () => {
    for (const path of ["src/opencode.ts", "src/a.ts", "opencode/x"]) expect(judge(rules, "edit", path)).toBeUndefined()
  })
  test("the main checkout asks", () => {
    expect(judge(rules, "external_directory", "/repo/*")).toBe("ask")
    expect(judge(rules, "external_directory", "/other/*")).toBeUndefined()
  })
  test("without the push guard pushes are the person's own affair", () => {
    expect(judge(taskRules({ root: "/repo", pushGuard: false }), "bash", "git push")).toBeUndefined()
  })
})

describe("searches of a helper", () => {
  test.each([
    [{ pattern: "x", path: ".env" }],
    [{ pattern: "x", path: "/wt/app/.env.local" }],
    [{ pattern: "x", include: ".env" }],
    [{ pattern: "x", include: "**/.env*" }],
    [{ pattern: "x", include: "*.{ts,env}" }],
    [{ pattern: "x", include: "*.env" }],
    [{ pattern: "x", include: ".e?v" }],
    [{ pattern: "x", include: ".*" }],
    [{ pattern: "x", include: "[.]env" }],
    [{ pattern: "x", include: "*" }],
    [{ pattern: "x", include: "{**/*,a}" }],
  ])("grep %j is refused", (args) => expect(refusedSearch("grep", args)).toContain(".env"))

  test.each([
    [{ pattern: "process.env" }],
    [{ pattern: "x", path: "src" }],
    [{ pattern: "x", include: "*.ts" }],
    [{ pattern: "x", include: "*.{ts,tsx}" }],
    [{ pattern: "x", include: "src/environment/*.ts" }],
    [{ pattern: "x", include: "env.ts" }],
  ])("grep %j is not", (args) => expect(refusedSearch("grep", args)).toBeUndefined())

  test("other tools are not judged", () => expect(refusedSearch("read", { path: ".env" })).toBeUndefined())

  test("lines of tracked files with secrets are taken out of what was found", () => {
    const block = (path: string, ...lines: string[]) => [
      `/wt/${path}:`,
      ...lines.map((line, i) => `  Line ${i + 1}: ${line}`),
      "",
    ]
    const found = (...blocks: string[][]) => ["Found 4 matches", ...blocks.flat(), "(Results truncated.)"].join("\n")
    const shown = withoutSecrets(
      found(
        block("a.ts", "key = process.env.KEY"),
        block(".env", "KEY=1", "/wt/a.ts:"),
        block("app/.env.local", "KEY=2"),
        block("b.ts", "x:"),
      ),
    )
    expect(shown).toBe(
      `${found(block("a.ts", "key = process.env.KEY"), block("b.ts", "x:"))}\n(3 matches in files with secrets are not shown.)`,
    )
    const clean = found(block("a.ts", "1"))
    expect(withoutSecrets(clean)).toBe(clean)
    expect(withoutSecrets("No files found")).toBe("No files found")
  })
})
