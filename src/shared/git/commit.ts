import { access, constants, stat } from "node:fs/promises"
import { join } from "node:path"
import { err, ok } from "../../core/result.ts"
import { decodePath, splitNul } from "./bytes.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"

const COMMIT_HOOKS = ["pre-commit", "prepare-commit-msg", "commit-msg", "post-commit"]

export interface CommitWanted {
  readonly git: Git
  /** Whose settings count: identity and signing are read there. */
  readonly cwd: string
  readonly tree: string
  readonly parents: readonly string[]
  /** Stored character for character. */
  readonly message: string
  readonly timeoutMs: number
}

/** A commit in the person's name, signed where they sign. Moves no branch. */
export async function commitTree(wanted: CommitWanted): GitResult<string> {
  const { git, cwd, tree, parents } = wanted
  const signed = await signs(git, cwd)
  if (!signed.ok) return signed
  const made = await git.run(
    ["commit-tree", ...(signed.value ? ["-S"] : []), ...parents.flatMap((parent) => ["-p", parent]), "-F", "-", tree],
    { cwd, stdin: withNewline(wanted.message), asPerson: true, timeoutMs: wanted.timeoutMs },
  )
  if (made.ok) return ok(made.value.stdout.trim())
  return err(explainCommit(made.error, signed.value))
}

/** Whether the person signs their commits there. */
export async function signs(git: Git, cwd: string): GitResult<boolean> {
  const setting = await git.run(["config", "--type=bool", "--default=false", "--get", "commit.gpgSign"], { cwd })
  return setting.ok ? ok(setting.value.stdout.trim() === "true") : setting
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
export async function commitHooks(git: Git, checkout: string): GitResult<CommitHooks | undefined> {
  const setting = await git.run(["config", "--null", "--get", "core.hooksPath"], {
    cwd: checkout,
    okCodes: [0, 1],
    asPerson: true,
  })
  if (!setting.ok) return setting
  const [configured] = splitNul(setting.value.bytes)
  if (configured === "/dev/null") return ok(undefined)
  const asked = await git.run(["rev-parse", "--path-format=absolute", "--git-path", "hooks"], {
    cwd: checkout,
    asPerson: true,
  })
  if (!asked.ok) return asked
  const folder = decodePath(asked.value.bytes).replace(/\n$/, "")
  const there = await stat(folder).catch(() => undefined)
  if (!there?.isDirectory()) {
    if (configured === undefined) return ok(undefined)
    return fail(
      "hook_missing",
      `core.hooksPath names ${folder}, which does not exist: run the project's setup in the task's worktree, then merge again`,
      { path: folder },
    )
  }
  const names: string[] = []
  for (const name of COMMIT_HOOKS) if (await isExecutable(join(folder, name))) names.push(name)
  return ok(names.length > 0 ? { folder, names } : undefined)
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
