import { createHash } from "node:crypto"
import { err, ok, type Result } from "../../core/result.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"
import type { Git } from "./runner.ts"
import { readSettings, type Setting } from "./settings.ts"

/**
 * Filters and merge drivers are programs that git runs on file contents. Those that the person set for all of their
 * repositories are theirs; those in the repository's own config can be written by any process that works in it, an
 * agent included, and run in our calls only when they are well known or trusted by name. A blocked filter is made to
 * fail, not skipped: skipping one that encrypts would put clear text into a commit.
 */
export interface ProgramGuard {
  /** Goes before git's subcommand. */
  readonly args: readonly string[]
  readonly blocked: readonly BlockedProgram[]
}

export interface BlockedProgram {
  readonly name: string
  readonly commands: readonly string[]
  /** Exactly these commands run once the person has put it into `worktree.filters`. */
  readonly digest: string
}

const KNOWN = [
  /^git[- ]lfs (clean|smudge|filter-process)( --skip)?( -- %f)?$/,
  /^"?((\/usr(\/local)?)?\/bin\/)?git-crypt"? (clean|smudge)( --key-name=[\w-]+)?$/,
]

export async function guardPrograms(git: Git, folder: string): GitResult<ProgramGuard> {
  const settings = await readSettings(git, folder)
  return settings.ok ? ok(guardFrom(settings.value, git.trusted())) : settings
}

/** The same from settings that were read already. */
export function guardFrom(settings: readonly Setting[], trusted: readonly string[]): ProgramGuard {
  const filters = new Map<string, string[]>()
  const drivers = new Map<string, string[]>()
  for (const { scope, key, value } of settings) {
    if (scope !== "local" && scope !== "worktree") continue
    const filter = /^filter\.(.+)\.(?:clean|smudge|process)$/s.exec(key)?.[1]
    const driver = /^merge\.(.+)\.driver$/s.exec(key)?.[1]
    if (filter !== undefined) remember(filters, filter, value)
    if (driver !== undefined) remember(drivers, driver, value)
  }
  const args: string[] = []
  const blocked: BlockedProgram[] = []
  for (const [name, commands] of filters) {
    const program = describe(`filter ${name}`, commands)
    if (isTrusted(program, trusted)) continue
    blocked.push({ ...program, name })
    args.push("-c", `filter.${name}.clean=false`, "-c", `filter.${name}.smudge=false`)
    args.push("-c", `filter.${name}.process=`, "-c", `filter.${name}.required=true`)
  }
  for (const [name, commands] of drivers) {
    if (isTrusted(describe(`merge ${name}`, commands), trusted)) continue
    // A driver that fails leaves a conflict, which is named to the person.
    args.push("-c", `merge.${name}.driver=false`)
  }
  return { args, blocked }
}

/** Says which blocked filter made a call fail, where one did. */
export function explainBlocked<T>(answer: Result<T, GitFailure>, guard: ProgramGuard): Result<T, GitFailure> {
  if (answer.ok) return answer
  const name = /(?:clean|smudge) filter '?(.+?)'? failed/.exec(answer.error.stderr ?? "")?.[1]
  const program = guard.blocked.find((candidate) => candidate.name === name)
  if (!program) return err(answer.error)
  return fail(
    "untrusted_filter",
    `the repository's own settings run "${program.commands[0]}" on its files (filter ${program.name}); Kagan does not run it unless you trust it: add "${program.digest}" to the option worktree.filters`,
    { filters: [program.name], digests: [program.digest] },
    answer.error.stderr,
  )
}

function isTrusted(program: BlockedProgram, trusted: readonly string[]): boolean {
  const wellKnown = program.commands.every((command) => command === "" || KNOWN.some((known) => known.test(command)))
  return wellKnown || trusted.includes(program.digest)
}

function describe(name: string, commands: readonly string[]): BlockedProgram {
  const digest = createHash("sha256")
    .update(JSON.stringify([name, ...commands]))
    .digest("hex")
    .slice(0, 16)
  return { name, commands, digest }
}

function remember(map: Map<string, string[]>, name: string, value: string) {
  map.set(name, [...(map.get(name) ?? []), value])
}
