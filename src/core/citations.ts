import type { FindingsReport, ReportedFinding } from "./findings.ts"
import type { Citation, Finding, Location } from "./task.ts"

/** What the snapshot holds of a file, as far as a citation needs it. */
export type CitedFile = {
  readonly path: string
  /** Its name before a rename. */
  readonly from?: string
  /** Lines of the file in the snapshot; absent when not known, 0 when it was deleted. */
  readonly lines?: number
  /** First and last line of each hunk in the snapshot's own numbering; of a deleted file in the old one. */
  readonly hunks: readonly { readonly start: number; readonly end: number }[]
}

/** What does not verify counts for no more than this. */
export const UNVERIFIED_CAP = 2

/**
 * Gives the findings their ids and says of each whether the cited place is in the diff. `exists` tells of a path outside
 * the diff whether the snapshot has it and how long it is; it is asked with clean relative paths only. Nothing is
 * dropped: what does not verify is capped and stays, and unknown confidence stays unknown.
 */
export function citeFindings(
  report: FindingsReport,
  files: readonly CitedFile[],
  exists: (path: string) => { readonly lines?: number } | undefined,
  root = "",
): readonly Finding[] {
  const byPath = new Map<string, CitedFile>()
  for (const file of files) {
    if (file.from !== undefined && !byPath.has(file.from)) byPath.set(file.from, file)
  }
  for (const file of files) byPath.set(file.path, file)
  return report.findings.map((finding, index) => cite(finding, `F${index + 1}`))

  function cite(finding: ReportedFinding, id: string): Finding {
    const { citation, location } = check(finding.location)
    const capped =
      citation === "verified" || citation === "file" || finding.confidence === null
        ? finding.confidence
        : Math.min(finding.confidence, UNVERIFIED_CAP)
    return { ...finding, id, confidence: capped, citation, ...(location ? { location } : {}) }
  }

  function check(location: Location | undefined): { citation: Citation; location?: Location } {
    if (!location) return { citation: "none" }
    const path = insidePath(location.path, root)
    if (path === undefined) return { citation: "no_file", location }
    // Models copy the a/ and b/ of a diff's headers.
    const candidates = /^[ab]\//.test(path) ? [path, path.slice(2)] : [path]
    for (const candidate of candidates) {
      const file = byPath.get(candidate)
      if (file) return { citation: inDiff(file, location), location: { ...location, path: file.path } }
    }
    for (const candidate of candidates) {
      const found = exists(candidate)
      if (!found) continue
      const beyond = location.line !== undefined && outOfRange(location, found.lines)
      return { citation: beyond ? "no_line" : "unchanged_line", location: { ...location, path: candidate } }
    }
    return { citation: "no_file", location }
  }
}

function inDiff(file: CitedFile, location: Location): Citation {
  if (location.line === undefined) return "file"
  const end = location.endLine ?? location.line
  const start = location.line
  if (start >= 1 && file.hunks.some((hunk) => start <= hunk.end && end >= hunk.start)) return "verified"
  return outOfRange(location, file.lines) ? "no_line" : "unchanged_line"
}

function outOfRange(location: Location, lines: number | undefined): boolean {
  const line = location.line ?? 1
  return line < 1 || (lines !== undefined && line > lines)
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
