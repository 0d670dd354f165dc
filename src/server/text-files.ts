import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { err, ok, type Result } from "../core/result.ts"

export type TextFile = { readonly id: string; readonly folder: string; readonly path: string }

/** Given out by this process, by id: no other file is ever read or taken away. */
const given = new Map<string, TextFile>()

/** Puts a text into a file of its own that only the person can read, for their editor. */
export async function openText(id: string, text: string): Promise<Result<TextFile, string>> {
  try {
    const folder = await mkdtemp(join(tmpdir(), "kagan-text-"))
    const file = { id, folder, path: join(folder, "task.md") }
    given.set(id, file)
    await writeFile(file.path, text, { mode: 0o600 })
    return ok(file)
  } catch (cause) {
    return err(`the text cannot be put into a file: ${(cause as Error).message}`)
  }
}

/** What stands in the file now; afterwards it is gone. */
export async function closeText(id: string): Promise<Result<string, string>> {
  const file = given.get(id)
  if (!file) return err("this text was not given out")
  try {
    return ok(await readFile(file.path, "utf8"))
  } catch (cause) {
    return err(`what was written cannot be read: ${(cause as Error).message}`)
  } finally {
    given.delete(id)
    await rm(file.folder, { recursive: true, force: true })
  }
}
