import { readdir, stat } from "node:fs/promises"
import { join } from "node:path"
import { blockOf, isBlock, type Block, type Setting } from "../../core/push/block.ts"
import { err, ok, type Result } from "../../core/result.ts"
import { splitNul } from "./bytes.ts"
import type { GitResult } from "./failure.ts"
import type { Repository } from "./repository.ts"
import { whileLocked, type Git } from "./runner.ts"

const MATTERS = "^(remote\\..*\\.(url|pushurl)|url\\..*\\.pushinsteadof|alias\\..*)$"

export type PushSettings = { readonly block: Block; readonly aliases: Readonly<Record<string, string>> }

/** What of a folder's git settings decides where it pushes to: the block against it, and the aliases in force. */
export async function readPushSettings(git: Git, folder: string): GitResult<PushSettings> {
  const answer = await git.run(["config", "--null", "--get-regexp", MATTERS], { cwd: folder, okCodes: [0, 1] })
  if (!answer.ok) return answer
  const settings = splitNul(answer.value.bytes).map(settingOf)
  const aliases = settings.flatMap(([key, value]) => (key.startsWith("alias.") ? [[key.slice(6), value] as const] : []))
  return ok({ block: blockOf(settings), aliases: Object.fromEntries(aliases) })
}

/**
 * Writes the block into a worktree's own settings, so that it holds also where the environment is dropped. Says why it
 * could not: that is no failure of the work, the other layers stay.
 */
export async function blockPushes(
  repository: Pick<Repository, "git" | "root" | "commonDir">,
  worktree: string,
): Promise<Result<Block, { readonly text: string }>> {
  const { git } = repository
  const place = await git.run(["rev-parse", "--path-format=absolute", "--git-common-dir", "--git-dir"], {
    cwd: worktree,
  })
  if (!place.ok) return err({ text: place.error.text })
  const [commonDir, gitDir] = place.value.stdout.split("\n")
  if (commonDir !== repository.commonDir || gitDir === commonDir) {
    return err({ text: `${worktree} is not a linked worktree of ${repository.root}` })
  }
  const read = await readPushSettings(git, worktree)
  if (!read.ok) return err({ text: read.error.text })
  const ready = await allowWorktreeSettings(repository)
  if (!ready.ok) return ready
  const own = await git.run(["config", "--worktree", "--null", "--get-regexp", "."], { cwd: worktree, okCodes: [0, 1] })
  if (!own.ok) return err({ text: own.error.text })
  const before = splitNul(own.value.bytes).map(settingOf)
  const wanted = read.value.block.settings
  const missing = wanted.filter((setting) => !before.some((one) => isSame(one, setting)))
  const over = before.filter((setting) => isBlock(setting) && !wanted.some((one) => isSame(one, setting)))
  for (const [key, value] of over) {
    const done = await write(git, worktree, ["--fixed-value", "--unset-all", key, value])
    if (!done.ok) return err({ text: done.error.text })
  }
  for (const [key, value] of missing) {
    const done = await write(git, worktree, ["--add", key, value])
    if (!done.ok) return err({ text: done.error.text })
  }
  return ok(read.value.block)
}

/**
 * Settings of one worktree need `extensions.worktreeConfig`. Turned on only where it changes nothing else: not where
 * the shared settings say that the repository is bare or has its files elsewhere (git would then want these moved), and
 * not where a file lies ready that would come into force with it.
 */
async function allowWorktreeSettings({
  git,
  root,
  commonDir,
}: Pick<Repository, "git" | "root" | "commonDir">): Promise<Result<void, { readonly text: string }>> {
  const asked = ["config", "--file", join(commonDir, "config"), "--null", "--get-regexp"]
  const found = await git.run([...asked, "^(extensions\\.worktreeconfig|core\\.bare|core\\.worktree)$"], {
    cwd: root,
    okCodes: [0, 1],
  })
  if (!found.ok) return err({ text: found.error.text })
  const settings = new Map(splitNul(found.value.bytes).map(settingOf))
  if (/^(true|yes|on|1|)$/.test(settings.get("extensions.worktreeconfig") ?? "no")) return ok()
  if (settings.get("core.worktree") !== undefined || settings.get("core.bare") === "true") {
    return err({ text: "core.bare or core.worktree stand in the shared settings: no settings for one worktree alone" })
  }
  const folders = [commonDir, ...(await foldersIn(join(commonDir, "worktrees")))]
  for (const folder of folders) {
    const there = await stat(join(folder, "config.worktree")).then(
      () => true,
      () => false,
    )
    if (there) return err({ text: `${join(folder, "config.worktree")} is there, but not in force` })
  }
  const done = await whileLocked(git.clock, () =>
    git.run(["config", "--file", join(commonDir, "config"), "extensions.worktreeConfig", "true"], { cwd: root }),
  )
  return done.ok ? ok() : err({ text: done.error.text })
}

async function foldersIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.map((name) => join(folder, name))
}

function write(git: Git, worktree: string, args: readonly string[]) {
  return whileLocked(git.clock, () => git.run(["config", "--worktree", ...args], { cwd: worktree }))
}

/** Git prints the name, a line break, and the value; a name alone means yes. */
function settingOf(bytes: string): Setting {
  const end = bytes.indexOf("\n")
  return end === -1 ? [bytes, "true"] : [bytes.slice(0, end), bytes.slice(end + 1)]
}

function isSame(a: Setting, b: Setting): boolean {
  return a[0] === b[0] && a[1] === b[1]
}
