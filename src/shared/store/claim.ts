import { randomBytes } from "node:crypto"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync } from "node:fs"
import { link, mkdir, open, readFile, rename, rm, stat, unlink } from "node:fs/promises"
import { hostname } from "node:os"
import { dirname } from "node:path"
import type { Claim } from "../../core/task.ts"
import { err, ok, type Result } from "../../core/result.ts"

/**
 * Claims: who holds something, as a file that exists for exactly one holder.
 *
 *   free ──link──► held by a living process ──unlink by the holder──► free
 *                          │ the process dies
 *                          ▼
 *                    held by a dead one ──guard file named after that very claim──► held by the taker
 *
 * A claim file appears with its whole content or not at all (a finished temporary file is linked to the name). A dead
 * claim is replaced by whoever creates its guard: the guard carries the dead claim's nonce, so one claim is taken over
 * at most once, also when the taker dies half way (then its guard is a dead claim itself).
 */

/** A claim as it stands in a file: the nonce tells two claims of one process apart. */
export type HeldClaim = Claim & { readonly nonce: string }

export type ClaimFailure =
  | { readonly kind: "held"; readonly holder: HeldClaim; readonly text: string }
  | { readonly kind: "io"; readonly text: string }

export type Identity = { readonly pid: number; readonly start: string; readonly host: string }

let cachedSelf: Identity | undefined

/** This process: pid, when it started, and on which host. */
export function self(): Identity {
  cachedSelf ??= { pid: process.pid, start: startOf(process.pid) ?? "unknown", host: hostname() }
  return cachedSelf
}

/** `true` and `false` only where this host can tell; a claim of another host is `"elsewhere"`. */
export function alive(claim: Identity): boolean | "elsewhere" {
  const me = self()
  if (claim.host !== me.host) return "elsewhere"
  if (claim.pid === me.pid) return claim.start === me.start
  const start = startOf(claim.pid)
  return start !== undefined && (start === claim.start || claim.start === "unknown" || start === "unknown")
}

/** Whether the claim is this process's own. */
export function isMine(claim: Identity): boolean {
  const me = self()
  return claim.pid === me.pid && claim.start === me.start && claim.host === me.host
}

/** When a process started, in a form that is only compared; `undefined`: there is no such process. */
function startOf(pid: number): string | undefined {
  if (!Number.isInteger(pid) || pid <= 0) return undefined
  return existsSync("/proc/self/stat") ? startInProc(pid) : startByPs(pid)
}

function startInProc(pid: number): string | undefined {
  const text = readText(`/proc/${pid}/stat`)
  if (text === undefined) return undefined
  // After the command's name, which may hold blanks and brackets: state is field 3, the start field 22.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ")
  if (fields[0] === "Z" || fields[0] === "X") return undefined
  return `${bootID()}:${fields[19] ?? ""}`
}

let cachedBoot: string | undefined

function bootID(): string {
  cachedBoot ??= readText("/proc/sys/kernel/random/boot_id")?.slice(0, 8) ?? "boot"
  return cachedBoot
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8")
  } catch {
    return undefined
  }
}

function startByPs(pid: number): string | undefined {
  try {
    const env = { ...process.env, LC_ALL: "C", TZ: "UTC" }
    const text = execFileSync("ps", ["-o", "lstart=", "-p", String(pid)], { env, timeout: 5_000, encoding: "utf8" })
    return text.trim() || undefined
  } catch {
    return signalReaches(pid) ? "unknown" : undefined
  }
}

function signalReaches(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (cause) {
    return codeOf(cause) === "EPERM"
  }
}

/** Takes the claim file at `path`. `again: true`: a claim that this process holds already counts as taken. */
export async function takeClaim(path: string, at: number, again: boolean): Promise<Result<HeldClaim, ClaimFailure>> {
  try {
    await mkdir(dirname(path), { recursive: true })
    return await take(path, path, at, again, 0)
  } catch (cause) {
    return err({ kind: "io", text: `${path}: ${textOf(cause)}` })
  }
}

