import {
  forEachChild,
  parse,
  type Assignment,
  type Command,
  type CompoundList,
  type Redirection,
  type SyntaxNode,
  type Word,
} from "unbash"
import { combine, UNKNOWN, type Fields, type Ways } from "./fields.ts"
import { launched, quote, type Launch } from "./launchers.ts"
import { printed } from "./printed.ts"
import { builtin } from "./builtins.ts"
import { assign, fingerprint, innerScope, lookUp, makeScope, type Scope } from "./scope.ts"
import { expandText, expandWord, textOf } from "./words.ts"

/** A program that would run, its words as far as they are known, and what is set for it alone. */
export type Call = {
  readonly fields: Fields
  readonly env: ReadonlyMap<string, string>
  readonly scope: Scope
}

/**
 * Goes through a line the way a shell would, without running anything: `visit` is told every program that could run,
 * also inside of nested shells, substitutions, functions, aliases and texts that are piped to a shell, and may answer
 * what it prints. Both sides of a condition are gone through, so too much is seen rather than too little.
 */
export interface ShellRun {
  script(text: string, scope: Scope): string
  launch(launch: Launch, scope: Scope): string
  /** Whether the line was too large or too deep to be gone through whole, or not readable as a script. */
  readonly incomplete: boolean
}

const MAX_CALLS = 4_000
const MAX_DEPTH = 40
const MAX_ROUNDS = 64

