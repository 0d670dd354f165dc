import { createSignal } from "solid-js"
import type { NoticeLevel } from "../core/protocol.ts"
import type { Time } from "./time.ts"

export type Notice = {
  readonly id: number
  readonly level: NoticeLevel
  readonly text: string
  readonly taskNumber?: number
  /** How often the same was said while it stood. */
  readonly count: number
  readonly at: number
}

export type NoticeInput = {
  readonly level: NoticeLevel
  readonly text: string
  readonly taskNumber?: number
  /** Notices of one key replace each other. */
  readonly key?: string
}

/** A notice with the number of its card before it; once, where its own words begin with it. */
export function spoken({ taskNumber, text }: Pick<Notice, "taskNumber" | "text">): string {
  const number = `#${taskNumber}`
  return taskNumber === undefined || text === number || text.startsWith(`${number} `) ? text : `${number} ${text}`
}

export const SHOWN_AT_MOST = 3
const HISTORY = 200
const STAYS: Readonly<Record<NoticeLevel, number>> = { info: 5_000, success: 5_000, warning: 10_000, error: 20_000 }

const isNews = ({ level }: { readonly level: NoticeLevel }) => level === "info" || level === "success"

/**
 * The board's own notices: at most three stand at a time, the rest wait their turn, and none is lost: all are in the
 * history. A timer exists only while one stands.
 */
export function createNotices(time: Time) {
  type Entry = Notice & { readonly key: string; readonly cancel?: () => void }
  const [entries, setEntries] = createSignal<readonly Entry[]>([])
  const [past, setPast] = createSignal<readonly Notice[]>([])
  let next = 1

  function settle(list: readonly Entry[]) {
    setEntries(
      list.map((entry, index) =>
        index >= SHOWN_AT_MOST || entry.cancel
          ? entry
          : { ...entry, cancel: time.setTimer(STAYS[entry.level], () => dismiss(entry.id)) },
      ),
    )
  }

  /** Behind the others; but what went wrong is seen at once: the oldest mere news makes room for it. */
  function enqueue(list: readonly Entry[], entry: Entry): readonly Entry[] {
    const shown = list.slice(0, SHOWN_AT_MOST)
    const news = shown.findIndex(isNews)
    if (shown.length < SHOWN_AT_MOST || news < 0 || isNews(entry)) return [...list, entry]
    shown[news]?.cancel?.()
    return [...shown.toSpliced(news, 1), entry, ...list.slice(SHOWN_AT_MOST)]
  }

  function dismiss(id: number) {
    const entry = entries().find((candidate) => candidate.id === id)
    if (!entry) return
    entry.cancel?.()
    settle(entries().filter((candidate) => candidate.id !== id))
  }

  return {
    shown: (): readonly Notice[] => entries().slice(0, SHOWN_AT_MOST),
    waiting: () => Math.max(0, entries().length - SHOWN_AT_MOST),
    /** Newest first. */
    past,
    notify({ key, ...input }: NoticeInput) {
      const sameness = key ?? `${input.level} ${input.taskNumber ?? ""} ${input.text}`
      const same = entries().find((entry) => entry.key === sameness)
      same?.cancel?.()
      const repeated = same?.text === input.text ? same.count + 1 : 1
      const { cancel: _, ...kept } = same ?? { id: next++, cancel: undefined }
      const entry: Entry = { ...kept, ...input, key: sameness, count: repeated, at: time.now() }
      setPast((list) => [entry, ...list.filter(({ id }) => id !== entry.id)].slice(0, HISTORY))
      const place = entries().findIndex(({ id }) => id === entry.id)
      if (place >= 0 && place < SHOWN_AT_MOST) return settle(entries().with(place, entry))
      settle(
        enqueue(
          entries().filter(({ id }) => id !== entry.id),
          entry,
        ),
      )
    },
    dismiss,
    /** What was only said to bridge a wait. */
    dismissKey(key: string) {
      const entry = entries().find((candidate) => candidate.key === key)
      if (entry) dismiss(entry.id)
    },
    dismissAll() {
      for (const entry of entries()) entry.cancel?.()
      setEntries([])
    },
  }
}
