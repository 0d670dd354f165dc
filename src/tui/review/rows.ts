import { commentFinding, type Comment } from "../../core/comments.ts"
import type { Finding, Ruling } from "../../core/task.ts"
import { padStart, width, wrap } from "../../core/text.ts"
import { isCode, type CodeLine, type PatchLine } from "./lines.ts"

/** One row of the diff pane, one screen line high. Rows that the cursor stops at have a key of their own. */
export type Row =
  | { readonly kind: "hunk"; readonly key: string; readonly hunk: number; readonly text: string }
  | { readonly kind: "note"; readonly key: string; readonly text: string }
  | {
      readonly kind: "code"
      readonly key: string
      /** One line, or the two sides beside each other. */
      readonly sides: readonly [CodeLine] | readonly [CodeLine | undefined, CodeLine | undefined]
    }
  | {
      readonly kind: "finding"
      readonly key: string
      readonly part: "head" | "text" | "foot"
      readonly finding: string
      readonly text: string
    }

/** What is known of a finding in the review: its ruling, and for the person's own the comment itself. */
export type Judged = { readonly finding: Finding; readonly ruling?: Ruling; readonly comment?: Comment }

/** Cells of the two line numbers, and of one. */
export const GUTTER = 10
export const HALF_GUTTER = 6

/** A comment among the findings. What was sent back is ruled no more until the person says so. */
export function judgedComment(comment: Comment): Judged {
  const { disposition, reason, snapshot, at } = comment
  const ruling: Ruling = { finding: comment.id, disposition, snapshot, at, ...(reason ? { reason } : {}) }
  return { finding: commentFinding(comment), ruling, comment }
}

export type Layout = {
  readonly cells: number
  readonly split: boolean
  /** Hunks of which only the head is shown. */
  readonly folded: ReadonlySet<number>
  /** The iteration under review: comments of an earlier one have been sent back. */
  readonly generation: number
}

/**
 * The rows of one file, findings below the lines that they cite, or below the head of the folded hunk that holds them.
 * Those whose line is not in the diff stand above: none is left out.
 */
export function fileRows(lines: readonly PatchLine[], findings: readonly Judged[], layout: Layout): Row[] {
  const placed = new Set<string>()
  const rows: Row[] = []
  // Of a file that is gone there are old lines only.
  const gone = lines.every((line) => !isCode(line) || line.new === undefined)
  const takeBelow = (line: CodeLine) => {
    for (const judged of findings) {
      if (placed.has(judged.finding.id) || !standsBelow(judged, line, gone)) continue
      placed.add(judged.finding.id)
      rows.push(...findingRows(judged, layout))
    }
  }
  let notes = 0
  for (const piece of layout.split ? paired(lines) : lines.map((line) => [line] as const)) {
    const first = piece[0] ?? piece[1]!
    if (first.kind === "hunk") {
      const folded = layout.folded.has(first.hunk)
      const size = folded ? ` ${first.added + first.removed} changed lines, folded` : ""
      rows.push({ kind: "hunk", key: `h:${first.hunk}`, hunk: first.hunk, text: `${first.text}${size}` })
    } else if (first.kind === "note") {
      rows.push({ kind: "note", key: `note:${notes++}`, text: first.text })
    } else {
      const sides = piece as Extract<Row, { kind: "code" }>["sides"]
      const shown = (sides as readonly (CodeLine | undefined)[]).filter((side) => side !== undefined)
      if (!layout.folded.has(shown[0]!.hunk)) rows.push({ kind: "code", key: keyOf(shown.at(-1)!), sides })
      for (const side of new Set(shown)) takeBelow(side)
    }
  }
  const rest = findings.filter(({ finding }) => !placed.has(finding.id))
  return [...rest.flatMap((judged) => findingRows(judged, layout)), ...rows]
}

/** By how many cells the longest line of code is longer than its room: no further is there anything to see. */
export function overhang(rows: readonly Row[], layout: Pick<Layout, "cells" | "split">): number {
  const room = layout.split ? Math.floor((layout.cells - 1) / 2) - HALF_GUTTER - 2 : layout.cells - GUTTER - 2
  const longest = rows.reduce((most, row) => {
    if (row.kind !== "code") return most
    return row.sides.reduce((wide, side) => Math.max(wide, side ? width(side.text) : 0), most)
  }, 0)
  return Math.max(0, longest - room)
}

