import type { Comment } from "./comments.ts"
import type { Diff, DiffFile, DiffHunk, LineRange } from "./diff.ts"
import type { Location } from "./task.ts"

/** Where a place of one commit is in a later one, by the diff between them; `undefined`: it was changed or is gone. */
export function followPlace(diff: Pick<Diff, "files">, location: Location): Location | undefined {
  const file =
    diff.files.find((one) => one.oldPath === location.path && one.kind === "renamed") ??
    diff.files.find((one) => one.path === location.path && one.kind !== "copied")
  if (!file) return location
  if (file.kind === "deleted" || file.kind === "type") return undefined
  const path = file.path
  if (location.line === undefined) return { path }
  if (file.nature !== "text") return undefined
  const line = followLine(file, location.line)
  if (line === undefined) return undefined
  if (location.endLine === undefined) return { path, line }
  const endLine = followLine(file, location.endLine)
  // A range keeps its lines together, or it is another text.
  return endLine !== undefined && endLine - line === location.endLine - location.line
    ? { path, line, endLine }
    : undefined
}

/** The number of an old line on the new side; `undefined` when the change removes or rewrites it. */
export function followLine(file: Pick<DiffFile, "hunks">, line: number): number | undefined {
  let shift = 0
  for (const hunk of file.hunks) {
    // A hunk without old lines names the line before it.
    const start = hunk.oldLines === 0 ? hunk.oldStart + 1 : hunk.oldStart
    if (line < start) return line + shift
    if (line < start + hunk.oldLines) return withinHunk(hunk, line)
    shift += hunk.newLines - hunk.oldLines
  }
  return line + shift
}

function withinHunk(hunk: DiffHunk, line: number): number | undefined {
  const holds = (ranges: readonly LineRange[], at: number) => ranges.some(({ start, end }) => at >= start && at <= end)
  if (holds(hunk.removed, line)) return undefined
  // Unchanged lines keep their order: the n-th of the old side is the n-th of the new one.
  let left = line - hunk.oldStart - covered(hunk.removed, hunk.oldStart, line)
  let at = hunk.newStart
  for (const { start, end } of hunk.added.toSorted((a, b) => a.start - b.start)) {
    const before = start - at
    if (left < before) break
    left -= Math.max(0, before)
    at = end + 1
  }
  return at + left
}

/** How many lines of the ranges lie in `from` up to, not including, `to`. */
function covered(ranges: readonly LineRange[], from: number, to: number): number {
  return ranges.reduce((sum, { start, end }) => sum + Math.max(0, Math.min(end, to - 1) - Math.max(start, from) + 1), 0)
}

/** The comment on a later snapshot: moved with its line, or marked outdated. */
export function followComment(
  comment: Comment,
  diff: Pick<Diff, "files"> | undefined,
  to: { readonly snapshot: string; readonly base: string },
): Comment {
  if (comment.snapshot === to.snapshot && comment.base === to.base) return comment
  const moved = { ...comment, ...to }
  const { location } = comment
  if (comment.outdated || !location) return moved
  // A removed line stands in the base, which is as it was or another one.
  if (comment.side === "old") return comment.base === to.base ? moved : { ...moved, outdated: true }
  const place = diff && followPlace(diff, location)
  return place ? { ...moved, location: place } : { ...moved, outdated: true }
}
