import { readingOrder, type DiffFile } from "../../core/diff.ts"
import { ok, type Result } from "../../core/result.ts"
import { finishFile, readRecords, type FileDraft } from "./diff-records.ts"
import { fail, type GitFailure } from "./failure.ts"

/**
 * Reads `git diff-tree -r -z --raw -p --full-index` as it arrives. Names and kinds come from the raw records; the patch
 * only adds the hunks, section by section in the same order. What does not fit together (an unknown line, a hunk that is
 * longer or shorter than it says, a section of another file) is an error and never "no changes".
 */
export interface DiffLimits {
  /** Bytes of hunk text that are kept of one file, of all files, and of one line. */
  readonly fileBytes: number
  readonly totalBytes: number
  readonly lineBytes: number
}

export const DIFF_LIMITS: DiffLimits = { fileBytes: 1024 * 1024, totalBytes: 64 * 1024 * 1024, lineBytes: 4 * 1024 }

interface OpenHunk {
  readonly oldStart: number
  readonly oldLines: number
  readonly newStart: number
  readonly newLines: number
  readonly heading: string
  /** Lines that are still to come. */
  oldLeft: number
  newLeft: number
  readonly added: { start: number; end: number }[]
  readonly removed: { start: number; end: number }[]
  readonly text: Buffer[]
  last: number
  bareOld: boolean
  bareNew: boolean
}

const HEADER =
  /^(old mode|new mode|deleted file mode|new file mode|copy from|copy to|rename from|rename to|similarity index|dissimilarity index) /
const [NEWLINE, SPACE, PLUS, MINUS, AT, BACKSLASH] = [10, 32, 43, 45, 64, 92]
const [D, I] = [0x64, 0x69]
const SECTION = "diff --git "
const EMPTY_CONTEXT = Buffer.from(" \n")
/** A header line is cut off behind this; hunk lines behind the limit for them. */
const HEADER_BYTES = 64 * 1024

export class DiffParser {
  readonly #limits: DiffLimits
  #files: FileDraft[] | undefined
  #sections: FileDraft[] = []
  #section = -1
  #total = 0
  /** The beginning of what has not come to its end: of the records, or of a line. */
  #carry: Buffer[] = []
  #carried = 0
  #dropped = 0
  #hunk: OpenHunk | undefined
  #problem: string | undefined

  constructor(limits: DiffLimits = DIFF_LIMITS) {
    this.#limits = limits
  }

