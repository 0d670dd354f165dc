import { constants } from "node:fs"
import { copyFile, lstat, mkdir, mkdtemp, readFile, readlink, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join, resolve, sep } from "node:path"
import { ok } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import { ioFailure, type GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"

export interface Copied {
  readonly copied: readonly string[]
  readonly skipped: readonly { readonly path: string; readonly why: string }[]
}

/**
 * Brings untracked files of the main checkout into a fresh worktree: those that match the patterns (gitignore syntax)
 * or the checkout's `.worktreeinclude`. Links are copied as links and only where they stay inside; nothing is
 * overwritten, and nothing is written through a link.
 */
export async function copyUntracked(repo: Repository, to: string, patterns: readonly string[]): GitResult<Copied> {
  if (repo.bare) return ok({ copied: [], skipped: [] })
  const include = join(repo.root, ".worktreeinclude")
  const listed = await readFile(include, "utf8").catch((error: NodeJS.ErrnoException) => error)
  if (listed instanceof Error && listed.code !== "ENOENT") return ioFailure(include, "reading", listed)
  const text = [listed instanceof Error ? "" : listed, ...patterns].join("\n")
  if (text.trim() === "") return ok({ copied: [], skipped: [] })
  const names = await matching(repo, text)
  if (!names.ok) return names

  const copied: string[] = []
  const skipped: { path: string; why: string }[] = []
  for (const path of names.value) {
    try {
      const why = await copyOne(repo.root, to, path)
      if (why === undefined) copied.push(path)
      else skipped.push({ path, why })
    } catch (error) {
      return ioFailure(path, "copying", error)
    }
  }
  return ok({ copied, skipped })
}

/** Untracked files, ignored ones too, that match; git itself reads the patterns. */
async function matching(repo: Repository, patterns: string): GitResult<readonly string[]> {
  const folder = await mkdtemp(join(tmpdir(), "kagan-copy-"))
  try {
    const file = join(folder, "patterns")
    await writeFile(file, `${patterns}\n`)
    const answer = await repo.git.run(["ls-files", "-z", "--others", "--ignored", `--exclude-from=${file}`], {
      cwd: repo.root,
      timeoutMs: 120_000,
    })
    return answer.ok ? ok(splitNul(answer.value.bytes)) : answer
  } catch (error) {
    return ioFailure(folder, "writing", error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function copyOne(root: string, to: string, path: string): Promise<string | undefined> {
  const source = join(root, path)
  const target = join(to, path)
  const stat = await lstat(source)
  if (stat.isDirectory()) return "it is a repository of its own"
  if (!stat.isFile() && !stat.isSymbolicLink()) return "it is neither a file nor a link"
  if ((await lstat(target).catch(() => undefined)) !== undefined) return "the base has a file of that name"
  const through = await linkOnTheWay(to, path)
  if (through !== undefined) return `${through} is not a plain folder in the base`
  if (stat.isSymbolicLink()) {
    const link = await readlink(source)
    const end = resolve(dirname(source), link)
    if (link.startsWith("/") || !end.startsWith(root + sep)) return "the link leads outside the checkout"
    await mkdir(dirname(target), { recursive: true })
    await symlink(link, target)
    return undefined
  }
  await mkdir(dirname(target), { recursive: true })
  await copyFile(source, target, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE)
  return undefined
}

/** The first parent of `path` that exists as something else than a plain folder. */
async function linkOnTheWay(to: string, path: string): Promise<string | undefined> {
  const parts = path.split("/").slice(0, -1)
  for (let i = 1; i <= parts.length; i++) {
    const parent = parts.slice(0, i).join("/")
    const stat = await lstat(join(to, parent)).catch(() => undefined)
    if (stat === undefined) return undefined
    if (!stat.isDirectory()) return parent
  }
  return undefined
}
