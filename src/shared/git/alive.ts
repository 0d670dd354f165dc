import { readdirSync, readFileSync } from "node:fs"

/** Whether a process runs, also one of another user. A zombie does not: it only waits to be noticed. */
export function isAlive(pid: number): boolean {
  return signalled(pid) && stateOf(pid)?.state !== "Z"
}

/** Whether anyone of a process group still runs. */
export function isGroupAlive(group: number): boolean {
  if (!signalled(-group)) return false
  const pids = list("/proc").filter((name) => /^\d+$/.test(name))
  // Without /proc (not Linux) the signal's answer is all there is.
  if (pids.length === 0) return true
  return pids.some((pid) => {
    const found = stateOf(Number(pid))
    return found?.group === group && found.state !== "Z"
  })
}

function signalled(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

function stateOf(pid: number): { readonly state: string; readonly group: number } | undefined {
  try {
    // The program's name, in brackets, may hold anything.
    const [state, , group] = readFileSync(`/proc/${pid}/stat`, "latin1")
      .replace(/^.*\) /s, "")
      .split(" ")
    return { state: state!, group: Number(group) }
  } catch {
    return undefined
  }
}

function list(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
