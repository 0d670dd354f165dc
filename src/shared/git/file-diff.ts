import { readingOrder, type DiffFile } from "../../core/diff.ts"
import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { DIFF_OPTIONS, NO_ATTRIBUTES, readPatch } from "./diff.ts"
import { finishFile, readRecords } from "./diff-records.ts"
import { fail, type GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"

/*
 * The diff as a person reads it: the list at once, the sizes after it, and the lines of one file when it is looked at.
 * Nothing here holds more than one file's text.
 */

/** What of a file's text is kept: for reading, and when the person asks for a large one all the same. */
const READ = { fileBytes: 256 * 1024, totalBytes: 256 * 1024, lineBytes: 4 * 1024 }
const WHOLE = { fileBytes: 4 * 1024 * 1024, totalBytes: 4 * 1024 * 1024, lineBytes: 4 * 1024 }

/** Added and removed lines; nothing for a binary. */
export type FileSize = readonly [insertions: number, deletions: number] | null

/** The files that differ, without looking into them: marked ones first. */
export async function listChanges(repo: Repository, from: string, to: string): GitResult<readonly DiffFile[]> {
  const listed = await diffTree(repo, ["--raw", from, to])
  if (!listed.ok) return listed
  const records = readRecords(listed.value)
  if (typeof records === "string") return unreadable(records)
  return ok(readingOrder(records.map(finishFile)))
}

/** The size of each change, by its path. */
export async function countChanges(
  repo: Repository,
  from: string,
  to: string,
): GitResult<ReadonlyMap<string, FileSize>> {
  const counted = await diffTree(repo, ["--numstat", from, to])
  if (!counted.ok) return counted
  const sizes = new Map<string, FileSize>()
  const fields = splitNul(counted.value)
  for (let i = 0; i < fields.length; i++) {
    const counts = /^(\d+|-)\t(\d+|-)\t(.*)$/s.exec(fields[i]!)
    if (!counts) return unreadable(`"${fields[i]!.slice(0, 100)}" is no count`)
    const [, insertions, deletions, name] = counts
    // A moved file has its two names behind the counts.
    const path = name || fields[(i += 2)]
    if (path === undefined) return unreadable("a count has no name")
    sizes.set(path, insertions === "-" ? null : [Number(insertions), Number(deletions)])
  }
  return ok(sizes)
}

/** The change of one file with its lines; `undefined` when it does not differ. */
export async function fileChange(
  repo: Repository,
  from: string,
  to: string,
  wanted: { readonly path: string; readonly oldPath?: string; readonly whole?: boolean },
): GitResult<DiffFile | undefined> {
  const paths = [wanted.path, ...(wanted.oldPath && wanted.oldPath !== wanted.path ? [wanted.oldPath] : [])]
  const limits = wanted.whole ? WHOLE : READ
  const files = await readPatch(repo, from, to, limits, { paths })
  if (!files.ok) return files
  const file = files.value.find((one) => one.path === wanted.path)
  if (file?.nature !== "binary") return ok(file)
  // An attribute file of the shared git folder may only say so; what holds a NUL stays binary.
  const text = await readPatch(repo, from, to, limits, { paths, text: true })
  return text.ok ? ok(text.value.find((one) => one.path === wanted.path)) : text
}

/** The beginning of a file's bytes in a commit, for what is no text. */
export async function firstBytes(repo: Repository, object: string, most: number): GitResult<Buffer> {
  const kept: Buffer[] = []
  let length = 0
  const answer = await repo.git.run(["cat-file", "blob", object], {
    cwd: repo.commonDir,
    maxBytes: 1024 * 1024 * 1024,
    onStdout(chunk) {
      if (length < most) kept.push(Buffer.from(chunk.subarray(0, most - length)))
      length += chunk.length
    },
  })
  return answer.ok ? ok(Buffer.concat(kept)) : answer
}

async function diffTree(repo: Repository, what: readonly string[]): GitResult<Buffer> {
  const chunks: Buffer[] = []
  const answer = await repo.git.run([...NO_ATTRIBUTES, "diff-tree", "-r", "-z", ...DIFF_OPTIONS, ...what], {
    cwd: repo.commonDir,
    env: { GIT_ATTR_NOSYSTEM: "1" },
    maxBytes: 256 * 1024 * 1024,
    timeoutMs: 300_000,
    onStdout: (chunk) => void chunks.push(Buffer.from(chunk)),
  })
  return answer.ok ? ok(Buffer.concat(chunks)) : answer
}

function unreadable(why: string): ReturnType<typeof fail<"unreadable">> {
  return fail("unreadable", `git's diff could not be read: ${why}`, { what: "diff" })
}
