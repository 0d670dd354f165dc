import { execFile, spawn, type ChildProcess } from "node:child_process"
import { once } from "node:events"
import { mkdir, rename, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { countingGit, killAtWrite } from "./crash.ts"
import { makeSandbox, type Sandbox } from "./sandbox.ts"

let sandbox: Sandbox
beforeEach(async () => {
  sandbox = await makeSandbox({ plugin: false })
})
afterEach(() => sandbox.dispose())

/** A stand-in for a host: something that lives until it is killed. */
function victim(): ChildProcess {
  return spawn("sleep", ["600"], { env: sandbox.env, stdio: "ignore" })
}

function git(...args: string[]): Promise<{ code: number; out: string }> {
  return new Promise((resolve) => {
    execFile("git", args, { cwd: sandbox.repo.dir, env: sandbox.env }, (error, stdout) => {
      resolve({ code: error ? Number(error.code) : 0, out: stdout.trim() })
    })
  })
}

test("a counting git answers as git does and knows its calls, also those with odd arguments", async () => {
  const counting = await countingGit(sandbox)
  expect(await git("rev-parse", "--abbrev-ref", "HEAD")).toEqual({ code: 0, out: "main" })
  expect((await git("log", "--format=format:a b%nc", "-1")).out).toBe("a b\nc")
  expect((await git("rev-parse", "--verify", "-q", "nothing")).code).toBe(1)
  expect((await counting.calls()).map((args) => args[0])).toEqual(["rev-parse", "log", "rev-parse"])
  expect((await counting.calls())[1]).toEqual(["log", "--format=format:a b%nc", "-1"])
})

test("a trap kills before the n-th matching call, which then has not happened", async () => {
  const counting = await countingGit(sandbox)
  const child = victim()
  const ended = once(child, "exit")
  await counting.arm({ at: 2, pid: child.pid!, match: "branch" })
  await git("branch", "one")
  await git("status")
  expect(await counting.fired()).toBe(false)
  expect((await git("branch", "two")).code).toBe(137)
  expect(await ended).toEqual([null, "SIGKILL"])
  expect(await counting.fired()).toBe(true)
  expect((await git("branch", "--format=%(refname:short)")).out.split("\n")).toEqual(["main", "one"])
})

test("a trap for after lets the call finish, and springs once however many calls run at once", async () => {
  const counting = await countingGit(sandbox)
  const child = victim()
  const ended = once(child, "exit")
  await counting.arm({ at: 3, pid: child.pid!, when: "after" })
  const all = await Promise.all(["a", "b", "c", "d", "e"].map((name) => git("branch", name)))
  expect(all.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0])
  expect(await ended).toEqual([null, "SIGKILL"])
})

test("a write trap kills at the n-th file that is put in place", async () => {
  const folder = join(sandbox.root, "records")
  await mkdir(folder)
  const child = victim()
  const ended = once(child, "exit")
  const trap = await killAtWrite({ folder, match: /^\d+\.json$/, at: 2, pid: child.pid! })
  for (const name of ["1.json", "2.json"]) {
    await writeFile(join(folder, `${name}.tmp`), "{}")
    await rename(join(folder, `${name}.tmp`), join(folder, name))
  }
  expect(await ended).toEqual([null, "SIGKILL"])
  await trap.close()
  expect(trap.fired()).toBe(true)
})
