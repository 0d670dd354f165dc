import { access, constants, stat } from "node:fs/promises"
import { join, resolve } from "node:path"
import { err, ok } from "../../core/result.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"
import { settingOf, type Setting } from "./settings.ts"

const COMMIT_HOOKS = ["pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit"]

export interface CommitWanted {
  readonly git: Git
  /** Whose settings count: identity and signing are read there. */
  readonly cwd: string
  readonly tree: string
  readonly parents: readonly string[]
  /** Stored character for character. */
  readonly message: string
  readonly timeoutMs: number
  /** The person signs their commits. */
  readonly signed: boolean
}

/** A commit in the person's name, signed where they sign. Moves no branch. */
export async function commitTree(wanted: CommitWanted): GitResult<string> {
  const { git, cwd, tree, parents } = wanted
  const signed = wanted.signed ? ["-S"] : []
  const made = await git.run(
    ["commit-tree", ...signed, ...parents.flatMap((parent) => ["-p", parent]), "-F", "-", tree],
    { cwd, stdin: withNewline(wanted.message), asPerson: true, timeoutMs: wanted.timeoutMs },
  )
  if (made.ok) return ok(made.value.stdout.trim())
  return err(explainCommit(made.error, wanted.signed))
}

/** For commits that are never published, where the person has set no name. */
export const KAGAN_IDENTITY = {
  GIT_AUTHOR_NAME: "Kagan",
  GIT_AUTHOR_EMAIL: "kagan@localhost",
  GIT_COMMITTER_NAME: "Kagan",
  GIT_COMMITTER_EMAIL: "kagan@localhost",
}

/** Says what a refused commit means for the person: an identity that is missing, a key that is locked. */
export function explainCommit(error: GitFailure, signed: boolean): GitFailure {
  const words = error.stderr ?? ""
  if (/tell me who you are|empty ident name|no email was given|no name was given|unable to auto-detect/i.test(words)) {
    return fail(
      "no_identity",
      "git does not know who you are: set user.name and user.email, then merge again",
      {},
      words,
    ).error
  }
  const gpg = /failed to sign|gpg failed|signing failed|cannot run gpg|Load key|failed to write commit object/i.test(
    words,
  )
  if (signed && (gpg || error.kind === "timed_out")) {
    return fail(
      "signing_failed",
      "signing the commit failed: unlock your key (sign something once in a terminal), then merge again",
      {},
      words,
    ).error
  }
  return error
}

export interface CommitHooks {
  readonly folder: string
  readonly names: readonly string[]
}

/** The commit hooks that would run in a checkout; a configured hook folder that is not there is a failure. */
export async function commitHooks(
  git: Git,
  commonDir: string,
  checkout: string,
  settings: readonly Setting[],
): GitResult<CommitHooks | undefined> {
  const configured = settingOf(settings, "core.hookspath")
  if (configured === "/dev/null") return ok(undefined)
  const folder = configured === undefined ? ok(join(commonDir, "hooks")) : await hooksFolder(git, checkout, configured)
  if (!folder.ok) return folder
  const there = await stat(folder.value).catch(() => undefined)
  if (!there?.isDirectory()) {
    if (configured === undefined) return ok(undefined)
    return fail(
      "hook_missing",
      `core.hooksPath names ${folder.value}, which does not exist: run the project's setup in the task's worktree, then merge again`,
      { path: folder.value },
    )
  }
  const names: string[] = []
  for (const name of COMMIT_HOOKS) if (await isExecutable(join(folder.value, name))) names.push(name)
  return ok(names.length > 0 ? { folder: folder.value, names } : undefined)
}

/** A relative folder is one of the checkout; a home folder is for git to find. */
async function hooksFolder(git: Git, checkout: string, configured: string): GitResult<string> {
  if (!configured.startsWith("~")) return ok(resolve(checkout, configured))
  const found = await git.run(["config", "--type=path", "--get", "core.hooksPath"], { cwd: checkout, asPerson: true })
  return found.ok ? ok(found.value.stdout.trim()) : found
}

export function withNewline(message: string): string {
  return message.endsWith("\n") ? message : `${message}\n`
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  )
}
