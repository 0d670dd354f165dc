/** The end of a stream of any length, in memory that does not grow with it. */
export interface Tail {
  take(chunk: Buffer): void
  /** The last bytes, at most as many as are kept; a copy. */
  end(most?: number): Buffer
}

export function makeTail(size: number): Tail {
  const ring = Buffer.alloc(size)
  let at = 0
  let kept = 0
  return {
    take(chunk) {
      const part = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk
      const first = Math.min(part.length, size - at)
      part.copy(ring, at, 0, first)
      part.copy(ring, 0, first)
      at = (at + part.length) % size
      kept = Math.min(size, kept + part.length)
    },
    end(most = size) {
      const length = Math.min(most, kept)
      const from = (at - length + size) % size
      const first = ring.subarray(from, Math.min(size, from + length))
      return Buffer.concat([first, ring.subarray(0, length - first.length)])
    },
  }
}
