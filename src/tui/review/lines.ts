import type { ReviewFileReply } from "../../core/review-requests.ts"
import { displayableLines } from "../../core/text.ts"
import { changedWords, type Span } from "../../core/words.ts"

/** One line of a patch; its text is displayable. `hunk` counts from 0. */
export type PatchLine =
  | {
      readonly kind: "hunk"
      readonly hunk: number
      readonly text: string
      readonly added: number
      readonly removed: number
    }
  | { readonly kind: "note"; readonly text: string }
  | CodeLine

export type CodeLine = {
  readonly kind: "context" | "add" | "delete"
  readonly hunk: number
  readonly old?: number
  readonly new?: number
  readonly text: string
  /** What differs from the line on the other side. */
  readonly changed?: readonly Span[]
}

/** The lines of a unified patch with their numbers; what is odd becomes a note, and none is left out. */
export function patchLines(file: ReviewFileReply): PatchLine[] {
  const lines: PatchLine[] = []
  if (file.note) lines.push({ kind: "note", text: file.note })
  for (const line of file.dump?.split("\n") ?? []) lines.push({ kind: "note", text: line })
  let [before, after, hunk] = [0, 0, -1]
  const raw = file.patch.split("\n")
  if (raw.at(-1) === "") raw.pop()
  for (const line of raw) {
    const header = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)$/.exec(line)
    if (header) {
      hunk++
      before = Number(header[1])
      after = Number(header[2])
      lines.push({ kind: "hunk", hunk, text: line, added: 0, removed: 0 })
    } else if (hunk < 0) {
      continue
    } else if (line.startsWith("+")) {
      lines.push({ kind: "add", hunk, new: after++, text: code(line.slice(1)) })
    } else if (line.startsWith("-")) {
      lines.push({ kind: "delete", hunk, old: before++, text: code(line.slice(1)) })
    } else if (line.startsWith("\\")) {
      lines.push({ kind: "note", text: "no newline at the end" })
    } else {
      lines.push({ kind: "context", hunk, old: before++, new: after++, text: code(line.slice(1)) })
    }
  }
  if (lines.length === 0) lines.push({ kind: "note", text: `${file.kind}: no lines to show` })
  return withWords(counted(lines))
}

/** Each hunk with the number of lines that it adds and removes. */
function counted(lines: readonly PatchLine[]): PatchLine[] {
  const sizes = new Map<number, { added: number; removed: number }>()
  for (const line of lines) {
    if (line.kind !== "add" && line.kind !== "delete") continue
    const size = sizes.get(line.hunk) ?? { added: 0, removed: 0 }
    if (line.kind === "add") size.added++
    else size.removed++
    sizes.set(line.hunk, size)
  }
  return lines.map((line) => (line.kind === "hunk" ? { ...line, ...sizes.get(line.hunk) } : line))
}

/** Removed lines and those that stand in their place, compared by words, pair by pair. */
function withWords(lines: PatchLine[]): PatchLine[] {
  for (let i = 0; i < lines.length; i++) {
    const start = i
    while (lines[i]?.kind === "delete") i++
    const removed = i - start
    if (removed === 0) continue
    let added = 0
    while (lines[i + added]?.kind === "add") added++
    for (let n = 0; n < Math.min(removed, added); n++) {
      const [old, now] = [lines[start + n] as CodeLine, lines[i + n] as CodeLine]
      const words = changedWords(old.text, now.text)
      if (words.before.length > 0) lines[start + n] = { ...old, changed: words.before }
      if (words.after.length > 0) lines[i + n] = { ...now, changed: words.after }
    }
    i += added - 1
  }
  return lines
}

export const isCode = (line: PatchLine): line is CodeLine => line.kind !== "hunk" && line.kind !== "note"

function code(text: string): string {
  // A carriage return inside a line is shown as the control that it is.
  return displayableLines(text.replaceAll("\r", "\u240d"), 4)[0] ?? ""
}
