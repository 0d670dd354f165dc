import type { Citation, Location } from "./task.ts"

/** Lines from `start` to `end`, both included, from 1. */
export type LineRange = { readonly start: number; readonly end: number }

export type DiffHunk = {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  /** What git found as the enclosing function. */
  readonly heading: string
  /** The added lines on the new side and the removed ones on the old side. */
  readonly added: readonly LineRange[]
  readonly removed: readonly LineRange[]
  /** The last line of that side has no newline. */
  readonly bareEnd?: { readonly old?: true; readonly new?: true }
  /** Lines with their mark (space, plus, minus) in front; may be cut. */
  readonly text: string
}

export type ChangeKind = "added" | "deleted" | "modified" | "renamed" | "copied" | "mode" | "type"
export type FileNature = "text" | "binary" | "link" | "submodule"

/** Why a file deserves to be read first: it decides what runs on the person's machine or how git treats the others. */
export type FileMark = "opencode" | "instructions" | "hooks" | "attributes"

export type DiffFile = {
  readonly path: string
  /** Where a renamed or copied file came from. */
  readonly oldPath?: string
  readonly kind: ChangeKind
  readonly nature: FileNature
  /** What it was before a change of type. */
  readonly oldNature?: FileNature
  /** `100644`, `100755`, `120000`, `160000`, or `000000` where the side does not exist. */
  readonly oldMode: string
  readonly newMode: string
  readonly oldObject: string
  readonly newObject: string
  /** Percent, of a rename or copy. */
  readonly similarity?: number
  /** Absent for a binary. */
  readonly insertions?: number
  readonly deletions?: number
  readonly hunks: readonly DiffHunk[]
  /** What the hunks' texts leave out; ranges and counts are whole all the same. */
  readonly cut?: { readonly lines: number; readonly bytes: number }
  readonly mark?: FileMark
}

export type Diff = {
  readonly from: string
  readonly to: string
  /** Marked files first, then in git's order. */
  readonly files: readonly DiffFile[]
  readonly insertions: number
  readonly deletions: number
}

/** Whether the file decides more than its own content does. */
export function fileMark(path: string): FileMark | undefined {
  const name = path.slice(path.lastIndexOf("/") + 1).toLowerCase()
  const parts = path.toLowerCase().split("/")
  if (/^(opencode|tui)\.jsonc?$/.test(name) || parts.includes(".opencode")) return "opencode"
  if (name === ".gitattributes" || name === ".gitmodules") return "attributes"
  if (parts.some((part) => [".husky", ".githooks", ".hooks"].includes(part))) return "hooks"
  if (/^(\.?lefthook(-local)?\.(ya?ml|toml|json)|\.pre-commit-config\.ya?ml|\.lintstagedrc.*)$/.test(name))
    return "hooks"
  if (name === "agents.md" || name === "claude.md") return "instructions"
  return undefined
}

/** Marked files first; the order is otherwise kept. */
export function readingOrder(files: readonly DiffFile[]): readonly DiffFile[] {
  return [...files.filter((file) => file.mark !== undefined), ...files.filter((file) => file.mark === undefined)]
}

/** Whether a hunk of the file shows the line: of the new side, or of the old one where the file is gone. */
export function hunksContain(file: DiffFile, line: number, endLine = line): boolean {
  return file.hunks.some((hunk) => {
    const gone = file.kind === "deleted"
    const start = gone ? hunk.oldStart : hunk.newStart
    const lines = gone ? hunk.oldLines : hunk.newLines
    return lines > 0 && line <= start + lines - 1 && endLine >= start
  })
}

