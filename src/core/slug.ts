/**
 * Names for branches and worktree folders, readable in any script. Pure: what is taken comes in as an argument.
 * A slug holds letters, marks and digits of any script, joined by single dashes, so it can neither break git's rules
 * for ref names nor look like an option or a path.
 */
const MAX_SLUG_BYTES = 48
const FALLBACK_SLUG = "task"
const FALLBACK_PREFIX = "kagan"

/** Latin letters that do not decompose into a base letter and a mark. */
const LATIN: Readonly<Record<string, string>> = {
  ß: "ss",
  æ: "ae",
  œ: "oe",
  ø: "o",
  đ: "d",
  ð: "d",
  þ: "th",
  ł: "l",
  ħ: "h",
  ı: "i",
  ŋ: "ng",
}

/** The readable part of a name; never empty, never with a dash at its ends. */
export function slug(title: string, maxBytes = MAX_SLUG_BYTES): string {
  const folded = title.normalize("NFKD").toLowerCase().normalize("NFKD")
  const latin = folded.replace(/([a-z])\p{Mn}+/gu, "$1").replace(/[ßæœøđðþłħıŋ]/gu, (letter) => LATIN[letter]!)
  const joined = latin
    .normalize("NFC")
    .replace(/\p{Cf}+/gu, "")
    .replace(/['’]/gu, "")
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "-")
    // A mark without a letter before it would join the dash.
    .replace(/(^|-)\p{M}+/gu, "$1")
    .replace(/-+/gu, "-")
    .replace(/^-|-$/gu, "")
  return cutBytes(joined, maxBytes) || FALLBACK_SLUG
}

/** `<n>-<slug>`, different from every name in `taken` on every file system: a direct child of the worktree root. */
export function folderName(n: number, title: string, taken: Iterable<string> = []): string {
  const used = new Set([...taken].map(fold))
  const name = `${n}-${slug(title)}`
  return firstFree(name, (candidate) => !used.has(fold(candidate)))
}

/**
 * `<prefix>/<n>-<slug>`, which no branch in `taken` equals after NFC and case folding, and which neither lies below a
 * taken name nor has one below it. A taken branch with the prefix's own name moves the prefix aside.
 */
export function branchName(prefix: string, n: number, title: string, taken: Iterable<string>): string {
  const used = new Set<string>()
  const parents = new Set<string>()
  for (const name of taken) {
    const folded = fold(name)
    used.add(folded)
    for (let at = folded.indexOf("/"); at !== -1; at = folded.indexOf("/", at + 1)) parents.add(folded.slice(0, at))
  }
  let base = ""
  for (const part of cleanPrefix(prefix).split("/")) {
    base = firstFree(base === "" ? part : `${base}/${part}`, (candidate) => !used.has(fold(candidate)))
  }
  return firstFree(`${base}/${n}-${slug(title)}`, (candidate) => {
    const folded = fold(candidate)
    return !used.has(folded) && !parents.has(folded)
  })
}

/** Two names that `fold` maps to one are one file on some system. */
export function fold(name: string): string {
  return name.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC")
}

/** Git's own rules for a branch name, for names that a person typed. */
export function isBranchName(name: string): boolean {
  if (name === "" || name === "@" || name === "HEAD" || name.startsWith("-")) return false
  // oxlint-disable-next-line no-control-regex -- control characters are what is refused
  if (/[\u0000-\u0020\u007f~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$/u.test(name)) return false
  return name.split("/").every((part) => part !== "" && !part.startsWith(".") && !part.endsWith(".lock"))
}

function cleanPrefix(prefix: string): string {
  const parts = prefix
    .split("/")
    .map((part) =>
      part
        .normalize("NFC")
        .replace(/[^\p{L}\p{M}\p{N}._-]+/gu, "-")
        .replace(/\.{2,}/gu, ".")
        .replace(/^[-.]+/u, "")
        .replace(/(?:\.lock|[-.])+$/iu, ""),
    )
    .filter((part) => part !== "")
  return cutBytes(parts.join("/"), 100).replace(/\/$/u, "") || FALLBACK_PREFIX
}

function firstFree(name: string, free: (candidate: string) => boolean): string {
  if (free(name)) return name
  for (let i = 2; ; i++) if (free(`${name}-${i}`)) return `${name}-${i}`
}

/** Cuts between characters, at a dash where one stands in the last third. */
function cutBytes(text: string, most: number): string {
  const encoder = new TextEncoder()
  if (encoder.encode(text).length <= most) return text
  let bytes = 0
  let cut = ""
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    bytes += encoder.encode(segment).length
    if (bytes > most) break
    cut += segment
  }
  const dash = cut.lastIndexOf("-")
  const whole = dash > (cut.length * 2) / 3 ? cut.slice(0, dash) : cut
  return whole.replace(/-$/u, "")
}
