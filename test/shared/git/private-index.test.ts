import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { mayHide } from "../../../src/shared/git/private-index.ts"
import { bench, type Bench } from "./throwaway.ts"

const index = (it: Bench) => readFile(join(it.repo.dir, ".git", "index"))

test("whether an index may hide an edit is read from its entries, and left to git where it cannot be", async () => {
  await using it = await bench({ a: "1\n", "b/c": "2\n", [`long/${"x".repeat(200)}`]: "3\n", ünï: "4\n" })
  expect(mayHide(await index(it))).toBe(false)
  for (const [flag, back] of [
    ["--assume-unchanged", "--no-assume-unchanged"],
    ["--skip-worktree", "--no-skip-worktree"],
  ] as const) {
    await it.repo.git("update-index", flag, "ünï")
    expect(mayHide(await index(it)), flag).toBe(true)
    await it.repo.git("update-index", back, "ünï")
    expect(mayHide(await index(it)), back).toBe(false)
  }
  await it.repo.git("update-index", "--index-version", "4")
  expect(mayHide(await index(it))).toBe(true)
  await it.repo.git("update-index", "--index-version", "2")
  expect(mayHide(await index(it))).toBe(false)
  await it.repo.git("update-index", "--split-index")
  expect(mayHide(await index(it))).toBe(true)
  expect(mayHide(Buffer.from("DIRC"))).toBe(true)
  expect(mayHide((await index(it)).subarray(0, 40))).toBe(true)
})
