import { expect, test } from "vitest"
import { fuzz } from "./fuzz.tsx"

const sizes = [
  [160, 45],
  [80, 24],
  [40, 12],
  [200, 60],
] as const
const runs = Array.from({ length: 24 }, (_, index) => {
  const [width, height] = sizes[index % sizes.length]!
  return { seed: 100 + index, width, height }
})

test.each(runs)("random bytes through every surface: seed $seed at $width×$height", async (run) => {
  expect(await fuzz(run)).toBeGreaterThan(150)
})
