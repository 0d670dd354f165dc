import { spawn } from "node:child_process"
import { existsSync, statSync } from "node:fs"
import { resolve } from "node:path"
import { ok, type Result } from "../../core/result.ts"
import { systemClock, type Clock } from "../clock.ts"
import { fail, type GitFailure, type GitResult } from "./failure.ts"

/**
 * The one place that starts git. Arguments are a list, never a shell string. The environment is scrubbed, nothing
 * prompts, pages, colours or runs a program that the repository's settings name, and a call that exceeds its time or
 * its output ends with its whole process group.
 */
export interface GitRunOptions {
  readonly cwd: string
  readonly stdin?: string | Uint8Array
  /** Default one minute. */
  readonly timeoutMs?: number
  /** Most bytes of standard output; more ends the call with `output_too_large`. Default 256 MiB. */
  readonly maxBytes?: number
  readonly env?: Readonly<Record<string, string>>
  /** Exit codes that are an answer and not a failure. Default only 0. */
  readonly okCodes?: readonly number[]
  /** Takes standard output piece by piece instead of keeping it. */
  readonly onStdout?: (chunk: Buffer) => void
  readonly signal?: AbortSignal
  /** Told the process group as soon as git runs. */
  readonly onStart?: (group: number) => void
  /** Missing objects of a partial clone may be fetched, by the person's own ways to log in, without a prompt. */
  readonly network?: boolean
  /** Hooks, signing and settings of the person are in force: for the commit and the fast-forward they asked for. */
  readonly asPerson?: boolean
}

export interface GitOutput {
  readonly code: number
  readonly bytes: Buffer
  /** Standard output as text. */
  readonly stdout: string
  readonly stderr: string
}

export interface Git {
  readonly clock: Clock
  /** Digests of the repository's own filters and merge drivers that the person lets run. */
  trusted(): readonly string[]
  run(args: readonly string[], options: GitRunOptions): GitResult<GitOutput>
  /** Fails with `git_missing` or `git_too_old` unless git is there and new enough. */
  version(): GitResult<string>
}

export interface GitOptions {
  readonly trusted?: () => readonly string[]
  readonly env?: NodeJS.ProcessEnv
  readonly clock?: Clock
}

const NEEDED = [2, 39] as const
const KEEP_STDERR = 64 * 1024
const GRACE_MS = 2_000

/** Settings of git's own that the person may have made in the environment; every other GIT_* is scrubbed. */
const KEPT = new Set([
  "GIT_AUTHOR_NAME",
  "GIT_AUTHOR_EMAIL",
  "GIT_COMMITTER_NAME",
  "GIT_COMMITTER_EMAIL",
  "GIT_CONFIG_GLOBAL",
  "GIT_CONFIG_SYSTEM",
  "GIT_CONFIG_NOSYSTEM",
  "GIT_CEILING_DIRECTORIES",
  "GIT_DISCOVERY_ACROSS_FILESYSTEM",
  "GIT_EXEC_PATH",
  "GIT_TEST_ASSUME_DIFFERENT_OWNER",
])

/** Anyone who can write the shared config could name a program in these. */
const NEUTRAL = [
  "core.fsmonitor=false",
  "core.hooksPath=/dev/null",
  "core.untrackedCache=false",
  "core.splitIndex=false",
  "core.trustctime=true",
  "core.checkStat=default",
  "core.ignoreStat=false",
  "core.bigFileThreshold=512m",
  "core.quotePath=false",
  "core.pager=cat",
  "core.askPass=",
  "gc.auto=0",
  "maintenance.auto=false",
  "diff.suppressBlankEmpty=false",
  "diff.ignoreSubmodules=none",
  "diff.renameLimit=1000",
  "diff.noprefix=false",
  "diff.mnemonicPrefix=false",
  "diff.relative=false",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting])

const OFFLINE = ["core.sshCommand=false", "core.gitProxy=", "credential.helper="].flatMap((setting) => ["-c", setting])

export function makeGit(options: GitOptions = {}): Git {
  const clock = options.clock ?? systemClock
  const base = scrub(options.env ?? process.env)
  let version: GitResult<string> | undefined

  const git: Git = {
    clock,
    trusted: options.trusted ?? (() => []),
    run: (args, run) => start(args, run, base, clock),
    async version() {
      version ??= readVersion(git)
      const answer = await version
      if (!answer.ok) version = undefined
      return answer
    },
  }
  return git
}

/** Tries again while another git process is in the way: a few seconds in all, then what it holds is named. */
export async function whileLocked<T>(clock: Clock, attempt: () => GitResult<T>): GitResult<T> {
  for (const delay of [50, 100, 250, 500, 1_000, 2_000, 3_000]) {
    const answer = await attempt()
    if (answer.ok || answer.error.kind !== "locked") return answer
    await new Promise<void>((wake) => clock.setTimer(delay, wake))
  }
  return attempt()
}

