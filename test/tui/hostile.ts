/** Titles that break frames, borrow the row, or hide. */
export const HOSTILE_TITLES = [
  "修复登录问题修复登录问题",
  "👩‍👩‍👧‍👦 family",
  "e\u0301te\u0301",
  "⚠ warn",
  "⚠️ warn",
  "🇫🇷🇩🇪",
  "👍🏽 ok",
  "한글",
  "ٱللَّهِ",
  "a".repeat(300),
  "approve \u202etxt.exe\u202c",
  "שלום abc 123",
  "\u001b[31mred\u001b[0m\nsecond line",
  "修复登录问题修复登录问题修复登录问题修复登录问题",
]

/** What moves a cursor, changes a mode, a title or the clipboard, rings, asks the terminal, hides, or looks like an order. */
const PIECES = [
  "\u001b]0;pwned\u0007",
  "\u001b]2;pwned\u001b\\",
  "\u001b]52;c;cHduZWQ=\u0007",
  "\u001b]8;;http://evil.test\u001b\\link\u001b]8;;\u001b\\",
  "\u001b[2J\u001b[H",
  "\u001b[?1049l",
  "\u001b[?25h",
  "\u001b[?1000h\u001b[?2004l",
  "\u001b[6n\u001b[c",
  "\u001bc",
  "\u001b[31;7m",
  "\u001bP+q544e\u001b\\",
  "\u001b_Gi=1;AAAA\u001b\\",
  "\u009b2J",
  "\u009d0;pwned\u009c",
  "\u0007",
  "\b\b\b",
  "\r",
  "\n",
  "\t",
  "\u0000",
  "\u007f",
  "\u202e",
  "\u2066",
  "\u200b",
  "\ufeff",
  "\u2028",
  "\ud800",
  "\udfff",
  "\u{e0041}",
  "\u{1f469}\u200d\u{1f467}",
  "e\u0301".repeat(3),
  "e" + "\u0301".repeat(40),
  "修复",
  "שלום",
  "$(touch pwned)",
  "`touch pwned`",
  "'; touch pwned #",
  "../../etc/passwd",
  "%0a%1b",
  "constructor",
  "__proto__",
  "\\x1b[2J",
] as const

/** A text of random bytes and of pieces that do harm where they reach a terminal; the same for the same seed. */
export function hostileText(seed: number): () => string {
  let state = seed >>> 0 || 1
  const next = (below: number) => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) % below
  }
  const byte = () => String.fromCharCode(next(256))
  return () => {
    let text = ""
    for (let left = 1 + next(6); left > 0; left--) {
      const kind = next(4)
      if (kind === 0) text += Array.from({ length: 1 + next(12) }, byte).join("")
      else if (kind === 1) text += `word${next(100)} `
      else text += PIECES[next(PIECES.length)]
    }
    return next(20) === 0 ? text.repeat(200) : text
  }
}

/**
 * What of a drawn screen, or of a text that leaves it, would act on a terminal or hide in it: empty when it is as it
 * should be.
 */
export function harmful(screen: string): readonly string[] {
  // eslint-disable-next-line no-control-regex -- finding them is the point
  const bad = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff]|\p{Cs}/gu
  return [...new Set([...screen.matchAll(bad)].map(([found]) => `U+${found.codePointAt(0)!.toString(16)}`))]
}
