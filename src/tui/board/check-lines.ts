import { duration } from "../../core/board.ts"
import { resultLine, type CheckOutcome } from "../../core/checks.ts"
import { wrap } from "../../core/text.ts"
import type { Segment } from "../ui/segments.ts"
import { RUN_SIGN, type Glyphs, type Sign, type Tone } from "../ui/signs.ts"
import type { LiveOutput } from "./live-output.tsx"

const FAILED_LINES = 12

const CHECK_SIGN: Readonly<Record<CheckOutcome, Sign>> = {
  passed: { icon: "✓", ascii: "+", tone: "success" },
  failed: { icon: "✗", ascii: "x", tone: "error" },
  not_run: { icon: "○", ascii: "o", tone: "warning" },
  none: { icon: "○", ascii: "o", tone: "muted" },
}

/** Checks, or the commands of a setup, one by one: how each ended, the end of the output of what failed, and of what runs the last lines so far. */
export function checkLines(
  { results, running, problem }: Pick<LiveOutput, "results" | "running" | "problem">,
  glyphs: Glyphs,
  width: number,
  runningLines = 6,
): Segment[][] {
  const lines: Segment[][] = []
  const marked = (sign: Sign, text: string, tone: Tone) => {
    for (const [index, line] of wrap(text, width - 2).entries())
      lines.push([
        { text: index === 0 ? `${glyphs.of(sign)} ` : "  ", tone: sign.tone },
        { text: line, tone },
      ])
  }
  const output = (text: string | undefined, most: number) => {
    const shown = (text ?? "").trimEnd()
    if (shown === "") return
    for (const line of wrap(shown, width - 2).slice(-most)) lines.push([{ text: `  ${line}`, tone: "muted" }])
  }
  for (const check of results) {
    const sign = CHECK_SIGN[check.outcome]
    const took = check.ms === undefined ? "" : ` (${duration(check.ms)})`
    const failed = check.outcome === "failed"
    marked(sign, `${resultLine(check)}${took}`, failed ? "error" : "text")
    if (failed) output(check.output, FAILED_LINES)
  }
  if (running) {
    marked(RUN_SIGN.checking, `${running.name} runs: ${running.command}`, "info")
    output(running.output, runningLines)
  }
  if (problem !== undefined) marked(CHECK_SIGN.not_run, problem, "warning")
  if (lines.length === 0) lines.push([{ text: "No result has come yet.", tone: "muted" }])
  return lines
}
