import { mkdtempSync, readFileSync, rmSync, writeFileSync, chmodSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterEach, beforeEach, expect, test } from "vitest"
import { openEditor, openFile } from "../../src/tui/editor.ts"

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

test("a file is opened by its path, in its folder", async () => {
  const path = join(folder, "task.md")
  writeFileSync(path, "first\n")
  const editor = program('printf "%s" "$(pwd)" > seen; printf "more\\n" >> "$1"')
  expect(await openFile(screen(), { folder, path }, { EDITOR: editor })).toMatchObject({ ok: true })
  expect(readFileSync(path, "utf8")).toBe("first\nmore\n")
  expect(readFileSync(join(folder, "seen"), "utf8")).toBe(folder)
})
