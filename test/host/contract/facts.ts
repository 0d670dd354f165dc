import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import hostPackage from "opencode-ai/package.json" with { type: "json" }
import { TESTED_HOSTS } from "../../../src/core/host-version.ts"
import { checkout } from "../../kit/sandbox.ts"

/** The sections of the document: the file `<key>.test.ts` measures the facts of each. */
export const sections = {
  sessions: "Sessions, their events and their metadata",
  turns: "Turns: starting, ending, aborting, failing",
  messages: "Messages: stored without a turn, sent twice, reverted",
  hooks: "Hooks, tools and configuration of plugins",
  permissions: "Permissions, questions, agents",
  worktrees: "Instances of worktrees, and what they are configured by",
  processes: "Two processes, and processes that die",
  terminal: "The terminal UI",
} as const

export type Section = keyof typeof sections

export const documentFile = join(checkout, "docs/host-contract.md")

interface Measured {
  readonly id: string
  readonly sentence: string
  readonly value: string
  readonly holds: boolean
}

/**
 * The facts of one section. Each `fact` is a test named by the place that states the fact and by what it says; its value
 * is what was measured, in words that are the same in every run. `compare` comes last: a test that fails when the
 * document says something else than what was measured, or, with KAGAN_UPDATE_DOCS=1, writes it.
 */
export function contract(section: Section) {
  const measured: Measured[] = []
  let declared = 0
  return {
    fact(id: string, sentence: string, measure: () => Promise<string>): void {
      declared++
      test(`${id} ${sentence}`, async () => {
        const entry = { id, sentence, value: "does not hold", holds: false }
        try {
          entry.value = await measure()
          entry.holds = true
        } catch (cause) {
          // What an older host does otherwise is written down below its section, and compared there.
          if (!isOldest) throw cause
        } finally {
          measured.push(entry)
        }
      })
    },
    compare(): void {
      test("docs/host-contract.md says what was measured", async () => {
        expect(measured.length, "all facts of this file ran").toBe(declared)
        const parts = splitDocument(await readFile(documentFile, "utf8"))
        const stands = parts.bodies.get(section) ?? ""
        const text = isOldest
          ? withOldest(stands, oldestLine(measured, stands))
          : sectionText(section, measured, stands)
        if (process.env["KAGAN_UPDATE_DOCS"] === "1") return writeSection(section, text)
        if (!isOldest)
          expect(parts.head, "run this file again with KAGAN_UPDATE_DOCS=1 to write the document").toBe(head())
        expect(stands, "run this file again with KAGAN_UPDATE_DOCS=1 to write it").toBe(text)
      })
    },
  }
}

function head(): string {
  return [
    "# What Kagan relies on in its host",
    "",
    `Measured on \`opencode-ai\` ${hostPackage.version} by \`test/host/contract\`, against the real server and the real terminal UI.`,
    "Generated; `KAGAN_UPDATE_DOCS=1 npm run test:host` writes it anew. The first column names a fact for the tests and the code that rely on it.",
    "",
    "",
  ].join("\n")
}

/** Whether this run measures the oldest host that is supported, see `test/host/oldest.long.test.ts`. */
const isOldest = process.env["KAGAN_TEST_HOST"] !== undefined
const OLDEST = `On ${TESTED_HOSTS.oldest}, the oldest that is supported: `

const cell = (text: string) => text.replaceAll("|", "\\|").replaceAll("\n", " ")
const rowOf = (fact: Measured) =>
  `| ${cell(fact.id)} | ${cell(fact.sentence)} | ${fact.holds ? "" : "✗ "}${cell(fact.value)} |`

/** What the document said of the oldest host stays until that is measured anew. */
function sectionText(section: Section, facts: readonly Measured[], before: string): string {
  const table = ["| fact | what holds | measured |", "| --- | --- | --- |", ...facts.map(rowOf)]
  const text = [`## ${sections[section]}`, "", ...table, "", ""].join("\n")
  const line = before.split("\n").find((one) => one.startsWith(OLDEST))
  return line === undefined ? text : withOldest(text, line)
}

function withOldest(body: string, line: string): string {
  const kept = body.split("\n").filter((one) => !one.startsWith(OLDEST))
  return `${kept.join("\n").trimEnd()}\n\n${line}\n\n`
}

/** How what the oldest host does differs from the rows of the document. */
function oldestLine(facts: readonly Measured[], body: string): string {
  const rows = new Set(body.split("\n"))
  const other = facts.filter((fact) => !rows.has(rowOf(fact)))
  if (other.length === 0) return `${OLDEST}all ${facts.length} measured the same.`
  const named = other.map((fact) => `“${fact.sentence}”: ${fact.holds ? "" : "✗ "}${cell(fact.value)}`)
  return `${OLDEST}${facts.length - other.length} of ${facts.length} measured the same; otherwise ${named.join("; ")}.`
}

/** The document's head, and its sections by key; a heading that is no section's keeps its own text as key. */
export function splitDocument(text: string): { head: string; bodies: Map<string, string> } {
  const [first = "", ...rest] = text.split(/^(?=## )/m)
  const bodies = new Map<string, string>()
  for (const body of rest) {
    const title = body.slice(3, body.indexOf("\n"))
    const key = Object.entries(sections).find(([, heading]) => heading === title)?.[0] ?? title
    bodies.set(key, body.endsWith("\n\n") ? body : `${body}\n`)
  }
  return { head: first, bodies }
}

/** Several files of one run write the document: one at a time. */
async function writeSection(section: Section, text: string): Promise<void> {
  const lock = `${documentFile}.lock`
  for (const end = Date.now() + 30_000; ;) {
    try {
      await mkdir(lock)
      break
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "EEXIST" || Date.now() > end) throw cause
      await Bun.sleep(10)
    }
  }
  try {
    const { bodies } = splitDocument(await readFile(documentFile, "utf8").catch(() => ""))
    bodies.set(section, text)
    const ordered = Object.keys(sections).flatMap((key) => bodies.get(key) ?? [])
    await writeFile(documentFile, `${head()}${ordered.join("")}`.trimEnd() + "\n")
  } finally {
    await rmdir(lock)
  }
}
