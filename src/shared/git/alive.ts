/** Whether a process runs, also one of another user. */
export function isAlive(pid: number): boolean {
  return signalled(pid)
}

/** Whether anyone of a process group still runs. */
export function isGroupAlive(group: number): boolean {
  return signalled(-group)
}

function signalled(id: number): boolean {
  try {
    process.kill(id, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}
