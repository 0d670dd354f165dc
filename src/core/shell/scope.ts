import type { SyntaxNode } from "unbash"
import { NOT_KNOWN, oneOf, UNKNOWN, type Ways } from "./fields.ts"

/** What a running line knows at one place: variables, functions, aliases, positional words and files it wrote. */
export interface Scope {
  readonly vars: Map<string, Ways>
  readonly functions: Map<string, SyntaxNode>
  readonly aliases: Map<string, string>
  /** Files that this line wrote, by the name it used. */
  readonly files: Map<string, string>
  /** `$0` and what follows it. */
  positional: readonly string[] | undefined
  /** Standard input as far as it is known. */
  input: string
  /** The folder that `cd` led to, from the one where the line starts. */
  folder: string
  /** Whether what runs here may also not run: then an assignment does not replace what was there. */
  maybe: boolean
}

export function makeScope(positional?: readonly string[]): Scope {
  return {
    vars: new Map([["IFS", [[" \t\n"]]]]),
    functions: new Map(),
    aliases: new Map(),
    files: new Map(),
    positional,
    input: UNKNOWN,
    folder: ".",
    maybe: false,
  }
}

/** What a subshell starts with: it changes nothing outside, except files. */
export function innerScope(scope: Scope, input: string = scope.input): Scope {
  return {
    ...scope,
    vars: new Map(scope.vars),
    functions: new Map(scope.functions),
    aliases: new Map(scope.aliases),
    input,
  }
}

/** Equal for two scopes in which the same text does the same. */
export function fingerprint(scope: Scope): string {
  const { vars, functions, aliases, files, positional, input, folder, maybe } = scope
  return JSON.stringify([[...vars], [...functions], [...aliases], [...files], positional, input, folder, maybe])
}

export function assign(scope: Scope, name: string, ways: Ways): void {
  const before = scope.vars.get(name)
  scope.vars.set(name, scope.maybe && before ? oneOf([...before, ...ways]) : ways)
}

export function lookUp(scope: Scope, name: string): Ways {
  if (/^\d+$/.test(name)) return scope.positional ? [[scope.positional[Number(name)] ?? ""]] : NOT_KNOWN
  if (name === "@" || name === "*") return scope.positional ? [scope.positional.slice(1)] : NOT_KNOWN
  return scope.vars.get(name) ?? NOT_KNOWN
}
