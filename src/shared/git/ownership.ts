import { createHash } from "node:crypto"
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { err, ok } from "../../core/result.ts"
import { ioFailure, type GitResult } from "./failure.ts"

/**
 * The proof that a worktree is ours: a record in the repository's own kagan folder, written before the first git call
 * of its creation and removed after the last one of its removal. Without one nothing is ever removed.
 */
export interface WorktreeRecord {
  readonly v: 1
  readonly state: "creating" | "ready" | "removing"
  readonly path: string
  readonly branch: string
  /** The commit that the branch began at. */
  readonly base: string
  /** Files that were brought along from the main checkout: they are not the task's work. */
  readonly copied: readonly string[]
}

export async function readRecord(commonDir: string, path: string): GitResult<WorktreeRecord | undefined> {
  const file = recordFile(commonDir, path)
  const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => error)
  if (text instanceof Error) return text.code === "ENOENT" ? ok(undefined) : ioFailure(file, "reading", text)
  const record = decode(text)
  // A torn record proves nothing; what it stood for is then left alone.
  return ok(record?.path === path ? record : undefined)
}

export async function writeRecord(commonDir: string, record: WorktreeRecord): GitResult<void> {
  const file = recordFile(commonDir, record.path)
  const draft = `${file}.${process.pid}.tmp`
  try {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(draft, `${JSON.stringify(record, undefined, 2)}\n`, { flush: true })
    await rename(draft, file)
    return ok()
  } catch (error) {
    await rm(draft, { force: true }).catch(() => undefined)
    return ioFailure(file, "writing", error)
  }
}

export async function dropRecord(commonDir: string, path: string): GitResult<void> {
  const file = recordFile(commonDir, path)
  const failed = await rm(file, { force: true }).catch((error: Error) => error)
  return failed instanceof Error ? err(ioFailure(file, "removing", failed).error) : ok()
}

/** Every proof that can be read. */
export async function listRecords(commonDir: string): Promise<readonly WorktreeRecord[]> {
  const folder = join(commonDir, "kagan", "worktrees")
  const names = await readdir(folder).catch(() => [])
  const texts = await Promise.all(
    names.filter((name) => name.endsWith(".json")).map((name) => readFile(join(folder, name), "utf8").catch(() => "")),
  )
  return texts.flatMap((text) => decode(text) ?? [])
}

function recordFile(commonDir: string, path: string): string {
  const key = createHash("sha256").update(path).digest("hex").slice(0, 20)
  return join(commonDir, "kagan", "worktrees", `${key}.json`)
}

function decode(text: string): WorktreeRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<WorktreeRecord> | null
    const whole =
      value !== null &&
      value.v === 1 &&
      ["creating", "ready", "removing"].includes(String(value.state)) &&
      [value.path, value.branch, value.base].every((field) => typeof field === "string") &&
      Array.isArray(value.copied)
    return whole ? (value as WorktreeRecord) : undefined
  } catch {
    return undefined
  }
}
