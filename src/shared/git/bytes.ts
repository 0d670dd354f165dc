/**
 * File names are bytes. A name that is not UTF-8 becomes text whose bad bytes are lone surrogates U+DC80…U+DCFF, so that
 * every name survives the way to the screen, into JSON and back to git.
 */
const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })
const badByte = /[\udc80-\udcff]/

/** The name as text; `encodePath` gives the same bytes back. */
export function decodePath(bytes: Uint8Array): string {
  if (bytes.length < 256 && isAscii(bytes)) return String.fromCharCode(...bytes)
  try {
    return strict.decode(bytes)
  } catch {
    return decodeMixed(bytes)
  }
}

/** The bytes of a name that `decodePath` made, for git's standard input and for the file system. */
export function encodePath(path: string): Buffer {
  if (!badByte.test(path)) return Buffer.from(path, "utf8")
  const parts: Buffer[] = []
  for (const char of path) {
    const code = char.codePointAt(0)!
    parts.push(code >= 0xdc80 && code <= 0xdcff ? Buffer.from([code - 0xdc00]) : Buffer.from(char, "utf8"))
  }
  return Buffer.concat(parts)
}

/** The absolute path of `name` in `folder`, in the form that node's file functions take. */
export function pathIn(folder: string, name: string): string | Buffer {
  if (!badByte.test(name) && !badByte.test(folder)) return `${folder}/${name}`
  return Buffer.concat([encodePath(folder), Buffer.from("/"), encodePath(name)])
}

/** The fields of a `-z` answer; a trailing NUL ends the last field and does not begin another. */
export function splitNul(bytes: Uint8Array): string[] {
  const fields: string[] = []
  let start = 0
  while (start < bytes.length) {
    const end = bytes.indexOf(0, start)
    const stop = end === -1 ? bytes.length : end
    fields.push(decodePath(bytes.subarray(start, stop)))
    start = stop + 1
  }
  return fields
}

/** Names for a `--stdin -z` call. */
export function joinNul(names: readonly string[]): Buffer {
  const nul = Buffer.from([0])
  return Buffer.concat(names.flatMap((name) => [encodePath(name), nul]))
}

function isAscii(bytes: Uint8Array): boolean {
  for (const byte of bytes) if (byte >= 0x80) return false
  return true
}

function decodeMixed(bytes: Uint8Array): string {
  let text = ""
  let at = 0
  while (at < bytes.length) {
    const length = sequenceLength(bytes[at]!)
    const piece = bytes.subarray(at, at + length)
    const decoded = length > 0 && piece.length === length ? tryDecode(piece) : undefined
    if (decoded === undefined) {
      text += String.fromCharCode(0xdc00 + bytes[at]!)
      at += 1
    } else {
      text += decoded
      at += length
    }
  }
  return text
}

function sequenceLength(first: number): number {
  if (first < 0x80) return 1
  if (first >= 0xc2 && first < 0xe0) return 2
  if (first >= 0xe0 && first < 0xf0) return 3
  if (first >= 0xf0 && first < 0xf5) return 4
  return 0
}

function tryDecode(piece: Uint8Array): string | undefined {
  try {
    return strict.decode(piece)
  } catch {
    return undefined
  }
}
