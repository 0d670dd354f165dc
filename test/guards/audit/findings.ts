import type ts from "typescript"
import type { Audited } from "./program.ts"

export type Finding = {
  readonly rule: string
  /** What was reached, or as much of the text as tells it. */
  readonly symbol: string
  readonly file: string
  readonly line: number
  readonly text: string
}

/** One accepted use: exact, so that neither one more nor one less passes unseen. */
export type Allowed = {
  readonly rule: string
  readonly symbol: string
  readonly file: string
  readonly count: number
  readonly reason: string
}

export type Report = (rule: string, symbol: string, node: ts.Node) => void

/** Collects findings, each place once for a rule and symbol. */
export function collector(audited: Audited): { readonly report: Report; readonly findings: Finding[] } {
  const findings: Finding[] = []
  const seen = new Set<string>()
  return {
    findings,
    report(rule, symbol, node) {
      const file = node.getSourceFile()
      const key = `${rule} ${symbol} ${file.fileName} ${node.getStart()}`
      if (seen.has(key)) return
      seen.add(key)
      const line = file.getLineAndCharacterOfPosition(node.getStart()).line + 1
      const text = node.getText().replaceAll(/\s+/g, " ").slice(0, 100)
      findings.push({ rule, symbol, file: audited.name(file), line, text })
    },
  }
}

/** What a person has to be told: uses nobody accepted, and accepted uses that are not there. */
export function judge(findings: readonly Finding[], allowed: readonly Allowed[]): string[] {
  const same = (one: Finding | Allowed, entry: Allowed) =>
    one.rule === entry.rule && one.symbol === entry.symbol && one.file === entry.file
  const complaints = findings
    .filter((finding) => !allowed.some((entry) => same(finding, entry)))
    .map((one) => `${one.file}:${one.line} ${one.rule} of ${one.symbol}: ${one.text}`)
  for (const [index, entry] of allowed.entries()) {
    const where = `${entry.file} ${entry.rule} of ${entry.symbol}`
    const uses = findings.filter((finding) => same(finding, entry))
    if (entry.reason.trim().length < 15) complaints.push(`${where}: is allowed without a reason`)
    if (allowed.findIndex((other) => same(other, entry)) !== index) complaints.push(`${where}: is allowed twice`)
    else if (uses.length !== entry.count)
      complaints.push(
        `${where}: allowed ${entry.count} times, found ${uses.length}` +
          uses.map((use) => `\n  line ${use.line}: ${use.text}`).join(""),
      )
  }
  return complaints
}

/** Findings as `rule: symbol`, with how often where it is more than once. */
export function told(findings: readonly Finding[]): string[] {
  const counts = new Map<string, number>()
  for (const { rule, symbol } of findings) {
    const key = `${rule}: ${symbol}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts].map(([key, count]) => (count > 1 ? `${key} ×${count}` : key)).toSorted()
}
