import { readFile, stat, utimes } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { copyIndex, mayHide } from "../../../src/shared/git/private-index.ts"
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

test("a copy of an index is not younger than the original, so that git does not trust an edit of the same instant", async () => {
  await using it = await bench()
  const [from, to] = [join(it.repo.dir, ".git", "index"), join(it.side, "copy")]
  for (const at of [new Date(), new Date("2020-01-01T00:00:00.123Z")]) {
    await utimes(from, at, at)
    await copyIndex(from, to)
    const [original, copy] = [await stat(from, { bigint: true }), await stat(to, { bigint: true })]
    expect(copy.mtimeNs).toBeLessThan(original.mtimeNs)
    expect(original.mtimeNs - copy.mtimeNs).toBeLessThan(1_000_000n)
  }
})
