import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"

/**
 * Every process and folder of a test is known to a guardian: a small shell that outlives this process and, when this
 * process is gone (ended, interrupted, or killed), ends what is left and removes the folders.
 *
 * What a host starts may leave its process group (the commands of its agents do) and survive it. So each sandbox has a
 * mark in the environment, which all descendants inherit.
 */
export const MARK = "KAGAN_TEST_SANDBOX"

const GUARDIAN = `
groups=" "; roots=" "
while IFS=" " read -r what value; do
  case "$what" in
    +group) groups="$groups$value " ;;
    -group) groups="\${groups%% "$value "*} \${groups#* "$value "}" ;;
    +root) roots="$roots$value " ;;
    -root) roots="\${roots%% "$value "*} \${roots#* "$value "}" ;;
  esac
done
for group in $groups; do kill -KILL -- "-$group" 2>/dev/null; done
for root in $roots; do
  for environ in /proc/[0-9]*/environ; do
    if tr '\\0' '\\n' < "$environ" 2>/dev/null | grep -qxF "${MARK}=$root"; then
      pid="\${environ#/proc/}"; kill -KILL "\${pid%/environ}" 2>/dev/null
    fi
  done
  rm -rf -- "$root"
done
`

let guardian: ChildProcess | undefined

function tell(what: string): void {
  if (!guardian) {
    guardian = spawn("/bin/sh", ["-c", GUARDIAN], { detached: true, stdio: ["pipe", "ignore", "ignore"] })
    guardian.unref()
    ;(guardian.stdin as unknown as { unref?: () => void }).unref?.()
  }
  guardian.stdin!.write(`${what}\n`)
}

/** From now on the process group of `pid` does not outlive this process. */
export const guardGroup = (pid: number): void => tell(`+group ${pid}`)
export const releaseGroup = (pid: number): void => tell(`-group ${pid}`)
/** From now on the folder, and every process that carries its mark, does not outlive this process. */
export const guardRoot = (root: string): void => tell(`+root ${root}`)
export const releaseRoot = (root: string): void => tell(`-root ${root}`)

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

/** Kills a process; answers whether it was there. */
export function kill(pid: number, signal: NodeJS.Signals = "SIGKILL"): boolean {
  try {
    process.kill(pid, signal)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
    throw error
  }
}

/** Processes that carry a sandbox's mark, and their command lines. Known on Linux only; elsewhere nothing is found. */
export function markedProcesses(root: string): { pid: number; command: string }[] {
  if (!existsSync("/proc/self/environ")) return []
  const found: { pid: number; command: string }[] = []
  for (const name of readdirSync("/proc")) {
    const pid = Number(name)
    if (!Number.isInteger(pid) || pid === process.pid) continue
    const environ = readProc(pid, "environ")
    if (!environ?.split("\0").includes(`${MARK}=${root}`)) continue
    found.push({ pid, command: readProc(pid, "cmdline")?.replaceAll("\0", " ").trim() ?? "" })
  }
  return found
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
  } catch {
    return undefined // gone in the meantime, or another user's
  }
}

/** Kills every process with the sandbox's mark; answers how many there were. */
export function killMarked(root: string): number {
  const found = markedProcesses(root)
  for (const { pid } of found) kill(pid)
  return found.length
}
