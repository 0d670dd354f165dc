import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { expect, test } from "vitest"
import { closeText, openText } from "../../src/server/text-files.ts"

test("a text is a file of the person's alone; what stands in it when it is closed is taken, once, and it is gone", async () => {
  const opened = await openText("t-1", "first\n")
  if (!opened.ok) throw new Error(opened.error)
  const { path, folder } = opened.value
  expect(readFileSync(path, "utf8")).toBe("first\n")
  expect(statSync(path).mode & 0o077).toBe(0)
  writeFileSync(path, "first\nmore\n")
  expect(await closeText("t-1")).toEqual({ ok: true, value: "first\nmore\n" })
  expect(existsSync(folder)).toBe(false)
  expect(await closeText("t-1")).toMatchObject({ ok: false })
})

test("no file is read that was not given out", async () => {
  expect(await closeText("/etc/passwd")).toEqual({ ok: false, error: "this text was not given out" })
})
