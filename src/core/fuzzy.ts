/**
 * How well a text answers what was typed: lower is better, `undefined` is not at all. Every word has to be found, best as
 * a whole at the beginning of a word, else inside one, else letter by letter in order, each at the beginning of a word or
 * right after the one before it (`fiinto` finds `fix-invoice-total`).
 */
export function fuzzyScore(typed: string, text: string): number | undefined {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const searched = text.toLowerCase()
  let score = 0
  for (const word of words) {
    const found = scoreOf(word, searched)
    if (found === undefined) return undefined
    score += found
  }
  return score
}

const INSIDE = 1_000
const SPREAD = 10_000

function scoreOf(word: string, text: string): number | undefined {
  const at = placeOf(word, text)
  if (at === undefined) return spreadOf(word, text) ? SPREAD : undefined
  return startsWord(text, at) ? Math.min(at, INSIDE - 1) : INSIDE + Math.min(at, INSIDE)
}

/** Where the whole word stands: at the beginning of a word if it can. */
function placeOf(word: string, text: string): number | undefined {
  const first = text.indexOf(word)
  if (first < 0) return undefined
  for (let at = first; at >= 0 && at < 2_000; at = text.indexOf(word, at + 1)) if (startsWord(text, at)) return at
  return first
}

/** The letters of what was typed in the text, as places in it: those by which `fuzzyScore` finds it. */
export function fuzzyPlaces(typed: string, text: string): ReadonlySet<number> {
  const places = new Set<number>()
  const searched = text.toLowerCase()
  // A few letters become two when they are made small: then no place is that of the text.
  if (searched.length !== text.length) return places
  for (const word of typed.toLowerCase().split(/\s+/).filter(Boolean)) {
    const at = placeOf(word, searched)
    if (at !== undefined) for (let i = 0; i < word.length; i++) places.add(at + i)
    else for (let found = spreadOf(word, searched); found; found = found.before) places.add(found.at)
  }
  return places
}

/** A letter that was found, and the one before it. */
type Found = { readonly at: number; readonly before: Found | undefined }

/** Where the word is found in pieces that begin words: its last letter. */
function spreadOf(word: string, text: string): Found | undefined {
  const searched = text.slice(0, 500)
  /** Where the letters so far can end. */
  let ends = new Map<number, Found>()
  for (const [index, letter] of [...word].entries()) {
    const first = index === 0 ? undefined : ends.values().next().value
    const next = new Map<number, Found>()
    for (let at = searched.indexOf(letter, (first?.at ?? -1) + 1); at >= 0; at = searched.indexOf(letter, at + 1)) {
      const before = ends.get(at - 1) ?? (startsWord(searched, at) ? first : undefined)
      if (before || (index === 0 && startsWord(searched, at))) next.set(at, { at, before })
    }
    if (next.size === 0) return undefined
    ends = next
  }
  return ends.values().next().value
}

function startsWord(text: string, at: number): boolean {
  return at === 0 || !/[\p{L}\p{N}]/u.test(text[at - 1]!)
}

/** The choices that answer what was typed, the best first; equals keep their order. */
export function fuzzyFilter<T>(typed: string, choices: readonly T[], textOf: (choice: T) => string): readonly T[] {
  if (typed.trim() === "") return choices
  return choices
    .flatMap((choice) => {
      const score = fuzzyScore(typed, textOf(choice))
      return score === undefined ? [] : [{ choice, score }]
    })
    .toSorted((a, b) => a.score - b.score)
    .map(({ choice }) => choice)
}
