import { afterAll, expect, test, vi } from "vitest"
import { namedPoints, tollTable, writeTable } from "./crash-page.ts"
import { judgeToll, livedThrough, POINTS, type Toll } from "./crash-points.ts"

vi.setConfig({ testTimeout: 900_000 })

const tolls = new Map<string, Toll>()

test.each(Object.keys(POINTS))("OpenCode killed at: %s", async (name) => {
  const toll = await livedThrough(POINTS[name]!)
  judgeToll(name, toll)
  tolls.set(name, toll)
})

test("the page names every point", () => {
  if (process.env.KAGAN_UPDATE_DOCS === "1" && tolls.size === Object.keys(POINTS).length)
    writeTable("life", tollTable(tolls))
  expect(namedPoints("life")).toEqual(Object.keys(POINTS))
})

afterAll(() => tolls.clear())
