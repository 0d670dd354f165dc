import { fileMark, type FileMark } from "./diff.ts"
import { oneLine } from "./fence.ts"
import { reveal, type Revealed } from "./hidden.ts"

/** A changed file with its text, bounded, as it goes into a prompt and to the review screen. */
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
  /** The change in a few words, modes and all, where `kind` says less. */
  readonly change?: string
  /** The patch is only the beginning of the change. */
  readonly cut?: boolean
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

const MARK_TEXT: Readonly<Record<FileMark, string>> = {
  opencode: "configures OpenCode: what stands in it runs or decides on the person's machine",
  instructions: "tells coding agents what to do",
  hooks: "runs on the person's machine by git's hooks",
  attributes: "decides how git treats other files",
}

/**
 * Chooses what a reviewer is shown within `maxTokens`: the riskier files first, small before large among equals. A file
 * that does not fit is cut at a hunk and said to be cut. Every path is listed, whatever the budget. What a reader would
 * not see in a text is written out, and the list says so.
 */
export function selectMaterial(files: readonly ReviewFile[], maxTokens: number): ReviewMaterial {
  const entries = files.map((file, index) => {
    const seen = reveal(file.patch)
    return { file, index, risk: riskOf(file), patch: seen.text, about: aboutFile(file, seen) }
  })
  const order = entries.toSorted((a, b) => b.risk - a.risk || a.patch.length - b.patch.length || a.index - b.index)
  const list = (states: ReadonlyMap<number, string>) =>
    entries.map(({ about, index }) => `${about}${states.get(index) ?? ""}`).join("\n")
  let budget = maxTokens - tokensOf(list(new Map(files.map((_, index) => [index, NOT_SHOWN]))))
  const parts = new Map<number, string>()
  const states = new Map<number, string>()
  for (const { file, index, patch } of order) {
    if (patch === "") {
      if (isDisguised(file)) states.set(index, NOT_SHOWN)
      continue
    }
    const whole = withHeader(file, file.cut ? `${patch.replace(/\n+$/, "")}\n${REST}` : patch)
    const cost = tokensOf(whole) + 1
    if (cost <= budget) {
      parts.set(index, whole)
      budget -= cost
      if (file.cut) states.set(index, CUT)
      continue
    }
    const part = firstHunks(file, patch, budget)
    if (part) {
      parts.set(index, part)
      budget -= tokensOf(part) + 1
    }
    states.set(index, part ? CUT : NOT_SHOWN)
  }
  const left = files.filter((_, index) => states.has(index))
  return {
    list: list(states),
    // In the order of the list: a reader finds a file where the list has it.
    diff: entries.flatMap(({ index }) => parts.get(index) ?? []).join("\n"),
    shown: files.length - left.length,
    total: files.length,
    left: left.map((file) => file.path),
  }
}

const CUT = ", cut"
const NOT_SHOWN = ", not shown"
const REST = "(the rest of this file is not shown)"

/** A file that says by its name that it is text, and by its bytes that nobody is to read it. */
function isDisguised(file: ReviewFile): boolean {
  const binary = file.note === "binary" || file.kind === "binary"
  return (
    binary &&
    /\.(c|m)?[jt]sx?$|\.(py|rb|pl|php|sh|bash|sql|c|cc|cpp|h|hpp|go|rs|java|kt|swift|cs|lua|ya?ml|json|toml|html|css|vue|svelte|txt|md)$/i.test(
      file.path,
    )
  )
}

/** How much a mistake in this file would cost, by its name: a guess that orders, never one that decides. */
export function riskOf(file: { readonly path: string; readonly kind: string }): number {
  if (fileMark(file.path)) return 6
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

/** The line of the list: what happened to the file, and what of it a reader must know before they read it. */
function aboutFile(file: ReviewFile, seen: Revealed): string {
  const moved = file.from !== undefined && file.from !== file.path && file.change === undefined
  const from = !moved ? "" : ` (was ${oneLine(file.from!, 1_000)})`
  const mark = fileMark(file.path) ?? (file.from === undefined ? undefined : fileMark(file.from))
  const notes = [
    file.note && file.note !== file.change ? oneLine(file.note, 80) : "",
    isDisguised(file) ? "its bytes are binary although its name says text: what it does cannot be judged here" : "",
    mark ? MARK_TEXT[mark] : "",
    seen.hidden > 0 ? `${seen.hidden} hidden or direction-changing characters, written out as <hex>` : "",
    seen.mixed.length > 0 ? `letters of another script that look like Latin: ${seen.mixed.join(" ")}` : "",
  ].filter((note) => note !== "")
  const change = oneLine(file.change ?? file.kind, 1_100)
  return `${oneLine(file.path, 1_000)}${from}: ${change} +${file.insertions} -${file.deletions}${notes.map((note) => `, ${note}`).join("")}`
}

function withHeader(file: ReviewFile, patch: string): string {
  const text = patch.replace(/\n+$/, "")
  if (/^(diff --git |--- )/.test(text)) return text
  const before = file.kind === "added" ? "/dev/null" : `a/${oneLine(file.from ?? file.path, 1_000)}`
  const after = file.kind === "deleted" ? "/dev/null" : `b/${oneLine(file.path, 1_000)}`
  return `--- ${before}\n+++ ${after}\n${text}`
}

/** As many whole hunks as fit, and of a single one too large as many lines; nothing when that would say too little. */
function firstHunks(file: ReviewFile, patch: string, budget: number): string | undefined {
  if (budget < 200) return undefined
  const lines = withHeader(file, patch).split("\n")
  let used = tokensOf(REST) + 1
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
  return [...lines.slice(0, end), REST].join("\n")
}
