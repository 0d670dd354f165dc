import { err, ok, type Result } from "../core/result.ts"
import { describeChange } from "../core/diff.ts"
import type { ReviewEntry, ReviewFileReply } from "../core/review-requests.ts"
import { countChanges, fileChange, firstBytes, listChanges, type FileSize } from "../shared/git/file-diff.ts"
import type { Repository } from "../shared/git/repository.ts"
import { snapshotRef } from "../shared/git/snapshot.ts"
import { CUT_NOTE, fileReply } from "./review-diff.ts"

type Answer<T> = Promise<Result<T, { readonly text: string }>>

/** What the review screen reads of a change, file by file. */
export interface Reading {
  files(from: string, to: string): Answer<readonly ReviewEntry[]>
  sizes(from: string, to: string): Answer<ReadonlyMap<string, FileSize>>
  file(
    from: string,
    to: string,
    wanted: { readonly path: string; readonly oldPath?: string; readonly whole?: boolean },
  ): Answer<ReviewFileReply>
  /** The snapshot of an iteration of a task, where it is kept. */
  snapshot(taskNumber: number, generation: number): Promise<string | undefined>
}

const DUMPED = 1024

export function gitReading(repository: Repository): Reading {
  return {
    async files(from, to) {
      const listed = await listChanges(repository, from, to)
      if (!listed.ok) return listed
      return ok(
        listed.value.map((file) => ({
          path: file.path,
          ...(file.oldPath ? { from: file.oldPath } : {}),
          kind: file.nature === "text" ? file.kind : file.nature,
          object: file.newObject,
          ...(file.mark ? { mark: file.mark } : {}),
        })),
      )
    },
    sizes: (from, to) => countChanges(repository, from, to),
    async file(from, to, wanted) {
      const read = await fileChange(repository, from, to, wanted)
      if (!read.ok) return read
      const file = read.value
      if (!file) return err({ text: `${wanted.path} does not differ here` })
      const reply = fileReply(file, wanted.whole ? 4 * 1024 * 1024 : 256 * 1024)
      if (file.nature === "binary") {
        const gone = file.newMode === "000000"
        if (!wanted.whole) return ok({ ...reply, note: describeChange(file), folded: "binary" })
        const bytes = await firstBytes(repository, gone ? file.oldObject : file.newObject, DUMPED)
        return bytes.ok ? ok({ ...reply, note: describeChange(file), dump: hexDump(bytes.value) }) : bytes
      }
      if (!wanted.whole && (file.cut !== undefined || reply.note === CUT_NOTE))
        return ok({ ...reply, patch: "", folded: `${reply.insertions + reply.deletions} changed lines` })
      return ok(reply)
    },
    async snapshot(taskNumber, generation) {
      const ref = snapshotRef(taskNumber, generation)
      const found = await repository.git.run(["rev-parse", "--verify", "--quiet", `${ref}^{commit}`], {
        cwd: repository.commonDir,
        okCodes: [0, 1],
      })
      const commit = found.ok ? found.value.bytes.toString().trim() : ""
      return commit === "" ? undefined : commit
    },
  }
}

/** Offset, sixteen bytes, and what of them is plain text. */
function hexDump(bytes: Buffer): string {
  const lines: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const part = [...bytes.subarray(at, at + 16)]
    const hex = part.map((byte) => byte.toString(16).padStart(2, "0")).join(" ")
    const text = part.map((byte) => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : ".")).join("")
    lines.push(`${at.toString(16).padStart(6, "0")}  ${hex.padEnd(47)}  ${text}`)
  }
  return lines.join("\n")
}
