import { cut } from "./loose.ts"

/** A line of a Markdown checklist, as a task. */
export type ChecklistItem = {
  readonly title: string
  /** What stands below it, further in. */
  readonly description: string
  /** Ticked off: it is done already. */
  readonly done: boolean
}

const MAX_TITLE = 200
const ITEM = /^(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX])\]\s+(.*)$/

/**
 * The items of a Markdown checklist. What is indented further than an item belongs to it as its description, items
 * included; headings and other text between items mean nothing.
 */
export function parseChecklist(text: string): readonly ChecklistItem[] {
  const items: { title: string; indent: number; lines: string[]; done: boolean }[] = []
  let open: (typeof items)[number] | undefined
  for (const line of text.replaceAll("\t", "    ").split(/\r\n|[\n\r]/)) {
    const found = ITEM.exec(line)
    const indent = /^ */.exec(line)![0].length
    if (open && (line.trim() === "" || indent > open.indent)) {
      open.lines.push(line)
      continue
    }
    open = undefined
    const title = found?.[3]?.trim()
    if (!found || !title) continue
    open = { title, indent, lines: [], done: found[2] !== " " }
    items.push(open)
  }
  return items.map(({ title, lines, done }) => ({ title: cut(title, MAX_TITLE), description: outdented(lines), done }))
}

/** The lines without the indentation that all of them have. */
function outdented(lines: readonly string[]): string {
  const filled = lines.filter((line) => line.trim() !== "")
  const indent = Math.min(...filled.map((line) => /^ */.exec(line)![0].length))
  return lines
    .map((line) => line.slice(Math.min(indent, line.length)))
    .join("\n")
    .trim()
}

export type Import = ChecklistItem & { readonly verdict: "new" | "done" | "known" }

/** Which items would become tasks: neither ticked off, nor named like a task that is there, nor twice in the list. */
export function judgeChecklist(items: readonly ChecklistItem[], titles: readonly string[]): readonly Import[] {
  const known = new Set(titles.map(fold))
  return items.map((item) => {
    if (item.done) return { ...item, verdict: "done" }
    if (known.has(fold(item.title))) return { ...item, verdict: "known" }
    known.add(fold(item.title))
    return { ...item, verdict: "new" }
  })
}

/** Titles are the same whatever their case, spaces and marks of emphasis. */
const fold = (title: string) => title.normalize("NFKC").toLowerCase().replace(/[`*_]/g, "").replace(/\s+/g, " ").trim()