function scrub(env: NodeJS.ProcessEnv): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue
    if (name.startsWith("GIT_") && !KEPT.has(name)) continue
    // A passphrase prompt must not draw on the board's terminal.
    if (name === "GPG_TTY" || name === "SSH_ASKPASS" || name === "LANGUAGE" || name.startsWith("LC_")) continue
    kept[name] = value
  }
  return {
    ...kept,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS_REQUIRE: "never",
    GIT_PAGER: "cat",
    PAGER: "cat",
    GIT_EDITOR: ":",
    GIT_SEQUENCE_EDITOR: ":",
    GIT_MERGE_AUTOEDIT: "no",
  }
}

/** For calls that the person did not ask for word by word: nothing of the repository's own settings runs. */
const QUIET_ENV = {
  LC_ALL: "C",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_LITERAL_PATHSPECS: "1",
  GIT_NO_REPLACE_OBJECTS: "1",
}
const OFFLINE_ENV = { GIT_ALLOW_PROTOCOL: "none", GIT_SSH_COMMAND: "false" }
const ONLINE_ENV = { GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file", GIT_SSH_COMMAND: "ssh -oBatchMode=yes" }

async function readVersion(git: Git): GitResult<string> {
  const answer = await git.run(["--version"], { cwd: "/" })
  if (!answer.ok) return answer
  const text = answer.value.stdout.trim()
  const found = /(\d+)\.(\d+)(?:\.\d+)*/.exec(text)
  const needed = NEEDED.join(".")
  if (!found) return fail("unreadable", `git --version said "${text}"`, { what: "version" })
  const [major, minor] = [Number(found[1]), Number(found[2])]
  if (major > NEEDED[0] || (major === NEEDED[0] && minor >= NEEDED[1])) return ok(found[0])
  return fail("git_too_old", `git ${found[0]} is too old: Kagan needs ${needed} or newer`, {
    version: found[0],
    needed,
  })
}

function start(
  args: readonly string[],
  options: GitRunOptions,
  base: Record<string, string>,
  clock: Clock,
): GitResult<GitOutput> {
  const timeoutMs = options.timeoutMs ?? 60_000
  const maxBytes = options.maxBytes ?? 256 * 1024 * 1024
  const quiet = ["--no-pager", ...NEUTRAL, ...(options.network ? [] : OFFLINE)]
  const full = options.asPerson ? [...args] : [...quiet, ...args]
  const quietEnv = { ...QUIET_ENV, ...(options.network ? ONLINE_ENV : OFFLINE_ENV) }
  const env = { ...base, ...(options.asPerson ? { LC_ALL: "C.UTF-8" } : quietEnv), ...options.env }
  const command = `git ${args.join(" ")}`
  if (options.signal?.aborted) return Promise.resolve(fail("stopped", `${command} was stopped`, {}))

  return new Promise<Result<GitOutput, GitFailure>>((settled) => {
    let ended = false
    let wanted: ReturnType<typeof fail> | undefined
    let received = 0
    let cancelGrace: (() => void) | undefined
    const kept: Buffer[] = []
    const stderr = keepEnds(KEEP_STDERR)

    const child = spawn("git", full, { cwd: options.cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true })
    const cancelTimeout = clock.setTimer(timeoutMs, () =>
      end(fail("timed_out", `${command} did not end within ${Math.round(timeoutMs / 1000)} s`, { ms: timeoutMs })),
    )
    const onAbort = () => end(fail("stopped", `${command} was stopped`, {}))
    options.signal?.addEventListener("abort", onAbort, { once: true })

    child.on("error", (error: NodeJS.ErrnoException) => finish(spawnFailure(error, options.cwd, command)))
    child.stdout.on("data", (chunk: Buffer) => {
      if (wanted) return
      received += chunk.length
      if (received > maxBytes) {
        end(fail("output_too_large", `${command} answered more than ${maxBytes} bytes`, { bytes: maxBytes }))
      } else if (options.onStdout) take(options.onStdout, chunk)
      else kept.push(chunk)
    })
    child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk))
    child.on("close", (code, signal) => finish(settle(code, signal)))
    // A git that ends without reading its input closes the pipe; its exit code says the rest.
    child.stdin.on("error", () => undefined)
    child.stdin.end(options.stdin ?? "")
    if (child.pid !== undefined) options.onStart?.(child.pid)

    /** Whoever reads along may stumble over what git says: the call then ends with that, and not never. */
    function take(read: (chunk: Buffer) => void, chunk: Buffer) {
      try {
        read(chunk)
      } catch (bug) {
        const words = bug instanceof Error ? bug.message : String(bug)
        end(fail("unreadable", `the answer of ${command} could not be read: ${words}`, { what: args[0] ?? "git" }))
      }
    }

    function settle(code: number | null, signal: NodeJS.Signals | null): Result<GitOutput, GitFailure> {
      if (wanted) return withStderr(wanted, stderr.text())
      if (code === null) {
        const why =
          signal === "SIGXFSZ" ? "a file would have become larger than the system allows here (ulimit -f)" : ""
        const text = why ? `${command} was ended: ${why}` : `${command} was killed by ${signal}`
        return fail("killed", text, { signal: String(signal) }, stderr.text())
      }
      const words = stderr.text()
      if (!(options.okCodes ?? [0]).includes(code)) return saidNo(code, words, command, options.cwd, clock)
      const bytes = Buffer.concat(kept)
      return ok({
        code,
        bytes,
        stderr: words,
        get stdout() {
          return bytes.toString("utf8")
        },
      })
    }

    function end(reason: ReturnType<typeof fail>) {
      if (wanted || ended) return
      wanted = reason
      killGroup(child.pid, "SIGTERM")
      cancelGrace = clock.setTimer(GRACE_MS, () => {
        killGroup(child.pid, "SIGKILL")
        // Someone who left the group may still hold the pipes open.
        cancelGrace = clock.setTimer(GRACE_MS, () => finish(withStderr(reason, stderr.text())))
      })
    }

    function finish(answer: Result<GitOutput, GitFailure>) {
      if (ended) return
      ended = true
      if (wanted) killGroup(child.pid, "SIGKILL")
      cancelTimeout()
      cancelGrace?.()
      options.signal?.removeEventListener("abort", onAbort)
      child.stdout.destroy()
      child.stderr.destroy()
      settled(answer)
    }
  })
}

