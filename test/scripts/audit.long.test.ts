import { spawnSync } from "node:child_process"
import { expect, test } from "vitest"
import reviewed from "../fixtures/audit.json"
import { judgeAudit, type Reviewed } from "../kit/audit.ts"
import { checkout } from "../kit/sandbox.ts"

test("npm audit: no advisory that nobody reviewed, and no review of one that is gone", ({ skip }) => {
  const ran = spawnSync("npm", ["audit", "--json"], { cwd: checkout, encoding: "utf8", timeout: 120_000 })
  const verdict = judgeAudit(ran.stdout ?? "", reviewed as readonly Reviewed[])
  if (verdict.kind === "unasked") return skip(`no audit was made: ${verdict.reason}`)
  expect(verdict).toEqual({ kind: "judged", open: [], stale: [] })
})
