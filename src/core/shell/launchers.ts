import { isKnown, UNKNOWN } from "./fields.ts"
import type { Scope } from "./scope.ts"

/** What a program starts in turn: another program, or the text of a script. */
export type Launch =
  | { readonly kind: "program"; readonly fields: readonly string[]; readonly env?: ReadonlyMap<string, string> }
  | {
      readonly kind: "script"
      readonly text: string
      readonly positional?: readonly string[]
      readonly sameShell?: true
    }

/** Programs that run the rest of their words, with those of their options that take a word of their own. */
const WRAPPERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    sudo: ["-u", "-g", "-h", "-p", "-C", "-T", "-R", "-D", "--user", "--group", "--chdir"],
    doas: ["-u", "-C"],
    command: [],
    builtin: [],
    exec: ["-a"],
    nohup: [],
    nice: ["-n", "--adjustment"],
    ionice: ["-c", "-n", "-p"],
    chrt: ["-p"],
    taskset: [],
    time: ["-f", "-o"],
    setsid: [],
    stdbuf: ["-i", "-o", "-e"],
    unbuffer: [],
    strace: ["-e", "-o", "-p", "-s"],
    ltrace: ["-e", "-o"],
    busybox: [],
    toybox: [],
    proxychains: ["-f"],
    proxychains4: ["-f"],
    watch: ["-n", "--interval"],
    parallel: ["-j", "--jobs", "-n", "-I", "-a"],
    catchsegv: [],
    winpty: [],
    rtk: [],
    direnv: [],
  }),
)

/** Wrappers with words of their own before those of the program. */
const SKIPPED: ReadonlyMap<string, number> = new Map(
  Object.entries({ taskset: 1, chrt: 1, timeout: 1, flock: 1, chroot: 1, direnv: 2 }),
)

const SHELLS = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "rbash", "fish", "yash", "posh"]

