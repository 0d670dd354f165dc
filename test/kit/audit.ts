/** An advisory that was looked at: why it does no harm here, and when it was looked at. */
export interface Reviewed {
  /** The number of the advisory, as in its address: `GHSA-…`. */
  readonly advisory: string
  readonly package: string
  readonly reason: string
}

export type AuditVerdict =
  | { readonly kind: "judged"; readonly open: readonly string[]; readonly stale: readonly string[] }
  /** Nobody could be asked: in words. */
  | { readonly kind: "unasked"; readonly reason: string }

/** Judges what `npm audit --json` printed: advisories that nobody reviewed, and reviews of advisories that are gone. */
export function judgeAudit(printed: string, reviewed: readonly Reviewed[]): AuditVerdict {
  const report = read(printed)
  if (report === undefined) return { kind: "unasked", reason: `npm audit printed no report: ${firstLine(printed)}` }
  const { vulnerabilities } = report
  if (typeof vulnerabilities !== "object" || vulnerabilities === null) {
    const { message, error } = report as { message?: unknown; error?: { summary?: unknown } }
    return { kind: "unasked", reason: `the registry was not asked or did not answer: ${message ?? error?.summary}` }
  }
  const found = new Map<string, string>()
  for (const [name, one] of Object.entries(vulnerabilities as Record<string, { via?: unknown[] }>)) {
    for (const via of one.via ?? []) {
      // A name alone says through which other package it comes; that one has an entry of its own.
      if (typeof via !== "object" || via === null) continue
      const { url, title, severity } = via as { url?: string; title?: string; severity?: string }
      const advisory = /GHSA-[\w-]+/.exec(url ?? "")?.[0] ?? String(url)
      found.set(`${advisory} ${name}`, `${advisory} ${name} (${severity}): ${title}`)
    }
  }
  const known = new Set(reviewed.map((one) => `${one.advisory} ${one.package}`))
  return {
    kind: "judged",
    open: [...found].filter(([key]) => !known.has(key)).map(([, text]) => text),
    stale: [...known].filter((key) => !found.has(key)),
  }
}

function read(printed: string): Record<string, unknown> | undefined {
  const from = printed.indexOf("{")
  try {
    return from === -1 ? undefined : (JSON.parse(printed.slice(from)) as Record<string, unknown>)
  } catch {
    return undefined
  }
}

function firstLine(text: string): string {
  return (text.trim().split("\n")[0] ?? "").slice(0, 200)
}
