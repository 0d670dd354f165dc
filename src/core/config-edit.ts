import { applyEdits, modify, parse, type FormattingOptions, type ParseError } from "jsonc-parser/lib/esm/main.js"
import { isObject } from "./loose.ts"
import { err, ok, type Result } from "./result.ts"

/*
 * Changes of one plugin entry in the text of a config file of the host. Comments, order, indentation and everything that
 * is not that entry stay as they are.
 */

/** The plugin entries as they are written; `undefined` where there is no such list. */
export function writtenEntries(text: string): Result<readonly unknown[], string> {
  const read = readText(text)
  if (!read.ok) return read
  const { plugin } = read.value
  if (plugin === undefined) return ok([])
  return Array.isArray(plugin) ? ok(plugin) : err('"plugin" is not a list')
}

/** The spec and options of an entry, which is a spec or a pair of both. */
export function entryParts(entry: unknown): { readonly spec: string; readonly options?: unknown } | undefined {
  const [spec, options] = Array.isArray(entry) ? (entry as unknown[]) : [entry, undefined]
  return typeof spec === "string" ? { spec, ...(options === undefined ? {} : { options }) } : undefined
}

/** The text with one option of the entry at `index` set, or taken out where `value` is `undefined`. */
export function withOption(text: string, index: number, path: string, value: unknown): Result<string, string> {
  return changeEntry(text, index, (options) => {
    const [name = "", inner] = path.split(".")
    if (inner === undefined) return { path: [name], value }
    const group = isObject(options) ? options[name] : undefined
    if (isObject(group)) {
      const isLast = value === undefined && Object.keys(group).every((key) => key === inner)
      return isLast ? { path: [name], value } : { path: [name, inner], value }
    }
    return { path: [name], value: value === undefined ? undefined : { [inner]: value } }
  })
}

/** The text with the entry at `index` naming another spec; its options stay. */
export function withSpec(text: string, index: number, spec: string): Result<string, string> {
  const entries = writtenEntries(text)
  if (!entries.ok) return entries
  const entry = entries.value[index]
  if (!entryParts(entry)) return err("the entry is not there any more")
  return ok(set(text, Array.isArray(entry) ? ["plugin", index, 0] : ["plugin", index], spec))
}

/** The text with one more plugin entry, behind those that are there. */
export function withEntry(text: string, spec: string, options?: unknown): Result<string, string> {
  const source = text.trim() === "" ? "{}\n" : text
  const entries = writtenEntries(source)
  if (!entries.ok) return entries
  const entry = options === undefined ? spec : [spec, options]
  if (entries.value.length === 0) return ok(set(source, ["plugin"], [entry]))
  return ok(set(source, ["plugin", entries.value.length], entry, true))
}

type Change = { readonly path: readonly string[]; readonly value: unknown }

function changeEntry(text: string, index: number, change: (options: unknown) => Change): Result<string, string> {
  const entries = writtenEntries(text)
  if (!entries.ok) return entries
  const parts = entryParts(entries.value[index])
  if (!parts) return err("the entry is not there any more")
  const { path, value } = change(parts.options)
  if (isObject(parts.options)) return ok(set(text, ["plugin", index, 1, ...path], value))
  const [name = ""] = path
  const options = value === undefined ? undefined : { [name]: value }
  return ok(options === undefined ? text : set(text, ["plugin", index], [parts.spec, options]))
}

function set(text: string, path: (string | number)[], value: unknown, insert = false): string {
  const mark = text.startsWith("\uFEFF") ? "\uFEFF" : ""
  const body = text.slice(mark.length)
  const formattingOptions = styleOf(body)
  return mark + applyEdits(body, modify(body, path, value, { formattingOptions, isArrayInsertion: insert }))
}

/** As the rest of the file is written. */
function styleOf(text: string): FormattingOptions {
  const indent = /^([ \t]+)\S/m.exec(text)?.[1] ?? "  "
  const insertSpaces = !indent.startsWith("\t")
  return { insertSpaces, tabSize: insertSpaces ? indent.length : 1, eol: text.includes("\r\n") ? "\r\n" : "\n" }
}

function readText(text: string): Result<Record<string, unknown>, string> {
  const errors: ParseError[] = []
  const value: unknown = parse(text.replace(/^\uFEFF/, ""), errors, { allowTrailingComma: true })
  const [first] = errors
  if (first) return err(`it cannot be read: a fault at line ${text.slice(0, first.offset).split("\n").length}`)
  return isObject(value) ? ok(value) : err("it is no object")
}
