import type { FindingsReport, ReportedFinding } from "./findings.ts"
import type { Citation, Finding } from "./task.ts"

/** What does not verify counts for no more than this. */
export const UNVERIFIED_CAP = 2

/** The findings with their places as clean paths below `root`; a place that points elsewhere is kept as it was given. */
export function placeFindings(report: FindingsReport, root: string): readonly ReportedFinding[] {
  return report.findings.map((finding) => {
    const path = finding.location && insidePath(finding.location.path, root)
    return path === undefined ? finding : { ...finding, location: { ...finding.location!, path } }
  })
}

/**
 * Gives the findings their ids and takes the verdicts on their places. Nothing is dropped: what does not verify is
 * capped and stays, and unknown confidence stays unknown.
 */
export function numberFindings(placed: readonly ReportedFinding[], citations: readonly Citation[]): readonly Finding[] {
  return placed.map((finding, index) => {
    const citation = citations[index] ?? "none"
    const stands = citation === "verified" || citation === "file" || finding.confidence === null
    const confidence = stands ? finding.confidence : Math.min(finding.confidence!, UNVERIFIED_CAP)
    return { ...finding, id: `F${index + 1}`, confidence, citation }
  })
}

/** A path below the root, without `.` and `..`; `undefined` for what points elsewhere. */
export function insidePath(path: string, root: string): string | undefined {
  let relative = path.replaceAll("\\", "/")
  if (root !== "" && relative.startsWith(`${root}/`)) relative = relative.slice(root.length + 1)
  if (relative.startsWith("/") || /^[A-Za-z]:\//.test(relative) || relative.includes("\0")) return undefined
  const parts: string[] = []
  for (const part of relative.split("/")) {
    if (part === "" || part === ".") continue
    if (part === "..") {
      if (parts.pop() === undefined) return undefined
    } else parts.push(part)
  }
  return parts.length === 0 ? undefined : parts.join("/")
}
