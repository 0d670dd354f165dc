// One builder at a time per checkout, also across processes.
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { dirname } from "node:path"
import { setTimeout as delay } from "node:timers/promises"

const DEADLINE_MS = 60_000

/**
 * Runs `work` while this process holds the lock file, which names its holder. A lock whose holder is no longer alive is
 * taken over; one that is held for a minute is an error that names the holder.
 */
export async function withBuildLock(path, work) {
  mkdirSync(dirname(path), { recursive: true })
  const own = `${path}.${process.pid}.${Math.random().toString(36).slice(2)}`
  writeFileSync(own, String(process.pid))
  try {
    const deadline = Date.now() + DEADLINE_MS
    while (!tryLink(own, path)) {
      const holder = holderOf(path)
      if (holder !== undefined && !isAlive(holder)) discard(path, own)
      else if (Date.now() > deadline) throw new Error(`process ${holder} holds ${path}`)
      else await delay(25)
    }
    try {
      return await work()
    } finally {
      rmSync(path, { force: true })
    }
  } finally {
    rmSync(own, { force: true })
  }
}

/** Linking a file that is already written makes the lock appear with its content, or not at all. */
function tryLink(own, path) {
  try {
    linkSync(own, path)
    return true
  } catch (error) {
    if (error.code === "EEXIST") return false
    throw error
  }
}

function holderOf(path) {
  try {
    return Number(readFileSync(path, "utf8"))
  } catch (error) {
    if (error.code === "ENOENT") return undefined
    throw error
  }
}

/** Renaming away is won by one process only; a live holder's lock caught by mistake is put back. */
function discard(path, own) {
  const dead = `${own}.dead`
  try {
    renameSync(path, dead)
  } catch (error) {
    if (error.code === "ENOENT") return
    throw error
  }
  const holder = holderOf(dead)
  if (holder !== undefined && isAlive(holder)) tryLink(dead, path)
  rmSync(dead, { force: true })
}

function isAlive(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === "EPERM"
  }
}
