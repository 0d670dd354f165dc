/*
 * Code that a reader sees otherwise than a compiler does: characters without a picture, characters that turn the line
 * round, and letters of another script that look like the expected ones.
 */

const HIDDEN = /[\p{Cc}\p{Default_Ignorable_Code_Point}\u{061C}]/gu
const SUSPECT = /[^\x20-\x7e\n\t]/
const WORDS = /[\p{L}\p{M}\p{N}_]+/gu
const MAX_WORDS = 5

export type Revealed = {
  /** The text with every hidden character written out as `<202E>`. */
  readonly text: string
  /** How many were written out. */
  readonly hidden: number
  /** Words that mix scripts which look alike, the first few, with their odd letters written out. */
  readonly mixed: readonly string[]
}

/** What is hidden in a text made visible. Tabs, line ends and the insides of an emoji stay as they are. */
export function reveal(text: string): Revealed {
  if (!SUSPECT.test(text)) return { text, hidden: 0, mixed: [] }
  return { ...written(text), mixed: mixedWords(text) }
}

function written(text: string): { readonly text: string; readonly hidden: number } {
  let hidden = 0
  const shown = text.replace(HIDDEN, (character, offset: number) => {
    if (character === "\n" || character === "\t" || holdsEmoji(text, character, offset)) return character
    if (character === "\r" && (text[offset + 1] === "\n" || offset === text.length - 1)) return character
    hidden++
    return pointOf(character)
  })
  return { text: shown, hidden }
}

/** An emoji is held together by joiners and selectors; they hide nothing there. */
function holdsEmoji(text: string, character: string, offset: number): boolean {
  if (character !== "\u200d" && character !== "\ufe0f") return false
  const before = Array.from(text.slice(Math.max(0, offset - 4), offset))
  const last =
    before.at(-1) === "\ufe0f" || /\p{Emoji_Modifier}/u.test(before.at(-1) ?? "") ? before.at(-2) : before.at(-1)
  if (character === "\ufe0f") return /^[\p{Extended_Pictographic}#*0-9]$/u.test(before.at(-1) ?? "")
  const next = text.codePointAt(offset + 1)
  return (
    /^\p{Extended_Pictographic}$/u.test(last ?? "") &&
    next !== undefined &&
    /^\p{Extended_Pictographic}$/u.test(String.fromCodePoint(next))
  )
}

/** Latin with letters of Cyrillic, Greek, Armenian or Cherokee in one word: `pаssword`. */
function mixedWords(text: string): readonly string[] {
  const found = new Set<string>()
  for (const [word] of text.matchAll(WORDS)) {
    if (word.length > 100 || !/\p{Script=Latin}/u.test(word)) continue
    if (!/[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}]/u.test(word)) continue
    // A sign of units or of mathematics before a Latin word is no disguise.
    if (/^[\u00b5\u03bc\u03a9\u0394\u03c0\u03bb]\p{Script=Latin}*$/u.test(word)) continue
    found.add(word.replace(/[^\p{Script=Latin}\p{N}_]/gu, pointOf))
    if (found.size === MAX_WORDS) break
  }
  return [...found]
}

function pointOf(character: string): string {
  return `<${character.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}>`
}
