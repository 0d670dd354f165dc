import { expect, test } from "vitest"
import { countEffects, diesAt } from "./create-workshop.ts"

test("a process that dies at any effect of a creation is finished by the next look: each task once", async () => {
  const effects = await countEffects()
  expect(effects).toBeGreaterThan(15)
  for (let at = 1; at <= effects; at++) await diesAt(at)
}, 600_000)
