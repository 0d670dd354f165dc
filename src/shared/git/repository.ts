import { createHash } from "node:crypto"
import { stat, realpath, readFile } from "node:fs/promises"
import { homedir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { err, ok } from "../../core/result.ts"
import { slug } from "../../core/slug.ts"
import { decodePath, splitNul } from "./bytes.ts"
import { fail, ioFailure, type GitFailure, type GitResult } from "./failure.ts"
import type { Git, GitOutput } from "./runner.ts"
import { readStatus, type StatusEntry } from "./status.ts"

export interface Branch {
  /** Without `refs/heads/` or `refs/remotes/`. */
  readonly name: string
  readonly ref: string
  readonly commit: string
  readonly remote: boolean
  /** The full ref that a local branch tracks. */
  readonly upstream?: string
  /** Where it is checked out. */
  readonly checkout?: string
  /** Seconds since the epoch of its last commit. */
  readonly at: number
}

/** The branch that a new task starts from unless the person chooses another, and why it is that one. */
export interface DefaultBase {
  readonly branch: string
  readonly commit: string
  readonly remote: boolean
  readonly reason: string
}

export interface Repository {
  readonly git: Git
  /** The main checkout, also when opened from a linked worktree or a subfolder; of a bare repository its own folder. */
  readonly root: string
  /** The folder that all checkouts share (`.git` of the main one), without links. */
  readonly commonDir: string
  /** The git folder of the checkout that was opened. */
  readonly gitDir: string
  /** Top of the checkout that was opened. */
  readonly worktreeRoot?: string
  readonly isLinkedWorktree: boolean
  readonly bare: boolean
  readonly shallow: boolean
  readonly hasCommit: boolean
  branches(): GitResult<readonly Branch[]>
  /** `undefined` where nothing says which branch is the main one: then the person chooses. */
  defaultBase(): GitResult<DefaultBase | undefined>
  /** What differs from the last commit in the checkout that was opened, untracked files included. */
  dirtyFiles(): GitResult<readonly StatusEntry[]>
}

/** Opens the repository that `directory` lies in. Says apart: no repository, another owner, a broken worktree. */
export async function openRepository(git: Git, directory: string): GitResult<Repository> {
  const version = await git.version()
  if (!version.ok) return version
  const there = await stat(directory).catch((error: NodeJS.ErrnoException) => error)
  if (there instanceof Error) {
    if (there.code === "ENOENT" || there.code === "ENOTDIR") {
      return fail("folder_missing", `the folder ${directory} is missing`, { path: directory })
    }
    return ioFailure(directory, "reading", there)
  }
  if (!there.isDirectory()) return fail("folder_missing", `${directory} is not a folder`, { path: directory })

  const common = await git.run(["rev-parse", "--path-format=absolute", "--git-common-dir"], { cwd: directory })
  if (!common.ok) return err(await whyNotOpened(common.error, directory))
  const flags = await git.run(
    ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--is-shallow-repository"],
    { cwd: directory },
  )
  if (!flags.ok) return flags
  const [bareFlag, inside, shallow] = flags.value.stdout.trim().split("\n")
  const own = await git.run(["rev-parse", "--absolute-git-dir"], { cwd: directory })
  if (!own.ok) return own
  const commonDir = await realpath(onePath(common.value))
  const gitDir = await realpath(onePath(own.value))

  let worktreeRoot: string | undefined
  if (inside === "true") {
    const top = await git.run(["rev-parse", "--path-format=absolute", "--show-toplevel"], { cwd: directory })
    if (!top.ok) return top
    worktreeRoot = onePath(top.value)
  }
  const isLinkedWorktree = gitDir !== commonDir
  const main = isLinkedWorktree || worktreeRoot === undefined ? await mainCheckout(git, commonDir) : ok(worktreeRoot)
  if (!main.ok) return main
  const bare = main.value === undefined || (!isLinkedWorktree && bareFlag === "true")
  const commit = await hasCommit(git, commonDir)
  if (!commit.ok) return commit
  const reaching = await reachingRemotes(git, commonDir)
  if (!reaching.ok) return reaching

  const repo: Repository = {
    git: reaching.value,
    root: main.value ?? commonDir,
    commonDir,
    gitDir,
    ...(worktreeRoot === undefined ? {} : { worktreeRoot }),
    isLinkedWorktree,
    bare,
    shallow: shallow === "true",
    hasCommit: commit.value,
    branches: () => listBranches(git, commonDir),
    defaultBase: () => defaultBase(repo),
    dirtyFiles: async () => {
      if (worktreeRoot === undefined) return ok([])
      return readStatus(git, worktreeRoot)
    },
  }
  return ok(repo)
}

/** The folder for all worktrees of a repository: the same from every checkout and subfolder of it. */
export function worktreeRootOf(
  repo: Pick<Repository, "root" | "commonDir">,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const data = env.XDG_DATA_HOME?.startsWith("/") ? env.XDG_DATA_HOME : join(env.HOME || homedir(), ".local", "share")
  const hash = createHash("sha256").update(repo.commonDir).digest("hex").slice(0, 10)
  return join(data, "kagan", "worktrees", `${slug(basename(repo.root).replace(/\.git$/, ""), 32)}-${hash}`)
}

async function whyNotOpened(error: GitFailure, directory: string): Promise<GitFailure> {
  const words = error.stderr ?? ""
  if (/dubious ownership/.test(words)) {
    const named = /repository at '([^']+)'/.exec(words)?.[1] ?? directory
    const command = `git config --global --add safe.directory ${quoteForShell(named)}`
    return fail(
      "dubious_ownership",
      `git refuses ${named} because another user owns it; if you trust it: ${command}`,
      { path: named, command },
      words,
    ).error
  }
  if (!/not a git repository/i.test(words)) return error
  const file = await worktreeFile(directory)
  if (file !== undefined) {
    const command = "git worktree repair"
    return fail(
      "worktree_broken",
      `${file} belongs to a repository that was moved or removed; in that repository run: ${command} ${quoteForShell(file)}`,
      { path: file, command: `${command} ${quoteForShell(file)}` },
      words,
    ).error
  }
  return fail("not_a_repository", `${directory} is not in a git repository`, { path: directory }, words).error
}

