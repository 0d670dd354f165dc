import { isKnown } from "../shell/fields.ts"

/*
 * Programs that write to a remote place without git: the command lines of forges, package registries, and plain
 * requests to a forge. Reading is allowed by name, the rest is refused.
 */

/** The verbs of `gh`, `glab` and their like that only read or change nothing but this machine. */
const READS = new Set(
  "view list ls status diff checks checkout co download search clone help browse watch get trace lint token-info".split(
    " ",
  ),
)

/** Groups of theirs that write nowhere else, whatever the verb; `auth` and `alias` are looked at by verb. */
const LOCAL_GROUPS = new Set(
  "help version search status browse completion config check-update licenses preview accessibility co".split(" "),
)

const WRITES_NOT = new Set(["GET", "HEAD"])

/** Why a call of a forge's command line is refused; `undefined` when it only reads. */
export function judgeForge(program: string, args: readonly string[]): string | undefined {
  if (args.some((arg) => arg === "--help" || arg === "-h")) return undefined
  const words = withoutOptions(args, ["-R", "--repo", "--hostname", "-g", "--group", "--login"])
  const [group, verb] = words
  if (group === undefined || LOCAL_GROUPS.has(group)) return undefined
  if (group === "api") return judgeApi(program, args.slice(args.indexOf("api") + 1))
  if (group === "auth") {
    return verb === "token" ? `\`${program} auth token\` hands out the person's credentials` : undefined
  }
  if (group === "repo" && verb === "set-default") return undefined
  if (verb === undefined && KNOWN_GROUPS.has(group)) return undefined
  if (verb !== undefined && READS.has(verb) && KNOWN_GROUPS.has(group)) return undefined
  if ((group === "extension" || group === "alias") && verb === "list") return undefined
  return `\`${program} ${[group, verb].filter(Boolean).join(" ")}\` writes to the forge`
}

const KNOWN_GROUPS = new Set(
  (
    "pr mr issue issues release releases repo project gist snippet run workflow ci pipeline job label labels milestone secret variable cache " +
    "ruleset org ssh-key gpg-key codespace cs attestation deploy-key schedule cluster stack incident iteration user " +
    "pulls pull branches notifications times organizations"
  ).split(" "),
)

function judgeApi(program: string, args: readonly string[]): string | undefined {
  const method = optionValue(args, ["-X", "--method"])
  const sends = args.some((arg) => /^(-[fF]|--(raw-)?field|--input|--form)/.test(arg))
  if (args.some((arg) => arg === "graphql")) {
    const text = args.join(" ")
    return isKnown(text) && !/\bmutation\b/.test(text) && !/--input|=@/.test(text)
      ? undefined
      : `\`${program} api graphql\` with a mutation writes to the forge`
  }
  if (method === undefined ? !sends : WRITES_NOT.has(method.toUpperCase())) return undefined
  return `\`${program} api\` with ${method ?? "fields"} writes to the forge`
}

/** What `hub` does beside what git does. */
const HUB_WRITES = new Set([
  "pull-request",
  "create",
  "delete",
  "fork",
  "sync",
  "release",
  "issue",
  "gist",
  "pr",
  "ci-status",
])

/** Why a call of `hub` is refused; what it does not know it gives to git. */
export function judgeHub(args: readonly string[]): string | undefined {
  const [verb, inner] = withoutOptions(args, ["-C", "-c"])
  if (verb === "api") return judgeApi("hub", args.slice(args.indexOf("api") + 1))
  if (verb === undefined || verb === "ci-status" || verb === "sync" || !HUB_WRITES.has(verb)) return undefined
  if (verb !== "pull-request" && verb !== "fork" && verb !== "create" && verb !== "delete") {
    if (inner === undefined || ["show", "list", "checkout", "download"].includes(inner)) return undefined
  }
  return `\`hub ${verb}\` writes to the forge`
}

const FORGE_API = /api\.github\.com|\/api\/v[34]\b|\/api\/graphql|git-receive-pack|\/api\/v1\/repos/

/** Why a plain request is refused: one that writes to a forge's interface. */
export function judgeRequest(program: string, args: readonly string[]): string | undefined {
  if (!args.some((arg) => FORGE_API.test(arg))) return undefined
  const method = optionValue(args, ["-X", "--request", "--method"])
  const sends = args.some((arg) =>
    /^(-d|-F|-T|--data|--json|--form|--upload-file|--post-data|--post-file|--body-data|--body-file)/.test(arg),
  )
  const httpie = args.some((arg) => /^(POST|PUT|PATCH|DELETE)$/.test(arg))
  if (httpie || (method === undefined ? sends : !WRITES_NOT.has(method.toUpperCase()))) {
    return `\`${program}\` would write to a forge`
  }
  return undefined
}

/** Programs that publish with one verb. */
const PUBLISHERS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    npm: ["publish", "unpublish", "deprecate", "dist-tag"],
    pnpm: ["publish"],
    yarn: ["publish", "npm publish"],
    bun: ["publish"],
    deno: ["publish"],
    jsr: ["publish"],
    vsce: ["publish"],
    cargo: ["publish", "yank"],
    gem: ["push", "yank"],
    twine: ["upload"],
    poetry: ["publish"],
    uv: ["publish"],
    flit: ["publish"],
    hatch: ["publish"],
    docker: ["push", "image push"],
    podman: ["push", "image push"],
    hg: ["push"],
    sl: ["push", "pr submit"],
    jj: ["git push"],
    bzr: ["push"],
    svn: ["commit", "ci", "import"],
    arc: ["land"],
    gt: ["submit", "ss"],
    "git-branchless": ["submit"],
  }),
)

/** Why a call of a registry's or another version control's program is refused. */
export function judgePublisher(program: string, args: readonly string[]): string | undefined {
  const verbs = PUBLISHERS.get(program)
  if (!verbs || args.some((arg) => arg === "--help" || arg === "--dry-run")) return undefined
  const words = args.filter((arg) => !arg.startsWith("-"))
  if (words[0] === "dist-tag" && (words[1] === undefined || words[1] === "ls")) return undefined
  const found = verbs.find((verb) => verb === words.slice(0, verb.split(" ").length).join(" "))
  return found ? `\`${program} ${found}\` publishes` : undefined
}

function withoutOptions(args: readonly string[], takeWord: readonly string[]): readonly string[] {
  const words: string[] = []
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!
    if (takeWord.includes(arg)) at++
    else if (!arg.startsWith("-")) words.push(arg)
  }
  return words
}

function optionValue(args: readonly string[], names: readonly string[]): string | undefined {
  for (const [at, arg] of args.entries()) {
    for (const name of names) {
      if (arg === name) return args[at + 1] ?? ""
      if (arg.startsWith(`${name}=`)) return arg.slice(name.length + 1)
      if (!name.startsWith("--") && arg.startsWith(name)) return arg.slice(name.length)
    }
  }
  return undefined
}
