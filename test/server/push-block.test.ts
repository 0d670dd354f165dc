import { mkdir, readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, test } from "vitest"
import { blockEnv, blockOf, isBlock } from "../../src/core/push/block.ts"
import { judgeCommand } from "../../src/core/push.ts"
import { blockPushes } from "../../src/shared/git/push-block.ts"
import { openRepository } from "../../src/shared/git/repository.ts"
import { makeGit } from "../../src/shared/git/runner.ts"
import harmless from "../fixtures/commands/harmless.json"
import pushes from "../fixtures/commands/pushes.json"
import { makeCommandStage, type CommandStage } from "../kit/commands.ts"
import { gitEnv, makeRepo } from "../kit/repo.ts"

describe("the block", () => {
  test("a remote without a push address gets one that leads nowhere", () => {
    const { settings, open } = blockOf([["remote.origin.url", "https://example.test/a.git"]])
    expect(settings).toContainEqual(["url.kagan-blocked://.pushinsteadof", ""])
    expect(settings).toContainEqual(["remote.origin.pushurl", "kagan-blocked://origin"])
    expect(open).toEqual([])
    expect(settings.every(isBlock)).toBe(true)
  })

  test("a push address of the person's is led away, and its fetch is not", () => {
    const { settings } = blockOf([
      ["remote.a.b.url", "https://example.test/a.git"],
      ["remote.a.b.pushurl", "git@example.test:a.git"],
    ])
    expect(settings).toContainEqual(["url.kagan-blocked://.insteadof", "git@example.test:a.git"])
    expect(settings.some(([key]) => key === "remote.a.b.pushurl")).toBe(false)
  })

  test("where fetch and push share an address, fetch goes on and the remote is named", () => {
    const url = "git@example.test:a.git"
    const { settings, open } = blockOf([
      ["remote.o.url", url],
      ["remote.o.pushurl", url],
    ])
    expect(open).toEqual(["o"])
    expect(settings.some(([key]) => key.endsWith(".insteadof"))).toBe(false)
    expect(settings).toContainEqual(["remote.o.receivepack", "kagan-blocked"])
  })

  test("an address that the person's settings rewrite for pushing is named whole", () => {
    const { settings } = blockOf([
      ["url.git@example.test:.pushinsteadof", "https://example.test/"],
      ["remote.origin.url", "https://example.test/a.git"],
    ])
    expect(settings).toContainEqual(["url.kagan-blocked://.pushinsteadof", "https://example.test/a.git"])
  })

  test("made from what it left itself, it is the same", () => {
    const theirs = [
      ["remote.o.url", "/a"],
      ["remote.o.pushurl", "/b"],
      ["remote.p.url", "/c"],
    ] as const
    const once = blockOf(theirs)
    expect(blockOf([...theirs, ...once.settings])).toEqual(once)
  })

  test("the environment keeps what stands in it", () => {
    const env = blockEnv([["a.b", "c"]], { GIT_CONFIG_COUNT: "2" })
    expect(env).toEqual({ GIT_CONFIG_COUNT: "3", GIT_CONFIG_KEY_2: "a.b", GIT_CONFIG_VALUE_2: "c" })
    expect(blockEnv([["a.b", "c"]], { GIT_CONFIG_COUNT: "x" })["GIT_CONFIG_COUNT"]).toBe("1")
  })
})

