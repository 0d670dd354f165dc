import { couldBe, isKnown, UNKNOWN } from "../shell/fields.ts"
import { quote } from "../shell/launchers.ts"
import type { Call, ShellRun } from "../shell/run.ts"
import { COMMANDS, PUBLISHING, PUBLISHING_VERBS, REF_WRITERS } from "./git-commands.ts"

/** What is known of the person's repository: aliases that git would follow. */
export type GitContext = {
  readonly aliases: Readonly<Record<string, string>>
  /** Where the line starts, when known: an absolute path below it leads nowhere else. */
  readonly folder?: string
}

export type GitVerdict = { readonly reason?: string; readonly prints?: string }

const TAKE_WORD = [
  "-C",
  "-c",
  "--git-dir",
  "--work-tree",
  "--namespace",
  "--exec-path",
  "--config-env",
  "--super-prefix",
  "--attr-source",
]

/** Settings whose value git runs as a command. */
const RUNS =
  /^(core\.(editor|pager|sshcommand|fsmonitor|askpass|gitproxy)|sequence\.editor|pager\.|diff\.external|diff\..*\.(command|textconv)|credential\..*helper|credential\.helper|gpg\..*program|gpg\.program|interactive\.difffilter|filter\..*\.(clean|smudge|process)|merge\..*\.driver|difftool\..*\.cmd|mergetool\..*\.cmd)/

const RUNS_IN_ENV = new Set(
  "GIT_EDITOR GIT_SEQUENCE_EDITOR GIT_PAGER GIT_SSH_COMMAND GIT_SSH GIT_EXTERNAL_DIFF GIT_ASKPASS EDITOR VISUAL PAGER".split(
    " ",
  ),
)

/** Settings that would undo the block of pushes in the worktree. */
const BLOCK = /^(remote\..*\.pushurl|url\..*\.pushinsteadof|extensions\.worktreeconfig)$/

/** Judges a call of git. Scripts that it would run are gone through by `run`. */
export function judgeGit(args: readonly string[], call: Call, run: ShellRun, context: GitContext): GitVerdict {
  const settings = new Map<string, string>(
    Object.entries(context.aliases).map(([name, value]) => [`alias.${name}`, value]),
  )
  for (const [key, value] of call.scope.vars)
    if (key.startsWith("git:")) settings.set(key.slice(4), value[0]?.[0] ?? UNKNOWN)
  let away = call.scope.folder
  let elsewhere = environment(call, "GIT_DIR") !== undefined
  let at = 0
  for (; at < args.length; at++) {
    const arg = args[at]!
    if (!arg.startsWith("-")) break
    const [option, joined] = arg.startsWith("--") ? cut(arg) : [arg, undefined]
    const value = joined ?? (TAKE_WORD.includes(option) ? args[++at] : undefined)
    if (option === "--exec-path" && joined === undefined) {
      at--
      if (args.length === 1) return { prints: "/usr/lib/git-core\n" }
    }
    if (option === "-C") away = resolve(away, value ?? UNKNOWN)
    if (option === "--git-dir") elsewhere = true
    if (option === "-c" || option === "--config-env") {
      const [key, text] = cut(value ?? "")
      settings.set(lower(key), option === "-c" ? (text ?? "true") : (environment(call, text ?? "") ?? UNKNOWN))
    }
    if (option === "--help" || option === "--version" || option === "-v" || arg === "-h") return {}
  }
  runConfigured(settings, call, run)
  const words = args.slice(at)
  // Nothing of the first word is known: it may also be an option, or nothing, and the next is the command.
  const isBlank = words[0] === UNKNOWN && words[1] !== undefined && COMMANDS.has(words[1])
  const [sub, ...rest] = isBlank ? words.slice(1) : words
  if (sub === undefined) return {}
  return judgeVerb(
    sub,
    rest,
    { settings, leaves: elsewhere || leadsOut(away, context.folder), elsewhere },
    call,
    run,
    context,
  )
}

type Place = {
  readonly settings: ReadonlyMap<string, string>
  /** Whether it runs for another repository than the one where the line starts, and whether that was said outright. */
  readonly leaves: boolean
  readonly elsewhere: boolean
}

