/* The commands of git 2.39 to 2.51 and of its usual companions, by what they do to other repositories. */

/** Commands of git that reach another repository, or pretend to be the other side of one. */
export const PUBLISHING: ReadonlyMap<string, string> = new Map(
  Object.entries({
    push: "pushes",
    "send-pack": "pushes",
    "http-push": "pushes",
    "receive-pack": "writes into a repository as the receiving side of a push",
    "imap-send": "sends commits away",
    "send-email": "sends commits away",
    cvsexportcommit: "commits to another repository",
    review: "pushes for review",
    "pull-request": "opens a pull request",
    spr: "pushes and opens a pull request",
  }),
)

/** Commands with a verb of their own. */
export const PUBLISHING_VERBS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    subtree: ["push"],
    svn: ["dcommit", "set-tree", "commit-diff", "branch", "tag", "mkdirs"],
    p4: ["submit"],
    lfs: ["push"],
    annex: ["push", "sync", "copy", "move", "assist", "satisfy", "export"],
    cl: ["upload", "land"],
    flow: ["publish"],
    town: ["sync", "propose", "ship"],
    branchless: ["submit"],
    credential: ["fill"],
  }),
)

/** Commands that write refs or objects; run for another repository, that is a push by hand. */
export const REF_WRITERS = new Set([
  "fetch",
  "pull",
  "update-ref",
  "symbolic-ref",
  "fast-import",
  "unpack-objects",
  "index-pack",
  "bundle",
  "fetch-pack",
])

/** The commands that git itself has; no alias takes their place. */
export const COMMANDS = new Set(
  (
    "add am annotate apply archive bisect blame branch bugreport bundle cat-file check-attr check-ignore check-mailmap " +
    "check-ref-format checkout checkout-index cherry cherry-pick clean clone column commit commit-graph commit-tree config " +
    "count-objects credential describe diagnose diff diff-files diff-index diff-tree difftool fast-export fast-import fetch " +
    "fetch-pack fmt-merge-msg for-each-ref for-each-repo format-patch fsck gc grep gui hash-object help hook http-push " +
    "index-pack init init-db instaweb interpret-trailers log ls-files ls-remote ls-tree mailinfo mailsplit maintenance " +
    "merge merge-base merge-file merge-index merge-tree mergetool mktag mktree multi-pack-index mv name-rev notes " +
    "pack-objects pack-refs patch-id prune prune-packed pull push range-diff read-tree rebase receive-pack reflog remote " +
    "repack replace request-pull rerere reset restore rev-list rev-parse revert rm send-pack shortlog show show-branch " +
    "show-index show-ref sparse-checkout stage stash status stripspace submodule switch symbolic-ref tag unpack-file " +
    "unpack-objects update-index update-ref update-server-info var verify-commit verify-pack verify-tag version whatchanged " +
    "worktree write-tree filter-branch"
  ).split(" "),
)
