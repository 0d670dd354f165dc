import { readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll, expect, test, vi } from "vitest"
import { checkout } from "../kit/sandbox.ts"
import { judgeToll, livedThrough, POINTS, type Toll } from "./crash-points.ts"

vi.setConfig({ testTimeout: 900_000 })

const PAGE = join(checkout, "docs/crash-matrix.md")
const tolls = new Map<string, Toll>()

test.each(Object.keys(POINTS))("OpenCode killed at: %s", async (name) => {
  const toll = await livedThrough(POINTS[name]!)
  judgeToll(name, toll)
  tolls.set(name, toll)
})

test("the page names every point", () => {
  if (process.env.KAGAN_UPDATE_DOCS === "1" && tolls.size === Object.keys(POINTS).length) writeFileSync(PAGE, page())
  const named = readFileSync(PAGE, "utf8")
    .split("\n")
    .flatMap((line) => /^\| ([^|]+?) +\| \d/.exec(line)?.[1] ?? [])
  expect(named).toEqual(Object.keys(POINTS))
})

afterAll(() => tolls.clear())

function page(): string {
  const rows = [...tolls].map(([name, { intakes, validators, wakes, requests }]) => {
    const { intake, work, validator } = requests
    return `| ${name} | ${intakes} | ${validators} | ${wakes} | ${intake} | ${work} | ${validator} |`
  })
  return [
    "# Killed on the way",
    "",
    'The real OpenCode is killed with SIGKILL at one point of a card\'s way from intake to triage, started again, and the card goes on to Review with all findings (option `resume: "auto"`). Without a crash a card costs one helper of each role, one wake, and two model requests of each kind. Generated; `KAGAN_UPDATE_DOCS=1 npm run test:crash` writes it anew.',
    "",
    "| killed at | intake helpers | reviewers | wakes | intake requests | work requests | review requests |",
    "| --- | --- | --- | --- | --- | --- | --- |",
    ...rows,
    "",
  ].join("\n")
}
