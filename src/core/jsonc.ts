import { err, ok, type Result } from "./result.ts"

/** Reads JSON with comments and trailing commas, as the host's config files may be written. */
export function parseJsonc(text: string): Result<unknown, string> {
  try {
    return ok(JSON.parse(toJson(text)) as unknown)
  } catch (cause) {
    return err(cause instanceof Error ? cause.message : String(cause))
  }
}

/** The same text with comments and trailing commas blanked out; every other character keeps its place. */
function toJson(text: string): string {
  const out = [...(text.startsWith("\uFEFF") ? ` ${text.slice(1)}` : text).matchAll(TOKEN)].map(([token]) =>
    token.startsWith("/") ? token.replace(/[^\n]/g, " ") : token,
  )
  return out.join("").replace(TRAILING_COMMA, (token) => (token.startsWith('"') ? token : token.replace(",", " ")))
}

const STRING = String.raw`"(?:[^"\\]|\\[\s\S])*"?`
const TOKEN = new RegExp(String.raw`${STRING}|//[^\n]*|/\*[\s\S]*?(?:\*/|$)|[\s\S]`, "g")
const TRAILING_COMMA = new RegExp(String.raw`${STRING}|,(?=\s*[}\]])`, "g")