/** What the program of these words starts, as far as they tell; nothing for programs that start none. */
export function launched(fields: readonly string[], scope: Scope): readonly Launch[] {
  const [path = "", ...args] = fields
  const name = path.slice(path.lastIndexOf("/") + 1)
  if (SHELLS.includes(name)) return shell(path, args, scope)
  switch (name) {
    case "eval":
      return [{ kind: "script", text: args.filter((arg, at) => at > 0 || arg !== "--").join(" "), sameShell: true }]
    case "source":
    case ".":
      return fileScript(args[0] ?? "", args, scope, true)
    case "trap":
      return args.length > 1 && !args[0]!.startsWith("-") ? [{ kind: "script", text: args[0]!, sameShell: true }] : []
    case "env":
      return envOf(args)
    case "timeout":
      return program(args, ["-s", "-k", "--signal", "--kill-after"], 1)
    case "flock":
    case "script":
    case "su":
    case "runuser":
    case "nix-shell": {
      const at = args.findIndex((arg) => ["-c", "--command", "--run"].includes(arg))
      const inline = args.find((arg) => /^--(command|run)=/.test(arg))
      if (at !== -1) return [{ kind: "script", text: args[at + 1] ?? "" }]
      if (inline) return [{ kind: "script", text: inline.slice(inline.indexOf("=") + 1) }]
      return name === "flock" ? program(args, ["-w", "-E"], 1) : []
    }
    case "chroot":
      return program(args, [], 1)
    case "at":
    case "batch":
      return [{ kind: "script", text: scope.input }]
    case "xargs":
      return xargs(args, scope)
    case "find":
      return find(args)
    case "tmux":
    case "screen":
      return args.filter((arg) => arg.includes(" ")).map((text) => ({ kind: "script", text }))
    case "npx":
    case "npm":
    case "pnpm":
    case "yarn":
    case "bunx": {
      const at = args.findIndex((arg) => arg === "-c" || arg === "--call")
      if (at !== -1) return [{ kind: "script", text: args[at + 1] ?? "" }]
      const exec = args.indexOf("exec")
      return exec === -1 ? [] : program(args.slice(exec + 1), [], 0)
    }
    default: {
      const own = WRAPPERS.get(name)
      if (own) return program(args, own, SKIPPED.get(name) ?? 0)
      const written = path.includes("/")
        ? (scope.files.get(path) ?? scope.files.get(path.replace(/^\.\//, "")))
        : undefined
      return written === undefined ? [] : [{ kind: "script", text: written, positional: fields }]
    }
  }
}

function program(args: readonly string[], takeWord: readonly string[], skip: number): readonly Launch[] {
  let at = 0
  while (at < args.length && args[at]!.startsWith("-") && args[at] !== "-") {
    if (args[at] === "--") {
      at++
      break
    }
    at += takeWord.includes(args[at]!) ? 2 : 1
  }
  // sudo and its like take assignments as well.
  const rest = args.slice(at + skip)
  const env = new Map<string, string>()
  while (rest.length > 0 && /^\w+=/.test(rest[0]!)) keep(env, rest.shift()!)
  return rest.length === 0 ? [] : [{ kind: "program", fields: rest, env }]
}

function keep(env: Map<string, string>, assignment: string) {
  const at = assignment.indexOf("=")
  env.set(assignment.slice(0, at), assignment.slice(at + 1))
}

function envOf(args: readonly string[]): readonly Launch[] {
  for (const [at, arg] of args.entries()) {
    const joined = /^(?:-S|--split-string=)(.+)$/s.exec(arg)?.[1]
    const text = joined ?? (/^(-\w*S|--split-string)$/.test(arg) ? (args[at + 1] ?? "") : undefined)
    if (text === undefined) continue
    const rest = args.slice(joined === undefined ? at + 2 : at + 1)
    return [{ kind: "script", text: [`env ${text}`, ...rest.map(quote)].join(" ") }]
  }
  return program(args, ["-u", "-C", "--unset", "--chdir", "-P"], 0)
}

function shell(path: string, args: readonly string[], scope: Scope): readonly Launch[] {
  let at = 0
  let inline = false
  let stdin = false
  for (; at < args.length; at++) {
    const arg = args[at]!
    if (arg === "--" || arg === "-") {
      at++
      break
    }
    if (!/^[-+]/.test(arg)) break
    if (["--rcfile", "--init-file", "-o", "+o", "-O", "+O"].includes(arg)) at++
    else if (/^-[a-zA-Z]*c/.test(arg) || arg === "--command") inline = true
    else if (/^-[a-zA-Z]*s/.test(arg)) stdin = true
  }
  const rest = args.slice(at)
  if (inline) {
    const [text = "", ...positional] = rest
    return [{ kind: "script", text, positional: positional.length > 0 ? positional : [path] }]
  }
  if (rest.length > 0 && !stdin) return fileScript(rest[0]!, rest, scope, false)
  return [{ kind: "script", text: scope.input, positional: [path, ...rest] }]
}

function fileScript(name: string, positional: readonly string[], scope: Scope, sameShell: boolean): readonly Launch[] {
  const text =
    name === "/dev/stdin" || name === "/dev/fd/0" || name === "/proc/self/fd/0"
      ? scope.input
      : (scope.files.get(name) ?? scope.files.get(name.replace(/^\.\//, "")) ?? scope.files.get(`./${name}`))
  return text === undefined ? [] : [{ kind: "script", text, positional, ...(sameShell ? { sameShell } : {}) }]
}

function xargs(args: readonly string[], scope: Scope): readonly Launch[] {
  const takeWord = [
    "-I",
    "-i",
    "-n",
    "-L",
    "-P",
    "-s",
    "-d",
    "-E",
    "-a",
    "--replace",
    "--max-args",
    "--max-procs",
    "--delimiter",
    "--arg-file",
  ]
  const place = args.findIndex((arg) => /^(-I|--replace)/.test(arg))
  const own = place === -1 ? undefined : args[place]!.replace(/^(-I|--replace=?)/, "") || (args[place + 1] ?? "{}")
  const [inner] = program(args, takeWord, 0)
  if (inner?.kind !== "program") return []
  const words = isKnown(scope.input) ? scope.input.split(/\s+/).filter(Boolean) : [UNKNOWN]
  const lines = isKnown(scope.input) ? scope.input.split("\n").filter(Boolean) : [UNKNOWN]
  if (own !== undefined) {
    return lines
      .slice(0, 16)
      .map((line) => ({ ...inner, fields: inner.fields.map((field) => field.replaceAll(own, () => line)) }))
  }
  const oneByOne = args.some((arg) => /^(-n|-L|--max-args)/.test(arg))
  const all: Launch = { ...inner, fields: [...inner.fields, ...words] }
  return oneByOne ? [all, ...words.slice(0, 16).map((word) => ({ ...inner, fields: [...inner.fields, word] }))] : [all]
}

function find(args: readonly string[]): readonly Launch[] {
  const found: Launch[] = []
  args.forEach((arg, at) => {
    if (!/^-(exec|execdir|ok|okdir)$/.test(arg)) return
    const rest = args.slice(at + 1)
    const end = rest.findIndex((word) => word === ";" || word === "+")
    const fields = (end === -1 ? rest : rest.slice(0, end)).map((word) => word.replaceAll("{}", UNKNOWN))
    if (fields.length > 0) found.push({ kind: "program", fields })
  })
  return found
}

/** The text as one word of a script. */
export function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
