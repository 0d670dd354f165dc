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

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

function timed(at: number, seed: string): string {
  const time = (BigInt(Math.floor(at)) * 0x1000n) & 0xffff_ffff_ffffn
  let hash = 0xcbf29ce484222325n
  let tail = ""
  for (let n = 0; n < 14; n++) {
    for (const char of `${n}:${seed}`)
      hash = ((hash ^ BigInt(char.codePointAt(0)!)) * 0x100000001b3n) & 0xffff_ffff_ffff_ffffn
    tail += ALPHABET[Number((hash >> 17n) % 62n)]
  }
  return time.toString(16).padStart(12, "0") + tail
}
