import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { checkout } from "../kit/sandbox.ts"
import type { Toll } from "./crash-points.ts"

const PAGE = join(checkout, "docs/crash-matrix.md")

const HEADS = {
  life: [
    "# Killed on the way",
    "",
    'The real OpenCode is killed with SIGKILL at one point of a card\'s way from intake to triage, started again, and the card goes on to Review with all findings (option `resume: "auto"`). Without a crash a card costs one helper of each role, one wake, and two model requests of each kind. Generated; `KAGAN_UPDATE_DOCS=1 npm run test:crash` writes it anew.',
  ],
  git: [
    "# Killed between two git calls",
    "",
    "Two tasks are created at once; of two tasks one cannot be made and the other is taken back; a task in the trash is deleted for good; the base is brought into a reviewed branch; a snapshot is approved and merged beside unsaved work of the person's. OpenCode is killed around one git call of that, or when one thing is first written down, and started again.",
  ],
} as const
type Part = keyof typeof HEADS

/** Writes one part of the page anew and leaves the other as it is. */
export function writeTable(part: Part, rows: readonly string[]): void {
  const parts = (["life", "git"] as const).map((one) => [...HEADS[one], "", ...(one === part ? rows : rowsOf(one)), ""])
  writeFileSync(PAGE, parts.flat().join("\n"))
}

/** The points that the page names, in its order. */
export function namedPoints(part: Part): string[] {
  return rowsOf(part)
    .slice(2)
    .map((row) => /^\| ([^|]+?) +\|/.exec(row)?.[1] ?? row)
}

function rowsOf(part: Part): string[] {
  const lines = readFileSync(PAGE, "utf8").split("\n")
  const own = lines.slice(lines.indexOf(HEADS[part][0]) + 1)
  const end = own.findIndex((line) => line.startsWith("# "))
  return own.slice(0, end === -1 ? undefined : end).filter((line) => line.startsWith("|"))
}

export function tollTable(tolls: ReadonlyMap<string, Toll>): string[] {
  const rows = [...tolls].map(([name, { intakes, validators, wakes, requests }]) => {
    const { intake, work, validator } = requests
    return `| ${name} | ${intakes} | ${validators} | ${wakes} | ${intake} | ${work} | ${validator} |`
  })
  return [
    "| killed at | intake helpers | reviewers | wakes | intake requests | work requests | review requests |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
  ]
}

/** Writes what came of the points of this run; of the others the page says what it said. */
export function writeOutcomes(names: readonly string[], outcomes: ReadonlyMap<string, string>): void {
  const before = new Map(rowsOf("git").map((row) => [/^\| ([^|]+?) +\|/.exec(row)?.[1], row]))
  const row = (name: string) => {
    const outcome = outcomes.get(name)
    return outcome === undefined ? (before.get(name) ?? []) : `| ${name} | ${outcome} |`
  }
  writeTable("git", ["| killed at | what stands in the end |", "| --- | --- |", ...names.flatMap(row)])
}
