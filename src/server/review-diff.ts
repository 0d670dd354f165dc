import { describeChange, unifiedText, type Diff, type DiffFile } from "../core/diff.ts"
import type { ReviewFile } from "../core/review-material.ts"
import { ok, type Result } from "../core/result.ts"
import type { SnapshotRef } from "../core/task.ts"
import { diffCommits } from "../shared/git/diff.ts"
import type { GitFailure } from "../shared/git/failure.ts"
import type { Repository } from "../shared/git/repository.ts"

/** The diff under review: the model for judging, and per file the text for reading. */
export type ReviewDiff = { readonly diff: Diff; readonly files: readonly ReviewFile[] }

/** Said of a file whose text goes on. */
export const CUT_NOTE = "only the beginning is shown"

/** Two commits never change, so a diff once read is kept; the last few are enough for a board. */
const KEPT = 4
const kept = new Map<string, ReviewDiff>()

export async function readDiff(
  repository: Repository,
  snapshot: Pick<SnapshotRef, "base" | "commit">,
): Promise<Result<ReviewDiff, GitFailure>> {
  const key = `${repository.commonDir}:${snapshot.base}..${snapshot.commit}`
  const found = kept.get(key)
  if (found) return ok(found)
  const diff = await diffCommits(repository, snapshot.base, snapshot.commit)
  if (!diff.ok) return diff
  const read: ReviewDiff = { diff: diff.value, files: diff.value.files.map((file) => fileReply(file)) }
  kept.set(key, read)
  if (kept.size > KEPT) kept.delete(kept.keys().next().value!)
  return ok(read)
}

/** A file's change as it is given to a screen or a prompt. */
export function fileReply(file: DiffFile, maxBytes?: number): ReviewFile {
  const { text, cut } = unifiedText(file, maxBytes)
  const note = noteOf(file, cut)
  return {
    path: file.path,
    ...(file.oldPath ? { from: file.oldPath } : {}),
    kind: file.nature === "text" ? file.kind : file.nature,
    insertions: file.insertions ?? 0,
    deletions: file.deletions ?? 0,
    patch: text,
    change: describeChange(file),
    ...(cut ? { cut } : {}),
    ...(note ? { note } : {}),
  }
}

function noteOf(file: DiffFile, cut: boolean): string | undefined {
  if (file.nature === "binary") return "binary"
  if (file.nature === "submodule") return `submodule ${file.oldObject.slice(0, 7)} → ${file.newObject.slice(0, 7)}`
  if (file.oldNature && file.oldNature !== file.nature)
    return `${file.oldNature} → ${file.nature === "text" ? "file" : file.nature}`
  if (file.oldMode !== file.newMode && file.kind === "mode")
    return `mode ${file.oldMode.slice(-3)} → ${file.newMode.slice(-3)}`
  return cut ? CUT_NOTE : undefined
}
