/*
 * What looks like a credential is cut before a text of ours is written down: the log, the history, an error's words.
 * Task text and diffs are the person's own and are not touched.
 */

const CUT = "…"

const SHAPES: readonly (readonly [shape: RegExp, instead: string])[] = [
  // A user or a password before the host of an address.
  [/(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@'"]+@/gi, `$1${CUT}@`],
  // Headers, as git's own settings hold them.
  [/\b(authorization:\s*(?:basic|bearer|token)?\s*)[^\s'"]+/gi, `$1${CUT}`],
  [/\b(bearer\s+)[\w.~+/=-]{8,}/gi, `$1${CUT}`],
  // Names that say it.
  [
    /\b([\w-]*(?:password|passwd|secret|api[_-]?key|access[_-]?token|auth[_-]?token)["']?\s*[=:]\s*["']?)[^\s"'&,;]+/gi,
    `$1${CUT}`,
  ],
  [/([?&](?:token|key|sig|signature)=)[^\s&'"]+/gi, `$1${CUT}`],
  // Tokens that begin with the mark of who gave them out.
  [/\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|sk-|pk-|npm_|pypi-|AKIA|ASIA|AIza|ya29\.)[\w.-]{10,}/g, CUT],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, CUT],
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g, CUT],
]

/** The text without what looks like a credential. Applied again, it changes nothing. */
export function withoutCredentials(text: string): string {
  return SHAPES.reduce((rest, [shape, instead]) => rest.replace(shape, instead), text)
}

/** The same for every text inside of a value. */
export function cleaned(value: unknown, depth = 8): unknown {
  if (typeof value === "string") return withoutCredentials(value)
  if (typeof value !== "object" || value === null || depth === 0) return value
  if (Array.isArray(value)) return value.map((one) => cleaned(one, depth - 1))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, cleaned(one, depth - 1)]))
}