/** The key of the row that shows this line. */
export function keyOf(line: CodeLine): string {
  return line.new === undefined ? `o:${line.old}` : `n:${line.new}`
}

function standsBelow({ finding: { location, citation }, comment }: Judged, line: CodeLine, gone: boolean): boolean {
  if (location?.line === undefined || citation === "no_line") return false
  const last = location.endLine ?? location.line
  return gone || comment?.side === "old" ? line.old === last && line.kind !== "add" : line.new === last
}

type Piece = readonly [PatchLine, undefined?] | readonly [CodeLine | undefined, CodeLine | undefined]

/** Removed and added lines beside each other, the others on both sides. */
function paired(lines: readonly PatchLine[]): Piece[] {
  const pairs: Piece[] = []
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i]!
    if (!isCode(line)) {
      pairs.push([line])
      continue
    }
    if (line.kind === "context") {
      pairs.push([line, line])
      continue
    }
    const start = i
    while (lines[i]?.kind === "delete") i++
    const removed = lines.slice(start, i) as CodeLine[]
    const middle = i
    while (lines[i]?.kind === "add") i++
    const added = lines.slice(middle, i) as CodeLine[]
    i--
    for (let n = 0; n < Math.max(removed.length, added.length); n++) {
      pairs.push([removed[n], added[n]])
    }
  }
  return pairs
}

/** The box of one finding: what, how sure, the words, and what was decided. */
export function findingRows(judged: Judged, { cells, generation }: Pick<Layout, "cells" | "generation">): Row[] {
  const { finding } = judged
  const key = `f:${finding.id}`
  const text = [...wrap(finding.title, cells - 3), ...(finding.detail ? wrap(finding.detail, cells - 3) : [])]
  return [
    { kind: "finding", key, part: "head", finding: finding.id, text: headOf(judged) },
    ...text.map((line): Row => ({ kind: "finding", key, part: "text", finding: finding.id, text: line })),
    { kind: "finding", key, part: "foot", finding: finding.id, text: footOf(judged, generation) },
  ]
}

function headOf({ finding, comment }: Judged): string {
  const range = finding.location?.endLine ? ` · lines ${finding.location.line}–${finding.location.endLine}` : ""
  if (comment) {
    const outdated = comment.outdated ? " · outdated: its line was changed" : ""
    return `${finding.id} comment · ${comment.by}${range}${outdated} `
  }
  const sure = finding.confidence === null ? "unsure" : `${finding.confidence}/10`
  const place = finding.citation === "verified" ? "" : ` · ${placeWords(finding)}`
  const times = finding.count && finding.count > 1 ? ` · ${finding.count} times` : ""
  return `${finding.id} ${finding.kind} · ${finding.severity} · ${sure}${times}${range}${place} `
}

function footOf({ ruling, comment }: Judged, generation: number): string {
  const reason = ruling?.reason ? `: ${ruling.reason}` : ""
  if (comment && comment.generation < generation) {
    return `sent back in iteration ${comment.generation} · f send it again · g settled · e edit · x delete`
  }
  if (comment) {
    const said = comment.disposition === "fix" ? "goes back to the agent" : `ruled ${comment.disposition}${reason}`
    return `${said} · e edit · x delete`
  }
  return ruling ? `ruled ${ruling.disposition}${reason} · f i g change it` : "f fix · i intended · g ignore · c comment"
}

/** Row index of a finding's head. */
export function findingAt(rows: readonly Row[], finding: string): number {
  return rows.findIndex((row) => row.kind === "finding" && row.part === "head" && row.finding === finding)
}

/** Row indices where the cursor stops: every line, and each box once. */
export function stopsOf(rows: readonly Row[]): number[] {
  return rows.flatMap((row, index) => (row.kind !== "finding" || row.part === "head" ? [index] : []))
}

function placeWords(finding: Finding): string {
  if (!finding.location) return "no place"
  if (finding.citation === "file") return "on the file"
  return finding.citation === "no_file" || finding.citation === "none" ? "out of diff" : "line not in diff"
}

/** The numbers before a line: both sides, or one where the sides stand beside each other. */
export function gutterOf(line: CodeLine, side?: "old" | "new"): string {
  if (side) return `${padStart(numberText(line[side]), HALF_GUTTER - 1)} `
  const cells = GUTTER / 2 - 1
  return `${padStart(numberText(line.old), cells)} ${padStart(numberText(line.new), cells)} `
}

const numberText = (number: number | undefined) => (number === undefined ? "" : `${number}`)
