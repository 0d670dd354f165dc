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
  const at = text.indexOf(word)
  if (at < 0) return isSpread(word, text) ? SPREAD : undefined
  for (let place = at; place >= 0 && place < 2_000; place = text.indexOf(word, place + 1)) {
    if (startsWord(text, place)) return Math.min(place, INSIDE - 1)
  }
  return INSIDE + Math.min(at, INSIDE)
}

/** Whether the word is found in pieces that begin words. */
function isSpread(word: string, text: string): boolean {
  const searched = text.slice(0, 500)
  /** Where the letters so far can end. */
  let ends = new Set<number>()
  for (const [index, letter] of [...word].entries()) {
    const first = index === 0 ? -1 : Math.min(...ends)
    const next = new Set<number>()
    for (let at = searched.indexOf(letter, first + 1); at >= 0; at = searched.indexOf(letter, at + 1)) {
      if (ends.has(at - 1) || startsWord(searched, at)) next.add(at)
    }
    if (next.size === 0) return false
    ends = next
  }
  return true
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
