import { spawn } from "node:child_process"
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

/** Opens one file in the person's own editor and waits until it ends. */
export function openFile(
  terminal: Terminal,
  file: { readonly folder: string; readonly path: string },
  env: Readonly<Record<string, string | undefined>>,
): Promise<Result<void, string>> {
  return runEditor(terminal, file.path, file.folder, env)
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
