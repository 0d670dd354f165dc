import { createMemo, createSignal } from "solid-js"
import { fuzzyScore } from "../../core/fuzzy.ts"
import type { Card } from "./store.tsx"

export type Scope = "active" | "archived" | "trashed"

/** What the person filters by, taken apart: every part must hold. */
export type Query = {
  readonly scope: Scope
  readonly needsYou: boolean
  readonly blocked: boolean
  readonly number?: number
  readonly model?: string
  readonly base?: string
  readonly words: readonly string[]
  /** Parts that look like a filter and are none. */
  readonly unknown: readonly string[]
}

/** Reads `text #12 @sonnet base:main is:needs-you`. */
export function readQuery(text: string): Query {
  const query = {
    scope: "active" as Scope,
    needsYou: false,
    blocked: false,
    words: [] as string[],
    unknown: [] as string[],
  }
  const more: { number?: number; model?: string; base?: string } = {}
  for (const part of text.toLowerCase().split(/\s+/).filter(Boolean)) {
    if (/^#\d+$/.test(part)) more.number = Number(part.slice(1))
    else if (/^@./.test(part)) more.model = part.slice(1)
    else if (/^base:./.test(part)) more.base = part.slice(5)
    else if (part === "is:needs-you") query.needsYou = true
    else if (part === "is:blocked") query.blocked = true
    else if (part === "is:archived" || part === "is:trashed") query.scope = part.slice(3) as Scope
    else if (/^(is|base):|^@$/.test(part)) query.unknown.push(part)
    else query.words.push(part)
  }
  return { ...query, ...more }
}

/** What the board is narrowed to; `keep` is told of every change. */
export function createFilter(keep: (text: string) => void = () => {}) {
  const [text, set] = createSignal("")
  const setText = (next: string) => {
    set(next)
    keep(next)
  }
  const query = createMemo(() => readQuery(text()))
  const matches = createMemo(() => {
    const { needsYou, blocked, number, model, base, words } = query()
    if (!needsYou && !blocked && number === undefined && !model && !base && words.length === 0) return undefined
    return ({ entry, run }: Card): boolean => {
      const { meta } = entry
      if (needsYou && !run().needsYou) return false
      if (blocked && !BLOCKED.has(run().kind)) return false
      if (number !== undefined && meta.taskNumber !== number) return false
      if (model && !`${meta.model?.providerID}/${meta.model?.modelID}`.toLowerCase().includes(model)) return false
      if (base && !meta.baseBranch.toLowerCase().includes(base)) return false
      const description = meta.description?.toLowerCase() ?? ""
      return words.every((word) => fuzzyScore(word, entry.title) !== undefined || description.includes(word))
    }
  })
  return {
    text,
    setText,
    /** As it was kept. */ restore: (kept: string) => void set(kept),
    query,
    matches,
    scope: () => query().scope,
  }
}

const BLOCKED: ReadonlySet<string> = new Set([
  "setup_failed",
  "intake_failed",
  "queued",
  "asks_permission",
  "asks_question",
  "asks_large",
  "interrupted",
  "failed",
  "stalled",
  "review_failed",
  "conflicts",
  "merge_failed",
  "folder_missing",
  "session_gone",
  "problem",
])
