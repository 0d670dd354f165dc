/** A part of a line, in code units: from `start` up to, not including, `end`. */
export type Span = readonly [start: number, end: number]

/** More words than this are compared by what they begin and end with alone. */
const MAX_WORDS = 200
const WORDS = /[\p{L}\p{N}_]+|\s+|./gu

/**
 * What differs between a removed line and the line that took its place, by words. Nothing when they have too little in
 * common: then marking words would only be noise.
 */
export function changedWords(before: string, after: string): { readonly before: Span[]; readonly after: Span[] } {
  const [old, now] = [before.match(WORDS) ?? [], after.match(WORDS) ?? []]
  let head = 0
  while (head < old.length && head < now.length && old[head] === now[head]) head++
  let tail = 0
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const [oldMiddle, nowMiddle] = [old.slice(head, old.length - tail), now.slice(head, now.length - tail)]
  const kept =
    oldMiddle.length <= MAX_WORDS && nowMiddle.length <= MAX_WORDS
      ? common(oldMiddle, nowMiddle)
      : { old: new Set<number>(), now: new Set<number>() }
  const same = (words: readonly string[], ids: ReadonlySet<number>) =>
    words.filter((word, i) => ids.has(i) && word.trim() !== "").join("").length
  const outside = [...old.slice(0, head), ...old.slice(old.length - tail)].filter((word) => word.trim() !== "")
  const shared = outside.join("").length + same(oldMiddle, kept.old)
  const longer = Math.max(before.replaceAll(/\s/g, "").length, after.replaceAll(/\s/g, "").length)
  if (longer === 0 || shared / longer < 0.3) return { before: [], after: [] }
  return { before: spansOf(old, head, oldMiddle, kept.old), after: spansOf(now, head, nowMiddle, kept.now) }
}

/** The longest common sequence of words, as the indices in both. */
function common(old: readonly string[], now: readonly string[]): { old: Set<number>; now: Set<number> } {
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  for (let i = old.length - 1; i >= 0; i--)
    for (let j = now.length - 1; j >= 0; j--)
      lengths[i]![j] =
        old[i] === now[j] ? lengths[i + 1]![j + 1]! + 1 : Math.max(lengths[i + 1]![j]!, lengths[i]![j + 1]!)
  const kept = { old: new Set<number>(), now: new Set<number>() }
  for (let i = 0, j = 0; i < old.length && j < now.length;) {
    if (old[i] === now[j]) {
      kept.old.add(i++)
      kept.now.add(j++)
    } else if (lengths[i + 1]![j]! >= lengths[i]![j + 1]!) i++
    else j++
  }
  return kept
}

function spansOf(words: readonly string[], head: number, middle: readonly string[], kept: ReadonlySet<number>): Span[] {
  let at = words.slice(0, head).join("").length
  const spans: [number, number][] = []
  for (const [i, word] of middle.entries()) {
    const end = at + word.length
    const last = spans.at(-1)
    if (!kept.has(i)) {
      if (last?.[1] === at) last[1] = end
      else spans.push([at, end])
    }
    at = end
  }
  return spans
}
