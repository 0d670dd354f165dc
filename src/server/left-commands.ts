import { readdir, readFile, readlink } from "node:fs/promises"
import { execFile } from "node:child_process"
import { existsSync } from "node:fs"
import { sep } from "node:path"
import { promisify } from "node:util"
import { alive, self, type Identity } from "../shared/store/claim.ts"
import type { Clock } from "../shared/clock.ts"

/*
 * An agent's shell command outlives an OpenCode that was killed (1.18.33) and goes on writing into the worktree. Every
 * shell of ours carries the identity of its OpenCode in its environment, which its children inherit: a process with the
 * mark of a dead one, at home in the worktree, is such a command. Nothing else is ever taken for one.
 */

const MARK = "KAGAN_OPENCODE"

export type LeftCommand = { readonly pid: number; readonly text: string }

/** For the `shell.env` hook: says in the environment which OpenCode the command belongs to. */
export function markShell(env: Record<string, string>): void {
  const { pid, start, host } = self()
  env[MARK] = `${pid} ${start} ${host}`
}

/** Commands in a folder whose OpenCode is dead. Empty where the system cannot tell. */
export async function leftCommands(folder: string): Promise<readonly LeftCommand[]> {
  const found = existsSync("/proc/self/environ") ? await fromProc(folder) : await fromPs(folder)
  return found.filter(({ mark }) => alive(mark) === false).map(({ pid, text }) => ({ pid, text }))
}

/** Ends them, politely first; resolves when none is left or `limitMs` are over. */
export async function endLeftCommands(folder: string, clock: Clock, limitMs = 5_000): Promise<boolean> {
  const until = clock.monotonic() + limitMs
  for (let signal: NodeJS.Signals = "SIGTERM"; ;) {
    const left = await leftCommands(folder)
    if (left.length === 0) return true
    if (clock.monotonic() >= until) return false
    for (const { pid } of left) send(pid, signal)
    if (clock.monotonic() >= until - limitMs / 2) signal = "SIGKILL"
    await new Promise<void>((resolve) => clock.setTimer(200, resolve))
  }
}

type Marked = LeftCommand & { readonly mark: Identity }

async function fromProc(folder: string): Promise<Marked[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(pids.map((pid) => oneInProc(pid, folder)))
  return found.filter((one) => one !== undefined)
}

/** A process that ends while it is read, or belongs to somebody else, is none of ours. */
async function oneInProc(pid: string, folder: string): Promise<Marked | undefined> {
  const none = () => undefined
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(none)
  if (cwd === undefined || !isIn(cwd, folder)) return undefined
  const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(none)
  const mark = readMark(environment?.split("\0").find((entry) => entry.startsWith(`${MARK}=`)))
  if (!mark) return undefined
  const command = (await readFile(`/proc/${pid}/cmdline`, "utf8").catch(none)) ?? ""
  return { pid: Number(pid), text: command.replaceAll("\0", " ").trim().slice(0, 200), mark }
}

const run = promisify(execFile)

/** Where there is no /proc: the environment as `ps` shows it, the folder as `lsof` does. */
async function fromPs(folder: string): Promise<Marked[]> {
  const limits = { timeout: 10_000, maxBuffer: 32 * 1024 * 1024 }
  const listed = await run("ps", ["-axEww", "-o", "pid=,command="], limits).catch(() => ({ stdout: "" }))
  const marked = listed.stdout.split("\n").flatMap((line): Marked[] => {
    const [, pid, text] = /^\s*(\d+)\s+(.*)$/.exec(line) ?? []
    const mark = readMark(new RegExp(`${MARK}=\\S+ \\S+ \\S+`).exec(text ?? "")?.[0])
    return pid && mark ? [{ pid: Number(pid), text: text!.slice(0, 200), mark }] : []
  })
  if (marked.length === 0) return []
  const pids = marked.map(({ pid }) => pid).join(",")
  const homes = await run("lsof", ["-a", "-d", "cwd", "-p", pids, "-Fn"], limits).catch(() => ({ stdout: "" }))
  const inside = new Set<number>()
  let pid = 0
  for (const line of homes.stdout.split("\n")) {
    if (line.startsWith("p")) pid = Number(line.slice(1))
    if (line.startsWith("n") && isIn(line.slice(1), folder)) inside.add(pid)
  }
  return marked.filter((one) => inside.has(one.pid))
}

function readMark(entry: string | undefined): Identity | undefined {
  const [pid, start, host] = entry?.slice(MARK.length + 1).split(" ") ?? []
  return pid && start && host ? { pid: Number(pid), start, host } : undefined
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder + sep)
}

function send(pid: number, signal: NodeJS.Signals) {
  try {
    process.kill(pid, signal)
  } catch (cause) {
    // Gone in the meantime: that is what was wanted.
    if ((cause as NodeJS.ErrnoException).code !== "ESRCH") throw cause
  }
}
