import { execFile } from "node:child_process"
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { blockEnv } from "../../src/core/push/block.ts"
import type { Result } from "../../src/core/result.ts"
import { openRepository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { blockPushes, readPushSettings } from "../../src/shared/git/push-block.ts"
import { gitEnv, makeRepo, type Repo } from "./repo.ts"

export interface CommandStage {
  readonly repo: Repo
  readonly worktree: string
  /** Runs a line the way the host does, in the worktree, with these variables on top; answers all it printed. */
  run(line: string, options?: { readonly shell?: string; readonly env?: Record<string, string> }): Promise<string>
  /** Every ref of the bare remote, and every call of a forge's program. What was left behind is taken away. */
  published(): Promise<readonly string[]>
  /** Takes back what a line changed in the repository's settings. */
  reset(): Promise<void>
  /** The block as the environment of a shell has it. */
  blockedEnv(): Promise<Record<string, string>>
  /** Writes the block into the worktree's settings. */
  block(): Promise<void>
}

/** Programs that write to a forge: here they only note that they were called, and with what. */
const FORGES = ["gh", "glab", "hub", "curl"]

/**
 * A repository with a bare remote on the same disk and a task's worktree, in which lines are run for real. The branch
 * brings scripts, a build rule and a hook that push from inside of something that no reader of command lines sees.
 */
export async function makeCommandStage(): Promise<CommandStage> {
  const repo = await makeRepo({
    files: {
      "README.md": "# Sample\n",
      "src/a.txt": "a\n",
      "push.ts": "export {}\n",
      "push.sh": "git push origin HEAD\ngit push ../origin.git HEAD:refs/heads/p\n",
      "package.json":
        '{"name": "sample", "version": "1.0.0", "private": true, "scripts": {"rel": "git push origin HEAD"}}\n',
      Makefile: "release:\n\tgit push origin HEAD\n",
    },
  })
  const root = join(repo.dir, "..")
  const remote = join(root, "origin.git")
  const worktree = join(root, "wt")
  const log = join(root, "forges.log")
  const bin = join(root, "bin")
  await repo.git("init", "-q", "--bare", "-b", "main", remote)
  await repo.git("remote", "add", "origin", "../origin.git")
  await repo.git("push", "-q", "origin", "main")
  await repo.git("worktree", "add", "-q", "-b", "task", worktree)
  await mkdir(bin)
  for (const name of FORGES) {
    await writeFile(join(bin, name), `#!/bin/sh\necho "${name} $*" >> '${log}'\n`)
    await chmod(join(bin, name), 0o755)
  }
  await writeFile(log, "")
  const hook = join(repo.dir, ".git/hooks/post-commit")
  await mkdir(join(hook, ".."), { recursive: true })
  await writeFile(hook, "#!/bin/sh\ngit push -q origin HEAD\n")
  await chmod(hook, 0o755)
  const config = join(repo.dir, ".git/config")
  const settings = await readFile(config, "utf8")
  const before = await repo.git("-C", remote, "for-each-ref")
  const start = (await repo.git("rev-parse", "HEAD")).trim()
  const repository = must(await openRepository(makeGit({ env: gitEnv() }), repo.dir))
  const env = {
    ...gitEnv(),
    PATH: `${bin}:${process.env["PATH"]}`,
    HOME: root,
    REMOTE: remote,
    EDITOR: ":",
    GIT_EDITOR: ":",
    npm_config_offline: "true",
    npm_config_update_notifier: "false",
  }

  return {
    repo,
    worktree,
    run: (line, options = {}) =>
      new Promise((resolve) => {
        execFile(
          options.shell ?? "sh",
          ["-c", line],
          { cwd: worktree, env: { ...env, ...options.env }, timeout: 60_000, maxBuffer: 16 * 1024 * 1024 },
          (_, out, errors) => resolve(out + errors),
        )
      }),
    async published() {
      const refs = await repo.git("-C", remote, "for-each-ref")
      const calls = (await readFile(log, "utf8")).split("\n").filter(Boolean)
      await writeFile(log, "")
      if (refs !== before) {
        for (const line of refs.split("\n").filter(Boolean)) {
          const ref = line.split(/\s+/)[2]!
          await repo.git(
            "-C",
            remote,
            ...(ref === "refs/heads/main" ? ["update-ref", ref, start] : ["update-ref", "-d", ref]),
          )
        }
      }
      return [...(refs === before ? [] : [`refs: ${refs}`]), ...calls]
    },
    reset: () => writeFile(config, settings),
    async blockedEnv() {
      return blockEnv(must(await readPushSettings(repository.git, worktree)).block.settings, {})
    },
    async block() {
      must(await blockPushes(repository, worktree))
    },
  }
}

function must<T>(result: Result<T, { readonly text: string }>): T {
  if (!result.ok) throw new Error(result.error.text)
  return result.value
}
