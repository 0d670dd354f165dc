import type { DoctorFinding, DoctorReport } from "../../core/doctor.ts"
import type { OptionProblem, Options } from "../../core/options.ts"
import type { Done, RequestFailure } from "../../core/protocol.ts"
import { ok, type Result } from "../../core/result.ts"
import type { Repository } from "../../shared/git/repository.ts"
import type { Store } from "../../shared/store.ts"
import type { ConfigPlaces } from "../config-files.ts"
import { failed, refused } from "../moves.ts"
import type { SettingsDesk } from "../settings.ts"
import { configuration } from "./configuration.ts"
import { files } from "./files.ts"
import { gitItself } from "./git.ts"
import { installation } from "./installation.ts"
import { worktrees } from "./worktrees.ts"

/** A finding, and how it is mended. Mending looks again at what it mends: between the two, things go on. */
export type Found = DoctorFinding & { readonly mend?: () => Promise<Result<string, string>> }

export type Patient = {
  readonly repository: Repository
  readonly store: Store
  readonly places: ConfigPlaces
  readonly settings: SettingsDesk
  readonly worktreesRoot: string
  /** Of this half. */
  readonly version: string
  readonly hostVersion?: string
  /** The screen's half, where one asks; absent on the command line. */
  readonly board?: { readonly version: string }
  /** As they are in force; absent on the command line, where nothing is. */
  readonly running?: { readonly options: Options; readonly problems: readonly OptionProblem[] }
  /** Finds the session of a task by its number and writes its record anew; absent on the command line. */
  readonly writeRecord?: (taskNumber: number) => Promise<Result<void, string>>
}

const CHECKS: readonly ((patient: Patient) => Promise<readonly Found[]>)[] = [
  installation,
  configuration,
  gitItself,
  worktrees,
  files,
]

/** Looks at everything that Kagan stands on; changes nothing. A part that breaks is itself a finding. */
export async function examine(patient: Patient): Promise<readonly Found[]> {
  const found = await Promise.all(
    CHECKS.map((check) =>
      check(patient).catch((bug: unknown): readonly Found[] => [
        {
          id: `doctor:${check.name}`,
          group: "Files",
          level: "trouble",
          text: `the doctor could not look at ${check.name}`,
          cause: bug instanceof Error ? bug.message : String(bug),
        },
      ]),
    ),
  )
  return found.flat()
}

/** The findings without the ways to mend them, as they go over the channel and onto the command line. */
export function reportOf(found: readonly Found[]): DoctorReport {
  return { findings: found.map(({ mend, ...finding }) => (mend === undefined ? finding : { ...finding })) }
}

/** Mends one finding, if it still is one. */
export async function repair(patient: Patient, id: string): Promise<Result<Done, RequestFailure>> {
  const finding = (await examine(patient)).find((candidate) => candidate.id === id)
  if (!finding) return refused({ kind: "invalid", text: "that is no longer so" })
  if (!finding.mend) return refused({ kind: "invalid", text: `nothing mends this by itself: ${finding.text}` })
  const mended = await finding.mend()
  return mended.ok ? ok({ text: mended.value }) : failed(mended.error)
}
