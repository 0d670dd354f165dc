import { readFileSync } from "node:fs"
import { join } from "node:path"
import ts from "typescript"
import { expect, test } from "vitest"
import { OPTION_ROWS } from "../../src/core/options.ts"
import { checkout } from "../kit/sandbox.ts"

/** Of each option, a test that sees its effect: the file, and words of the test's name. */
const SEEN: Readonly<Record<string, readonly [file: string, words: string]>> = {
  inProgressLimit: ["test/server/option-effects.test.ts", "inProgressLimit, validator.agent"],
  "intake.enabled": ["test/core/decide.test.ts", "no intake where it is switched off"],
  "intake.agent": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "intake.model": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "intake.retries": ["test/server/option-effects.test.ts", "intake.retries"],
  "validator.agent": ["test/server/option-effects.test.ts", "inProgressLimit, validator.agent"],
  "validator.models": ["test/server/option-effects.test.ts", "inProgressLimit, validator.agent"],
  "validator.retries": ["test/server/option-effects.test.ts", "validator.retries"],
  "validator.maxTokens": ["test/server/option-effects.test.ts", "validator.maxTokens bounds"],
  "worktree.root": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "worktree.branchPrefix": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "worktree.copy": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "worktree.setup": ["test/server/option-effects.test.ts", "worktree.*, intake.agent and intake.model"],
  "worktree.setupTimeout": ["test/server/option-effects.test.ts", "worktree.setupTimeout ends"],
  "worktree.filters": [
    "test/shared/git/worktree.test.ts",
    "a failure in the middle leaves neither folder nor branch nor",
  ],
  checks: ["test/server/checks.test.ts", "only those run whose paths match"],
  "merge.strategy": ["test/server/option-effects.test.ts", "inProgressLimit, validator.agent"],
  "sendBack.mode": ["test/server/option-effects.test.ts", "inProgressLimit, validator.agent"],
  "sendBack.stopThreshold": ["test/tui/settings.test.tsx", "sendBack.stopThreshold"],
  resume: ["test/server/option-effects.test.ts", "resume %s: work"],
  stallAfter: ["test/server/option-effects.test.ts", "stallAfter %i"],
  pushGuard: ["test/server/permissions.test.ts", "without the push guard"],
  attention: ["test/tui/settings.test.tsx", "attention off"],
  mouse: ["test/tui/dialogs.test.tsx", "the mouse can be switched off"],
  updates: ["test/tui/updates.test.tsx", "is not made at all with updates off"],
}

/** The text of the tests of a file (or the rows of their tables) that have these words in their name. */
function testsNamed(file: string, words: string): string[] {
  const source = ts.createSourceFile(
    file,
    readFileSync(join(checkout, file), "utf8"),
    ts.ScriptTarget.ESNext,
    true,
    file.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS,
  )
  const found: string[] = []
  const look = (node: ts.Node): void => {
    if (ts.isStringLiteralLike(node) && node.text.includes(words)) {
      const { parent } = node
      const isName = ts.isCallExpression(parent) && /^(test|it)\b/.test(parent.expression.getText())
      const isRow = ts.isArrayLiteralExpression(parent) && parent.elements[0] === node
      if (isName || isRow) found.push(parent.getText())
    }
    ts.forEachChild(node, look)
  }
  look(source)
  return found
}

test("every option is exercised by a test that sees its effect, and that names the option", () => {
  expect(Object.keys(SEEN)).toEqual(OPTION_ROWS.map(({ path }) => path))
  const missing = Object.entries(SEEN).flatMap(([option, [file, words]]) => {
    const tests = testsNamed(file, words)
    if (tests.length === 0) return [`${option}: no test of ${file} has "${words}" in its name`]
    const leaf = new RegExp(`\\b${option.split(".").at(-1)!}\\b`)
    return tests.some((text) => leaf.test(text)) ? [] : [`${option}: "${words}" in ${file} does not set it`]
  })
  expect(missing).toEqual([])
})

test("words that are no test's name, or a comment, are not taken for a test", () => {
  expect(testsNamed("test/guards/options.test.ts", "every option is exercised")).toHaveLength(1)
  expect(testsNamed("test/guards/options.test.ts", "testsNamed")).toEqual([])
})
