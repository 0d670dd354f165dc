import { spawn } from "node:child_process"
import { stat } from "node:fs/promises"
import type { Clock } from "../shared/clock.ts"
import { personEnv } from "./instances.ts"
import { makeTail } from "./tail.ts"

/*
 * Runs a command that the person configured, through their shell, in a process group of its own without a terminal and
 * without input. Only the person's configuration reaches it, never the text of a task or of a branch.
 */

export type CommandEnd =
  | { readonly kind: "exited"; readonly code: number }
  | { readonly kind: "killed"; readonly signal: string }
  | { readonly kind: "timed_out"; readonly seconds: number }
  | { readonly kind: "stopped" }
  | { readonly kind: "not_started"; readonly text: string }

export type CommandResult = {
  readonly end: CommandEnd
  /** The last of what it wrote, both streams in order of arrival; invalid bytes replaced. */
  readonly tail: string
  /** How much it wrote in all. */
  readonly bytes: number
  /** The shell that was to run it. */
  readonly shell: string
}

const TAIL_BYTES = 64 * 1024
const GRACE_MS = 1_000

export type WantedCommand = {
  readonly command: string
  readonly cwd: string
  readonly timeoutMs: number
  readonly clock: Clock
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal
  /** Hears everything that it writes, as it comes. */
  readonly heard?: (chunk: Buffer) => void
}

/** Resolves when it has ended, at the latest a moment after its limit or the stop; nothing of its group is left then. */
export async function runCommand(wanted: WantedCommand): Promise<CommandResult> {
  const shell = process.env.SHELL || "/bin/sh"
  const none = (end: CommandEnd): CommandResult => ({ end, tail: "", bytes: 0, shell })
  // The system would blame the shell for a folder that is not there.
  const folder = await stat(wanted.cwd).catch(() => undefined)
  if (!folder) return none({ kind: "not_started", text: `the folder ${wanted.cwd} is missing` })
  if (!folder.isDirectory()) return none({ kind: "not_started", text: `${wanted.cwd} is not a folder` })
  if (wanted.signal?.aborted) return none({ kind: "stopped" })
  return run(wanted, shell)
}

function run(wanted: WantedCommand, shell: string): Promise<CommandResult> {
  const { command, cwd, timeoutMs, clock } = wanted
  return new Promise((resolve) => {
    const child = spawn(shell, ["-c", command], {
      cwd,
      env: { ...personEnv(), ...wanted.env, CI: process.env.CI ?? "1", GIT_TERMINAL_PROMPT: "0" },
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    })
    const written = makeTail(TAIL_BYTES)
    let bytes = 0
    let early: CommandEnd | undefined
    let settled = false
    let cancelKill = () => {}

    const take = (chunk: Buffer) => {
      bytes += chunk.length
      wanted.heard?.(chunk)
      written.take(chunk)
    }
    child.stdout.on("data", take)
    child.stderr.on("data", take)

    const end = (reason: CommandEnd) => {
      if (early) return
      early = reason
      signalGroup(child.pid, "SIGTERM")
      // A grandchild in a group of its own may hold the pipes: what we know is enough.
      cancelKill = clock.setTimer(GRACE_MS, () => finish(reason))
    }
    const cancelLimit = clock.setTimer(timeoutMs, () => end({ kind: "timed_out", seconds: timeoutMs / 1000 }))
    const stop = () => end({ kind: "stopped" })
    wanted.signal?.addEventListener("abort", stop, { once: true })

    const finish = (reason: CommandEnd) => {
      if (settled) return
      settled = true
      cancelLimit()
      cancelKill()
      wanted.signal?.removeEventListener("abort", stop)
      signalGroup(child.pid, "SIGKILL")
      child.stdout.destroy()
      child.stderr.destroy()
      resolve({ end: early ?? reason, tail: written.end().toString("utf8"), bytes, shell })
    }
    child.on("error", (cause) => finish({ kind: "not_started", text: cause.message }))
    const ended = (code: number | null, signal: string | null): CommandEnd =>
      signal ? { kind: "killed", signal } : { kind: "exited", code: code ?? 1 }
    // What it left in the background may hold the pipes: it ends with it, and changes nothing of how it ended.
    child.on("exit", (code, signal) => end(ended(code, signal)))
    child.on("close", (code, signal) => finish(ended(code, signal)))
  })
}

/** The end in words. */
export function commandEndText(end: CommandEnd): string {
  switch (end.kind) {
    case "exited":
      return end.code === 127
        ? "exit 127: command not found"
        : end.code === 126
          ? "exit 126: not executable"
          : `exit ${end.code}`
    case "killed":
      return `killed by ${end.signal}`
    case "timed_out":
      return `timed out after ${end.seconds} s`
    case "stopped":
      return "stopped"
    case "not_started":
      return `could not be started: ${end.text}`
  }
}

function signalGroup(pid: number | undefined, signal: NodeJS.Signals) {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (cause) {
    // The group is gone already, or holds nothing but the dead: that is what was wanted.
    const { code } = cause as NodeJS.ErrnoException
    if (code !== "ESRCH" && code !== "EPERM") throw cause
  }
}
