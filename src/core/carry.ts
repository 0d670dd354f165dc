import type { Diff } from "./diff.ts"
import type { ReportedFinding } from "./findings.ts"
import type { Finding, Location, Ruling } from "./task.ts"

/*
 * What becomes of a ruling when the code goes on: it holds for as long as the code at its place stands as it was. A
 * place near a change counts as changed, so that in doubt the person is asked again.
 */

/** A finding that was ruled on, its ruling, and whether the code at its place differs from what was ruled on. */
export type PriorRuling = {
  readonly finding: Finding
  readonly ruling: Ruling
  readonly generation: number
  /** Absent where nobody can tell: the finding names no place, or the older snapshot cannot be read. */
  readonly changed?: boolean
  /** Where the place is now, when it is unchanged. */
  readonly now?: Location
}

/** Where a place of the diff's old side is on its new side; `undefined` when it changed or names no line to look at. */
export function carryPlace(diff: Diff, location: Location): Location | undefined {
  const file = diff.files.find((one) => (one.oldPath ?? one.path) === location.path && one.kind !== "copied")
  if (!file) return diff.files.some((one) => one.path === location.path && !one.oldPath) ? undefined : location
  if (location.line === undefined || file.kind === "deleted" || file.nature !== "text") return undefined
  const { line } = location
  const end = Math.max(line, location.endLine ?? line)
  let offset = 0
  for (const hunk of file.hunks) {
    // A hunk has its neighbourhood in it. One that only adds stands after its `oldStart`.
    const last = hunk.oldLines === 0 ? hunk.oldStart : hunk.oldStart + hunk.oldLines - 1
    if (last < line) offset += hunk.newLines - hunk.oldLines
    else if (hunk.oldStart <= end) return undefined
  }
  return {
    ...location,
    path: file.path,
    line: line + offset,
    ...(location.endLine === undefined ? {} : { endLine: location.endLine + offset }),
  }
}

/** The prior ruling that a reported finding only repeats: set aside by the person, on code that has not changed. */
export function repeats(finding: ReportedFinding, priors: readonly PriorRuling[]): PriorRuling | undefined {
  return priors.findLast((prior) => {
    if (prior.ruling.disposition === "fix" || prior.changed !== false || !prior.now) return false
    if (finding.location?.path !== prior.now.path) return false
    if (plainTitle(finding.title) === plainTitle(prior.finding.title)) return true
    return finding.kind === prior.finding.kind && meets(finding.location, prior.now) && alike(finding, prior.finding)
  })
}

function meets(one: Location, other: Location): boolean {
  if (one.line === undefined || other.line === undefined) return false
  return one.line <= (other.endLine ?? other.line) && other.line <= (one.endLine ?? one.line)
}

/** Most of the words of their titles are the same. */
function alike(one: { readonly title: string }, other: { readonly title: string }): boolean {
  const first = new Set(plainTitle(one.title).split(" "))
  const second = new Set(plainTitle(other.title).split(" "))
  const common = [...first].filter((word) => second.has(word)).length
  return common / (first.size + second.size - common) >= 0.6
}

function plainTitle(title: string): string {
  return title
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim()
}
