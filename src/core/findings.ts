import { listOf, objectOf, textOf, wordOf } from "./loose.ts"
import { parseLocation } from "./location.ts"
import { err, ok, type Result } from "./result.ts"
import { SEVERITIES, type Finding, type FindingKind, type Severity } from "./task.ts"

/** A finding as the validator reported it: without its number, and with its citation not yet checked. */
export type ReportedFinding = Omit<Finding, "id" | "citation">

export type FindingsReport = {
  readonly summary: string
  readonly findings: readonly ReportedFinding[]
  /** How many distinct findings beyond the limit were not kept; said in the summary as well. */
  readonly dropped: number
}

export const MAX_FINDINGS = 500
const MAX_TITLE = 200
const MAX_DETAIL = 2_000

const EXAMPLE = `{"summary": "…", "findings": [{"kind": "bug", "severity": "high", "confidence": 8, "title": "…", "detail": "…", "location": "src/a.ts:12"}]}`

const REPORTED_KINDS: readonly FindingKind[] = ["misalignment", "bug", "uncertainty"]

const SEVERITY_WORDS: Readonly<Record<string, Severity>> = {
  critical: "high",
  blocker: "high",
  severe: "high",
  major: "high",
  error: "high",
  moderate: "medium",
  normal: "medium",
  warning: "medium",
  minor: "low",
  trivial: "low",
  info: "low",
  nit: "low",
}

/**
 * Reads what the validator reports. Only a list says "no findings": a missing list, a wrong name or an entry that is no
 * finding refuses the whole call, so that nothing is lost in silence. Equal findings (place and title) are folded.
 * What has no readable kind is an uncertainty, and what has no readable severity is medium.
 */
export function parseFindings(raw: unknown): Result<FindingsReport, string> {
  const args = objectOf(raw)
  if (!args) return refuse("the arguments are no object")
  if (!Object.hasOwn(args, "findings")) return refuse("`findings` is missing; give [] when there is nothing to report")
  const items = listOf(args["findings"])
  if (!items) return refuse("`findings` must be a list")
  const folded = new Map<string, ReportedFinding>()
  const bad: number[] = []
  for (const [index, item] of items.entries()) {
    const finding = parseFinding(item)
    if (!finding) {
      bad.push(index + 1)
      continue
    }
    const key = keyOf(finding)
    const known = folded.get(key)
    folded.set(key, known ? fold(known, finding) : finding)
  }
  if (bad.length > 0) {
    const which = `${bad.slice(0, 10).join(", ")}${bad.length > 10 ? ", …" : ""}`
    return refuse(
      `${bad.length === 1 ? "entry" : "entries"} ${which} of \`findings\` ${bad.length === 1 ? "is" : "are"} no finding with a \`title\``,
    )
  }
  const distinct = [...folded.values()]
  // The weightiest are kept when there are too many; the order of the reviewer stays.
  const kept =
    distinct.length <= MAX_FINDINGS
      ? distinct
      : distinct
          .map((finding, index) => ({ finding, index }))
          .toSorted((a, b) => weight(b.finding) - weight(a.finding) || a.index - b.index)
          .slice(0, MAX_FINDINGS)
          .toSorted((a, b) => a.index - b.index)
          .map(({ finding }) => finding)
  const dropped = distinct.length - kept.length
  const summary = textOf(args["summary"], 4_000) ?? ""
  return ok({
    summary:
      dropped > 0 ? `${summary}\n(${dropped} lighter findings beyond ${MAX_FINDINGS} were not kept.)`.trim() : summary,
    findings: kept,
    dropped,
  })
}

function parseFinding(raw: unknown): ReportedFinding | undefined {
  const entry = objectOf(raw)
  if (!entry) return undefined
  const detail = textOf(entry["detail"] ?? entry["description"], MAX_DETAIL) ?? ""
  const title = textOf(entry["title"], MAX_TITLE) ?? textOf(detail.split("\n")[0], MAX_TITLE)
  if (!title) return undefined
  const location = parseLocation(entry["location"] ?? entry["place"] ?? placeOf(entry))
  return {
    kind: wordOf(entry["kind"], REPORTED_KINDS) ?? "uncertainty",
    severity: severityOf(entry["severity"]),
    confidence: parseConfidence(entry["confidence"]),
    title: title.replace(/\s+/g, " "),
    detail,
    ...(location ? { location } : {}),
  }
}

/** `file` and `line` beside the finding instead of one location. */
function placeOf(entry: Record<string, unknown>): unknown {
  const named = ["file", "path", "filename"].some((key) => typeof entry[key] === "string")
  return named ? entry : undefined
}

function severityOf(value: unknown): Severity {
  const known = wordOf(value, SEVERITIES)
  if (known) return known
  return (typeof value === "string" && SEVERITY_WORDS[value.trim().toLowerCase()]) || "medium"
}

/**
 * Confidence on the scale 0–10, one decimal; `null` means unknown.
 * 0 to 10 is taken as it is, except that a fraction below 1 counts of 1 (`0.85` is 8.5); above 10 to 100 and anything
 * with a percent sign counts of 100; `8/10` counts of what stands behind the stroke. All else is unknown: words,
 * negative or larger numbers, nothing, booleans and lists.
 */
export function parseConfidence(raw: unknown): number | null {
  const value = typeof raw === "string" ? raw.trim() : raw
  if (typeof value === "number") return scaled(value)
  if (typeof value !== "string") return null
  const match = /^(\d+(?:\.\d+)?|\.\d+)\s*(%|\/\s*(\d+))?$/.exec(value)
  if (!match) return null
  const number = Number(match[1])
  if (match[2] === "%") return number <= 100 ? rounded(number / 10) : null
  if (match[3] !== undefined) {
    const whole = Number(match[3])
    return whole > 0 && number <= whole ? rounded((number / whole) * 10) : null
  }
  return scaled(number)
}

function scaled(value: number): number | null {
  if (!Number.isFinite(value) || value < 0 || value > 100) return null
  if (value > 0 && value < 1) return rounded(value * 10)
  return rounded(value > 10 ? value / 10 : value)
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10
}

function keyOf(finding: ReportedFinding): string {
  const title = finding.title.toLowerCase().replace(/\s+/g, " ")
  return JSON.stringify([finding.location?.path ?? "", finding.location?.line ?? null, title])
}

/** The weightier severity and confidence stay, and the first text. */
function fold(known: ReportedFinding, again: ReportedFinding): ReportedFinding {
  return {
    ...known,
    severity: SEVERITIES.indexOf(again.severity) > SEVERITIES.indexOf(known.severity) ? again.severity : known.severity,
    confidence:
      known.confidence === null || again.confidence === null
        ? (known.confidence ?? again.confidence)
        : Math.max(known.confidence, again.confidence),
    count: (known.count ?? 1) + 1,
  }
}

function weight(finding: ReportedFinding): number {
  // Unknown confidence never makes a finding lighter than a confident one.
  return SEVERITIES.indexOf(finding.severity) * 100 + (finding.confidence ?? 10)
}

function refuse(reason: string): Result<never, string> {
  return err(`Not recorded: ${reason}. Call the tool again like this: ${EXAMPLE}`)
}
