import { afterAll, expect, test, vi } from "vitest"
import { GIT_POINTS } from "./crash-git-points.ts"
import { namedPoints, writeOutcomes } from "./crash-page.ts"

vi.setConfig({ testTimeout: 900_000 })

const outcomes = new Map<string, string>()

test.each(Object.keys(GIT_POINTS))("OpenCode killed at: %s", async (name) => {
  const [story, spot] = GIT_POINTS[name]!
  outcomes.set(name, await story(spot))
})

test("the page names every point", () => {
  if (process.env.KAGAN_UPDATE_DOCS === "1") writeOutcomes(Object.keys(GIT_POINTS), outcomes)
  expect(namedPoints("git")).toEqual(Object.keys(GIT_POINTS))
})

afterAll(() => outcomes.clear())
