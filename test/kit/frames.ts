const BEGIN = Buffer.from("\x1b[?2026h")
const END = Buffer.from("\x1b[?2026l")
/** A frame that never ends is shown as far as it came. */
const PATIENCE_MS = 2_000

/**
 * Passes on what a program writes to its terminal, but a synchronized frame (DEC mode 2026) only once it is whole: who
 * reads the screen then never sees half of one, as a person never does.
 */
export function wholeFrames(pass: (bytes: Uint8Array) => void): (bytes: Uint8Array) => void {
  let held = Buffer.alloc(0)
  let timer: ReturnType<typeof setTimeout> | undefined
  const flush = () => {
    const rest = held
    held = Buffer.alloc(0)
    if (rest.length > 0) pass(rest)
  }
  return (bytes) => {
    clearTimeout(timer)
    const all = Buffer.concat([held, bytes])
    const begin = all.lastIndexOf(BEGIN)
    const isOpen = begin >= 0 && all.indexOf(END, begin) < 0
    const upTo = isOpen ? begin : all.length - startOfMarker(all)
    held = all.subarray(upTo)
    if (upTo > 0) pass(all.subarray(0, upTo))
    if (held.length > 0) timer = setTimeout(flush, PATIENCE_MS)
  }
}

/** How many bytes at the end may be the first part of a frame's beginning. */
function startOfMarker(bytes: Buffer): number {
  for (let length = Math.min(BEGIN.length - 1, bytes.length); length > 0; length--) {
    if (bytes.subarray(bytes.length - length).equals(BEGIN.subarray(0, length))) return length
  }
  return 0
}
