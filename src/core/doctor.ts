/*
 * What the doctor says: one finding for each thing it looked at, with its cause and the way out.
 */

export const DOCTOR_GROUPS = ["OpenCode", "Configuration", "Git", "Worktrees", "Files"] as const
export type DoctorGroup = (typeof DOCTOR_GROUPS)[number]

/** `trouble` keeps something from working, `note` is worth knowing. */
export type DoctorLevel = "fine" | "note" | "trouble"

export type DoctorFinding = {
  /** Names the same thing in every run. */
  readonly id: string
  readonly group: DoctorGroup
  readonly level: DoctorLevel
  readonly text: string
  /** Why it is so, and what the person can do. */
  readonly cause?: string
  /** What the one key does, where it is safe. */
  readonly repair?: string
}

export type DoctorReport = { readonly findings: readonly DoctorFinding[] }

/** What matters first, in the order of the groups. */
export function byUrgency(report: DoctorReport): readonly DoctorFinding[] {
  const rank = { trouble: 0, note: 1, fine: 2 } as const
  return report.findings.toSorted(
    (a, b) => rank[a.level] - rank[b.level] || DOCTOR_GROUPS.indexOf(a.group) - DOCTOR_GROUPS.indexOf(b.group),
  )
}

/** In one line. */
export function doctorSummary(report: DoctorReport): string {
  const troubles = report.findings.filter(({ level }) => level === "trouble").length
  const notes = report.findings.filter(({ level }) => level === "note").length
  const count = (n: number, word: string) => `${n} ${word}${n === 1 ? "" : "s"}`
  if (troubles === 0 && notes === 0) return `everything is fine (${report.findings.length} things looked at)`
  return [troubles > 0 ? count(troubles, "trouble") : "", notes > 0 ? count(notes, "note") : ""]
    .filter(Boolean)
    .join(", ")
}

/** The report as a terminal prints it. */
export function doctorText(report: DoctorReport): string {
  const lines = DOCTOR_GROUPS.flatMap((group) => {
    const own = report.findings.filter((finding) => finding.group === group)
    if (own.length === 0) return []
    return [
      group,
      ...own.flatMap(({ id, level, text, cause, repair }) => [
        `  ${level === "fine" ? "ok     " : level.padEnd(7)} ${text}`,
        ...(cause === undefined ? [] : [`          ${cause}`]),
        ...(repair === undefined ? [] : [`          repair: opencode-kagan doctor --repair ${id}  (${repair})`]),
      ]),
      "",
    ]
  })
  return [...lines, doctorSummary(report)].join("\n")
}
