import {
  fileMark,
  readingOrder,
  type ChangeKind,
  type DiffFile,
  type DiffHunk,
  type FileNature,
} from "../../core/diff.ts"
import { ok, type Result } from "../../core/result.ts"
import { decodePath } from "./bytes.ts"
import { fail, type GitFailure } from "./failure.ts"

/**
 * Reads `git diff-tree -r -z --raw --numstat -p --full-index` as it arrives. Names and kinds come from the raw records,
 * which are NUL-terminated and never quoted; the patch only adds the hunks, section by section in the same order. What
 * does not fit together (an unknown line, a count that differs, a missing section) is an error and never "no changes".
 */
export interface DiffLimits {
  /** Bytes of hunk text that are kept of one file, of all files, and of one line. */
  readonly fileBytes: number
  readonly totalBytes: number
  readonly lineBytes: number
}

export const DIFF_LIMITS: DiffLimits = { fileBytes: 1024 * 1024, totalBytes: 64 * 1024 * 1024, lineBytes: 4 * 1024 }

interface Draft {
  readonly path: string
  readonly oldPath?: string
  readonly status: string
  readonly oldMode: string
  readonly newMode: string
  readonly oldObject: string
  readonly newObject: string
  counted: readonly [number, number] | undefined
  sections: number
  insertions: number
  deletions: number
  binary: boolean
  kept: number
  cutLines: number
  cutBytes: number
  readonly hunks: DiffHunk[]
}

interface OpenHunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly heading: string
  oldAt: number
  newAt: number
  readonly added: { start: number; end: number }[]
  readonly removed: { start: number; end: number }[]
  readonly text: Buffer[]
  last: "old" | "new" | "both"
  bareOld: boolean
  bareNew: boolean
}

const HEADER =
  /^(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index|index|---|\+\+\+) /
const NEWLINE = 10

export class DiffParser {
  readonly #limits: DiffLimits
  readonly #asText: boolean
  readonly #files: Draft[] = []
  readonly #sections: Draft[] = []
  #phase: "records" | "patch" = "records"
  #counted = 0
  #section = -1
  #total = 0
  #carry: Buffer[] = []
  #carried = 0
  #dropped = 0
  #hunk: OpenHunk | undefined
  #problem: string | undefined

  /** With `asText` git was told to take everything as text, and only content makes a file binary. */
  constructor(limits: DiffLimits = DIFF_LIMITS, asText = false) {
    this.#limits = limits
    this.#asText = asText
  }