/** The closest folder upwards whose `.git` is a file: a linked worktree, whatever became of its repository. */
async function worktreeFile(directory: string): Promise<string | undefined> {
  for (let folder = resolve(directory); ; folder = dirname(folder)) {
    const found = await stat(join(folder, ".git")).catch(() => undefined)
    if (found?.isFile()) return folder
    if (found || folder === dirname(folder)) return undefined
  }
}

async function mainCheckout(git: Git, commonDir: string): GitResult<string | undefined> {
  const setting = await git.run(["config", "--type=bool", "--default=false", "--get", "core.bare"], { cwd: commonDir })
  if (!setting.ok) return setting
  const worktree = await git.run(["config", "--null", "--get", "core.worktree"], { cwd: commonDir, okCodes: [0, 1] })
  if (!worktree.ok) return worktree
  const [named] = splitNul(worktree.value.bytes)
  if (named !== undefined) return ok(resolve(commonDir, named))
  if (setting.value.stdout.trim() === "true") return ok(undefined)
  return ok(basename(commonDir) === ".git" ? dirname(commonDir) : undefined)
}

/**
 * A partial clone lacks file contents and must be able to fetch them; all others stay offline. So does one whose own
 * settings name a program for the other end, since git would run it here where the other end is a folder.
 */
async function reachingRemotes(git: Git, commonDir: string): GitResult<Git> {
  const pattern = "^remote\\..*\\.(promisor|uploadpack|vcs)$"
  const answer = await git.run(["config", "--null", "--name-only", "--get-regexp", pattern], {
    cwd: commonDir,
    okCodes: [0, 1],
  })
  if (!answer.ok) return answer
  const keys = splitNul(answer.value.bytes)
  const partial = keys.some((key) => key.endsWith(".promisor"))
  if (!partial || keys.some((key) => !key.endsWith(".promisor"))) return ok(git)
  return ok({ ...git, run: (args, options) => git.run(args, { ...options, network: true }) })
}

