import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, test } from "vitest"
import { diffCommits } from "../../../src/shared/git/diff.ts"
import { forecast, mergeSnapshot } from "../../../src/shared/git/merge.ts"
import { bench, value } from "./throwaway.ts"

test("a task's work, committed or not, lands in the checkout of its base as one commit", async () => {
  await using it = await bench({ "a.txt": "a\nb\nc\n" })
  const task = await it.task()
  await task.write("a.txt", "a\nB\nc\n")
  await task.commit("part")
  await task.write("new.txt", "new\n")
  const snapshot = await task.snapshot()
  const diff = value(await diffCommits(it.opened, snapshot.base, snapshot.commit))
  expect(diff.files.map((file) => `${file.kind} ${file.path} +${file.insertions} -${file.deletions}`)).toEqual([
    "modified a.txt +1 -1",
    "added new.txt +1 -0",
  ])
  const ahead = value(await forecast({ repo: it.opened, target: "main", snapshot: snapshot.commit }))
  expect(ahead).toMatchObject({ conflicts: [], behind: 0, contained: false })
  const merged = value(
    await mergeSnapshot({
      repo: it.opened,
      target: "main",
      snapshot: snapshot.commit,
      strategy: "squash",
      message: "Title\n\nBody",
      worktree: task.dir,
      branch: task.branch,
    }),
  )
  expect(await readFile(join(it.repo.dir, "new.txt"), "utf8")).toBe("new\n")
  expect(await it.repo.git("status", "--porcelain")).toBe("")
  expect((await it.repo.git("rev-parse", "main", "main^{tree}")).trim().split("\n")).toEqual([
    merged.commit,
    snapshot.tree,
  ])
  expect(await task.git("status", "--porcelain")).toBe("?? new.txt\n")
})
