import { execFile } from "node:child_process"
import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { guardRoot, releaseRoot } from "./processes.ts"

export interface Repo {
  readonly dir: string
  /** Runs git in the repository and answers its standard output; throws with git's words when it fails. */
  git(...args: string[]): Promise<string>
  write(path: string, text: string): Promise<void>
  /** Commits everything and answers the new commit's id. */
  commit(message: string): Promise<string>
  dispose(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

export interface RepoOptions {
  /** Where to make it; without it a temporary folder that `dispose` removes. */
  readonly dir?: string
  /** Files of the first commit. */
  readonly files?: Readonly<Record<string, string>>
}

/** An environment in which git obeys nothing of this machine or of the process that runs the tests. */
export function gitEnv(base: NodeJS.ProcessEnv = process.env): Record<string, string> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(base)) {
    if (value !== undefined && !name.startsWith("GIT_")) env[name] = value
  }
  return {
    ...env,
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_AUTHOR_NAME: "Test Person",
    GIT_AUTHOR_EMAIL: "person@example.test",
    GIT_COMMITTER_NAME: "Test Person",
    GIT_COMMITTER_EMAIL: "person@example.test",
    LC_ALL: "C",
  }
}

/** A real repository with branch `main` and one commit. */
export async function makeRepo(options: RepoOptions = {}): Promise<Repo> {
  const parent = options.dir === undefined ? await realpath(await mkdtemp(join(tmpdir(), "kagan-repo-"))) : undefined
  if (parent) guardRoot(parent)
  const dir = options.dir ?? join(parent!, "repo")
  const env = gitEnv()
  await mkdir(dir, { recursive: true })

  const git = (...args: string[]) =>
    new Promise<string>((resolve, reject) => {
      execFile("git", args, { cwd: dir, env, maxBuffer: 256 * 1024 * 1024 }, (error, stdout, stderr) => {
        if (error) reject(new Error(`git ${args.join(" ")}: ${stderr.trim() || error.message}\n${stdout}`))
        else resolve(stdout)
      })
    })
  const repo: Repo = {
    dir,
    git,
    async write(path, text) {
      const file = join(dir, path)
      await mkdir(dirname(file), { recursive: true })
      await writeFile(file, text)
    },
    async commit(message) {
      await git("add", "-A")
      await git("commit", "-q", "--allow-empty", "-m", message)
      return (await git("rev-parse", "HEAD")).trim()
    },
    async dispose() {
      await rm(parent ?? dir, { recursive: true, force: true, maxRetries: 5 })
      if (parent) releaseRoot(parent)
    },
    [Symbol.asyncDispose]: () => repo.dispose(),
  }

  await git("init", "-q", "-b", "main")
  // In the repository's own config too, for programs that drop the environment.
  await git("config", "user.name", "Test Person")
  await git("config", "user.email", "person@example.test")
  await git("config", "commit.gpgSign", "false")
  for (const [path, text] of Object.entries(options.files ?? { "README.md": "# Sample\n" }))
    await repo.write(path, text)
  await repo.commit("First commit")
  return repo
}