function withStderr(failed: ReturnType<typeof fail>, words: string): ReturnType<typeof fail> {
  return words.trim() === "" ? failed : { ok: false, error: { ...failed.error, stderr: words.trim() } }
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals) {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    // ESRCH: everyone of the group has ended already.
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

function spawnFailure(error: NodeJS.ErrnoException, cwd: string, command: string) {
  // The run-time blames the program when it is the folder that is missing.
  if (!existsSync(cwd)) return fail("folder_missing", `the folder ${cwd} is missing`, { path: cwd })
  if (error.code === "ENOENT") return fail("git_missing", "git was not found: install git 2.39 or newer", {})
  return fail("failed", `${command} could not start: ${error.message}`, { code: -1, command }, error.message)
}

function saidNo(code: number, stderr: string, command: string, cwd: string, clock: Clock) {
  const config = /could not lock config file (.+?): File exists/.exec(stderr)?.[1]
  const named = /Unable to create '(.+?\.lock)': File exists/.exec(stderr)?.[1] ?? (config && `${config}.lock`)
  const lock = named && resolve(cwd, named)
  if (lock !== undefined) {
    const ageMs = ageOf(lock, clock)
    const age = ageMs === undefined ? "" : ` (${Math.max(0, Math.round(ageMs / 1000))} s old)`
    return fail(
      "locked",
      `another git process holds ${lock}${age}; if none runs there, it was left behind: remove it`,
      { path: lock, ...(ageMs === undefined ? {} : { ageMs }) },
      stderr,
    )
  }
  // `git worktree add` writes this file in two steps; whoever lists the worktrees in between is refused (git 2.39).
  const unfinished = /failed to read ((?:.*\/)?worktrees\/[^/]+\/commondir)/.exec(stderr)?.[1]
  if (unfinished !== undefined) {
    const path = resolve(cwd, unfinished)
    return fail("locked", `another git process is adding a worktree, or was killed doing so: ${path}`, { path }, stderr)
  }
  const line = stderr
    .split("\n")
    .map((text) => text.trim())
    .find((text) => /^(fatal|error): /.test(text))
  const first = line ?? stderr.trim().split("\n")[0]
  const words = first ? first.replace(/^(fatal|error): /, "") : `git ended with code ${code}`
  return fail("failed", words, { code, command }, stderr)
}

function ageOf(path: string, clock: Clock): number | undefined {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat === undefined ? undefined : clock.now() - stat.mtimeMs
}

/** Keeps the first and the last half of what does not fit. */
function keepEnds(most: number) {
  let head = Buffer.alloc(0)
  let tail = Buffer.alloc(0)
  let dropped = 0
  return {
    push(chunk: Buffer) {
      const room = most / 2 - head.length
      if (room > 0) {
        head = Buffer.concat([head, chunk.subarray(0, room)])
        chunk = chunk.subarray(room)
      }
      if (chunk.length === 0) return
      tail = Buffer.concat([tail, chunk])
      if (tail.length <= most / 2) return
      dropped += tail.length - most / 2
      tail = tail.subarray(tail.length - most / 2)
    },
    text(): string {
      const gap = dropped > 0 ? `\n… ${dropped} bytes left out …\n` : ""
      return head.toString("utf8") + gap + tail.toString("utf8")
    },
  }
}
