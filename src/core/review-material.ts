import { oneLine } from "./fence.ts"

/** A changed file as it goes into a prompt; the replies of the diff have this shape. */
export type ReviewFile = {
  readonly path: string
  readonly from?: string
  readonly kind: string
  readonly insertions: number
  readonly deletions: number
  /** Unified text, with or without its header lines; empty where there is none to read. */
  readonly patch: string
  /** Why there is no text, or less of it. */
  readonly note?: string
}

export type ReviewMaterial = {
  /** Every path, with what of it is shown. */
  readonly list: string
  readonly diff: string
  /** Files whose change is shown whole; those without any text to show count as shown. */
  readonly shown: number
  readonly total: number
  /** Paths of which nothing or not everything is shown. */
  readonly left: readonly string[]
}

/** A careful guess that is rather too high: three bytes of text are hardly ever more than one token. */
export function tokensOf(text: string): number {
  let bytes = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : 3
  }
  return Math.ceil(bytes / 3)
}

/**
 * Chooses what a reviewer is shown within `maxTokens`: the riskier files first, small before large among equals. A file
 * that does not fit is cut at a hunk and said to be cut. Every path is listed, whatever the budget.
 */
export function selectMaterial(files: readonly ReviewFile[], maxTokens: number): ReviewMaterial {
  const order = files
    .map((file, index) => ({ file, index, risk: riskOf(file), size: file.patch.length }))
    .toSorted((a, b) => b.risk - a.risk || a.size - b.size || a.index - b.index)
  const list = (states: ReadonlyMap<number, string>) =>
    files.map((file, index) => listLine(file, states.get(index))).join("\n")
  let budget = maxTokens - tokensOf(list(new Map(files.map((_, index) => [index, ", not shown"]))))
  const parts = new Map<number, string>()
  const states = new Map<number, string>()
  for (const { file, index } of order) {
    if (file.patch === "") {
      states.set(index, `, ${oneLine(file.note ?? "no text to show", 80)}`)
      continue
    }
    const whole = withHeader(file, file.patch)
    const cost = tokensOf(whole) + 1
    if (cost <= budget) {
      parts.set(index, whole)
      budget -= cost
      if (file.note) states.set(index, `, ${oneLine(file.note, 80)}`)
      continue
    }
    const part = firstHunks(file, budget)
    if (part) {
      parts.set(index, part)
      budget -= tokensOf(part) + 1
    }
    states.set(index, part ? ", cut" : ", not shown")
  }
  const left = files.filter((_, index) => states.get(index) === ", cut" || states.get(index) === ", not shown")
  return {
    list: list(states),
    // In the order of the list: a reader finds a file where the list has it.
    diff: files.flatMap((_, index) => parts.get(index) ?? []).join("\n"),
    shown: files.length - left.length,
    total: files.length,
    left: left.map((file) => file.path),
  }
}

/** How much a mistake in this file would cost, by its name: a guess that orders, never one that decides. */
export function riskOf(file: { readonly path: string; readonly kind: string }): number {
  const path = file.path.toLowerCase()
  const name = path.slice(path.lastIndexOf("/") + 1)
  if (/(^|\/)(node_modules|vendor|dist|build|third_party|__snapshots__)\//.test(path)) return 0
  if (/(lock|\.lock|-lock\.(json|yaml)|\.snap|\.min\.(js|css)|\.map)$/.test(name) || name === "go.sum") return 0
  if (
    /(^|\/)(\.github|\.gitlab|\.circleci|\.husky|\.ci|ci)\/|(^|\/)(dockerfile|makefile|jenkinsfile)|\.(ya?ml|tf)$/.test(
      path,
    )
  )
    return 5
  if (
    /^(package\.json|.*\.gradle|cargo\.toml|pyproject\.toml|setup\.py|go\.mod|\.npmrc|\.gitmodules|\.gitattributes)$/.test(
      name,
    )
  )
    return 5
  if (/auth|login|session|token|secret|passw|crypt|permission|security|payment|billing|migrat|schema/.test(path))
    return isTest(path) ? 3 : 5
  if (/\.(sh|bash|sql|ps1)$/.test(name)) return 5
  if (isTest(path)) return 2
  if (/\.(md|mdx|txt|rst|adoc|svg|png|jpe?g|gif|csv)$/.test(name)) return 1
  if (/\.(json|toml|ini|css|scss|html)$/.test(name)) return 3
  return 4
}

function isTest(path: string): boolean {
  return /(^|\/)(tests?|__tests__|specs?|fixtures?)\/|[._-](test|spec)\.[a-z]+$/.test(path)
}

function listLine(file: ReviewFile, state = ""): string {
  const from = file.from === undefined || file.from === file.path ? "" : ` (was ${oneLine(file.from, 1_000)})`
  return `${oneLine(file.path, 1_000)}${from}: ${file.kind} +${file.insertions} -${file.deletions}${state}`
}

function withHeader(file: ReviewFile, patch: string): string {
  const text = patch.replace(/\n+$/, "")
  if (/^(diff --git |--- )/.test(text)) return text
  const before = file.kind === "added" ? "/dev/null" : `a/${oneLine(file.from ?? file.path, 1_000)}`
  const after = file.kind === "deleted" ? "/dev/null" : `b/${oneLine(file.path, 1_000)}`
  return `--- ${before}\n+++ ${after}\n${text}`
}

/** As many whole hunks as fit, and of a single one too large as many lines; nothing when that would say too little. */
function firstHunks(file: ReviewFile, budget: number): string | undefined {
  if (budget < 200) return undefined
  const mark = "(the rest of this file is not shown)"
  const lines = withHeader(file, file.patch).split("\n")
  let used = tokensOf(mark) + 1
  let fitting = 0
  let lastHunk = 0
  for (const [index, line] of lines.entries()) {
    if (line.startsWith("@@")) lastHunk = index
    used += tokensOf(line) + 1
    if (used > budget) break
    fitting = index + 1
  }
  const firstHunk = lines.findIndex((line) => line.startsWith("@@"))
  const end = lastHunk > firstHunk && lastHunk <= fitting ? lastHunk : fitting
  if (end <= firstHunk + 1) return undefined
  return [...lines.slice(0, end), mark].join("\n")
}
