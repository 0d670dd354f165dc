import { z } from "zod"

/** What a line of a task's history is about. */
export const HISTORY_KINDS = [
  "verdict",
  "move",
  "wake",
  "helper",
  "ruling",
  "answer",
  "snapshot",
  "check",
  "merge",
  "edit",
  "restore",
  "stop",
  "setup",
] as const
export type HistoryKind = (typeof HISTORY_KINDS)[number]

/** What happened to a task, one line of its `history.jsonl`; further fields are details of the kind. */
export type HistoryEntry = {
  readonly kind: HistoryKind
  readonly text: string
  readonly [detail: string]: unknown
}

/** A line as the boards are told of it. */
export type HistoryLine = { readonly at: number; readonly kind: HistoryKind; readonly text: string }

const line = z.object({ at: z.number(), kind: z.enum(HISTORY_KINDS), text: z.string() })

/** Never more of one line's words than this goes over the channel. */
const MAX_WORDS = 4_000
const PAGE = 100

/**
 * A page of a history, the newest line first: at most `limit` of those before the `before`-th (counted from the oldest,
 * all when absent). `earlier` is the `before` of the next page, 0 when there is none. What is no line is counted.
 */
export function historyPage(
  stored: readonly unknown[],
  page: { readonly before?: number; readonly limit?: number } = {},
): { readonly lines: readonly HistoryLine[]; readonly earlier: number; readonly unreadable: number } {
  const end = Math.max(0, Math.min(page.before ?? stored.length, stored.length))
  const start = Math.max(0, end - Math.max(1, Math.min(page.limit ?? PAGE, PAGE)))
  const found = stored.slice(start, end).map((value) => line.safeParse(value))
  const lines = found.flatMap((parsed) =>
    parsed.success ? [{ ...parsed.data, text: parsed.data.text.slice(0, MAX_WORDS) }] : [],
  )
  return { lines: lines.toReversed(), earlier: start, unreadable: found.length - lines.length }
}