  push(chunk: Buffer): void {
    if (this.#problem !== undefined) return
    if (this.#phase === "records") this.#records(chunk)
    else this.#patch(chunk)
  }

  end(): Result<readonly DiffFile[], GitFailure> {
    if (this.#phase === "patch" && (this.#carried > 0 || this.#dropped > 0)) this.#endLine(Buffer.alloc(0))
    if (this.#phase === "records" && (this.#carried > 0 || this.#files.length > 0)) this.#fail("it ended too early")
    this.#closeHunk()
    if (this.#section !== this.#sections.length - 1) this.#fail("the patch does not hold every file")
    for (const file of this.#files) {
      const [insertions, deletions] = file.counted ?? [0, 0]
      if (file.counted === undefined || file.binary) continue
      if (insertions !== file.insertions || deletions !== file.deletions)
        this.#fail(`the counts of ${file.path} differ`)
    }
    if (this.#problem !== undefined) {
      return fail("unreadable", `git's diff could not be read: ${this.#problem}`, { what: "diff" })
    }
    return ok(readingOrder(this.#files.map(finish)))
  }

  /** Records are short; they are kept until the empty field that ends them. */
  #records(chunk: Buffer): void {
    const bytes = this.#carried === 0 ? chunk : Buffer.concat([...this.#carry, chunk])
    let at = 0
    const next = (): string | undefined => {
      const end = bytes.indexOf(0, at)
      if (end === -1) return undefined
      const field = decodePath(bytes.subarray(at, end))
      at = end + 1
      return field
    }
    for (;;) {
      const begin = at
      const field = next()
      const done = field === "" ? "patch" : field === undefined ? "wait" : this.#record(field, next)
      if (done === "patch") {
        if (this.#counted !== this.#files.length) this.#fail("names and counts differ")
        for (const file of this.#files) this.#sections.push(...(file.status === "T" ? [file, file] : [file]))
        this.#phase = "patch"
        this.#carry = []
        this.#carried = 0
        this.#patch(bytes.subarray(at))
        return
      }
      if (done === "wait") {
        this.#carry = [bytes.subarray(begin)]
        this.#carried = bytes.length - begin
        return
      }
      if (this.#problem !== undefined) return
    }
  }

  #record(field: string, next: () => string | undefined): "more" | "wait" {
    if (field.startsWith(":")) {
      const [oldMode, newMode, oldObject, newObject, status] = field.slice(1).split(" ")
      const first = next()
      const second = status && /^[RC]/.test(status) ? next() : first
      if (first === undefined || second === undefined) return "wait"
      if (!oldMode || !newMode || !oldObject || !newObject || !status) {
        this.#fail("a record is not whole")
        return "more"
      }
      if (!/^[ADMTRC]/.test(status)) this.#fail(`the change "${status}" is unknown`)
      const names = first === second && !/^[RC]/.test(status) ? { path: first } : { path: second, oldPath: first }
      const empty = {
        counted: undefined,
        sections: 0,
        insertions: 0,
        deletions: 0,
        binary: false,
        kept: 0,
        cutLines: 0,
        cutBytes: 0,
      }
      this.#files.push({ ...names, status, oldMode, newMode, oldObject, newObject, ...empty, hunks: [] })
      return "more"
    }
    const counts = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(field)
    if (!counts) {
      this.#fail("a record is neither a change nor a count")
      return "more"
    }
    let path: string | undefined = counts[3]!
    if (path === "") {
      const old = next()
      path = next()
      if (old === undefined || path === undefined) return "wait"
    }
    const file = this.#files[this.#counted++]
    if (file?.path !== path) this.#fail("names and counts are in different order")
    else if (counts[1] === "-") file.binary = !this.#asText
    else file.counted = [Number(counts[1]), Number(counts[2])]
    return "more"
  }

  #patch(chunk: Buffer): void {
    let at = 0
    while (at < chunk.length && this.#problem === undefined) {
      const end = chunk.indexOf(NEWLINE, at)
      if (end === -1) {
        this.#hold(chunk.subarray(at))
        return
      }
      this.#endLine(chunk.subarray(at, end))
      at = end + 1
    }
  }

  /** Keeps the beginning of a line that has not ended; a very long one is not kept whole. */
  #hold(piece: Buffer): void {
    const room = Math.max(0, this.#limits.lineBytes + 512 - this.#carried)
    const kept = piece.subarray(0, room)
    if (kept.length > 0) this.#carry.push(kept)
    this.#carried += kept.length
    this.#dropped += piece.length - kept.length
  }

  #endLine(rest: Buffer): void {
    if (this.#carried === 0 && this.#dropped === 0) return this.#line(rest, 0)
    this.#hold(rest)
    const line = this.#carry.length === 1 ? this.#carry[0]! : Buffer.concat(this.#carry)
    const dropped = this.#dropped
    this.#carry = []
    this.#carried = 0
    this.#dropped = 0
    this.#line(line, dropped)
  }

  #line(line: Buffer, dropped: number): void {
    const hunk = this.#hunk
    if (hunk) {
      const whole = hunk.oldAt >= hunk.oldStart + hunk.oldLines && hunk.newAt >= hunk.newStart + hunk.newLines
      if (line[0] === 0x5c) return this.#bareEnd(hunk)
      if (!whole) return this.#hunkLine(hunk, line, dropped)
      this.#closeHunk()
    }
    const text = line.toString("utf8")
    if (text.startsWith("diff --git ")) return this.#nextSection()
    const file = this.#sections[this.#section]
    if (!file) return this.#fail("text stands before the first file")
    if (text.startsWith("@@ ")) return this.#openHunk(text)
    if (text.startsWith("Binary files ")) file.binary = true
    else if (!HEADER.test(text)) this.#fail(`a line of ${file.path} is unknown`)
  }

  #nextSection(): void {
    this.#section++
    if (this.#section >= this.#sections.length) this.#fail("the patch holds more files than were named")
    else this.#sections[this.#section]!.sections++
  }

  #openHunk(text: string): void {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/s.exec(text)
    if (!found) return this.#fail("a hunk has no readable place")
    const oldLines = found[2] === undefined ? 1 : Number(found[2])
    const newLines = found[4] === undefined ? 1 : Number(found[4])
    const oldStart = Number(found[1])
    const newStart = Number(found[3])
    this.#hunk = {
      oldStart,
      oldLines,
      newStart,
      newLines,
      heading: found[5] ?? "",
      oldAt: oldStart,
      newAt: newStart,
      added: [],
      removed: [],
      text: [],
      last: "both",
      bareOld: false,
      bareNew: false,
    }
  }

  #hunkLine(hunk: OpenHunk, line: Buffer, dropped: number): void {
    const file = this.#sections[this.#section]!
    const mark = line.length === 0 ? 0x20 : line[0]
    if (mark === 0x2b) {
      extend(hunk.added, hunk.newAt++)
      file.insertions++
      hunk.last = "new"
    } else if (mark === 0x2d) {
      extend(hunk.removed, hunk.oldAt++)
      file.deletions++
      hunk.last = "old"
    } else if (mark === 0x20) {
      hunk.oldAt++
      hunk.newAt++
      hunk.last = "both"
    } else return this.#fail(`a hunk of ${file.path} has an unknown line`)
    if (hunk.oldAt > hunk.oldStart + hunk.oldLines || hunk.newAt > hunk.newStart + hunk.newLines) {
      return this.#fail(`a hunk of ${file.path} is longer than it says`)
    }
    if (line.includes(0)) file.binary = true
    this.#keep(file, hunk, line, dropped)
  }

  #keep(file: Draft, hunk: OpenHunk, line: Buffer, dropped: number): void {
    const { fileBytes, totalBytes, lineBytes } = this.#limits
    if (file.binary) return
    if (file.kept + line.length > fileBytes || this.#total + line.length > totalBytes) {
      file.cutLines++
      file.cutBytes += line.length + dropped
      return
    }
    const over = Math.max(0, line.length - lineBytes) + dropped
    const shown = over > 0 ? Buffer.from(`${line.subarray(0, lineBytes).toString("utf8")}… ${over} bytes more`) : line
    if (over > 0) file.cutBytes += over
    file.kept += shown.length + 1
    this.#total += shown.length + 1
    hunk.text.push(shown)
  }

  #bareEnd(hunk: OpenHunk): void {
    if (hunk.last !== "new") hunk.bareOld = true
    if (hunk.last !== "old") hunk.bareNew = true
  }

  #closeHunk(): void {
    const hunk = this.#hunk
    if (!hunk) return
    this.#hunk = undefined
    const file = this.#sections[this.#section]!
    const short = hunk.oldAt < hunk.oldStart + hunk.oldLines || hunk.newAt < hunk.newStart + hunk.newLines
    if (short) return this.#fail(`a hunk of ${file.path} is shorter than it says`)
    const bare = { ...(hunk.bareOld ? { old: true as const } : {}), ...(hunk.bareNew ? { new: true as const } : {}) }
    const { oldStart, oldLines, newStart, newLines, heading, added, removed } = hunk
    file.hunks.push({
      oldStart,
      oldLines,
      newStart,
      newLines,
      heading,
      added,
      removed,
      ...(hunk.bareOld || hunk.bareNew ? { bareEnd: bare } : {}),
      text: hunk.text.map((line) => `${line.length === 0 ? " " : line.toString("utf8")}\n`).join(""),
    })
  }

