import { readdir, rename, rm, stat, writeFile } from "node:fs/promises"
import { basename, dirname, join } from "node:path"
import { ok } from "../../core/result.ts"
import { encodePath } from "./bytes.ts"
import { ioFailure, type GitResult } from "./failure.ts"
import { readRecord } from "./ownership.ts"
import type { Repository } from "./repository.ts"
import { adminFolder, gitLink } from "./worktree-state.ts"

/*
 * Worktrees and their repository find each other by absolute paths. `git worktree repair` mends all links of a
 * repository, the person's own worktrees included; here only those are mended that are provably Kagan's.
 */

/**
 * Links a worktree to its repository again after the repository was moved. Only where our record and git's own folder
 * both say that it belongs there, and where its link leads nowhere. Answers whether it did.
 */
export async function relink({ commonDir }: Repository, path: string): GitResult<boolean> {
  const record = await readRecord(commonDir, path)
  if (!record.ok) return record
  const [admin, link] = await Promise.all([adminFolder(commonDir, path), gitLink(path)])
  if (record.value === undefined || admin === undefined || link === undefined || link === admin) return ok(false)
  if (basename(link) !== basename(admin) || basename(dirname(link)) !== "worktrees") return ok(false)
  const elsewhere = await stat(link).catch((error: NodeJS.ErrnoException) => error)
  if (!(elsewhere instanceof Error) || (elsewhere.code !== "ENOENT" && elsewhere.code !== "ENOTDIR")) return ok(false)
  const file = join(path, ".git")
  const draft = join(admin, "kagan-link")
  try {
    await writeFile(draft, encodePath(`gitdir: ${admin}\n`), { flush: true })
    // The folders may lie on two file systems.
    const moved = await rename(draft, file).catch((error: NodeJS.ErrnoException) => error)
    if (moved?.code === "EXDEV") await writeFile(file, encodePath(`gitdir: ${admin}\n`))
    else if (moved) throw moved
    return ok(true)
  } catch (error) {
    return ioFailure(file, "mending", error)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Where a missing worktree of ours lies now, if it was only given another name: what git's folder knows is still in it. */
export async function renamedTo(commonDir: string, path: string): GitResult<string | undefined> {
  const record = await readRecord(commonDir, path)
  if (!record.ok) return record
  const admin = record.value && (await adminFolder(commonDir, path))
  if (admin === undefined) return ok(undefined)
  const parent = dirname(path)
  for (const name of await readdir(parent).catch(() => [])) {
    const candidate = join(parent, name)
    if (candidate !== path && (await gitLink(candidate)) === admin) return ok(candidate)
  }
  return ok(undefined)
}