/** Lets go of a claim; `false` when the file holds another claim or none. */
export async function dropClaim(path: string, nonce: string): Promise<boolean> {
  const current = await readClaim(path)
  if (current?.nonce !== nonce) return false
  await rm(path, { force: true })
  return true
}

/** The claim in a file; `undefined` when there is none. A half-written one is a claim of nobody, see `take`. */
export async function readClaim(path: string): Promise<HeldClaim | undefined> {
  let text: string
  try {
    text = await readFile(path, "utf8")
  } catch (cause) {
    if (codeOf(cause) === "ENOENT") return undefined
    throw cause
  }
  return parse(text) ?? { pid: 0, start: "", host: self().host, at: 0, nonce: `torn-${(await inode(path)) ?? 0}` }
}

async function inode(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => undefined))?.ino
}

function parse(text: string): HeldClaim | undefined {
  let value: Partial<HeldClaim>
  try {
    value = JSON.parse(text) as Partial<HeldClaim>
  } catch {
    return undefined
  }
  if (typeof value?.pid !== "number" || typeof value.start !== "string" || typeof value.host !== "string")
    return undefined
  if (typeof value.nonce !== "string" || !/^[0-9a-f]{1,64}$/.test(value.nonce)) return undefined
  return { pid: value.pid, start: value.start, host: value.host, at: Number(value.at) || 0, nonce: value.nonce }
}

const TORN_GRACE_MS = 10_000
const MAX_GUARDS = 8

async function take(
  base: string,
  path: string,
  at: number,
  again: boolean,
  depth: number,
): Promise<Result<HeldClaim, ClaimFailure>> {
  const mine: HeldClaim = { ...self(), at, nonce: randomBytes(8).toString("hex") }
  const temp = `${base}.${mine.pid}-${mine.nonce}.tmp`
  const file = await open(temp, "wx")
  try {
    await file.writeFile(JSON.stringify(mine))
    await file.close()
    for (;;) {
      if (await linked(temp, path)) return ok(mine)
      const current = await readClaim(path)
      if (current === undefined) continue
      if (again && isMine(current)) return ok(current)
      if (!(await isDead(current, path, temp)) || depth >= MAX_GUARDS) return held(current)

      const guardPath = `${base}.over-${current.nonce}`
      const guard = await take(base, guardPath, at, false, depth + 1)
      if (!guard.ok) return guard.error.kind === "held" ? held(current) : guard
      try {
        if ((await readClaim(path))?.nonce !== current.nonce) continue
        await rename(temp, path)
        return ok(mine)
      } finally {
        await unlink(guardPath)
      }
    }
  } finally {
    await rm(temp, { force: true })
  }
}

/** Exclusive create with the content in place from the start; without hard links, without that nicety. */
async function linked(temp: string, path: string): Promise<boolean> {
  try {
    await link(temp, path)
    return true
  } catch (cause) {
    const code = codeOf(cause)
    if (code === "EEXIST") return false
    if (code !== "EPERM" && code !== "ENOTSUP" && code !== "EOPNOTSUPP" && code !== "ENOSYS") throw cause
  }
  try {
    const file = await open(path, "wx")
    await file.writeFile(await readFile(temp))
    await file.close()
    return true
  } catch (cause) {
    if (codeOf(cause) === "EEXIST") return false
    throw cause
  }
}

/** A torn claim is dead once it is clearly older than a file that was written just now on the same file system. */
async function isDead(claim: HeldClaim, path: string, fresh: string): Promise<boolean> {
  if (!claim.nonce.startsWith("torn-")) return alive(claim) === false
  const [old, now] = await Promise.all([stat(path).catch(() => undefined), stat(fresh)])
  return old !== undefined && now.mtimeMs - old.mtimeMs > TORN_GRACE_MS
}

function held(holder: HeldClaim): Result<never, ClaimFailure> {
  const place = holder.host === self().host ? "on this machine" : `on ${holder.host}`
  return err({ kind: "held", holder, text: `held by process ${holder.pid} ${place}` })
}

export function codeOf(cause: unknown): string | undefined {
  return (cause as { code?: string } | undefined)?.code
}

export function textOf(cause: unknown): string {
  return cause instanceof Error ? cause.message : String(cause)
}
