import type { DiffFileReply } from "../../core/protocol.ts"
import type { Finding, Ruling } from "../../core/task.ts"
import { displayableLines, padStart, wrap } from "../../core/text.ts"

/** One row of the diff pane, one screen line high. */
export type Row =
  | { readonly kind: "hunk" | "note"; readonly text: string }
  | {
      readonly kind: "context" | "add" | "delete"
      readonly gutter: string
      readonly text: string
      readonly line?: number
    }
  | {
      readonly kind: "finding"
      readonly part: "head" | "text" | "foot"
      readonly finding: string
      readonly text: string
    }

/** What is known of a finding in the review, its ruling included. */
export type Judged = { readonly finding: Finding; readonly ruling?: Ruling }

/** Cells of the two line numbers. */
export const GUTTER = 10

/**
 * The rows of one file, findings below the lines that they cite. Those whose line is not shown in this diff stand
 * above it: none is left out.
 */
export function fileRows(file: DiffFileReply | undefined, findings: readonly Judged[], cells: number): Row[] {
  const lines = file ? patchRows(file) : []
  const placed = new Set<string>()
  const rows: Row[] = []
  for (const row of lines) {
    rows.push(row)
    if (row.kind !== "context" && row.kind !== "add") continue
    for (const judged of findings) {
      const { location, id } = judged.finding
      if (placed.has(id) || !location?.line) continue
      if ((location.endLine ?? location.line) !== row.line) continue
      placed.add(id)
      rows.push(...findingRows(judged, cells))
    }
  }
  const rest = findings.filter(({ finding }) => !placed.has(finding.id))
  return [...rest.flatMap((judged) => findingRows(judged, cells)), ...rows]
}

/** The lines of a unified patch with their numbers; what is no hunk is left out, what is odd becomes a note. */
export function patchRows(file: DiffFileReply): Row[] {
  const rows: Row[] = []
  if (file.note) rows.push({ kind: "note", text: file.note })
  let before = 0
  let after = 0
  let inHunk = false
  const lines = file.patch.split("\n")
  if (lines.at(-1) === "") lines.pop()
  for (const line of lines) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line)
    if (header) {
      inHunk = true
      before = Number(header[1])
      after = Number(header[2])
      rows.push({ kind: "hunk", text: line })
    } else if (!inHunk) {
      continue
    } else if (line.startsWith("+")) {
      rows.push({ kind: "add", gutter: gutter(undefined, after), text: code(line.slice(1)), line: after++ })
    } else if (line.startsWith("-")) {
      rows.push({ kind: "delete", gutter: gutter(before, undefined), text: code(line.slice(1)), line: before++ })
    } else if (line.startsWith("\\")) {
      rows.push({ kind: "note", text: "no newline at the end" })
    } else {
      rows.push({ kind: "context", gutter: gutter(before, after), text: code(line.slice(1)), line: after })
      before++
      after++
    }
  }
  if (rows.length === 0) rows.push({ kind: "note", text: `${file.kind}: no lines to show` })
  return rows
}

/** The box of one finding: what, how sure, the words, and what was decided. */
export function findingRows({ finding, ruling }: Judged, cells: number): Row[] {
  const sure = finding.confidence === null ? "unsure" : `${finding.confidence}/10`
  const place = finding.citation === "verified" ? "" : ` · ${placeWords(finding)}`
  const times = finding.count && finding.count > 1 ? ` · ${finding.count} times` : ""
  const head = `${finding.id} ${finding.kind} · ${finding.severity} · ${sure}${times}${place} `
  const text = [...wrap(finding.title, cells - 3), ...(finding.detail ? wrap(finding.detail, cells - 3) : [])]
  const foot = ruling
    ? `ruled ${ruling.disposition}${ruling.reason ? `: ${ruling.reason}` : ""} · f i g change it`
    : "f fix · i intended · g ignore"
  return [
    { kind: "finding", part: "head", finding: finding.id, text: head },
    ...text.map((line): Row => ({ kind: "finding", part: "text", finding: finding.id, text: line })),
    { kind: "finding", part: "foot", finding: finding.id, text: foot },
  ]
}

/** Row index of a finding's head. */
export function findingAt(rows: readonly Row[], finding: string): number {
  return rows.findIndex((row) => row.kind === "finding" && row.part === "head" && row.finding === finding)
}

/** Row indices where hunks begin. */
export function hunksOf(rows: readonly Row[]): number[] {
  return rows.flatMap((row, index) => (row.kind === "hunk" ? [index] : []))
}

function placeWords(finding: Finding): string {
  if (!finding.location) return "no place"
  return finding.citation === "no_file" || finding.citation === "none" ? "out of diff" : "line not in diff"
}

function gutter(before: number | undefined, after: number | undefined): string {
  const cells = GUTTER / 2 - 1
  return `${padStart(before === undefined ? "" : `${before}`, cells)} ${padStart(after === undefined ? "" : `${after}`, cells)} `
}

function code(text: string): string {
  // A carriage return inside a line is shown as the control that it is.
  return displayableLines(text.replaceAll("\r", "\u240d"), 4)[0] ?? ""
}

/** A file in the list: its name at the end, since that tells more than the folders. */
export function fileLabel(file: DiffFileReply): string {
  return file.from && file.from !== file.path ? `${file.from} → ${file.path}` : file.path
}