describe("in a real worktree with a real remote", () => {
  let stage: CommandStage
  beforeAll(async () => {
    stage = await makeCommandStage()
  })
  afterAll(() => stage?.repo.dispose())

  test("without a guard, the ways of the sample do push", async () => {
    for (const line of ["git push origin HEAD", "sh push.sh", "git commit -q --allow-empty -m hooked"]) {
      await stage.run(line)
      expect(await stage.published(), line).not.toEqual([])
    }
  })

  test("C097 C099 a sample as the product runs it: what the parser lets through meets the block, and nothing arrives", async () => {
    const env = await stage.blockedEnv()
    const sample = pushes.filter(({ holds }, at) => holds === "git" || at % 12 === 0)
    expect(sample.length).toBeGreaterThan(15)
    for (const { line } of sample) {
      if (judgeCommand(line).verdict === "allow") await stage.run(line, { env })
      expect(await stage.published(), line).toEqual([])
    }
    for (const { line } of harmless.slice(0, 12)) expect(judgeCommand(line).verdict, line).toBe("allow")
  })

  test("C100 a program, a script, a rule and a hook that push inside are stopped by the environment alone", async () => {
    const env = await stage.blockedEnv()
    const code = 'require("child_process").execFileSync("git",["push","../origin.git","HEAD:refs/heads/p"])'
    for (const line of [`node -e '${code}'`, "npm run rel", "sh push.sh", "git commit -q --allow-empty -m x"]) {
      const said = await stage.run(line, { env })
      expect(await stage.published(), line).toEqual([])
      if (line !== "npm run rel") expect(said, line).toContain("kagan-blocked")
    }
  })

  test("fetching goes on, and the person's own folder pushes as before", async () => {
    await stage.block()
    const env = await stage.blockedEnv()
    expect(await stage.run("git fetch origin && echo fetched", { env })).toContain("fetched")
    await stage.run(`git -C '${stage.repo.dir}' push -q origin HEAD:refs/heads/person`)
    expect((await stage.published()).join()).toContain("refs/heads/person")
  })

  test("C100 in the worktree's own settings the block holds under env -i and a new alias as well", async () => {
    await stage.block()
    for (const line of [
      'env -i PATH="$PATH" HOME="$HOME" git push origin HEAD',
      'env -i PATH="$PATH" git push ../origin.git HEAD:refs/heads/p',
      "git -c alias.x=push x origin HEAD",
    ]) {
      await stage.run(line)
      expect(await stage.published(), line).toEqual([])
    }
  })

  test("a remote with a push address of its own, added later, is blocked at the next start of work", async () => {
    await stage.repo.git("remote", "add", "two", "../nowhere.git")
    await stage.repo.git("config", "remote.two.pushurl", join(stage.repo.dir, "../origin.git"))
    await stage.block()
    await stage.run("git push two HEAD:refs/heads/p", { env: await stage.blockedEnv() })
    expect(await stage.published()).toEqual([])
    await stage.run("git push two HEAD:refs/heads/p")
    expect(await stage.published()).toEqual([])
    const before = await stage.run("git config --worktree --list")
    await stage.block()
    expect(await stage.run("git config --worktree --list")).toBe(before)
  })
})

describe("settings for one worktree", () => {
  test("are not turned on where that would change something else", async () => {
    await using repo = await makeRepo()
    const worktree = join(repo.dir, "../wt")
    await repo.git("worktree", "add", "-q", "-b", "t", worktree)
    const opened = await openRepository(makeGit({ env: gitEnv() }), repo.dir)
    if (!opened.ok) throw new Error(opened.error.text)
    const config = join(repo.dir, ".git/config")
    const left = join(repo.dir, ".git/worktrees/wt/config.worktree")
    await mkdir(join(left, ".."), { recursive: true })
    await writeFile(left, "[core]\n\teditor = vim\n")
    const before = await readFile(config, "utf8")
    expect(await blockPushes(opened.value, worktree)).toMatchObject({
      ok: false,
      error: { text: expect.stringContaining("config.worktree") },
    })
    expect(await readFile(config, "utf8")).toBe(before)
  })

  test("are never written for a folder that is not a worktree of this repository", async () => {
    await using repo = await makeRepo()
    await using other = await makeRepo()
    const opened = await openRepository(makeGit({ env: gitEnv() }), repo.dir)
    if (!opened.ok) throw new Error(opened.error.text)
    for (const folder of [repo.dir, other.dir]) expect((await blockPushes(opened.value, folder)).ok).toBe(false)
  })
})
