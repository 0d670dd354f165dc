import { createHash } from "node:crypto"
import { lstat, readdir, readFile, readlink } from "node:fs/promises"
import { isAbsolute, join, resolve } from "node:path"
import {
  compareSurroundings,
  readBaseline,
  trespassLines,
  type Baseline,
  type Marks,
  type Surroundings,
} from "../core/containment.ts"
import { isBlock } from "../core/push/block.ts"
import { err, ok, type Result } from "../core/result.ts"
import type { TaskMeta } from "../core/task.ts"
import type { Clock } from "../shared/clock.ts"
import { splitNul } from "../shared/git/bytes.ts"
import type { Repository } from "../shared/git/repository.ts"
import { readStatus } from "../shared/git/status.ts"
import type { Store } from "../shared/store.ts"

/*
 * What surrounds a task's worktree, as it was when work started and as it is now. Only marks are kept: a setting may
 * hold a credential, and a file anything.
 */

type Answer<T> = Promise<Result<T, { readonly text: string }>>

export interface Containment {
  /** Writes down what is there when work of a generation starts; later starts of it keep what was written. */
  begin(meta: TaskMeta): Answer<void>
  /** What changed since, in lines for the person; empty when nothing did or nothing was written down. */
  changes(meta: TaskMeta): Answer<readonly string[]>
}

export type ContainmentParts = {
  readonly repository: Pick<Repository, "git" | "root" | "commonDir" | "bare">
  readonly store: Pick<Store, "paths" | "readJson" | "writeJson">
  readonly clock: Pick<Clock, "now">
}

export function makeContainment({ repository, store, clock }: ContainmentParts): Containment {
  const fileOf = (meta: TaskMeta) => join(store.paths.session(meta.sessionID).dir, "surroundings.json")

  async function written(meta: TaskMeta): Promise<Baseline | undefined> {
    const read = await store.readJson(fileOf(meta))
    return read.ok ? readBaseline(read.value) : undefined
  }

  return {
    async begin(meta) {
      if ((await written(meta))?.generation === meta.generation) return ok()
      const now = await surroundings(repository)
      if (!now.ok) return now
      const baseline: Baseline = { v: 1, generation: meta.generation, at: clock.now(), ...now.value }
      const kept = await store.writeJson(fileOf(meta), baseline)
      return kept.ok ? ok() : err({ text: kept.error.text })
    },

    async changes(meta) {
      const before = await written(meta)
      if (!before) return ok([])
      const now = await surroundings(repository)
      return now.ok ? ok(trespassLines(compareSurroundings(before, now.value))) : now
    },
  }
}

async function surroundings(repository: ContainmentParts["repository"]): Answer<Surroundings> {
  const read = await settingsOf(repository)
  if (!read.ok) return read
  const files = repository.bare ? ok({}) : await dirtyFiles(repository)
  if (!files.ok) return files
  return ok({ files: files.value, settings: read.value.marks, hooks: await hooksOf(repository, read.value.hooksPath) })
}

async function dirtyFiles({ git, root }: ContainmentParts["repository"]): Answer<Marks> {
  const status = await readStatus(git, root)
  if (!status.ok) return err({ text: status.error.text })
  const marks = await Promise.all(
    status.value.map(async ({ path }) => [path, await statMark(join(root, path))] as const),
  )
  return ok(Object.fromEntries(marks))
}

/** Size and time stand for the content: the person's folder may hold large files. */
async function statMark(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined)
  return found ? `${found.mode} ${found.size} ${found.mtimeMs}` : "gone"
}

/** Settings from everywhere, as marks. What git and Kagan write themselves when a worktree is made is not told. */
async function settingsOf({
  git,
  root,
}: ContainmentParts["repository"]): Answer<{ readonly marks: Marks; readonly hooksPath?: string }> {
  const answer = await git.run(["config", "--null", "--list", "--show-scope"], { cwd: root })
  if (!answer.ok) return err({ text: answer.error.text })
  const fields = splitNul(answer.value.bytes)
  const values = new Map<string, string[]>()
  let hooksPath: string | undefined
  for (let at = 0; at + 1 < fields.length; at += 2) {
    const [scope, entry] = [fields[at]!, fields[at + 1]!]
    const end = entry.indexOf("\n")
    const [key, value] = end === -1 ? [entry, "true"] : [entry.slice(0, end), entry.slice(end + 1)]
    if (scope === "command" || isBlock([key, value]) || /^(branch\.|extensions\.worktreeconfig$)/.test(key)) continue
    values.set(key, [...(values.get(key) ?? []), `${scope}=${value}`])
    if (key === "core.hookspath") hooksPath = value
  }
  const marks = [...values].map(([key, all]) => [shownKey(key), digest(all.join("\n"))] as const)
  return ok({ marks: Object.fromEntries(marks), ...(hooksPath ? { hooksPath } : {}) })
}

/** The middle of a setting's name may be an address with a password in it. */
function shownKey(key: string): string {
  return key.replace(/\/\/[^/@]*@/, "//…@")
}

async function hooksOf(
  { root, commonDir }: ContainmentParts["repository"],
  hooksPath: string | undefined,
): Promise<Marks> {
  const folders = [join(commonDir, "hooks")]
  if (hooksPath && hooksPath !== "/dev/null") {
    folders.push(isAbsolute(hooksPath) ? hooksPath : resolve(root, hooksPath))
  }
  const marks: Record<string, string> = {}
  for (const folder of folders) {
    const names = await readdir(folder).catch(() => [])
    for (const name of names.filter((one) => !one.endsWith(".sample"))) {
      const path = join(folder, name)
      marks[folder === folders[0] ? name : path] = await contentMark(path)
    }
  }
  marks["info/attributes"] = await contentMark(join(commonDir, "info/attributes"))
  return marks
}

async function contentMark(path: string): Promise<string> {
  const found = await lstat(path).catch(() => undefined)
  if (!found) return "gone"
  // A link stands for where it leads; what it leads to is somebody else's.
  const content = found.isSymbolicLink()
    ? await readlink(path).catch(() => "")
    : found.isFile() && found.size < 4 * 1024 * 1024
      ? await readFile(path).catch(() => "")
      : String(found.mtimeMs)
  return digest(Buffer.concat([Buffer.from(`${found.mode}\n`), Buffer.from(content)]))
}

function digest(data: string | Buffer): string {
  return createHash("sha256").update(data).digest("hex").slice(0, 32)
}