export function makeShellRun(visit: (call: Call, run: ShellRun) => string | undefined): ShellRun {
  let calls = 0
  let depth = 0
  let incomplete = false
  /** The texts that are being gone through, each with what was known when it began again inside of itself. */
  const open: { readonly text: string; readonly known: string | undefined }[] = []

  function script(text: string, scope: Scope): string {
    if (text.trim() === UNKNOWN || text.trim() === "") return UNKNOWN
    const again = open.filter((one) => one.text === text)
    const known = again.length > 0 ? fingerprint(scope) : undefined
    // A text that may run itself (`x='true && x=…; eval "$x"'`) would show the same programs for ever.
    if (again.some((one) => one.known !== undefined && one.known === known)) return UNKNOWN
    const tree = parse(text)
    if (tree.errors?.length) incomplete = true
    open.push({ text, known })
    try {
      return node(tree, scope)
    } finally {
      open.pop()
    }
  }

  function list(nodes: readonly SyntaxNode[], scope: Scope): string {
    return nodes.map((one) => node(one, scope)).join("")
  }

  function perhaps(nodes: readonly (SyntaxNode | undefined)[], scope: Scope): string {
    const before = scope.maybe
    scope.maybe = true
    const out = nodes.map((one) => (one ? node(one, scope) : "")).join("")
    scope.maybe = before
    return out
  }

  function node(tree: SyntaxNode, scope: Scope): string {
    if (depth >= MAX_DEPTH || calls >= MAX_CALLS) {
      incomplete = true
      return UNKNOWN
    }
    depth++
    try {
      return inside(tree, scope)
    } finally {
      depth--
    }
  }

  function inside(tree: SyntaxNode, scope: Scope): string {
    switch (tree.type) {
      case "Script":
      case "CompoundList":
        return list(tree.commands, scope)
      case "Statement":
        return node(tree.command, scope)
      case "AndOr":
        return node(tree.commands[0]!, scope) + perhaps(tree.commands.slice(1), scope)
      case "Pipeline": {
        if (tree.commands.length === 1) return node(tree.commands[0]!, scope)
        return tree.commands.reduce((input, one) => node(one, innerScope(scope, input)), scope.input)
      }
      case "Command":
        return command(tree, scope)
      case "Redirected": {
        const before = scope.input
        const out = redirected(tree.redirects, scope, () => node(tree.command, scope))
        scope.input = before
        return out
      }
      case "Subshell":
        return node(tree.body, innerScope(scope))
      case "BraceGroup":
        return node(tree.body, scope)
      case "Coproc":
        return node(tree.body, innerScope(scope))
      case "If":
        return (
          node(tree.clause, scope) +
          perhaps([tree.then, ...tree.elif.flatMap((one) => [one.clause, one.then]), tree.else], scope)
        )
      case "While":
        return node(tree.clause, scope) + perhaps([tree.body], scope)
      case "For":
      case "Select":
        return loop(tree.name.value, tree.wordlist, tree.body, scope)
      case "Case":
        expandText(tree.word, scope, substitute)
        return perhaps(
          tree.items.map((item) => item.body),
          scope,
        )
      case "Function":
        scope.functions.set(tree.name.value, tree.body)
        return ""
      case "Word":
        expandText(tree, scope, substitute)
        return ""
      case "CommandExpansion":
      case "ProcessSubstitution":
        return tree.script ? substitute(tree.script, scope) : ""
      case "ArithmeticCommand":
        // A plain shell knows no sums: there these are two subshells.
        return sum(tree, tree.body, scope)
      case "ArithmeticExpansion":
        return sum(tree, tree.text.slice(3, -2), scope)
      default: {
        // Tests and sums run nothing but the substitutions in them.
        const out: string[] = []
        forEachChild(tree, (child) => void out.push(node(child, scope)))
        return tree.type === "ArithmeticFor" ? out.join("") : ""
      }
    }
  }

  function sum(tree: SyntaxNode, body: string, scope: Scope): string {
    forEachChild(tree, (child) => void node(child, scope))
    script(body, innerScope(scope))
    return ""
  }

  function substitute(tree: SyntaxNode, scope: Scope): string {
    return node(tree, innerScope(scope))
  }

  function loop(name: string, words: readonly Word[] | undefined, body: CompoundList, scope: Scope): string {
    const ways = words ? words.map((word) => expandWord(word, scope, substitute)) : [lookUp(scope, "@")]
    const values = [...new Set(ways.flat(2))]
    if (values.length > MAX_ROUNDS) values.splice(MAX_ROUNDS, values.length, UNKNOWN)
    return values
      .map((value) => {
        scope.vars.set(name, [[value]])
        return node(body, scope)
      })
      .join("")
  }

  /** Runs with the input that the redirections name, and keeps what goes into a file. */
  function redirected(redirects: readonly Redirection[], scope: Scope, work: () => string): string {
    let file: string | undefined
    let append = false
    for (const redirect of redirects) {
      if (redirect.type === "HereDoc") {
        const { body } = redirect
        scope.input = body.parts ? (textOf(body.parts, scope, substitute)[0] ?? "") : body.text
      } else {
        const texts = redirect.target ? expandText(redirect.target, scope, substitute) : [UNKNOWN]
        const text = texts.length === 1 ? texts[0]! : UNKNOWN
        if (redirect.type === "HereString") scope.input = `${text}\n`
        else if (redirect.operator === "<" || redirect.operator === "<>") scope.input = scope.files.get(text) ?? UNKNOWN
        else if (redirect.operator !== ">&" && redirect.operator !== "<&" && isOutput(redirect.descriptor)) {
          file = text
          append = redirect.operator.endsWith(">>")
        }
      }
    }
    const out = work()
    if (file === undefined) return out
    scope.files.set(file, (append ? (scope.files.get(file) ?? "") : "") + out)
    return ""
  }

  function command(tree: Command, scope: Scope): string {
    const before = scope.input
    const out = redirected(tree.redirects, scope, () => simple(tree, scope))
    scope.input = before
    return out
  }

  function simple(tree: Command, scope: Scope): string {
    const own = tree.prefix.filter((one) => one.type === "Assignment")
    if (!tree.name) {
      for (const one of own) assignment(one, scope)
      return ""
    }
    const env = new Map(own.map((one) => [one.name, only(valueOf(one, scope))]))
    const words = [tree.name, ...tree.args].map((one): Ways => {
      if (one.type === "Word") return expandWord(one, scope, substitute)
      return valueOf(one, scope).map((way) => [`${one.name}${one.append ? "+" : ""}=${way.join(" ")}`])
    })
    const lines = combine<Fields>(words, [UNKNOWN]).map((way) => way.flat())
    const outs = lines.map((fields) => dispatch(fields, env, scope))
    return outs.length === 1 ? outs[0]! : UNKNOWN
  }

  function dispatch(fields: Fields, env: ReadonlyMap<string, string>, scope: Scope): string {
    const [name, ...args] = fields
    if (name === undefined) return ""
    if (++calls > MAX_CALLS || depth >= MAX_DEPTH) {
      incomplete = true
      return UNKNOWN
    }
    depth++
    try {
      const alias = scope.aliases.get(name)
      if (alias !== undefined) {
        const inner = innerScope(scope)
        inner.aliases.delete(name)
        return script([alias, ...args.map(quote)].join(" "), inner)
      }
      const body = scope.functions.get(name)
      if (body) {
        const outer = scope.positional
        scope.positional = fields
        const out = node(body, scope)
        scope.positional = outer
        return out
      }
      if (builtin(name, args, scope)) return ""
      const started = launched(fields, scope)
      const told = visit({ fields, env, scope }, run)
      const outs = started.map((one) =>
        launch(
          one.kind === "program" ? { ...one, env: new Map([...env, ...(one.env ?? [])]) } : one,
          withEnv(scope, env),
        ),
      )
      return told ?? printed(fields, scope) ?? (outs.length > 0 ? outs.join("") : UNKNOWN)
    } finally {
      depth--
    }
  }

  function launch(what: Launch, scope: Scope): string {
    if (what.kind === "program") return dispatch(what.fields, what.env ?? new Map(), scope)
    if (what.sameShell) return script(what.text, scope)
    const inner = innerScope(scope)
    inner.functions.clear()
    inner.positional = what.positional
    return script(what.text, inner)
  }

  function assignment(one: Assignment, scope: Scope) {
    const ways = valueOf(one, scope)
    const before = lookUp(scope, one.name)
    const added = one.append
      ? ways.flatMap((way) =>
          before.map((was) => (one.value.type === "Word" ? [was.join(" ") + way.join(" ")] : [...was, ...way])),
        )
      : ways
    assign(scope, one.name, added)
  }

  function valueOf(one: Assignment, scope: Scope): Ways {
    if (one.value.type === "Word") return expandText(one.value, scope, substitute).map((text) => [text])
    const elements = one.value.elements.map((word) => expandWord(word, scope, substitute))
    return combine<Fields>(elements, [UNKNOWN]).map((way) => way.flat())
  }

  const run: ShellRun = {
    script,
    launch,
    get incomplete() {
      return incomplete
    },
  }
  return run
}

/** Goes through a line from its beginning. */
export function runLine(line: string, visit: (call: Call, run: ShellRun) => string | undefined): ShellRun {
  const run = makeShellRun(visit)
  run.script(line, makeScope())
  return run
}

function withEnv(scope: Scope, env: ReadonlyMap<string, string>): Scope {
  if (env.size === 0) return scope
  const inner = innerScope(scope)
  for (const [name, value] of env) inner.vars.set(name, [[value]])
  return inner
}

function only(ways: Ways): string {
  return ways.length === 1 ? ways[0]!.join(" ") : UNKNOWN
}

function isOutput(descriptor: { readonly type: string; readonly value?: number } | undefined): boolean {
  return descriptor === undefined || descriptor.value === 1
}
