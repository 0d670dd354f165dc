import { join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import { joinNul } from "../../../src/shared/git/bytes.ts"
import type { TreeEntry } from "../../../src/shared/git/status.ts"
import { editTree, openTree, type TreeEdits } from "../../../src/shared/git/tree-edit.ts"
import { bench, value, type Bench } from "./throwaway.ts"

const NAMES = ["a", "a.b", "a-", "dir", "x\ny", "ü", "\udcff", "z"]

/** A set of files in which none lies below another. */
const paths = fc
  .array(fc.array(fc.constantFrom(...NAMES), { minLength: 1, maxLength: 3 }), { maxLength: 12 })
  .map((all) => [...new Set(all.map((parts) => parts.join("/")))])
  .map((all) => all.filter((path) => !all.some((other) => other !== path && path.startsWith(`${other}/`))))

const edit = async (it: Bench, tree: string, edits: TreeEdits, known?: string) =>
  value(
    await editTree(it.git, it.repo.dir, value(await openTree(it.git, it.repo.dir, tree, edits.keys())), edits, known),
  )

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
      const edited = await edit(it, from, edits)
      // Every folder of it is there, before git itself writes any.
      await it.repo.git("ls-tree", "-r", edited)
      expect(edited).toBe(await treeOf(it, after))
    }),
    { numRuns: 30 },
  )
})

test("a folder of thousands of files and one of long names are stored whole", async () => {
  await using it = await bench({ one: "1\n" })
  const [object, tree] = (await it.repo.git("rev-parse", "HEAD:one", "HEAD^{tree}")).trim().split("\n") as [
    string,
    string,
  ]
  const wide = Array.from({ length: 3_000 }, (_, i) => `wide/${i}`)
  const long = ["x".repeat(200), "y".repeat(250)].map((name) => `long/${name}`)
  const edits = new Map([...wide, ...long].map((path) => [path, { mode: "100644", object }] as const))
  const edited = await edit(it, tree, edits)
  const names = (await it.repo.git("ls-tree", "-r", "--name-only", edited)).trim().split("\n")
  expect(names.toSorted()).toEqual(["one", ...wide, ...long].toSorted())
  await it.repo.git("update-ref", "refs/kept", (await it.repo.git("commit-tree", "-m", "x", edited)).trim())
  await it.repo.git("fsck", "--strict")
})

test("nothing to edit needs no git, and what is removed twice or was never there changes nothing", async () => {
  await using it = await bench({ "dir/a": "1\n" })
  const tree = (await it.repo.git("rev-parse", "HEAD^{tree}")).trim()
  const edited = async (...pairs: [string, TreeEntry | undefined][]) => edit(it, tree, new Map(pairs))
  expect(await edited()).toBe(tree)
  expect(await edited(["dir", undefined], ["dir/b", undefined], ["none/x", undefined])).toBe(tree)
  const empty = (await it.repo.git("hash-object", "-t", "tree", "/dev/null")).trim()
  expect(await edited(["dir/a", undefined])).toBe(empty)
})

test("a tree that is known to be there is not stored again, and a folder that was not opened is no empty one", async () => {
  await using it = await bench({ "dir/a": "1\n", "dir/b": "2\n" })
  const [tree, object] = (await it.repo.git("rev-parse", "HEAD^{tree}", "HEAD:dir/b")).trim().split("\n") as [
    string,
    string,
  ]
  const edits = new Map([["dir/a", { mode: "100644", object }]])
  const other = await edit(it, tree, edits)
  const asked: string[] = []
  const git = {
    ...it.git,
    run: (...args: Parameters<typeof it.git.run>) => (asked.push(args[0][0]!), it.git.run(...args)),
  }
  const opened = async () => value(await openTree(it.git, it.repo.dir, tree, edits.keys()))
  expect(value(await editTree(git, it.repo.dir, await opened(), edits, other))).toBe(other)
  expect(asked).toEqual([])
  await expect(editTree(git, it.repo.dir, await opened(), new Map([["lib/a", undefined]]))).resolves.toMatchObject({
    ok: true,
  })
  const elsewhere = new Map([["dir/sub/a", { mode: "100644", object }]])
  await expect(editTree(git, it.repo.dir, await opened(), elsewhere)).resolves.toMatchObject({ ok: true })
  const shut = value(await openTree(it.git, it.repo.dir, tree, []))
  await expect(editTree(git, it.repo.dir, shut, edits)).rejects.toThrow("was not opened")
})
