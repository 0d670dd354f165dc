const CSI = "\x1b["

const NAMED: Readonly<Record<string, string>> = {
  enter: "\r",
  esc: "\x1b",
  tab: "\t",
  "shift+tab": "\x1b[Z",
  space: " ",
  backspace: "\x7f",
  delete: "\x1b[3~",
  up: "\x1b[A",
  down: "\x1b[B",
  right: "\x1b[C",
  left: "\x1b[D",
  home: "\x1b[H",
  end: "\x1b[F",
  pageup: "\x1b[5~",
  pagedown: "\x1b[6~",
}

/** CSI 27 ; modifiers ; code ~ : how a terminal sends the combinations that have no code of their own. */
const OTHER: Readonly<Record<string, number>> = { enter: 13, tab: 9, esc: 27, space: 32, backspace: 127 }

const named = (key: string): string | undefined => NAMED[key]

/** What a terminal sends for a key, such as "enter", "ctrl+x", "J", "alt+b", "ctrl+enter", "shift+up". */
export function keyBytes(key: string): string {
  const plain = named(key)
  if (plain !== undefined) return plain
  if ([...key].length === 1) return key

  const parts = key.split("+")
  const base = parts.pop() || "+"
  const ctrl = parts.includes("ctrl")
  const alt = parts.includes("alt")
  const shift = parts.includes("shift")
  if (parts.some((part) => !["ctrl", "alt", "shift"].includes(part))) throw new Error(`no such key: ${key}`)
  const modifiers = 1 + (shift ? 1 : 0) + (alt ? 2 : 0) + (ctrl ? 4 : 0)

  if (OTHER[base] !== undefined) return `\x1b[27;${modifiers};${OTHER[base]}~`
  if (named(base)?.startsWith(CSI)) {
    // CSI A and CSI 3 ~ become CSI 1 ; modifiers A and CSI 3 ; modifiers ~
    const code = named(base)!.slice(CSI.length)
    return code.endsWith("~") ? `${CSI}${code.slice(0, -1)};${modifiers}~` : `${CSI}1;${modifiers}${code}`
  }
  if (!/^[a-z]$/i.test(base)) throw new Error(`no such key: ${key}`)
  const letter = shift ? base.toUpperCase() : base
  const bytes = ctrl ? String.fromCharCode(letter.toLowerCase().charCodeAt(0) - 96) : letter
  return alt ? `\x1b${bytes}` : bytes
}
