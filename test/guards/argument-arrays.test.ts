import { beforeAll, describe, expect, test, vi } from "vitest"
import { auditCommands } from "./audit/commands.ts"
import { judge, type Allowed } from "./audit/findings.ts"
import { auditedProgram, type Audited } from "./audit/program.ts"
import { commandWays } from "./audit/snippets/commands.ts"
import { checkSnippet, snippetFiles } from "./audit/snippets/snippet.ts"

/** Task text, titles and file names are hostile: they may be an argument, never a part of a command line. */
const accepted: readonly Allowed[] = [
  {
    rule: "program not constant",
    symbol: "child_process.execFile",
    file: "src/server/npm.ts",
    count: 1,
    reason: "npm under one of its two names, both written there",
  },
  {
    rule: "program not constant",
    symbol: "child_process.spawn",
    file: "src/server/command.ts",
    count: 1,
    reason: "setup commands and checks are lines that the person configured for their own shell",
  },
  {
    rule: "program not constant",
    symbol: "child_process.spawn",
    file: "src/tui/editor.ts",
    count: 1,
    reason: "the person's own $VISUAL or $EDITOR, started as a program with arguments, not through a shell",
  },
]

let audited: Audited

/** The whole program is checked once; a crowded machine may take its time. */
vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 })

beforeAll(() => {
  audited = auditedProgram(snippetFiles(commandWays))
})

test("no command is put together as text", () => {
  expect(judge(auditCommands(audited, "src/"), accepted)).toEqual([])
})

describe("every form is seen for what it is", () => {
  test.each(commandWays)("$name", (snippet) => checkSnippet(audited, snippet, auditCommands))
})
