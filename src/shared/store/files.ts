import { randomBytes } from "node:crypto"
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  statSync,
  watch as watchDir,
  writeSync,
} from "node:fs"
import { mkdir, open, readdir, readFile, rename, rm } from "node:fs/promises"
import { dirname } from "node:path"
import { err, ok, type Result } from "../../core/result.ts"
import type { Clock } from "../clock.ts"
import { codeOf, textOf } from "./claim.ts"

/** Files: written whole or not at all, read with the kind of damage told apart. */

export type FileFailure =
  | { readonly kind: "missing"; readonly text: string }
  /** It ends in the middle: a crash or a full disk. */
  | { readonly kind: "torn"; readonly text: string }
  /** It is whole and says something else. */
  | { readonly kind: "invalid"; readonly text: string }
  | { readonly kind: "io"; readonly text: string }

/** Reads a JSON file. */
export async function readJson(path: string): Promise<Result<unknown, FileFailure>> {
  try {
    return parseJson(path, await readFile(path, "utf8"))
  } catch (cause) {
    return fileFailure(path, cause)
  }
}

function parseJson(path: string, text: string): Result<unknown, FileFailure> {
  try {
    return ok(JSON.parse(text) as unknown)
  } catch (cause) {
    const end = text.trimEnd().replaceAll("\0", "").at(-1)
    const torn = end !== "}" && end !== "]" && end !== '"'
    return err({ kind: torn ? "torn" : "invalid", text: `${path}: ${textOf(cause)}` })
  }
}

/** Replaces a JSON file in one step: a reader sees the old content or the new. */
export async function writeJson(path: string, value: unknown): Promise<Result<void, FileFailure>> {
  return writeText(path, `${JSON.stringify(value, undefined, 2)}\n`)
}

/** Replaces a text file in one step. */
export async function writeText(path: string, text: string): Promise<Result<void, FileFailure>> {
  const temp = `${path}.${process.pid}-${randomBytes(6).toString("hex")}.tmp`
  try {
    await mkdir(dirname(path), { recursive: true })
    const file = await open(temp, "wx")
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temp, path)
    return ok()
  } catch (cause) {
    // It may not even have been made; what is reported is why.
    await rm(temp, { force: true }).catch(() => undefined)
    return fileFailure(path, cause)
  }
}

export async function readTextFile(path: string): Promise<Result<string, FileFailure>> {
  try {
    return ok(await readFile(path, "utf8"))
  } catch (cause) {
    return fileFailure(path, cause)
  }
}

/** Removes a file or folder; one that is not there is fine. */
export async function remove(path: string): Promise<Result<void, FileFailure>> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 3 })
    return ok()
  } catch (cause) {
    return fileFailure(path, cause)
  }
}

/** The names in a folder, sorted; an absent folder is empty. Temporary files are left out. */
export async function names(dir: string): Promise<Result<readonly string[], FileFailure>> {
  try {
    return ok((await readdir(dir)).filter((name) => !name.endsWith(".tmp")).toSorted())
  } catch (cause) {
    return codeOf(cause) === "ENOENT" ? ok([]) : fileFailure(dir, cause)
  }
}

/**
 * Adds one JSON line in a single write, at once (what is accepted survives this process). A torn last line of an
 * earlier crash is closed first, so that it spoils nothing but itself.
 */
export function append(path: string, value: unknown): Result<void, FileFailure> {
  let file: number | undefined
  try {
    mkdirSync(dirname(path), { recursive: true })
    file = openSync(path, "a+")
    const size = fstatSync(file).size
    const last = Buffer.alloc(1)
    const torn = size > 0 && readSync(file, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a
    writeSync(file, `${torn ? "\n" : ""}${JSON.stringify(value)}\n`)
    return ok()
  } catch (cause) {
    return fileFailure(path, cause)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

export type Lines = {
  readonly lines: readonly unknown[]
  /** Lines that are no JSON, with their number from 1; the last one may be one that is still being written. */
  readonly bad: readonly { readonly line: number; readonly text: string }[]
  /** Bytes read, to notice that the file has grown. */
  readonly size: number
}

/** Reads a file of JSON lines; an absent file has none. */
export async function readLines(path: string): Promise<Result<Lines, FileFailure>> {
  try {
    return ok(parseLines(await readFile(path)))
  } catch (cause) {
    return codeOf(cause) === "ENOENT" ? ok(parseLines(Buffer.alloc(0))) : fileFailure(path, cause)
  }
}

/** `readLines` for the callers that must answer at once. */
export function readLinesNow(path: string): Result<Lines, FileFailure> {
  try {
    return ok(parseLines(readFileSync(path)))
  } catch (cause) {
    return codeOf(cause) === "ENOENT" ? ok(parseLines(Buffer.alloc(0))) : fileFailure(path, cause)
  }
}

/** The size of a file, 0 when there is none. */
export function sizeNow(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function parseLines(bytes: Buffer): Lines {
  const lines: unknown[] = []
  const bad: { line: number; text: string }[] = []
  for (const [index, text] of bytes.toString("utf8").split("\n").entries()) {
    if (text.trim() === "") continue
    try {
      lines.push(JSON.parse(text))
    } catch {
      bad.push({ line: index + 1, text: text.slice(0, 200) })
    }
  }
  return { lines, bad, size: bytes.length }
}

const COALESCE_MS = 20

/** Calls back, once for a burst, when a name in the folder changed. The folder is made when absent. */
export function watch(dir: string, clock: Clock, changed: () => void): Result<() => void, FileFailure> {
  let cancel: (() => void) | undefined
  const soon = () => {
    cancel ??= clock.setTimer(COALESCE_MS, () => {
      cancel = undefined
      changed()
    })
  }
  try {
    mkdirSync(dir, { recursive: true })
    const watcher = watchDir(dir, { persistent: false }, soon)
    // A watcher that breaks (folder removed) says so once as a change; the next look finds what is true.
    watcher.on("error", soon)
    return ok(() => {
      watcher.close()
      cancel?.()
    })
  } catch (cause) {
    return fileFailure(dir, cause)
  }
}

function fileFailure(path: string, cause: unknown): Result<never, FileFailure> {
  const text = `${path}: ${textOf(cause)}`
  return err({ kind: codeOf(cause) === "ENOENT" ? "missing" : "io", text })
}
