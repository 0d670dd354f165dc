import { z } from "zod"
import { oneLine } from "./fence.ts"
import { cut } from "./loose.ts"
import type { ChecksSummary } from "./task.ts"

/*
 * The person's checks on a snapshot: which of them concern it, what came of each, and how that is said.
 *
 *   options.checks ─ matching(changed paths) ─► run in the worktree ─► CheckResult[] ─► file, card, reviewer, approval
 */

/** `none`: there is no command, so there was nothing to pass. */
const OUTCOMES = ["passed", "failed", "not_run", "none"] as const
export type CheckOutcome = (typeof OUTCOMES)[number]

const result = z.object({
  name: z.string(),
  command: z.string(),
  outcome: z.enum(OUTCOMES),
  /** How it ended, or why it does not count, in words. */
  text: z.string(),
  /** Where it ran, and by which shell; absent when it never began. */
  folder: z.string().optional(),
  shell: z.string().optional(),
  /** How long, in milliseconds. */
  ms: z.number().optional(),
  /** How much it wrote in all, and the last of it. */
  bytes: z.number().optional(),
  output: z.string().optional(),
})
const report = z.object({ snapshot: z.string(), at: z.number(), results: z.array(result) })

export type CheckResult = Readonly<z.infer<typeof result>>

/** What is kept beside the task for each snapshot. */
export type ChecksReport = { readonly snapshot: string; readonly at: number; readonly results: readonly CheckResult[] }

/** A stored report; `undefined` for anything that is none. */
export function readReport(value: unknown): ChecksReport | undefined {
  const parsed = report.safeParse(value)
  return parsed.success ? parsed.data : undefined
}

const NAMES = 3
const NAME_LENGTH = 60

/** What the task itself keeps of the results: counts, and the first few names that failed. */
export function summarize(results: readonly CheckResult[], at: number): ChecksSummary {
  const count = (outcome: CheckOutcome) => results.filter((one) => one.outcome === outcome).length
  const failing = results
    .filter((one) => one.outcome === "failed")
    .slice(0, NAMES)
    .map((one) => oneLine(one.name, NAME_LENGTH))
  return {
    state: "done",
    passed: count("passed"),
    failed: count("failed"),
    notRun: count("not_run"),
    ...(failing.length > 0 ? { failing } : {}),
    at,
  }
}

/** The summary in a few words: `checks run`, `checks`, `check "lint"`; `undefined` when there is nothing to say. */
export function checksText(summary: ChecksSummary | undefined): string | undefined {
  if (!summary) return undefined
  const { state, passed, failed, notRun } = summary
  if (state === "running") return "checks run"
  if (failed > 0) return `${failed === 1 ? "check" : "checks"} ${failingText(summary)}`
  if (notRun > 0) return notRun === 1 ? "1 check not run" : `${notRun} checks not run`
  return passed > 0 ? "checks" : undefined
}

/** For the place where a snapshot is approved, and for the commit: everything that is not a pass is named. */
export function checksVerdict(summary: ChecksSummary | undefined): string | undefined {
  if (!summary || summary.state === "running") return undefined
  const { passed, failed, notRun } = summary
  const parts = [
    passed > 0 ? `${passed} passed` : "",
    failed > 0 ? `${failed} failed (${failingText(summary)})` : "",
    notRun > 0 ? `${notRun} not run` : "",
  ].filter((part) => part !== "")
  return parts.length > 0 ? parts.join(", ") : undefined
}

function failingText({ failing = [], failed }: ChecksSummary): string {
  const named = failing.map((name) => `"${name}"`).join(", ")
  const more = failed - failing.length
  if (named === "") return `${failed}`
  return more > 0 ? `${named} and ${more} more` : named
}

/** One result as a line: how it ended, and the last words of one that failed. */
export function resultLine({ name, outcome, text, output }: CheckResult): string {
  const last = outcome === "failed" ? (output ?? "").trim().split("\n").at(-1)?.trim() : undefined
  const words = outcome === "passed" ? "passed" : outcome === "not_run" ? `not run: ${text}` : text
  return `${oneLine(name, NAME_LENGTH)}: ${oneLine(words, 300)}${last ? ` · ${oneLine(last, 160)}` : ""}`
}

/** The results as a reviewer reads them; what failed comes first and with more of its output. */
export function evidenceText(results: readonly CheckResult[], limit = 20_000): string {
  const order: readonly CheckOutcome[] = ["failed", "not_run", "passed"]
  const told = order.flatMap((outcome) => results.filter((one) => one.outcome === outcome))
  if (told.length === 0) return ""
  const share = Math.floor(limit / told.length)
  return told
    .map((one) => {
      const head = `${oneLine(one.name, NAME_LENGTH)} (${oneLine(one.command, 200)}): ${one.outcome.replace("_", " ")}, ${oneLine(one.text)}`
      const room = one.outcome === "failed" ? share - head.length : Math.min(400, share - head.length)
      const output = (one.output ?? "").trim()
      if (output === "" || one.outcome === "not_run" || room < 80) return cut(head, Math.max(80, share))
      const tail = output.length > room ? `…${output.slice(-room + 40)}` : output
      return `${head}\n  ${tail.replaceAll("\n", "\n  ")}`
    })
    .join("\n\n")
}
