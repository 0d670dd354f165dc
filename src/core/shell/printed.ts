import { isKnown, UNKNOWN } from "./fields.ts"
import type { Scope } from "./scope.ts"

/**
 * What a program that only prints or turns text around gives out, with marks where that is not known; `undefined` for
 * all other programs. These are the ones with which a line is put together from pieces.
 */
export function printed(fields: readonly string[], scope: Scope): string | undefined {
  const [path = "", ...args] = fields
  const name = path.slice(path.lastIndexOf("/") + 1)
  const options = args.filter((arg) => /^-./.test(arg))
  const operands = args.filter((arg) => !/^-./.test(arg))
  const has = (...wanted: string[]) => options.some((option) => wanted.includes(option))
  const input = () =>
    operands.length === 0
      ? scope.input
      : operands.map((file) => (file === "-" ? scope.input : fileOf(file, scope))).join("")
  switch (name) {
    case ":":
    case "true":
    case "false":
    case "test":
    case "[":
      return ""
    case "echo": {
      const from = args.findIndex((arg) => !/^-[neE]+$/.test(arg))
      const text = from === -1 ? "" : args.slice(from).join(" ")
      const line = args.slice(0, Math.max(from, 0)).some((arg) => arg.includes("n")) ? "" : "\n"
      // Whether echo reads escapes depends on the shell: what they would give is the more telling reading.
      return unescaped(text) + line
    }
    case "printf":
      return format(args[0] === "--" ? args.slice(1) : args)
    case "cat":
    case "head":
    case "tail":
    case "sort":
      return input()
    case "tee":
      for (const file of operands) scope.files.set(file, scope.input)
      return scope.input
    case "base64":
      return has("-d", "--decode", "-D", "-di") ? decoded(input()) : UNKNOWN
    case "openssl":
      return has("-d") && (operands.includes("base64") || has("-base64", "-a")) ? decoded(scope.input) : UNKNOWN
    case "xxd":
      return has("-r", "-rp") ? unhexed(scope.input) : UNKNOWN
    case "rev":
      return perLine(input(), (line) => [...line].toReversed().join(""))
    case "tac":
      return input().trimEnd().split("\n").toReversed().join("\n") + "\n"
    case "tr":
      return translated(scope.input, options, operands)
    case "sed":
      return substituted(args, scope)
    case "which":
      return operands.map((operand) => `/usr/bin/${operand}\n`).join("")
    case "command":
    case "type":
      return has("-v", "-p", "-P") ? operands.map((operand) => `${operand}\n`).join("") : undefined
    case "seq":
    case "date":
    case "pwd":
    case "basename":
    case "dirname":
      return UNKNOWN
    default:
      return undefined
  }
}

function fileOf(name: string, scope: Scope): string {
  if (name === "/dev/stdin") return scope.input
  return scope.files.get(name) ?? UNKNOWN
}

function perLine(text: string, change: (line: string) => string): string {
  return text
    .split("\n")
    .map((line) => change(line))
    .join("\n")
}

function decoded(text: string): string {
  const packed = text.replace(/\s/g, "")
  if (!isKnown(packed) || !/^[A-Za-z0-9+/]+={0,2}$/.test(packed) || packed.replace(/=/g, "").length % 4 === 1)
    return UNKNOWN
  return atob(packed)
}

function unhexed(text: string): string {
  const digits = text.replace(/\s/g, "")
  if (!/^([0-9a-fA-F]{2})+$/.test(digits)) return UNKNOWN
  return digits.replace(/../g, (pair) => String.fromCharCode(parseInt(pair, 16)))
}

/** The escapes of `echo -e`, `printf` and their like. */
function unescaped(text: string): string {
  const named: Record<string, string> = { n: "\n", t: "\t", r: "\r", a: "", b: "", e: "", f: "\f", v: "\v", "\\": "\\" }
  return text.replace(/\\(x[0-9a-fA-F]{1,2}|u[0-9a-fA-F]{1,4}|0?[0-7]{1,3}|[ntrabefv\\])/g, (_, code: string) => {
    if (/^[xu]/.test(code)) return String.fromCharCode(parseInt(code.slice(1), 16))
    return /^[0-7]/.test(code) ? String.fromCharCode(parseInt(code, 8)) : (named[code] ?? "")
  })
}

function format([pattern = "", ...args]: readonly string[]): string {
  const left = [...args]
  let out = ""
  // A format that takes nothing is printed once, and one that takes something until nothing is left.
  for (let round = 0; round < 64; round++) {
    const before = left.length
    out += unescaped(pattern.replaceAll("%%", "\u0000")).replace(
      /%[-+ 0#]*\d*(?:\.\d+)?([a-zA-Z])/g,
      (_, kind: string) => {
        const value = left.shift() ?? ""
        if (kind === "b") return unescaped(value)
        return kind === "s" || kind === "q" || /^\d+$/.test(value) ? value : kind === "c" ? value.slice(0, 1) : UNKNOWN
      },
    )
    if (left.length === 0 || left.length === before) break
  }
  return out.replaceAll("\u0000", "%")
}

function setOf(text: string): string[] {
  const classes = text
    .replace("[:lower:]", "a-z")
    .replace("[:upper:]", "A-Z")
    .replace("[:digit:]", "0-9")
    .replace("[:space:]", " \\n\\t")
  const chars = [...unescaped(classes)]
  return chars.flatMap((char, at) => {
    if (char === "-" && at > 0 && at < chars.length - 1) {
      const [from, to] = [chars[at - 1]!.charCodeAt(0), chars[at + 1]!.charCodeAt(0)]
      return Array.from({ length: Math.max(0, to - from - 1) }, (_, step) => String.fromCharCode(from + 1 + step))
    }
    return [char]
  })
}

function translated(text: string, options: readonly string[], [from = "", to = ""]: readonly string[]): string {
  if (!isKnown(from) || !isKnown(to) || options.some((option) => /[cCs]/.test(option))) return UNKNOWN
  const source = setOf(from)
  if (options.includes("-d")) return [...text].filter((char) => !source.includes(char)).join("")
  const target = setOf(to)
  return [...text]
    .map((char) => {
      const at = source.lastIndexOf(char)
      return at === -1 ? char : (target[Math.min(at, target.length - 1)] ?? char)
    })
    .join("")
}

/** `sed s/from/to/` without pattern signs; all else is not known. */
function substituted(args: readonly string[], scope: Scope): string {
  const script = args.filter((arg) => arg !== "-e")
  const [, mark, from, to, flags] = /^s([/|#,:@])(.*?)\1(.*?)\1(g?)$/.exec(script[0] ?? "") ?? []
  if (script.length !== 1 || mark === undefined || !from || /[.*[\]^$\\+?&]/.test(`${from}${to}`)) return UNKNOWN
  return perLine(scope.input, (line) => (flags ? line.replaceAll(from, () => to!) : line.replace(from, () => to!)))
}