function judgeVerb(
  sub: string,
  rest: readonly string[],
  { settings, leaves, elsewhere }: Place,
  call: Call,
  run: ShellRun,
  context: GitContext,
): GitVerdict {
  if (!isKnown(sub))
    return { reason: `which command of git this is (\`git ${shown(sub)}\`) is not known before it runs` }
  if (rest[0] === "--help" || (rest[0] === "-h" && rest.length === 1)) return {}

  const known = PUBLISHING.get(sub)
  if (known) return { reason: `\`git ${sub}\` ${known}` }
  if (sub.startsWith("remote-")) return { reason: `\`git ${sub}\` talks to a remote directly` }
  const verbs = PUBLISHING_VERBS.get(sub)
  const verb = rest.find((word) => !word.startsWith("-"))
  const matching = verb === undefined ? undefined : verbs?.find((one) => couldBe(verb, one))
  if (matching) {
    return sub === "credential"
      ? { reason: "`git credential fill` hands out the person's credentials" }
      : { reason: `\`git ${sub} ${matching}\` publishes` }
  }
  const alias = settings.get(`alias.${sub.toLowerCase()}`)
  if (alias !== undefined && !COMMANDS.has(sub)) return followAlias(alias, rest, call, run, context)
  if (REF_WRITERS.has(sub) && leaves && writesRefs(sub, rest, elsewhere)) {
    return { reason: `\`git ${sub}\` for another repository writes there, as a push would` }
  }
  if (["fetch", "pull", "ls-remote", "clone", "archive"].includes(sub)) {
    const pack = rest.find((word) => /^(--upload-pack|--exec)=/.test(word))
    const own = pack ? cut(pack)[1] : optionAfter(rest, ["--upload-pack", "-u", "--exec"])
    if (own !== undefined && /\s|;|\$/.test(own)) run.launch({ kind: "script", text: own }, call.scope)
    for (const word of rest)
      if (word.startsWith("ext::")) run.launch({ kind: "script", text: word.slice(5) }, call.scope)
  }
  if (sub === "config") return judgeConfig(rest, call, run, context)
  if (sub === "remote" && rest[0] === "set-url" && rest.includes("--push")) {
    return { reason: "`git remote set-url --push` changes where this repository pushes to" }
  }
  if (!COMMANDS.has(sub) && settings.has("help.autocorrect")) {
    return { reason: `git would put another command in the place of \`${shown(sub)}\`` }
  }
  runNested(sub, rest, call, run)
  return {}
}

/** Commands of git that take a command line. */
function runNested(sub: string, rest: readonly string[], call: Call, run: ShellRun) {
  const script = (text: string | undefined) => {
    if (text !== undefined) run.launch({ kind: "script", text }, call.scope)
  }
  if (sub === "submodule") {
    const at = rest.indexOf("foreach")
    if (at !== -1)
      script(
        rest
          .slice(at + 1)
          .filter((word) => word !== "--recursive" && word !== "--quiet" && word !== "-q")
          .join(" "),
      )
  } else if (sub === "bisect" && rest[0] === "run") {
    run.launch({ kind: "program", fields: rest.slice(1) }, call.scope)
  } else if (sub === "for-each-repo") {
    const inner = rest.findIndex((word) => !word.startsWith("-"))
    if (inner !== -1) run.launch({ kind: "program", fields: ["git", ...rest.slice(inner)] }, call.scope)
  } else if (sub === "rebase" || sub === "difftool" || sub === "filter-branch" || sub === "grep") {
    rest.forEach((word, at) => {
      if (/^(-x|--exec|--extcmd|-O|--open-files-in-pager|--\w+-filter)$/.test(word)) script(rest[at + 1])
      else if (/^(--exec|--extcmd|--open-files-in-pager|--\w+-filter)=/.test(word)) script(cut(word)[1])
      else if (/^-[xO]./.test(word)) script(word.slice(2))
    })
  }
  for (const name of RUNS_IN_ENV) {
    const value = call.env.get(name)
    if (value !== undefined) script(value)
  }
}

function runConfigured(settings: ReadonlyMap<string, string>, call: Call, run: ShellRun) {
  for (const [key, value] of settings) {
    if (!RUNS.test(key) || value === "true" || value === "false") continue
    run.launch({ kind: "script", text: value.replace(/^!/, "") }, call.scope)
  }
}

