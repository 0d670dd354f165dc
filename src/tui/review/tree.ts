import type { ReviewEntry } from "../../core/review-requests.ts"
import type { Judged } from "./rows.ts"

/** What can be selected in the list. A folded folder stands for its files. */
export type Item =
  | { readonly kind: "finding"; readonly key: string; readonly judged: Judged; readonly path?: string }
  | { readonly kind: "file"; readonly key: string; readonly file: ReviewEntry; readonly findings: readonly Judged[] }
  | { readonly kind: "folder"; readonly key: string; readonly folder: string; readonly files: readonly ReviewEntry[] }

export type Entry = { readonly heading: string } | Item

export const isItem = (entry: Entry): entry is Item => "kind" in entry

export type TreeInput = {
  readonly files: readonly ReviewEntry[]
  /** What belongs to the work and is not shown, by name. */
  readonly left?: readonly string[]
  readonly judged: readonly Judged[]
  /** Words that a path has to hold, all of them; `is:open`, `is:viewed`, `is:new` look at the marks. */
  readonly filter: string
  readonly viewed: ReadonlySet<string>
  readonly folded: ReadonlySet<string>
  readonly isOpen: (judged: Judged) => boolean
}

export const FILTER_MARKS = ["is:open", "is:viewed", "is:new"] as const

/** The list of a review: the files by folder, each with its findings, then what has no place in the diff. */
export function treeOf(input: TreeInput): Entry[] {
  const byPath = new Map<string, ReviewEntry>()
  for (const file of input.files) {
    byPath.set(file.path, file)
    if (file.from && !byPath.has(file.from)) byPath.set(file.from, file)
  }
  const inFile = new Map<string, Judged[]>()
  const onTask: Judged[] = []
  const outside: Judged[] = []
  for (const judged of input.judged) {
    const { location } = judged.finding
    const file = location && byPath.get(location.path)
    if (file) inFile.set(file.path, [...(inFile.get(file.path) ?? []), judged])
    else if (judged.comment && !location) onTask.push(judged)
    else outside.push(judged)
  }
  const entries: Entry[] = []
  const files = input.files.filter((file) => matches(input, file, inFile.get(file.path) ?? []))
  const hidden = input.files.length - files.length
  entries.push({ heading: hidden > 0 ? `Files ${files.length} of ${input.files.length}` : `Files ${files.length}` })
  for (let i = 0; i < files.length;) {
    const folder = folderOf(files[i]!)
    let end = i
    while (end < files.length && folderOf(files[end]!) === folder) end++
    const part = files.slice(i, end)
    i = end
    if (input.folded.has(folder)) {
      entries.push({ kind: "folder", key: `d:${folder}`, folder, files: part })
      continue
    }
    if (folder !== "") entries.push({ heading: folder })
    for (const file of part) {
      const findings = byLine(inFile.get(file.path) ?? [])
      entries.push({ kind: "file", key: `p:${file.path}`, file, findings })
      for (const judged of findings) entries.push(findingItem(judged, file.path))
    }
  }
  for (const name of input.left ?? []) entries.push({ heading: `not shown: ${name}` })
  entries.push(...group(`Out of the diff ${outside.length}`, outside), ...group("On the task", onTask))
  return entries
}

/** Where a file stands in the list; what decides more than its own content is read first. */
export function folderOf({ path, mark }: ReviewEntry): string {
  if (mark) return "read first"
  const at = path.lastIndexOf("/")
  return at < 0 ? "" : path.slice(0, at)
}

function group(heading: string, judged: readonly Judged[]): Entry[] {
  return judged.length === 0 ? [] : [{ heading }, ...judged.map((one) => findingItem(one))]
}

function findingItem(judged: Judged, path?: string): Item {
  return { kind: "finding", key: `f:${judged.finding.id}`, judged, ...(path === undefined ? {} : { path }) }
}

function byLine(judged: readonly Judged[]): readonly Judged[] {
  return judged.toSorted((a, b) => (a.finding.location?.line ?? 0) - (b.finding.location?.line ?? 0))
}

function matches({ filter, viewed, isOpen }: TreeInput, { path, from }: ReviewEntry, findings: readonly Judged[]) {
  const name = `${path} ${from ?? ""}`.toLowerCase()
  return filter
    .toLowerCase()
    .split(/\s+/)
    .filter(Boolean)
    .every((word) => {
      switch (word) {
        case "is:open":
          return findings.some(isOpen)
        case "is:viewed":
          return viewed.has(path)
        case "is:new":
          return !viewed.has(path)
        default:
          return name.includes(word)
      }
    })
}

/** A file's name in the list, below the name of its folder. */
export function nameOf(file: ReviewEntry): string {
  const folder = folderOf(file)
  const name = folder === "" || file.mark ? file.path : file.path.slice(folder.length + 1)
  return file.from && file.from !== file.path ? `${file.from} → ${name}` : name
}