  push(chunk: Buffer): void {
    if (this.#problem !== undefined || chunk.length === 0) return
    if (this.#files === undefined) this.#records(chunk)
    else this.#patch(chunk)
  }

  end(): Result<readonly DiffFile[], GitFailure> {
    if (this.#files === undefined && this.#carried > 0) this.#fail("it ended too early")
    else if (this.#carried > 0) this.#slowLine(Buffer.alloc(0))
    this.#closeHunk()
    if (this.#section !== this.#sections.length - 1) this.#fail("the patch does not hold every file")
    if (this.#problem !== undefined) {
      return fail("unreadable", `git's diff could not be read: ${this.#problem}`, { what: "diff" })
    }
    return ok(readingOrder((this.#files ?? []).map(finishFile)))
  }

  /** An empty field stands between the records and the patch; no name is empty. */
  #records(chunk: Buffer): void {
    const bytes = this.#carried === 0 ? chunk : Buffer.concat([...this.#carry, chunk])
    const end = bytes.indexOf("\0\0")
    if (end === -1) {
      this.#carry = [bytes]
      this.#carried = bytes.length
      return
    }
    const files = readRecords(bytes.subarray(0, end + 1))
    if (typeof files === "string") return this.#fail(files)
    this.#files = files
    this.#sections = files.flatMap((file) => (file.status === "T" ? [file, file] : [file]))
    this.#carry = []
    this.#carried = 0
    this.#patch(bytes.subarray(end + 2))
  }

  #patch(chunk: Buffer): void {
    let at = 0
    if (this.#carried > 0) {
      const end = chunk.indexOf(NEWLINE)
      if (end === -1) return this.#hold(chunk)
      this.#slowLine(chunk.subarray(0, end))
      at = end + 1
    }
    while (at < chunk.length && this.#problem === undefined) {
      const hunk = this.#hunk
      if (hunk && (hunk.oldLeft > 0 || hunk.newLeft > 0)) {
        at = this.#hunkLines(hunk, chunk, at)
        if (this.#carried > 0) return
        continue
      }
      const end = chunk.indexOf(NEWLINE, at)
      if (end === -1) return this.#hold(chunk.subarray(at))
      this.#line(chunk, at, end)
      at = end + 1
    }
  }

  /** Keeps the beginning of a line that has not ended; a very long one is not kept whole. */
  #hold(piece: Buffer): void {
    const kept = piece.subarray(0, Math.max(0, HEADER_BYTES - this.#carried))
    if (kept.length > 0) this.#carry.push(kept)
    this.#carried += kept.length
    this.#dropped += piece.length - kept.length
  }

  /** A line that came in pieces. */
  #slowLine(rest: Buffer): void {
    this.#hold(rest)
    const line = Buffer.concat([...this.#carry, Buffer.from("\n")])
    const dropped = this.#dropped
    this.#carry = []
    this.#carried = 0
    this.#dropped = 0
    const hunk = this.#hunk
    if (!hunk || (hunk.oldLeft <= 0 && hunk.newLeft <= 0)) this.#line(line, 0, line.length - 1)
    else if (this.#count(hunk, line[0]!)) this.#keep(hunk, line, 0, line.length, dropped)
  }

  /** As many lines of a hunk as the chunk holds; answers where the next line begins. */
  #hunkLines(hunk: OpenHunk, chunk: Buffer, from: number): number {
    let at = from
    let begin = from
    while (hunk.oldLeft > 0 || hunk.newLeft > 0) {
      const end = chunk.indexOf(NEWLINE, at)
      if (end === -1) break
      if (!this.#count(hunk, chunk[at]!)) return chunk.length
      const odd = end === at || chunk[at] === BACKSLASH || end - at > this.#limits.lineBytes
      if (odd) {
        this.#keep(hunk, chunk, begin, at, 0)
        this.#keep(hunk, chunk, at, end + 1, 0)
        begin = end + 1
      }
      at = end + 1
    }
    this.#keep(hunk, chunk, begin, at, 0)
    if (at < chunk.length && (hunk.oldLeft > 0 || hunk.newLeft > 0)) this.#hold(chunk.subarray(at))
    return at
  }

  #count(hunk: OpenHunk, mark: number): boolean {
    const file = this.#sections[this.#section]!
    if (mark === PLUS) {
      extend(hunk.added, hunk.newStart + hunk.newLines - hunk.newLeft--)
      file.insertions++
    } else if (mark === MINUS) {
      extend(hunk.removed, hunk.oldStart + hunk.oldLines - hunk.oldLeft--)
      file.deletions++
    } else if (mark === SPACE || mark === NEWLINE) {
      hunk.oldLeft--
      hunk.newLeft--
    } else if (mark === BACKSLASH) {
      this.#bareEnd(hunk)
      return true
    } else this.#fail(`a hunk of ${file.path} has an unknown line`)
    hunk.last = mark
    if (hunk.oldLeft < 0 || hunk.newLeft < 0) this.#fail(`a hunk of ${file.path} is longer than it says`)
    return this.#problem === undefined
  }

  /** Keeps whole lines as far as the limits allow. */
  #keep(hunk: OpenHunk, bytes: Buffer, from: number, to: number, dropped: number): void {
    const file = this.#sections[this.#section]!
    if (from === to || file.binary || bytes[from] === BACKSLASH) return
    const piece = bytes.subarray(from, to)
    if (piece.includes(0)) {
      file.binary = true
      return
    }
    const { fileBytes, totalBytes, lineBytes } = this.#limits
    const single = piece.indexOf(NEWLINE) === piece.length - 1
    const over = single ? Math.max(0, piece.length - 1 - lineBytes) + dropped : 0
    const shown = over > 0 ? shorten(piece, lineBytes, over) : piece[0] === NEWLINE ? EMPTY_CONTEXT : piece
    const room = Math.min(fileBytes - file.kept, totalBytes - this.#total)
    const fits = shown.length <= room ? shown : shown.subarray(0, shown.lastIndexOf(NEWLINE, Math.max(0, room - 1)) + 1)
    file.cutBytes += over
    if (fits.length < shown.length) {
      const left = shown.subarray(room <= 0 ? 0 : fits.length)
      file.cutBytes += left.length
      file.cutLines += countLines(left)
      if (room <= 0) return
    }
    file.kept += fits.length
    this.#total += fits.length
    if (fits.length > 0) hunk.text.push(fits)
  }

  #line(bytes: Buffer, from: number, to: number): void {
    if (this.#hunk) {
      if (bytes[from] === BACKSLASH) return this.#bareEnd(this.#hunk)
      this.#closeHunk()
    }
    const file = this.#sections[this.#section]
    const first = bytes[from]
    if (file && (first === MINUS || first === PLUS) && bytes[from + 1] === first && bytes[from + 2] === first) return
    if (first === D && bytes[from + 1] === I && bytes.toString("latin1", from, from + SECTION.length) === SECTION) {
      return this.#nextSection()
    }
    const text = bytes.toString("utf8", from, to)
    if (!file) return this.#fail("text stands before the first file")
    if (first === AT && text.startsWith("@@ ")) return this.#openHunk(text)
    if (text.startsWith("index ")) return this.#checkIndex(file, text)
    if (text.startsWith("Binary files ")) file.binary = true
    else if (!HEADER.test(text)) this.#fail(`a line of ${file.path} is unknown`)
  }

  #nextSection(): void {
    this.#section++
    if (this.#section >= this.#sections.length) this.#fail("the patch holds more files than were named")
  }

  #checkIndex(file: FileDraft, text: string): void {
    const wasOld = text.startsWith(file.oldObject, "index ".length)
    const wasNew = text.startsWith(`..${file.newObject}`, "index ".length + file.oldObject.length)
    if (file.status === "T" ? !wasOld && !wasNew : !wasOld || !wasNew) this.#fail(`${file.path} is out of order`)
  }

  #openHunk(text: string): void {
    const found = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@(?: (.*))?$/s.exec(text)
    if (!found) return this.#fail("a hunk has no readable place")
    const oldLines = found[2] === undefined ? 1 : Number(found[2])
    const newLines = found[4] === undefined ? 1 : Number(found[4])
    this.#hunk = {
      oldStart: Number(found[1]),
      oldLines,
      newStart: Number(found[3]),
      newLines,
      heading: found[5] ?? "",
      oldLeft: oldLines,
      newLeft: newLines,
      added: [],
      removed: [],
      text: [],
      last: SPACE,
      bareOld: false,
      bareNew: false,
    }
  }

  #bareEnd(hunk: OpenHunk): void {
    if (hunk.last !== PLUS) hunk.bareOld = true
    if (hunk.last !== MINUS) hunk.bareNew = true
  }

  #closeHunk(): void {
    const hunk = this.#hunk
    if (!hunk) return
    this.#hunk = undefined
    const file = this.#sections[this.#section]!
    if (hunk.oldLeft > 0 || hunk.newLeft > 0) return this.#fail(`a hunk of ${file.path} is shorter than it says`)
    const bare = { ...(hunk.bareOld ? { old: true as const } : {}), ...(hunk.bareNew ? { new: true as const } : {}) }
    const { oldStart, oldLines, newStart, newLines, heading, added, removed } = hunk
    const text = hunk.text.length === 1 ? hunk.text[0]!.toString("utf8") : Buffer.concat(hunk.text).toString("utf8")
    const place = { oldStart, oldLines, newStart, newLines, heading, added, removed, text }
    file.hunks.push(hunk.bareOld || hunk.bareNew ? { ...place, bareEnd: bare } : place)
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

function shorten(line: Buffer, most: number, over: number): Buffer {
  return Buffer.from(`${line.toString("utf8", 0, most)}… ${over} bytes more\n`)
}

function countLines(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) lines++
  return lines
}