/** The file that a reader means by `path`: exactly, or with a diff's prefix, or in the other Unicode form. */
export function findFile(diff: Diff, path: string): DiffFile | undefined {
  const plain = path.replace(/^\.\//, "")
  const tried = [plain, ...(/^[ab]\//.test(plain) ? [plain.slice(2)] : [])]
  for (const name of tried) {
    const exact = diff.files.find((file) => file.path === name)
    if (exact) return exact
  }
  for (const name of tried) {
    const wanted = name.normalize("NFC")
    const same = diff.files.filter((file) => file.path.normalize("NFC") === wanted)
    if (same.length === 1) return same[0]
  }
  return diff.files.find((file) => file.kind === "renamed" && file.oldPath === plain)
}

/**
 * Judges a cited place against the hunks. `lines` is how many lines the file has in the snapshot: `undefined` when it
 * has no such file, absent when the caller could not look.
 */
export function verifyCitation(
  diff: Diff,
  location: Location | undefined,
  known: { readonly lines?: number | undefined; readonly looked: boolean } = { looked: false },
): Citation {
  if (location === undefined || location.path.trim() === "") return "none"
  const file = findFile(diff, location.path)
  if (!file) {
    if (!known.looked || known.lines === undefined) return "no_file"
    return location.line !== undefined && !lineExists(location.line, known.lines) ? "no_line" : "unchanged_line"
  }
  if (location.line === undefined) return "file"
  if (!Number.isInteger(location.line) || location.line < 1) return "no_line"
  if (hunksContain(file, location.line, Math.max(location.line, location.endLine ?? location.line))) return "verified"
  const lines = wholeLength(file) ?? (known.looked ? (known.lines ?? 0) : undefined)
  return lines !== undefined && !lineExists(location.line, lines) ? "no_line" : "unchanged_line"
}

/** The text of one file's change as a person reads a patch; bounded by what the model kept and by `maxBytes`. */
export function unifiedText(file: DiffFile, maxBytes = 256 * 1024): { readonly text: string; readonly cut: boolean } {
  let text = ""
  for (const hunk of file.hunks) {
    const heading = hunk.heading === "" ? "" : ` ${hunk.heading}`
    text += `@@ -${side(hunk.oldStart, hunk.oldLines)} +${side(hunk.newStart, hunk.newLines)} @@${heading}\n${hunk.text}`
    if (text.length > maxBytes) return { text: `${text.slice(0, maxBytes)}\n`, cut: true }
  }
  return { text, cut: file.cut !== undefined }
}

/** What a person calls the change, in a few words. */
export function describeChange(file: DiffFile): string {
  if (file.nature === "submodule" && file.kind === "modified") {
    return `submodule ${file.oldObject.slice(0, 8)} → ${file.newObject.slice(0, 8)}`
  }
  if (file.kind === "type") return `${named(file.oldNature)} → ${named(file.nature)}`
  const what = file.nature === "text" ? "" : ` ${named(file.nature)}`
  const mode = file.oldMode !== file.newMode && file.oldMode !== "000000" && file.newMode !== "000000"
  const modes = mode ? ` ${file.oldMode.slice(3)}→${file.newMode.slice(3)}` : ""
  if (file.kind === "mode") return `mode${modes}`
  const from = file.oldPath === undefined ? "" : ` from ${file.oldPath}`
  const empty = file.kind === "added" && file.nature === "text" && file.insertions === 0 ? " empty" : ""
  return `${file.kind}${empty}${what}${from}${modes}`
}

function named(nature: FileNature | undefined): string {
  return nature === undefined || nature === "text" ? "file" : nature
}

function side(start: number, lines: number): string {
  return lines === 1 ? String(start) : `${start},${lines}`
}

/** How many lines the file has, where the diff shows all of it. */
function wholeLength(file: DiffFile): number | undefined {
  if (file.nature !== "text") return undefined
  if (file.kind === "added" || file.kind === "type") return file.hunks.reduce((sum, hunk) => sum + hunk.newLines, 0)
  return file.kind === "deleted" ? file.hunks.reduce((sum, hunk) => sum + hunk.oldLines, 0) : undefined
}

function lineExists(line: number, lines: number): boolean {
  return Number.isInteger(line) && line >= 1 && line <= lines
}
