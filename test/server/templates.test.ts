import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { readTemplates } from "../../src/server/templates.ts"

let root: string
let folder: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "kagan-templates-"))
  folder = join(root, ".kagan", "templates")
})
afterEach(() => rm(root, { recursive: true, force: true }))

test("without a folder there are none, and it is said where they would be", async () => {
  expect(await readTemplates(root)).toEqual({ folder, templates: [] })
})

test("the first heading is the title, the rest the description; other files are none", async () => {
  await mkdir(folder, { recursive: true })
  await writeFile(join(folder, "bug.md"), "# Fix: \n\nSteps:\n1.\n")
  await writeFile(join(folder, "a note.md"), "Only words.\n# later\n")
  await writeFile(join(folder, "readme.txt"), "no")
  expect((await readTemplates(root)).templates).toEqual([
    { name: "a note", title: "", description: "Only words.\n# later" },
    { name: "bug", title: "Fix:", description: "Steps:\n1." },
  ])
})

test("links, folders and what is too long are named with the reason, and not read", async () => {
  await mkdir(join(folder, "folder.md"), { recursive: true })
  await writeFile(join(root, "secret"), "# secret")
  await symlink(join(root, "secret"), join(folder, "link.md"))
  await writeFile(join(folder, "long.md"), "x".repeat(70_000))
  const { templates } = await readTemplates(root)
  expect(templates.map(({ name, problem }) => [name, problem])).toEqual([
    ["folder", "is no plain file"],
    ["link", "is no plain file"],
    ["long", "is longer than 64 KiB"],
  ])
  expect(JSON.stringify(templates)).not.toContain('secret"')
})

test("a folder that cannot be read says why", async () => {
  await mkdir(join(root, ".kagan"))
  await writeFile(folder, "a file")
  expect((await readTemplates(root)).problem).toContain("cannot be read")
})
