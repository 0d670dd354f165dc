import { chmod, mkdir, readFile, symlink, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { describe, expect, test } from "vitest"
import { makeContainment } from "../../src/server/containment.ts"
import { blockPushes } from "../../src/shared/git/push-block.ts"
import { openRepository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import { openStore } from "../../src/shared/store.ts"
import { systemClock } from "../../src/shared/clock.ts"
import type { TaskMeta } from "../../src/core/task.ts"
import { gitEnv, makeRepo } from "../kit/repo.ts"

async function stage() {
  const repo = await makeRepo({ files: { "src/x.ts": "x\n", "README.md": "r\n" } })
  const worktree = join(repo.dir, "../wt")
  await repo.git("worktree", "add", "-q", "-b", "t", worktree)
  const opened = await openRepository(makeGit({ env: gitEnv() }), repo.dir)
  if (!opened.ok) throw new Error(opened.error.text)
  const repository = opened.value
  const store = openStore(repository.commonDir, { clock: systemClock })
  const containment = makeContainment({ repository, store, clock: systemClock })
  const meta = { sessionID: "ses_1", generation: 1, worktree } as TaskMeta
  const begin = async (over: Partial<TaskMeta> = {}) =>
    expect(await containment.begin({ ...meta, ...over })).toEqual({ ok: true, value: undefined })
  const changes = async () => {
    const found = await containment.changes(meta)
    if (!found.ok) throw new Error(found.error.text)
    return found.value
  }
  const record = () => readFile(join(store.paths.session("ses_1").dir, "surroundings.json"), "utf8")
  return { repo, worktree, repository, begin, changes, record, [Symbol.asyncDispose]: () => repo.dispose() }
}

describe("what surrounds a task", () => {
  test("C106 edits that land in the main checkout are named, and what lay there before is not", async () => {
    await using box = await stage()
    await box.repo.write("README.md", "the person's own edit\n")
    await box.begin()
    expect(await box.changes()).toEqual([])
    await writeFile(join(box.worktree, "README.md"), "in the worktree\n")
    expect(await box.changes()).toEqual([])
    await box.repo.write("src/x.ts", "written with an absolute path\n")
    await box.repo.write("src/new.ts", "new\n")
    expect(await box.changes()).toEqual(["Your own checkout changed during this task: src/new.ts, src/x.ts"])
  })

  test("C101 a write through a link out of the worktree is named as well", async () => {
    await using box = await stage()
    await box.begin()
    await symlink(join(box.repo.dir, "README.md"), join(box.worktree, "link"))
    await writeFile(join(box.worktree, "link"), "pwn\n")
    expect(await box.changes()).toEqual(["Your own checkout changed during this task: README.md"])
  })

  test("changed settings and hooks are named, without their values; our own block is not", async () => {
    await using box = await stage()
    await box.repo.git("remote", "add", "origin", "https://user:hunter2@example.test/a.git")
    await box.begin()
    expect(await blockPushes(box.repository, box.worktree)).toMatchObject({ ok: true })
    expect(await box.changes()).toEqual([])
    const hooks = join(box.repo.dir, ".git/hooks")
    await mkdir(hooks, { recursive: true })
    await writeFile(join(hooks, "post-merge"), "#!/bin/sh\ntouch pwned\n")
    await chmod(join(hooks, "post-merge"), 0o755)
    await box.repo.git("config", "core.sshCommand", "sh -c evil")
    await box.repo.git("config", "alias.co", "!evil")
    const lines = (await box.changes()).join("\n")
    expect(lines).toContain("Git settings changed during this task: alias.co, core.sshcommand")
    expect(lines).toContain("Git hooks changed during this task: post-merge")
    expect(lines).not.toContain("evil")
    expect(await box.record()).not.toContain("hunter2")
  })

  test("a hook in a folder that the settings name is watched there", async () => {
    await using box = await stage()
    await box.repo.git("config", "core.hooksPath", ".husky")
    await box.repo.write(".husky/pre-commit", "true\n")
    await box.repo.commit("husky")
    await box.begin()
    await box.repo.write(".husky/pre-commit", "evil\n")
    expect((await box.changes()).join("\n")).toMatch(/hooks changed during this task: .*\.husky\/pre-commit/)
  })

  test("a resume keeps what the first start wrote down; a new generation starts anew", async () => {
    await using box = await stage()
    await box.begin()
    await box.repo.write("src/x.ts", "changed\n")
    await box.begin()
    expect(await box.changes()).toHaveLength(1)
    await box.begin({ generation: 2 })
    expect(await box.changes()).toEqual([])
  })

  test("without anything written down there is nothing to compare", async () => {
    await using box = await stage()
    expect(await box.changes()).toEqual([])
  })
})
