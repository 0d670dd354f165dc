import { isKnown, UNKNOWN, type Fields } from "./fields.ts"
import { assign, type Scope } from "./scope.ts"

/** Commands of the shell that change what it knows. Answers whether it was one. */
export function builtin(name: string, args: Fields, scope: Scope): boolean {
  switch (name) {
    case "export":
    case "declare":
    case "typeset":
    case "local":
    case "readonly":
      for (const arg of args) {
        const at = arg.indexOf("=")
        if (at > 0 && !arg.startsWith("-")) assign(scope, arg.slice(0, at), [[arg.slice(at + 1)]])
      }
      return true
    case "alias":
      for (const arg of args) {
        const at = arg.indexOf("=")
        if (at > 0) scope.aliases.set(arg.slice(0, at), arg.slice(at + 1))
      }
      return true
    case "set":
      if (args.includes("--")) scope.positional = ["sh", ...args.slice(args.indexOf("--") + 1)]
      return true
    case "shift":
      scope.positional = scope.positional && [
        scope.positional[0] ?? "",
        ...scope.positional.slice(1 + Number(args[0] ?? 1)),
      ]
      return true
    case "read":
    case "mapfile":
    case "readarray": {
      const names = args.filter((arg) => !arg.startsWith("-"))
      const line = isKnown(scope.input) ? scope.input.split("\n")[0]!.trim() : UNKNOWN
      const words = line.split(/\s+/)
      names.forEach((one, at) => {
        const rest = at === names.length - 1 ? words.slice(at).join(" ") : (words[at] ?? "")
        assign(scope, one, [args.includes("-a") || name !== "read" ? words : [isKnown(line) ? rest : UNKNOWN]])
      })
      return true
    }
    case "cd":
    case "pushd":
      scope.folder = `${args.find((arg) => !/^-[LPe]/.test(arg)) ?? UNKNOWN}`.replace(/^(?!\/)/, `${scope.folder}/`)
      return true
    default:
      return false
  }
}
