import { fileMark, type ChangeKind, type DiffFile, type DiffHunk, type FileNature } from "../../core/diff.ts"
import { decodePath } from "./bytes.ts"

/** A changed file while its hunks are being read. */
export interface FileDraft {
  readonly path: string
  readonly oldPath?: string
  readonly status: string
  readonly oldMode: string
  readonly newMode: string
  readonly oldObject: string
  readonly newObject: string
  insertions: number
  deletions: number
  binary: boolean
  /** Bytes of hunk text kept. */
  kept: number
  cutLines: number
  cutBytes: number
  readonly hunks: DiffHunk[]
}

const RECORD = /^:(\d{6}) (\d{6}) ([0-9a-f]{40,64}) ([0-9a-f]{40,64}) ([ADMTRC])(\d*)$/

function nameOf(field: string | undefined): string | undefined {
  return field !== undefined && /[\u0080-\u00ff]/.test(field) ? decodePath(Buffer.from(field, "latin1")) : field
}

/** Reads git's raw records (`--raw -z`), whose names are never quoted; a text says what is wrong with them. */
export function readRecords(bytes: Uint8Array): FileDraft[] | string {
  // One decoding for all; only a name that is not plain is looked at by its bytes.
  const fields = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1").split("\0")
  if (fields.at(-1) === "") fields.pop()
  const files: FileDraft[] = []
  for (let i = 0; i < fields.length;) {
    const record = fields[i++]!
    const parts = RECORD.exec(record)
    if (!parts) return `"${record.slice(0, 100)}" is no change that is known`
    const [, oldMode, newMode, oldObject, newObject, letter, score] = parts as string[]
    const moved = letter === "R" || letter === "C"
    const first = nameOf(fields[i++])
    const second = moved ? nameOf(fields[i++]) : undefined
    if (first === undefined || (moved && second === undefined)) return "a change has no name"
    files.push({
      path: second ?? first,
      ...(second === undefined ? {} : { oldPath: first }),
      status: `${letter}${score}`,
      oldMode: oldMode!,
      newMode: newMode!,
      oldObject: oldObject!,
      newObject: newObject!,
      insertions: 0,
      deletions: 0,
      binary: false,
      kept: 0,
      cutLines: 0,
      cutBytes: 0,
      hunks: [],
    })
  }
  return files
}

export function finishFile(draft: FileDraft): DiffFile {
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

function kindOf(draft: FileDraft): ChangeKind {
  const kinds: Readonly<Record<string, ChangeKind>> = { A: "added", D: "deleted", T: "type", R: "renamed", C: "copied" }
  const kind = kinds[draft.status[0]!] ?? "modified"
  return kind === "modified" && draft.oldObject === draft.newObject ? "mode" : kind
}

function natureOf(mode: string, binary: boolean): FileNature {
  if (mode === "160000") return "submodule"
  if (mode === "120000") return "link"
  return binary ? "binary" : "text"
}