function followAlias(
  alias: string,
  rest: readonly string[],
  call: Call,
  run: ShellRun,
  context: GitContext,
): GitVerdict {
  const words = rest.map(quote).join(" ")
  if (alias.startsWith("!")) {
    run.launch({ kind: "script", text: `${alias.slice(1)} ${words}`, positional: ["sh", ...rest] }, call.scope)
    return {}
  }
  // Git follows an alias to an alias, but never in a circle; what is left of the names ends that here as well.
  const name = Object.entries(context.aliases).find(([, value]) => value === alias)?.[0]
  const aliases = Object.fromEntries(Object.entries(context.aliases).filter(([key]) => key !== name))
  const fields = splitAlias(alias)
  const inner: Call = { ...call, env: new Map([...call.env].filter(([key]) => !key.startsWith("GIT_CONFIG_"))) }
  return judgeGit([...fields, ...rest], inner, run, { ...context, aliases })
}

/** Git splits an alias like a shell does: at blanks, with quotes. */
function splitAlias(text: string): readonly string[] {
  return [...text.matchAll(/(?:[^\s'"\\]|\\.|'[^']*'|"(?:[^"\\]|\\.)*")+/gs)].map(([word]) =>
    word.replace(
      /'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)/gs,
      (_, single?: string, double?: string, escaped?: string) =>
        single ?? escaped ?? double?.replace(/\\(.)/gs, "$1") ?? "",
    ),
  )
}

function judgeConfig(rest: readonly string[], call: Call, run: ShellRun, context: GitContext): GitVerdict {
  const words = rest.filter((word) => !word.startsWith("-"))
  const [first = ""] = words
  const named = ["set", "unset", "get", "list"].includes(first) ? words.slice(1) : words
  const [key = "", value] = named
  const removes =
    rest.some((word) => /^--(unset|unset-all|remove-section|rename-section)$/.test(word)) || first === "unset"
  const writes =
    removes ||
    first === "set" ||
    (value !== undefined && first !== "get" && !rest.some((word) => word.startsWith("--get")))
  if (!writes) return {}
  const name = lower(key)
  if (BLOCK.test(name)) return { reason: `\`${shown(key)}\` decides where this repository pushes to` }
  if (value === undefined || !isKnown(name)) return {}
  call.scope.vars.set(`git:${name}`, [[value]])
  if (!name.startsWith("alias.")) return {}
  const verdict = followAlias(value, [], call, run, context)
  return verdict.reason ? { reason: `the alias \`${shown(key)}\` publishes: ${verdict.reason}` } : {}
}

function writesRefs(sub: string, rest: readonly string[], elsewhere: boolean): boolean {
  const words = rest.filter((word) => !word.startsWith("-"))
  if (sub === "fetch" || sub === "pull" || sub === "fetch-pack") {
    return (
      words.some((word) => /^\+?[^:/\\]*:[^/\\]/.test(word) || word.includes(":refs/")) ||
      (elsewhere && words.some(isPath))
    )
  }
  if (sub === "bundle") return words[0] === "unbundle"
  return sub !== "symbolic-ref" || words.length > 1
}

function isPath(word: string): boolean {
  return !isKnown(word) || /^[./~]/.test(word)
}

/** Whether a folder lies outside of the one where the line starts; one that is not known counts as inside. */
function leadsOut(folder: string, start: string | undefined): boolean {
  let depth = 0
  if (start !== undefined && (folder === start || folder.startsWith(`${start}/`))) {
    return leadsOut(`.${folder.slice(start.length)}`, undefined)
  }
  if (folder.startsWith("/")) return true
  for (const part of folder.split("/")) {
    if (part === "..") depth--
    else if (part !== "." && part !== "") depth++
    if (depth < 0) return true
  }
  return false
}

function resolve(folder: string, next: string): string {
  return next.startsWith("/") ? next : `${folder}/${next}`
}

function environment(call: Call, name: string): string | undefined {
  return call.env.get(name) ?? call.scope.vars.get(name)?.[0]?.[0]
}

function optionAfter(words: readonly string[], names: readonly string[]): string | undefined {
  const at = words.findIndex((word) => names.includes(word))
  return at === -1 ? undefined : words[at + 1]
}

function cut(text: string): [string, string | undefined] {
  const at = text.indexOf("=")
  return at === -1 ? [text, undefined] : [text.slice(0, at), text.slice(at + 1)]
}

/** Section and name of a setting are of no case, what stands between them is. */
function lower(key: string): string {
  const first = key.indexOf(".")
  const last = key.lastIndexOf(".")
  if (first === -1 || first === last) return key.toLowerCase()
  return key.slice(0, first).toLowerCase() + key.slice(first, last) + key.slice(last).toLowerCase()
}

function shown(text: string): string {
  return text.replaceAll(UNKNOWN, "…").slice(0, 60)
}
