import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, test } from "vitest"
import { checkout } from "../kit/sandbox.ts"

/** How many rows of each kind the gate and injection are held to. */
const ROWS = { R: 35, G: 55, P: 10, I: 41 } as const
/** How many facts of the host were measured for it. */
const FACTS = 22
const FOLDERS = ["test/shared", "test/guards", "test/host", "test/core"]
const PAGES = ["docs/decisions/prompt-gate.md", "docs/decisions/injection.md"]

const read = (path: string) => readFileSync(join(checkout, path), "utf8")

/** The first words of tests that name rows, as in `it("G3 R30 …")`. */
function named(): Set<string> {
  const found = new Set<string>()
  for (const folder of FOLDERS) {
    for (const name of readdirSync(join(checkout, folder))) {
      if (!name.endsWith(".test.ts") || name === "gate-rows.test.ts") continue
      for (const [, words] of read(`${folder}/${name}`).matchAll(/["'`]((?:[RGPI]\d{1,2}[: ]+)+)/g)) {
        for (const row of words!.match(/[RGPI]\d{1,2}/g)!) found.add(row)
      }
    }
  }
  return found
}

test("every row of the gate and of injection has a test of its name, or a reason why not", () => {
  const excused = PAGES.flatMap((page) =>
    [...read(page).matchAll(/^\| ([RGPI]\d{1,2}) \| \S/gm)].map(([, row]) => row!),
  )
  const tests = named()
  const all = Object.entries(ROWS).flatMap(([kind, count]) =>
    Array.from({ length: count }, (_, n) => `${kind}${n + 1}`),
  )
  expect(all.filter((row) => !tests.has(row) && !excused.includes(row))).toEqual([])
  expect(excused.filter((row) => !all.includes(row))).toEqual([])
})

test("every measured fact that the gate rests on has a contract test of its name", () => {
  const folder = "test/host/contract"
  const titles = readdirSync(join(checkout, folder))
    .filter((name) => name.endsWith(".test.ts"))
    .flatMap((name) => [...read(`${folder}/${name}`).matchAll(/\bfact\(\s*"([^"]+)"/g)].map(([, rows]) => rows!))
  const known = new Set(titles.flatMap((rows) => rows.match(/\bM\d{1,2}\b/g) ?? []))
  const all = Array.from({ length: FACTS }, (_, n) => `M${n + 1}`)
  expect(all.filter((row) => !known.has(row))).toEqual([])
})
