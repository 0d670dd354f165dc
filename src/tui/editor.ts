import { spawn } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { err, ok, type Result } from "../core/result.ts"

/** The screen gives the terminal away and takes it back. */
export type Terminal = { readonly suspend: () => void; readonly resume: () => void }

/**
 * Opens a folder in the person's own editor (`$VISUAL`, else `$EDITOR`). An editor of the terminal has it until it
 * ends; one with a window returns at once. Never a shell: the value is a program and its arguments, split at blanks.
 */
export function openEditor(
  terminal: Terminal,
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Result<void, string>> {
  return runEditor(terminal, folder, folder, env)
}

/** Has a text written in the person's own editor: answers what stood in the file when the editor ended. */
export async function editText(
  terminal: Terminal,
  text: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Result<string, string>> {
  let folder: string | undefined
  try {
    folder = await mkdtemp(join(tmpdir(), "kagan-text-"))
    const file = join(folder, "task.md")
    await writeFile(file, text, { mode: 0o600 })
    const ended = await runEditor(terminal, file, folder, env)
    return ended.ok ? ok(await readFile(file, "utf8")) : ended
  } catch (cause) {
    return err(cause instanceof Error ? cause.message : String(cause))
  } finally {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true })
  }
}

function runEditor(
  terminal: Terminal,
  opened: string,
  cwd: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Result<void, string>> {
  const [program, ...args] = (env.VISUAL || env.EDITOR || "").split(/\s+/).filter(Boolean)
  if (program === undefined) return Promise.resolve(err("set $VISUAL or $EDITOR to use your editor"))
  terminal.suspend()
  return new Promise((resolve) => {
    const end = (result: Result<void, string>) => {
      terminal.resume()
      resolve(result)
    }
    const child = spawn(program, [...args, opened], { cwd, stdio: "inherit", shell: false })
    child.once("error", (cause) => end(err(`${program} cannot be started: ${cause.message}`)))
    child.once("exit", (code) => end(code === 0 || code === null ? ok() : err(`${program} ended with ${code}`)))
  })
}
