import { join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import { joinNul } from "../../../src/shared/git/bytes.ts"
import type { TreeEntry } from "../../../src/shared/git/status.ts"
import { editTree } from "../../../src/shared/git/tree-edit.ts"
import { bench, value, type Bench } from "./throwaway.ts"

const NAMES = ["a", "a.b", "a-", "dir", "x\ny", "ü", "\udcff", "z"]

/** A set of files in which none lies below another. */
const paths = fc
  .array(fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), { maxLength: 12 })
  .map((all) => [...new Set(all.map((parts) => parts.join("/")))])
  .map((all) => all.filter((path) => !all.some((other) => other !== path && path.startsWith(`${other}/`))))

/** What git itself makes of a set of files. */
async function treeOf(it: Bench, files: ReadonlyMap<string, TreeEntry>): Promise<string> {
  const run = async (args: readonly string[], stdin?: Buffer) =>
    value(
      await it.git.run(args, {
        cwd: it.repo.dir,
        env: { GIT_INDEX_FILE: join(it.side, "index") },
        ...(stdin ? { stdin } : {}),
      }),
    ).stdout.trim()
  await run(["read-tree", "--empty"])
  const lines = [...files].map(([path, entry]) => `${entry.mode} ${entry.object}\t${path}`)
  await run(["update-index", "-z", "--index-info"], joinNul(lines))
  return run(["write-tree"])
}

test("an edited tree is the tree that git makes of the same files, whatever they are called and whatever gives way", async () => {
  await using it = await bench({ one: "1\n", two: "2\n" })
  const ids = (await it.repo.git("rev-parse", "HEAD:one", "HEAD:two", "HEAD")).trim().split("\n")
  const entries = fc.constantFrom(
    { mode: "100644", object: ids[0]! },
    { mode: "100755", object: ids[1]! },
    { mode: "120000", object: ids[0]! },
    { mode: "160000", object: ids[2]! },
  )
  const files = paths.chain((all) =>
    fc
      .array(entries, { minLength: all.length, maxLength: all.length })
      .map((made) => new Map(all.map((p, i) => [p, made[i]!]))),
  )
  await fc.assert(
    fc.asyncProperty(files, files, async (before, after) => {
      const from = await treeOf(it, before)
      const edits = new Map<string, TreeEntry | undefined>([...before.keys()].map((path) => [path, undefined]))
      for (const [path, entry] of after) {
        const same = before.get(path)
        if (same?.mode === entry.mode && same.object === entry.object) edits.delete(path)
        else edits.set(path, entry)
      }
      expect(value(await editTree(it.git, it.repo.dir, from, edits))).toBe(await treeOf(it, after))
    }),
    { numRuns: 30 },
  )
})

test("nothing to edit needs no git, and what is removed twice or was never there changes nothing", async () => {
  await using it = await bench({ "dir/a": "1\n" })
  const tree = (await it.repo.git("rev-parse", "HEAD^{tree}")).trim()
  const edit = async (...pairs: [string, TreeEntry | undefined][]) =>
    value(await editTree(it.git, it.repo.dir, tree, new Map(pairs)))
  expect(await edit()).toBe(tree)
  expect(await edit(["dir", undefined], ["dir/b", undefined], ["none/x", undefined])).toBe(tree)
  const empty = (await it.repo.git("hash-object", "-t", "tree", "/dev/null")).trim()
  expect(await edit(["dir/a", undefined])).toBe(empty)
})
