import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { foreignConfig } from "../../src/server/own-files.ts"

let box: string
const main = () => join(box, "main")
const worktree = () => join(box, "wt")
async function write(path: string, text = "x") {
  await mkdir(dirname(join(box, path)), { recursive: true })
  await writeFile(join(box, path), text)
}
const found = () => foreignConfig(worktree(), main())

beforeEach(async () => {
  box = await mkdtemp(join(tmpdir(), "kagan-own-"))
  await write("main/opencode.json", "{}")
  await write("main/.opencode/plugin/mine.ts", "mine")
  await write("wt/a.txt")
})
afterEach(() => rm(box, { recursive: true, force: true }))

test("a worktree without OpenCode files, or with just those of the main checkout, brings nothing", async () => {
  expect(await found()).toBeUndefined()
  await write("wt/opencode.json", "{}")
  await write("wt/.opencode/plugin/mine.ts", "mine")
  await write("wt/.opencode/.gitignore", "written by the host")
  await mkdir(join(worktree(), ".opencode/node_modules"))
  expect(await found()).toBeUndefined()
  expect(await foreignConfig(join(box, "gone"), main())).toBeUndefined()
})

test.each([
  "opencode.json",
  "opencode.jsonc",
  ".opencode/opencode.json",
  ".opencode/plugin/x.ts",
  ".opencode/plugin/mine.ts",
  ".opencode/agent/deep/er/evil.md",
])("C105 %s of the branch is found", async (path) => {
  await write(`wt/${path}`, "evil")
  expect(await found()).toBe(path)
})

test("what plugins import from there is code as well", async () => {
  await write("wt/.opencode/plugin/mine.ts", "mine")
  await write("wt/.opencode/node_modules/lib/index.js")
  expect(await found()).toBe(".opencode/node_modules")
})

test("C101 a link counts as brought, wherever it leads, and is not followed", async () => {
  await symlink(join(main(), ".opencode"), join(worktree(), ".opencode"))
  expect(await found()).toBe(".opencode")
  await rm(join(worktree(), ".opencode"))
  await symlink("/dev/zero", join(worktree(), "opencode.json"))
  expect(await found()).toBe("opencode.json")
})