  #fail(problem: string): void {
    this.#problem ??= problem
  }
}

function extend(ranges: { start: number; end: number }[], line: number): void {
  const last = ranges.at(-1)
  if (last && last.end === line - 1) last.end = line
  else ranges.push({ start: line, end: line })
}

function finish(draft: Draft): DiffFile {
  const { path, oldPath, oldMode, newMode, oldObject, newObject, binary } = draft
  const nature = natureOf(newMode === "000000" ? oldMode : newMode, binary)
  const mark = fileMark(path) ?? (oldPath === undefined ? undefined : fileMark(oldPath))
  const cut = draft.cutBytes > 0 && !binary ? { lines: draft.cutLines, bytes: draft.cutBytes } : undefined
  return {
    path,
    oldMode,
    newMode,
    oldObject,
    newObject,
    nature,
    ...(oldPath === undefined ? {} : { oldPath }),
    kind: kindOf(draft),
    ...(draft.status === "T" ? { oldNature: natureOf(oldMode, false) } : {}),
    ...(/^[RC]\d/.test(draft.status) ? { similarity: Number(draft.status.slice(1)) } : {}),
    ...(binary ? {} : { insertions: draft.insertions, deletions: draft.deletions }),
    hunks: binary ? [] : draft.hunks,
    ...(cut ? { cut } : {}),
    ...(mark ? { mark } : {}),
  }
}

function kindOf(draft: Draft): ChangeKind {
  const kinds: Readonly<Record<string, ChangeKind>> = { A: "added", D: "deleted", T: "type", R: "renamed", C: "copied" }
  const kind = kinds[draft.status[0]!] ?? "modified"
  return kind === "modified" && draft.oldObject === draft.newObject ? "mode" : kind
}

function natureOf(mode: string, binary: boolean): FileNature {
  if (mode === "160000") return "submodule"
  if (mode === "120000") return "link"
  return binary ? "binary" : "text"
}
