import { doctorText, type DoctorReport } from "../core/doctor.ts"
import { systemClock } from "../shared/clock.ts"
import { readOptions } from "../core/options.ts"
import { openRepository, worktreeRootOf } from "../shared/git/repository.ts"
import { makeGit } from "../shared/git/runner.ts"
import { openStore } from "../shared/store.ts"
import { configFiles, inForce } from "./config-files.ts"
import { runCommand } from "./command.ts"
import { examine, repair, reportOf, type Patient } from "./doctor/doctor.ts"
import { makeSettings } from "./settings.ts"

declare const __KAGAN_VERSION__: string

export type CommandLine = { readonly code: number; readonly text: string }

const USAGE = `opencode-kagan doctor            looks at everything that Kagan stands on, in this repository
opencode-kagan doctor --json     the same for programs: {"findings": [{id, group, level, text, cause?, repair?}]}
opencode-kagan doctor --repair <id>   mends one finding that says how
opencode-kagan --version

It ends with 0 when nothing is in trouble, with 1 when something is, and with 2 when it could not look.
Everything else is done on the board: /kagan in OpenCode.`

/** What the command line answers; writes nothing itself. */
export async function runCommandLine(
  args: readonly string[],
  world: { readonly directory: string; readonly env: NodeJS.ProcessEnv; readonly url: string },
): Promise<CommandLine> {
  const [command, ...rest] = args
  if (command === "--version") return { code: 0, text: __KAGAN_VERSION__ }
  if (command === undefined || command === "--help" || command === "help") return { code: 0, text: USAGE }
  const id = rest[0] === "--repair" ? rest[1] : undefined
  const known = rest.length === 0 || (rest.length === 1 && rest[0] === "--json") || (rest.length === 2 && id)
  if (command !== "doctor" || !known) return { code: 2, text: USAGE }

  const patient = await openPatient(world)
  if (typeof patient === "string") return { code: 2, text: patient }
  if (id !== undefined) {
    const mended = await repair(patient, id)
    return mended.ok ? { code: 0, text: mended.value.text } : { code: 1, text: mended.error.text }
  }
  const report: DoctorReport = reportOf(await examine(patient))
  const code = report.findings.some(({ level }) => level === "trouble") ? 1 : 0
  return { code, text: rest[0] === "--json" ? JSON.stringify(report, undefined, 2) : doctorText(report) }
}

/** This repository without a running host, or why it cannot be looked at. */
async function openPatient(world: Parameters<typeof runCommandLine>[1]): Promise<Patient | string> {
  const opened = await openRepository(makeGit(), world.directory)
  if (!opened.ok) return opened.error.text
  const repository = opened.value
  const { root } = repository
  const from = repository.isLinkedWorktree ? root : world.directory
  const places = { root, from, url: world.url, env: world.env }
  const settings = makeSettings({ places: () => places, apply: () => {} })
  const { options } = readOptions(inForce(await configFiles(places), "server")?.entry?.options)
  const hostVersion = await askHost(world.directory)
  return {
    repository,
    store: openStore(repository.commonDir, { clock: systemClock }),
    places,
    settings,
    worktreesRoot: options.worktree.root ?? worktreeRootOf(repository),
    version: __KAGAN_VERSION__,
    ...(hostVersion === undefined ? {} : { hostVersion }),
  }
}

/** The version of the host that is on the path, if one is. */
async function askHost(cwd: string): Promise<string | undefined> {
  const answer = await runCommand({ command: "opencode --version", cwd, timeoutMs: 10_000, clock: systemClock })
  const ended = answer.end.kind === "exited" && answer.end.code === 0
  return ended ? /\d+\.\d+\.\d+\S*/.exec(answer.tail)?.[0] : undefined
}
