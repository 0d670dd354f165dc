import { judgeForge, judgeHub, judgePublisher, judgeRequest } from "./push/forges.ts"
import { judgeGit, type GitContext } from "./push/git.ts"
import { couldBe, isKnown, UNKNOWN } from "./shell/fields.ts"
import { runLine, type Call, type ShellRun } from "./shell/run.ts"

export type PushContext = Partial<GitContext>

export type PushVerdict = { readonly verdict: "allow" } | { readonly verdict: "deny"; readonly reason: string }

/** Longer lines are not gone through: what they would do is not known. */
const MAX_LINE = 100_000

/**
 * Whether a command line of a supervised session pushes, publishes or writes to a forge, in whatever clothes the line
 * itself shows. A program that the line only starts (a script file, a build tool, a hook) is not seen here. In doubt
 * about a command of git the answer is no, with what to do instead.
 */
export function judgeCommand(line: string, context: PushContext = {}): PushVerdict {
  if (line.length > MAX_LINE) return { verdict: "deny", reason: "the line is too long to be read before it runs" }
  const known: GitContext = { ...context, aliases: context.aliases ?? {} }
  let reason: string | undefined
  const run = runLine(line.replaceAll(UNKNOWN, "?"), (call, shell) => {
    const found = judgeProgram(call, shell, known)
    reason ??= found.reason
    return found.prints
  })
  if (reason === undefined && run.incomplete && mentionsPush(line)) {
    reason = "the line could not be read whole, and it names a push"
  }
  return reason === undefined ? { verdict: "allow" } : { verdict: "deny", reason }
}

/** What stands in the way of a command, for the agent: why, and what to do instead. */
export function refusalText(reason: string): string {
  return [
    `Kagan stopped this command: ${reason}.`,
    "A supervised task does not push or publish: the person reviews the work and merges it themselves.",
    "Commit to your branch and go on without pushing. If the line does nothing of the kind, write it out plainly and try again.",
  ].join(" ")
}

function judgeProgram(call: Call, run: ShellRun, context: GitContext): { reason?: string; prints?: string } {
  const [path = "", ...args] = call.fields
  const program = path.slice(path.lastIndexOf("/") + 1)
  const tampered = tampering(call, program, args)
  if (tampered) return { reason: tampered }
  if (!isKnown(program)) return judgeUnknown(program, args, call, run, context)
  // On file systems of no case, so are programs; and Windows has its own ending.
  const name = program.toLowerCase().replace(/\.(exe|cmd)$/, "")
  if (name === "git") return judgeGit(args, call, run, context)
  if (name.startsWith("git-") && name.length > 4 && name !== "git-branchless") {
    return judgeGit([name.slice(4), ...args], call, run, context)
  }
  const reason =
    name === "gh" || name === "glab" || name === "tea"
      ? judgeForge(name, args)
      : name === "curl" || name === "wget" || name === "http" || name === "https" || name === "xh"
        ? judgeRequest(name, args)
        : judgePublisher(name, args)
  if (reason) return { reason }
  if (name === "hub") {
    const hub = judgeHub(args)
    return hub ? { reason: hub } : judgeGit(args, call, run, context)
  }
  return {}
}

/** A program whose name only the running shell knows. */
function judgeUnknown(program: string, args: readonly string[], call: Call, run: ShellRun, context: GitContext) {
  if (program !== UNKNOWN && couldBe(program, "git")) return judgeGit(args, call, run, context)
  if (program !== UNKNOWN && (couldBe(program, "git-push") || couldBe(program, "git-send-pack"))) {
    return { reason: "the program may be git's push: its name is not known before it runs" }
  }
  if (program !== UNKNOWN) return {}
  const verb = args.find((arg) => !arg.startsWith("-"))
  return verb === "push" || verb === "send-pack"
    ? { reason: "which program pushes here is not known before it runs" }
    : {}
}

/** The block that git itself keeps in the environment of the session's shells is not to be taken away. */
function tampering(call: Call, program: string, args: readonly string[]): string | undefined {
  const unset =
    program === "unset"
      ? args
      : program === "env"
        ? args.flatMap((arg, at) =>
            arg === "-u" || arg === "--unset" ? [args[at + 1] ?? ""] : [arg.replace(/^(-u|--unset=)/, "")],
          )
        : []
  return [...call.env.keys(), ...call.scope.vars.keys(), ...unset].some((name) => BLOCK.test(name))
    ? "the settings that keep git from pushing stand in GIT_CONFIG_*, and the line changes them"
    : undefined
}

const BLOCK = /^GIT_CONFIG_(COUNT|KEY_\d+|VALUE_\d+|PARAMETERS)$/

function mentionsPush(line: string): boolean {
  return (
    /\bpush\b|send-pack|dcommit/.test(line.replace(/["'\\]/g, "")) &&
    /\bgit\b|\bhub\b/.test(line.replace(/["'\\]/g, ""))
  )
}