async function hasCommit(git: Git, commonDir: string): GitResult<boolean> {
  const answer = await git.run(["for-each-ref", "--count=1", "refs/heads"], { cwd: commonDir })
  if (!answer.ok) return answer
  if (answer.value.bytes.length > 0) return ok(true)
  // A checkout on a tag or a bare commit has no branch and can still be worked from.
  const head = await git.run(["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], { cwd: commonDir, okCodes: [0, 1] })
  return head.ok ? ok(head.value.code === 0) : head
}

const FIELDS = ["refname", "objectname", "upstream", "committerdate:unix", "symref", "worktreepath"]

async function listBranches(git: Git, commonDir: string): GitResult<readonly Branch[]> {
  const format = FIELDS.map((field) => `%(${field})%00`).join("")
  const answer = await git.run(["for-each-ref", `--format=${format}`, "refs/heads", "refs/remotes"], { cwd: commonDir })
  if (!answer.ok) return answer
  const fields = splitNul(answer.value.bytes)
  const branches: Branch[] = []
  for (let i = 0; i + FIELDS.length <= fields.length; i += FIELDS.length) {
    // Records end with a newline, which becomes the beginning of the next one's first field.
    const ref = fields[i]!.replace(/^\n/, "")
    const [commit, upstream, at, symref, checkout] = fields.slice(i + 1, i + 6) as [
      string,
      string,
      string,
      string,
      string,
    ]
    if (symref !== "") continue
    const remote = ref.startsWith("refs/remotes/")
    branches.push({
      name: ref.slice(remote ? "refs/remotes/".length : "refs/heads/".length),
      ref,
      commit,
      remote,
      at: Number(at),
      ...(upstream === "" ? {} : { upstream }),
      ...(checkout === "" ? {} : { checkout }),
    })
  }
  return ok(branches)
}

async function defaultBase(repo: Repository): GitResult<DefaultBase | undefined> {
  const { git, commonDir } = repo
  const listed = await repo.branches()
  if (!listed.ok) return listed
  const branches = listed.value
  const heads = await git.run(["for-each-ref", "--format=%(refname)%00%(symref)%00", "refs/remotes/*/HEAD"], {
    cwd: commonDir,
    env: { GIT_LITERAL_PATHSPECS: "0" },
  })
  if (!heads.ok) return heads
  const fields = splitNul(heads.value.bytes).map((field) => field.replace(/^\n/, ""))
  const remoteHeads = new Map<string, string>()
  for (let i = 0; i + 1 < fields.length; i += 2) if (fields[i + 1]) remoteHeads.set(fields[i]!, fields[i + 1]!)
  const upstream = remoteHeads.get("refs/remotes/origin/HEAD") ?? [...remoteHeads.values()][0]
  if (upstream !== undefined) {
    const local = branches.find((branch) => !branch.remote && branch.upstream === upstream)
    const chosen = local ?? branches.find((branch) => branch.ref === upstream)
    const remote = upstream.split("/")[2]
    if (chosen) return ok(asBase(chosen, `it is the default branch of ${remote}`))
  }
  const local = branches.filter((branch) => !branch.remote)
  if (local.length === 1) return ok(asBase(local[0]!, "it is the only branch"))
  const configured = await git.run(["config", "--null", "--get", "init.defaultBranch"], {
    cwd: commonDir,
    okCodes: [0, 1],
  })
  if (!configured.ok) return configured
  const [name] = splitNul(configured.value.bytes)
  const named = local.find((branch) => branch.name === name)
  if (named) return ok(asBase(named, "your git settings name it (init.defaultBranch)"))
  const current = await currentBranch(repo)
  if (!current.ok) return current
  const here = local.find((branch) => branch.name === current.value)
  return ok(here ? asBase(here, "it is checked out now; nothing says which branch is the main one") : undefined)
}

function asBase(branch: Branch, reason: string): DefaultBase {
  return { branch: branch.name, commit: branch.commit, remote: branch.remote, reason }
}

/** The branch of the main checkout. */
async function currentBranch(repo: Repository): GitResult<string | undefined> {
  const head = await readFile(join(repo.commonDir, "HEAD")).catch((error: Error) => error)
  if (head instanceof Error) return ioFailure(join(repo.commonDir, "HEAD"), "reading", head)
  return ok(/^ref: refs\/heads\/(.+)\n?$/.exec(decodePath(head))?.[1])
}

/** A command's one path: all but the last newline. */
function onePath(output: GitOutput): string {
  const bytes = output.bytes
  return decodePath(bytes.at(-1) === 10 ? bytes.subarray(0, -1) : bytes)
}

function quoteForShell(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}
