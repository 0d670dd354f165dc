import { readFileSync } from "node:fs"
import { join } from "node:path"
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

test("every option is exercised by a test that sees its effect", () => {
  expect(Object.keys(SEEN)).toEqual(OPTION_ROWS.map(({ path }) => path))
  const missing = Object.entries(SEEN).filter(
    ([, [file, words]]) => !readFileSync(join(checkout, file), "utf8").includes(words),
  )
  expect(missing).toEqual([])
})
