import { readdir, realpath } from "node:fs/promises"
import { dirname, join } from "node:path"
import fc from "fast-check"
import { expect, test } from "vitest"
import { branchName, folderName, isBranchName } from "../../../src/core/slug.ts"
import { worktreeRootOf } from "../../../src/shared/git/repository.ts"
import { createWorktree } from "../../../src/shared/git/worktree.ts"
import { listWorktrees } from "../../../src/shared/git/worktree-state.ts"
import { removeWorktree } from "../../../src/shared/git/worktree-remove.ts"
import { bench, value } from "./throwaway.ts"

const titles = [
  "修复登录问题",
  "🚀🚀",
  "العربية",
  "../../etc/passwd",
  "--upload-pack=touch /tmp/c004",
  "foo.lock.lock",
  "@",
]

test("C001 C003 C004 C005 every title gives a branch and a worktree that git makes and removes", async () => {
  await using it = await bench()
  const root = join(it.side, "root")
  const taken: string[] = []
  for (const [i, title] of titles.entries()) {
    const branch = branchName("kagan", i + 1, title, taken)
    taken.push(branch)
    const path = join(root, folderName(i + 1, title))
    value(await createWorktree({ repo: it.opened, branch, base: "main", path, root }))
    expect(dirname(await realpath(path))).toBe(await realpath(root))
    expect((await it.repo.git("check-ref-format", "--branch", branch)).trim()).toBe(branch)
    expect(await it.repo.git("rev-parse", branch)).toBe(await it.repo.git("rev-parse", "HEAD"))
  }
  expect(new Set(taken).size).toBe(titles.length)
  expect((await readdir(root)).length).toBe(titles.length)
  expect((await readdir(it.side)).toSorted()).toEqual(["repo", "root"])
  for (const entry of value(await listWorktrees(it.opened)).slice(1)) {
    value(await removeWorktree({ repo: it.opened, path: entry.path, deleteBranch: true }))
  }
  expect(await readdir(root)).toEqual([])
  expect((await it.repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads")).trim()).toBe("main")
})

test("our rule for branch names says what git says", async () => {
  await using it = await bench()
  const unit = fc.constantFrom(..."ab.@{}~^:?*[\\/- \u0001é".split(""), ".lock", "HEAD", "..", "//")
  await fc.assert(
    fc.asyncProperty(fc.array(unit, { minLength: 1, maxLength: 5 }), async (parts) => {
      const name = parts.join("")
      const git = await it.git.run(["check-ref-format", `refs/heads/${name}`], { cwd: it.repo.dir, okCodes: [0, 1] })
      // `check-ref-format` of a full ref knows neither the dash nor the names that mean something else.
      const allowed = value(git).code === 0 && !name.startsWith("-") && name !== "@" && name !== "HEAD"
      expect(isBranchName(name), name).toBe(allowed)
    }),
    { numRuns: 150 },
  )
})

test("the folder for worktrees is the same from every checkout and subfolder", async () => {
  await using it = await bench({ "sub/a.txt": "a\n" })
  const task = await it.task()
  const env = { XDG_DATA_HOME: "/data" }
  const roots = [it.opened, await it.reopen(join(it.repo.dir, "sub")), await it.reopen(join(task.dir, "sub"))]
  expect(new Set(roots.map((repo) => worktreeRootOf(repo, env))).size).toBe(1)
  expect(worktreeRootOf(it.opened, env)).toMatch(/^\/data\/kagan\/worktrees\/repo-[0-9a-f]{10}$/)
  expect(worktreeRootOf(it.opened, { HOME: "/h" })).toMatch(/^\/h\/\.local\/share\/kagan\/worktrees\/repo-/)
})
