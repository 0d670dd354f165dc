import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { editText, openEditor } from "../../src/tui/editor.ts"

let folder: string
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "kagan-editor-"))))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

function screen() {
  const calls: string[] = []
  return { calls, suspend: () => void calls.push("suspend"), resume: () => void calls.push("resume") }
}

function program(text: string): string {
  const path = join(folder, "editor.sh")
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

test("the editor gets the folder as one argument, whatever it is called, and the terminal meanwhile", async () => {
  const terminal = screen()
  const editor = program('printf "%s|%s|%s" "$#" "$1" "$2" > seen')
  const odd = join(folder, "odd $(touch pwned); name")
  writeFileSync(join(folder, "seen"), "")
  const env = { VISUAL: `${editor} --wait`, EDITOR: "never" }
  expect(await openEditor(terminal, folder, env)).toEqual({ ok: true, value: undefined })
  expect(readFileSync(join(folder, "seen"), "utf8")).toBe(`2|--wait|${folder}`)
  expect(terminal.calls).toEqual(["suspend", "resume"])
  // A folder that is not there is a failure in words, and the terminal comes back.
  expect(await openEditor(terminal, odd, env)).toMatchObject({ ok: false })
  expect(terminal.calls).toEqual(["suspend", "resume", "suspend", "resume"])
})

test("without an editor nothing is started, and what to set is said", async () => {
  const terminal = screen()
  expect(await openEditor(terminal, folder, {})).toEqual({ ok: false, error: expect.stringContaining("$EDITOR") })
  expect(terminal.calls).toEqual([])
})

test("an editor that cannot be started, or fails, is said", async () => {
  const terminal = screen()
  expect(await openEditor(terminal, folder, { EDITOR: join(folder, "none") })).toMatchObject({ ok: false })
  expect(await openEditor(terminal, folder, { EDITOR: program("exit 3") })).toMatchObject({
    ok: false,
    error: expect.stringContaining("ended with 3"),
  })
})

test("a text is written in the editor: what stands in the file when it ends is taken, and the file is gone", async () => {
  const terminal = screen()
  const seen = join(folder, "seen")
  const editor = program(`cp "$1" ${seen}; printf '%s' "$1" > ${seen}.path; printf 'more\\n' >> "$1"`)
  expect(await editText(terminal, "first\n", { EDITOR: editor })).toEqual({ ok: true, value: "first\nmore\n" })
  expect(readFileSync(seen, "utf8")).toBe("first\n")
  expect(existsSync(readFileSync(`${seen}.path`, "utf8"))).toBe(false)
  expect(terminal.calls).toEqual(["suspend", "resume"])
})

test("an editor that fails leaves the text as it was typed", async () => {
  expect(await editText(screen(), "first", { EDITOR: program("exit 1") })).toMatchObject({ ok: false })
  expect(await editText(screen(), "first", {})).toMatchObject({ ok: false, error: expect.stringContaining("$EDITOR") })
})
