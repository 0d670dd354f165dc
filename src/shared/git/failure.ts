import type { Result } from "../../core/result.ts"
import { withoutCredentials } from "../../core/secrets.ts"

/** What each kind of failure carries for the screen. */
interface FailureData {
  git_missing: Record<never, never>
  git_too_old: { readonly version: string; readonly needed: string }
  folder_missing: { readonly path: string }
  not_a_repository: { readonly path: string }
  /** Git refuses the folder because another user owns it; `command` is the exception that the person may make. */
  dubious_ownership: { readonly path: string; readonly command: string }
  no_commit: { readonly path: string }
  /** The folder says that it is a worktree of a repository that does not know it; `command` repairs that. */
  worktree_broken: { readonly path: string; readonly command: string }
  bare: { readonly path: string }
  timed_out: { readonly ms: number }
  stopped: Record<never, never>
  output_too_large: { readonly bytes: number }
  killed: { readonly signal: string }
  /** Another process holds the lock file, or left it behind. */
  locked: { readonly path: string; readonly ageMs?: number }
  /** Git said no, and its words are all that is known. */
  failed: { readonly code: number; readonly command: string }
  /** The world outside git failed: a file that cannot be read or written. */
  io: { readonly path: string }
  /** Git's answer could not be read; never taken for an empty one. */
  unreadable: { readonly what: string }

  branch_missing: { readonly branch: string }
  branch_taken: { readonly branch: string; readonly by?: string }
  path_taken: { readonly path: string }
  outside_root: { readonly path: string }
  not_ours: { readonly path: string }
  worktree_locked: { readonly path: string; readonly reason?: string }
  /** What would be lost; nothing was removed. */
  would_lose: {
    readonly uncommitted: readonly string[]
    readonly ignored: readonly string[]
    readonly submodules: readonly string[]
    readonly commits: number
  }

  unmerged: { readonly files: readonly string[] }
  nested_repository: { readonly paths: readonly string[] }
  untracked_too_much: {
    readonly count: number
    readonly large: readonly { readonly path: string; readonly bytes: number }[]
  }
  /** The repository's own settings name a program that Kagan does not run. */
  untrusted_filter: { readonly filters: readonly string[]; readonly digests: readonly string[] }
  no_merge_base: { readonly shallow: boolean }

  conflicts: { readonly files: readonly string[]; readonly target: string }
  nothing_to_merge: { readonly target: string }
  already_merged: { readonly target: string; readonly commit?: string }
  base_gone: { readonly branch: string }
  target_moved: { readonly target: string; readonly expected: string; readonly actual?: string }
  in_the_way: {
    readonly checkout: string
    readonly changed: readonly string[]
    readonly untracked: readonly string[]
    readonly ignored: readonly string[]
  }
  under_way: { readonly operation: Operation; readonly checkout: string }
  changed_since_review: { readonly files: readonly string[] }
  branch_switched: { readonly expected: string; readonly actual?: string }
  no_identity: Record<never, never>
  signing_failed: Record<never, never>
  hook_missing: { readonly path: string }
  hook_refused: { readonly hook: string; readonly output: string }
  hook_changed_files: { readonly files: readonly string[]; readonly applied: boolean }
}

export type Operation = "merge" | "rebase" | "am" | "cherry-pick" | "revert" | "bisect"
export type GitFailureKind = keyof FailureData

/** Why git, or the world around it, did not do what was asked. `text` is one readable line; `stderr` git's own words. */
export type GitFailure = {
  [K in GitFailureKind]: {
    readonly kind: K
    readonly text: string
    readonly data: FailureData[K]
    readonly stderr?: string
  }
}[GitFailureKind]

export type GitResult<T> = Promise<Result<T, GitFailure>>

export function fail<K extends GitFailureKind>(
  kind: K,
  text: string,
  data: FailureData[K],
  stderr?: string,
): { readonly ok: false; readonly error: GitFailure } {
  // Git names addresses whole, with the password in them.
  const words = stderr && withoutCredentials(stderr.trim())
  return {
    ok: false,
    error: { kind, text: withoutCredentials(text), data, ...(words ? { stderr: words } : {}) } as GitFailure,
  }
}

/** A failure of the file system around git, with the system's own words. */
export function ioFailure(
  path: string,
  doing: string,
  error: unknown,
): { readonly ok: false; readonly error: GitFailure } {
  const words = error instanceof Error ? error.message : String(error)
  return fail("io", `${doing} ${path} failed: ${words}`, { path }, words)
}

/** Names some of many, for one line of text. */
export function nameSome(names: readonly string[], most = 3): string {
  const rest = names.length - most
  return rest > 0 ? `${names.slice(0, most).join(", ")} and ${rest} more` : names.join(", ")
}
