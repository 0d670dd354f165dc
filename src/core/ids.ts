/**
 * Ids in the host's form (prefix, 12 hex digits of time, 14 characters): they sort by time among the host's own.
 * Deterministic in `at` (milliseconds since the epoch) and `seed`, so that an intent has the same ids after a crash.
 */
export function messageID(at: number, seed: string): string {
  return `msg_${timed(at, seed)}`
}

export function partID(at: number, seed: string): string {
  return `prt_${timed(at, `${seed}/part`)}`
}

const TAIL = 14
const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

/** The time as the host writes it, then a tail that follows from the seed: 32-bit arithmetic, since wakes make many. */
function timed(at: number, seed: string): string {
  const time = (BigInt(Math.floor(at)) * 0x1000n) & 0xffff_ffff_ffffn
  let one = 0x811c9dc5
  let two = 0x9e3779b9
  for (let n = 0; n < seed.length; n++) {
    const code = seed.charCodeAt(n)
    one = Math.imul(one ^ code, 0x01000193)
    two = Math.imul(two ^ code, 0x85ebca6b) ^ (one >>> 13)
  }
  let tail = ""
  for (let n = 0; n < TAIL; n++) {
    one = mixed(one + n)
    two = mixed(two ^ one)
    tail += ALPHABET[((one ^ two) >>> 0) % 62]
  }
  return time.toString(16).padStart(12, "0") + tail
}

/** Spreads each bit over the whole word. */
function mixed(word: number): number {
  let bits = word | 0
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b)
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35)
  return bits ^ (bits >>> 16)
}
