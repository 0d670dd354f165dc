/*
 * What a model writes as tool arguments is read leniently in its form (lists and objects as JSON text, numbers and
 * booleans as words) and strictly in its meaning: what is missing or of another kind is never taken for "nothing".
 */

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** The value behind JSON text, once or twice encoded; anything else as it is. */
export function unpacked(value: unknown): unknown {
  let current = value
  for (let depth = 0; depth < 2 && typeof current === "string"; depth++) {
    const text = current.trim().replace(/^```(?:json)?\s*([\s\S]*?)\s*```$/, "$1")
    if (!/^[[{"]/.test(text)) break
    try {
      current = JSON.parse(text) as unknown
    } catch {
      // Not JSON after all: the caller judges the text as it stands.
      break
    }
  }
  return current
}

/** A list, also given as JSON text; `undefined` when it is no list. A single object is not a list of one. */
export function listOf(value: unknown): readonly unknown[] | undefined {
  const read = unpacked(value)
  return Array.isArray(read) ? read : undefined
}

/** An object, also given as JSON text. */
export function objectOf(value: unknown): Record<string, unknown> | undefined {
  const read = unpacked(value)
  return isObject(read) ? read : undefined
}

/** Text with something in it, of at most `limit` characters, a cut marked; a number stands for its digits. */
export function textOf(value: unknown, limit: number): string | undefined {
  const text = typeof value === "number" && Number.isFinite(value) ? String(value) : value
  if (typeof text !== "string") return undefined
  const trimmed = wellFormed(text).trim()
  return trimmed === "" ? undefined : cut(trimmed, limit)
}

const CUT = "… (cut)"

/** At most `limit` characters, never ending inside a character, with a mark where something is missing. */
export function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  let end = Math.max(0, limit - CUT.length)
  if (isHighSurrogate(text.charCodeAt(end - 1))) end--
  return `${text.slice(0, end)}${CUT}`
}

/** `undefined` when it says neither yes nor no. */
export function booleanOf(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value
  if (value === 1 || value === 0) return value === 1
  if (typeof value !== "string") return undefined
  const word = value.trim().toLowerCase()
  if (/^(true|yes|y|1|required)$/.test(word)) return true
  if (/^(false|no|n|0|optional)$/.test(word)) return false
  return undefined
}

/** One of the words, in whatever case and with spaces or hyphens for underscores. */
export function wordOf<T extends string>(value: unknown, words: readonly T[]): T | undefined {
  if (typeof value !== "string") return undefined
  const word = value
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_")
  return words.find((known) => known === word)
}

function wellFormed(text: string): string {
  return text.replace(/[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?<![\uD800-\uDBFF])[\uDC00-\uDFFF]/g, "\uFFFD")
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
