/** The versions of OpenCode that Kagan's contract suite was run on; `engines.opencode` in package.json is the lower one. */
export const TESTED_HOSTS = { oldest: "1.17.18", newest: "1.18.33" } as const

export type HostJudgement = { readonly kind: "tested" | "older" | "newer" | "unknown"; readonly text: string }

/** What is known about Kagan on this version of OpenCode, in one line. */
export function judgeHost(version: string | undefined): HostJudgement {
  const { oldest, newest } = TESTED_HOSTS
  const range = `tested from ${oldest} to ${newest}`
  if (!version || !parts(version)) return { kind: "unknown", text: `OpenCode of an unknown version (${range})` }
  const text = `OpenCode ${version} (${range})`
  if (compareVersions(version, oldest) < 0) return { kind: "older", text: `${text} is older than Kagan needs` }
  if (compareVersions(version, newest) > 0)
    return { kind: "newer", text: `${text} is newer than what Kagan was tested on` }
  return { kind: "tested", text }
}

/** Order of two versions as semver has it; what cannot be read comes first. */
export function compareVersions(a: string, b: string): number {
  const [one, two] = [parts(a), parts(b)]
  if (!one || !two) return Number(one !== undefined) - Number(two !== undefined)
  for (let i = 0; i < 3; i++) if (one.numbers[i] !== two.numbers[i]) return one.numbers[i]! - two.numbers[i]!
  if (one.pre === two.pre) return 0
  // A pre-release comes before its release.
  if (one.pre === "" || two.pre === "") return one.pre === "" ? 1 : -1
  return one.pre.localeCompare(two.pre, "en", { numeric: true })
}

function parts(version: string): { readonly numbers: readonly number[]; readonly pre: string } | undefined {
  const found = /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/.exec(version.trim())
  return found ? { numbers: found.slice(1, 4).map(Number), pre: found[4] ?? "" } : undefined
}
